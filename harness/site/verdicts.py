# SPDX-License-Identifier: Apache-2.0
"""Every comparison of the sessions as numbers from which a page decides anew, at the margin that a reader sets.

The page's script repeats :func:`harness.analysis.stats.verdicts.decide`; a test runs both over the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.verdicts import ALPHA, FEWEST_FOR_P, MOST_NOISE, default_margin
from harness.evidence import Evidence
from harness.evidence.results import Metric, results_of
from harness.model import Verdict
from harness.model.age import YOUNG, with_age
from harness.model.digits import percent
from harness.model.formatting import DASH, NOT_ABOUT, show
from harness.model.level_words import cell_words
from harness.publish.sources import day_of

#: What a page calls a verdict; the script has the same words.
WORDS = {
    Verdict.DIFFERENT: "different",
    Verdict.DIFFERENT_BUT_NEGLIGIBLE: "different but negligible",
    Verdict.EQUIVALENT: "equivalent",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_ABOUT_SERVICES: NOT_ABOUT,
}


@dataclass(frozen=True, kw_only=True)
class VerdictRow:
    """One comparison in words, and as ``decides``: the numbers that the rule takes."""

    session: str
    title: str
    metric: str
    better: str
    cell: str
    variant: str
    ratio: str
    blocks: int
    margin: str
    verdict: str
    side: str
    why: str
    trials: tuple[str, ...]
    decides: dict[str, Any]


def constants() -> dict[str, Any]:
    """Return the limits of the rule and its words, for the script."""
    return {
        "alpha": ALPHA,
        "fewest_blocks": FEWEST_FOR_P,
        "most_noise": MOST_NOISE,
        "young": YOUNG,
        "words": {verdict.value: words for verdict, words in WORDS.items()},
    }


def decides(found: Comparison) -> dict[str, Any]:
    """Return what the rule takes of a comparison; ``margin``: before the noise widens it."""
    return {
        "low": found.ratio.low,
        "high": found.ratio.high,
        "low90": found.equivalence.low,
        "high90": found.equivalence.high,
        "blocks": found.blocks_of_verdict,
        "noise": found.noise.noise,
        "margin": default_margin(found.metric),
        "p": found.p_adjusted,
        "about": found.not_about is None,
        "young": found.young,
    }


def decisive(rows: Sequence[VerdictRow]) -> dict[str, list[Any]]:
    """Return what the rule takes of every comparison, one list for each number; digits beyond any rounding are cut."""
    names = rows[0].decides if rows else ()
    return {name: [_cut(one.decides[name]) for one in rows] for name in names}


def _cut(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


def verdict_rows(opened: Mapping[str, Evidence]) -> tuple[VerdictRow, ...]:
    """Return every comparison with the reference, session by session."""
    rows = []
    for session, evidence in opened.items():
        labels = evidence.variants
        title = f"{evidence.header.experiment.title}, {day_of(evidence.sessions[0])}"
        for metric in results_of(evidence).metrics:
            for cell in metric.cells:
                rows += [
                    _row(
                        session,
                        title,
                        metric.metric,
                        cell.levels,
                        labels,
                        one.comparison,
                        one.sides_with(metric.metric.better),
                    )
                    for one in cell.variants
                    if one.comparison is not None
                ]
    return tuple(rows)


def _row(
    session: str,
    title: str,
    metric: Metric,
    levels: Mapping[str, str],
    labels: Mapping[str, str],
    found: Comparison,
    side: str | None,
) -> VerdictRow:
    words = WORDS[found.verdict]
    return VerdictRow(
        session=session,
        title=title,
        metric=metric.words,
        better=metric.better,
        cell=cell_words(levels),
        variant=f"{labels.get(found.variant, found.variant)} over {labels.get(found.reference, found.reference)}",
        ratio=show(found.ratio).interval,
        blocks=found.n_blocks,
        margin=DASH if found.margin is None else percent(found.margin),
        verdict=with_age(words, found.young),
        side=side or "",
        why=found.not_about or found.why_not_equivalent or "",
        trials=tuple(sorted(found.ratio.inputs)),
        decides=decides(found),
    )
