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
from pydantic import Field

from harness.analysis.stats.aa_noise import no_ratio
from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.pairing import inputs_of, pair_by_block
from harness.analysis.stats.verdicts import decide, default_margin
from harness.evidence.load_response import effect_between, every
from harness.model import Frozen, Verdict
from harness.model.age import named_with_age
from harness.model.formatting import NOT_MEASURED, verdict_name
from harness.publish.case import Case
from harness.publish.results import Absent, Tree

#: The primary outcomes: word in keys -> column of the pressure table.
OUTCOMES: Mapping[str, str] = MappingProxyType({"serve": "serve_s", "share": "right_share"})
#: The level of ``server`` that the published bank had.
STOCK = "max-100"
NOT_TESTABLE = "not testable here"
_TOLD = {Verdict.DIFFERENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE}


class Judged(Frozen):
    """What became of a published claim here."""

    verdict: str = Field(description="reproduced, contradicted, inconclusive, not testable here")
    why: str


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


def pooled_claim(effects: Mapping[str, Mapping[str, Comparison | None]], labels: Mapping[str, str]) -> Judged:
    """Judge "the cause was a connection for every statement", on the pool over that, per variant and outcome.

    Reproduced: in every variant a pool answers a larger share rightly or, where no pass went wrong either way, takes
    less time to serve all passes. Contradicted: in one of them neither, and one of the two is shown to be as without
    a pool, or worse. Else inconclusive.

    Args:
        effects: variant -> word of ``OUTCOMES`` -> the pool over a connection for every statement.
    """
    measured = {name: dict(found) for name, found in effects.items() if found.get("share") is not None}
    if not measured:
        return Judged(verdict=NOT_TESTABLE, why=NOT_MEASURED)
    why = "; ".join(
        f"{named_with_age(labels.get(name, name), _young(found))}: {_words(found)}"
        for name, found in measured.items()
    )
    if any(_against(found) for found in measured.values()):
        return Judged(verdict="contradicted", why=why)
    shown = all(
        _more(found["share"]) or (_same(found["share"]) and _less(found["serve"]))
        for found in measured.values()
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
        return Judged(verdict=NOT_TESTABLE, why=NOT_MEASURED)
    why = ", ".join(f"{word} {verdict_name(one)}" for word, one in there.items())
    verdicts = {one.verdict for one in there.values()}
    if Verdict.DIFFERENT in verdicts:
        return Judged(verdict="contradicted", why=why)
    alike = verdicts <= {Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE} and len(there) == len(found)
    return Judged(verdict="reproduced" if alike else "inconclusive", why=why)


def claim_results(judged: Judged) -> Tree:
    """Return what became of a published claim, and why, in words."""
    words = {"claim": judged.verdict, "claim_reason": judged.why}
    if judged.verdict != NOT_TESTABLE:
        return words
    return {name: Absent(kind="text", why=why) for name, why in words.items()}


def _young(found: Mapping[str, Comparison | None]) -> bool:
    return any(one is not None and one.young for one in found.values())


def _more(found: Comparison | None) -> bool:
    return found is not None and found.verdict in _TOLD and (found.ratio.value or 0) > 1


def _same(found: Comparison | None) -> bool:
    """Whether all trials have one and the same value, with either level."""
    return found is not None and found.ratio.value == 1 and found.ratio.low in (None, 1.0)


def _less(found: Comparison | None) -> bool:
    return found is not None and found.verdict in _TOLD and (found.ratio.value or 1) < 1


def _against(found: Mapping[str, Comparison | None]) -> bool:
    """Whether a pool is shown to be no better: a smaller share, or as much of it in as much time or more."""
    share, serve = found["share"], found["serve"]
    if _less(share):
        return True
    alike = _same(share) or (share is not None and share.verdict == Verdict.EQUIVALENT)
    slower = _more(serve) or (serve is not None and serve.verdict == Verdict.EQUIVALENT)
    return alike and slower


def _words(found: Mapping[str, Comparison | None]) -> str:
    share, serve = found["share"], found["serve"]
    of_share = (
        "share of right passes the same in all trials"
        if _same(share)
        else f"share of right passes {'larger' if _more(share) else 'not shown to be larger'} with the pool"
    )
    of_time = (
        "time to serve all passes not compared, as passes failed"
        if serve is None or serve.ratio.value is None
        else f"time to serve all passes {'less' if _less(serve) else 'not shown to be less'} with the pool"
    )
    return f"{of_share}, {of_time}"


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
