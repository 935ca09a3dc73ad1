# SPDX-License-Identifier: Apache-2.0
"""How much of a load a service bore, by how it holds its connections: with every trial in, above all the bad ones.

A ratio of latencies over the trials that went well compares a collapse with nothing. What can be compared
whatever happens is how much of what was asked for was answered rightly, and how many right answers came in
a second: both exist of a trial that was overloaded, and are small there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pandas as pd
from pydantic import Field

from harness.analysis.comparisons import Comparison
from harness.analysis.decisions import decide, default_margin
from harness.analysis.effects import effect_size_ci
from harness.analysis.noise import no_ratio
from harness.analysis.trial_table import inputs_of, pair_by_block
from harness.evidence import Evidence
from harness.evidence.articles import effect_between
from harness.model import Frozen, Verdict

#: The primary outcomes: word in keys -> column of the pressure table.
OUTCOMES: Mapping[str, str] = MappingProxyType({"right": "throughput_per_s", "share": "right_share"})
#: The level of ``server`` that the published bank had.
STOCK = "max-100"
_TOLD = {Verdict.DIFFERENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE}


class Judged(Frozen):
    """What became of a published claim here."""

    verdict: str = Field(description="reproduced, contradicted, inconclusive, not testable here")
    why: str


def every(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials as if none were excluded: how a service fails is what is asked here."""
    return trials.assign(excluded=False)


def at_one_load(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """Return the trials at the highest load offered and at the stock limit of the server, where both vary."""
    if table is None:
        return None
    kept = table
    if "server" in kept and STOCK in set(kept["server"]):
        kept = kept[kept["server"] == STOCK]
    if "users" in kept and kept["users"].nunique() > 1 and kept["offered_per_s"].notna().any():
        kept = kept[kept["offered_per_s"] >= kept["offered_per_s"].max() * (1 - 1e-9)]
    return kept


def at_one_load_of(
    factor: str, *measured: tuple[Evidence | None, pd.DataFrame | None]
) -> tuple[Evidence | None, pd.DataFrame | None]:
    """Return the first evidence in which a factor has several levels, and its trials as ``at_one_load`` has them.

    Args:
        measured: evidence with its table of trials, the most telling first.
    """
    for evidence, table in measured:
        if evidence is not None and table is not None and factor in table and table[factor].nunique() > 1:
            return evidence, at_one_load(table)
    return None, None


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
    found = effect_between(mine, factor, metric, variant=variant, base=base, other=other)
    if found is None or found.ratio.value is not None:
        return found
    return _of_means(mine[~mine["duplicate"].astype(bool)].dropna(subset=[metric]), factor, metric, found)


def pooled_claim(effects: Mapping[str, Mapping[str, Comparison | None]], labels: Mapping[str, str]) -> Judged:
    """Judge "the cause was a connection for every statement", on the pool over that, per variant and outcome.

    Reproduced: in every variant a pool answers more rightly, by the second and by the share; where no pass went
    wrong either way, the share tells nothing and is not asked. Contradicted: in one of them it answers no more, by
    the second, shown as less or as equivalent. Else inconclusive.

    Args:
        effects: variant -> word of ``OUTCOMES`` -> the pool over a connection for every statement.
    """
    measured = {name: dict(found) for name, found in effects.items() if all(found.values()) and found}
    if not measured:
        return Judged(verdict="not testable here", why="not measured in this profile")
    why = "; ".join(f"{labels.get(name, name)}: {_words(found)}" for name, found in measured.items())
    if any(_against(found["right"]) for found in measured.values()):
        return Judged(verdict="contradicted", why=why)
    shown = all(
        _more(one) or (word == "share" and _same(one))
        for found in measured.values()
        for word, one in found.items()
    )
    return Judged(
        verdict="reproduced" if shown and len(measured) == len(effects) else "inconclusive", why=why
    )


def alike_claim(found: Mapping[str, Comparison | None]) -> Judged:
    """Judge "with a pool both perform similarly", on what of the one over the other is named here.

    Reproduced: all are equivalent, or differ negligibly. Contradicted: one of them differs by more. Else
    inconclusive.
    """
    there = {word: one for word, one in found.items() if one is not None}
    if not there:
        return Judged(verdict="not testable here", why="not measured in this profile")
    why = ", ".join(f"{word} {one.verdict.value.replace('_', ' ')}" for word, one in there.items())
    verdicts = {one.verdict for one in there.values()}
    if Verdict.DIFFERENT in verdicts:
        return Judged(verdict="contradicted", why=why)
    alike = verdicts <= {Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE} and len(there) == len(found)
    return Judged(verdict="reproduced" if alike else "inconclusive", why=why)


def _more(found: Comparison | None) -> bool:
    return found is not None and found.verdict in _TOLD and (found.ratio.value or 0) > 1


def _same(found: Comparison | None) -> bool:
    """Whether all trials have one and the same value, with either level."""
    return found is not None and found.ratio.value == 1 and found.ratio.low in (None, 1.0)


def _against(found: Comparison | None) -> bool:
    if found is None or found.ratio.value is None:
        return False
    return found.verdict == Verdict.EQUIVALENT or (found.verdict in _TOLD and found.ratio.value < 1)


def _words(found: Mapping[str, Comparison | None]) -> str:
    said = {"right": "right answers per second", "share": "share of right passes"}
    return ", ".join(
        f"{said[word]} the same in all trials"
        if word == "share" and _same(one)
        else f"{said[word]} {'more' if _more(one) else 'not shown to be more'} with the pool"
        for word, one in found.items()
    )


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
