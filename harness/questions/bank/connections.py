# SPDX-License-Identifier: Apache-2.0
"""How much of a load a service bore, by how it holds its connections: with every trial in, above all the bad ones.

A ratio of latencies over the trials that went well compares a collapse with nothing. What can be compared
whatever happens is how much of what was asked for was answered rightly. Where that is all of it, the time that it took
to serve so many passes is compared too; a trial in which passes failed has no such time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd

from harness.analysis.stats.aa_noise import no_ratio
from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.pairing import inputs_of, pair_by_block
from harness.analysis.stats.verdicts import decide, default_margin
from harness.evidence.load_response import effect_between, every
from harness.publish.case import Case

#: The primary outcomes: word in keys -> column of the pressure table.
OUTCOMES: Mapping[str, str] = MappingProxyType({"serve": "serve_s", "share": "right_share"})
#: The level of ``server`` that the published bank had.
STOCK = "max-100"


def at_one_load(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the matched trials at the highest load offered and at the stock limit of the server, where these vary.

    Where trials differ in how passwords are checked, those with MD5 have it in their level of ``connections``:
    ``per-statement-md5``.
    """
    if table is None:
        return None
    kept = table
    if "face" in kept:
        kept = kept[kept["face"] == "matched"]
    if "authentication" in kept:
        md5 = kept["authentication"] == "md5"
        kept = kept.assign(connections=kept["connections"].where(~md5, kept["connections"] + "-md5"))
    if "server" in kept and STOCK in set(kept["server"]):
        kept = kept[kept["server"] == STOCK]
    if "users" in kept and kept["users"].nunique() > 1 and kept["offered_per_s"].notna().any():
        kept = kept[kept["offered_per_s"] >= kept["offered_per_s"].max() * (1 - 1e-9)]
    return kept


def first_with_several(factor: str, *cases: Case) -> Case:
    """Return the first case, with the evidence of the first one in which the factor has several levels."""
    found = (
        case.evidence
        for case in cases
        if case.trials is not None and factor in case.trials and case.trials[factor].nunique() > 1
    )
    return Case(cases[0].experiment, next(found, None))


def effect_with_all(
    table: pd.DataFrame | None, factor: str, metric: str, *, variant: str, base: str, other: str
) -> Comparison | None:
    """Compare two levels of a factor within a variant, block by block, overloaded trials included.

    Where a trial has nothing at all of the metric there is no logarithm of it: the ratio is then that of
    the arithmetic means with Fieller's interval, which may be open, and the estimate says which it is.

    Returns:
        The comparison; ``None``: not both levels were measured.
    """
    if table is None or metric not in table:
        return None
    mine = every(table[(table["variant"] == variant) & table[factor].isin([base, other])])
    # how connections are held decides what bounds a trial: that is the answer, not a reason to have none
    found = effect_between(mine, factor, metric, variant=variant, base=base, other=other, gated=False)
    if found is None or found.ratio.value is not None:
        return found
    return _of_means(mine[~mine["duplicate"].astype(bool)].dropna(subset=[metric]), factor, metric, found)


def _of_means(mine: pd.DataFrame, factor: str, metric: str, found: Comparison) -> Comparison:
    a, b, _ = pair_by_block(mine[mine[factor] == found.variant], mine[mine[factor] == found.reference])
    if len(a) == 0 or float(b[metric].mean()) == 0:
        return found
    ratio = effect_size_ci(
        a[metric].to_numpy(), b[metric].to_numpy(), paired=True, estimator="fieller",
        inputs=inputs_of(pd.concat([a, b])),
    )  # fmt: skip
    # equivalence is not asked where a trial has nothing
    said = decide(
        ratio, no_ratio(metric, len(a), 0.9), n_blocks=len(a), margin=default_margin(metric),
    )  # fmt: skip
    return found.model_copy(
        update={
            "ratio": ratio,
            "verdict": said.verdict,
            "margin": None,
            "why_not_equivalent": "a trial has nothing",
        }
    )
