# SPDX-License-Identifier: Apache-2.0
"""The rows of ``rematch results``: in each usual metric every variant over the reference, at each combination of
levels, by the functions that notebooks use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pandas as pd

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.metrics import METRICS, Better, Metric, metrics_of, with_metric
from harness.analysis.stats.ages import young_arms
from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.comparisons import compare as compare_trials
from harness.analysis.stats.session_agreement import SessionAgreement, agreement
from harness.model import Verdict
from harness.model.digits import cell_words, plain
from harness.rows.equal_speed import beside_neighbours, slowed_note
from harness.rows.results import behind, compare, means
from harness.rows.schema import records, stack
from harness.rows.text import Row, is_young


class Line(NamedTuple):
    """A variant in one metric at one combination of levels: the rows of its mean and of its ratio to the reference.

    ``ratio``: ``None`` for the reference, and where no block has both.
    """

    mean: Row
    ratio: Row | None

    @property
    def variant(self) -> str:
        """The variant's name."""
        return str(self.mean["variant"])

    @property
    def young(self) -> bool:
        """Whether its ratio is one of young processes."""
        return self.ratio is not None and is_young(self.ratio)

    def has(self, verdict: Verdict) -> bool:
        """Return whether its ratio has this verdict."""
        return self.ratio is not None and self.ratio["verdict"] == verdict

    def sides_with(self, better: Better) -> Literal["better", "worse"] | None:
        """Return whether it is better or worse than the reference; ``None``: no such verdict."""
        if self.ratio is None or not self.has(Verdict.DIFFERENT):
            return None
        return "better" if (self.ratio["value"] > 1) == (better == "higher") else "worse"


class Cell(NamedTuple):
    """The lines of one combination of levels, the reference first."""

    levels: dict[str, str]
    lines: list[Line]


@dataclass(frozen=True, kw_only=True)
class Results:
    """Rows of a session with the counts of its trials.

    ``outcomes``: outcome -> trials made; ``flags``: flag -> trials that carry it, excluded ones too; ``runtime_cpus``:
    variant -> cell in words -> how many CPUs its runtime in a pod says that it goes by.
    """

    session: str
    profile: str
    reference: str
    draft: str | None
    n_planned: int
    n_made: int
    n_kept: int
    n_blocks: int
    outcomes: dict[str, int]
    exclusion_reasons: dict[str, int]
    flags: dict[str, int]
    runtime_cpus: Mapping[str, Mapping[str, str]]
    young: tuple[str, ...]  # variants whose processes had not settled, in some combination of levels
    factors: tuple[str, ...]
    metrics: tuple[Metric, ...]
    rows: pd.DataFrame

    @property
    def conclusive(self) -> bool:
        """Smoke sessions check that everything works; nothing can be concluded from them."""
        return self.profile != "smoke"

    def cells(self, metric: Metric) -> list[Cell]:
        """Return the rows of a metric by combination of levels, in the definition's order."""
        own = records(self.rows[self.rows["name"] == metric.name])
        ratios = {self._place(row): row for row in own if row["kind"] == "ratio"}
        cells: dict[tuple[str, ...], Cell] = {}
        for row in own:
            if row["kind"] == "mean":
                levels, line = self._place(row)[:-1], Line(row, ratios.get(self._place(row)))
                named = dict(zip(self.factors, levels, strict=True))
                cells.setdefault(levels, Cell(named, [])).lines.append(line)
        for cell in cells.values():
            cell.lines.sort(key=lambda line: line.variant != self.reference)
        return list(cells.values())

    def _place(self, row: Row) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in (*self.factors, "variant"))


def overview(
    trials: pd.DataFrame,
    metrics: Sequence[Metric] = METRICS,
    *,
    reference: str,
    by: Sequence[str] = (),
    level: float = 0.95,
) -> pd.DataFrame:
    """Return for each metric the mean of each variant and its ratio to the reference, where any trial has the metric.

    A mean is of the trials of its ratio. The warnings of a ratio are those of the whole comparison. Where a neighbour
    slowed more than a third of the trials, all count, at equal speed (:func:`beside_neighbours`), as a warning says.
    """
    frames = []
    for metric in metrics:
        measured = with_metric(trials, metric)
        if measured.empty:
            continue
        compared = beside_neighbours(trials, metric.column, by=by)
        options: dict[str, Any] = {"by": by, "level": level, "all_warnings": True}
        ratios = compare(compared, metric.column, metric.name, reference=reference, **options)
        ratios = ratios[ratios["variant"] != ratios["reference"]]
        if note := slowed_note(trials, compared):
            noted = [[*warnings, note] for warnings in ratios["warnings"]]
            ratios = ratios.assign(warnings=pd.Series(noted, index=ratios.index, dtype=object))
        used = behind(compared, ratios, by=by)
        rows = stack(means(used, by=by, level=level, **{metric.name: metric.column}), ratios)
        if by:
            cells = set(measured[list(by)].astype(str).itertuples(index=False, name=None))
            places = rows[list(by)].itertuples(index=False, name=None)
            rows = rows[pd.Series([place in cells for place in places], index=rows.index, dtype=bool)]
        frames.append(rows)
    return stack(*frames)


def results_of(evidence: Evidence, metrics: Sequence[Metric] = METRICS) -> Results:
    """Return what the session of ``evidence``, tidied, says of each metric that any of its trials has."""
    trials, shown = evidence.trials, metrics_of(evidence, metrics)
    blocks = trials.loc[~trials["excluded"].astype(bool), "block"]
    return Results(
        session=evidence.sessions[0].key,
        profile=evidence.profile,
        reference=evidence.reference,
        draft=evidence.draft,
        n_planned=len(evidence.header.plan.trials),
        n_made=len(evidence.sessions[0].finished()),
        n_kept=len(blocks),
        n_blocks=int(blocks.nunique()),
        outcomes=_counts(trials["outcome"]),
        exclusion_reasons=_counts(trials["exclusion_reason"].dropna()),
        flags=_counts(trials["flags"].fillna("").str.split().explode().dropna()),
        runtime_cpus=_runtime_cpus(evidence),
        young=tuple(young_arms(trials)),
        factors=evidence.factors,
        metrics=shown,
        rows=overview(trials, shown, reference=evidence.reference, by=evidence.factors),
    )


def session_agreement(first: Evidence, second: Evidence) -> SessionAgreement:
    """Return every verdict of ``rematch results`` in one session beside that in another, both tidied.

    A variant is comparable where each of its trials, in both sessions, ran the same program on the same runtime.
    """
    programs, later = first.programs, second.programs
    changed = tuple(name for name in programs if name in later and programs[name] != later[name])
    return agreement(_comparisons(first), _comparisons(second), changed=changed)


def _comparisons(evidence: Evidence) -> tuple[Comparison, ...]:
    """Return the comparisons behind the ratios of :func:`overview`."""
    factors, compared = list(evidence.factors), []
    for metric in metrics_of(evidence):
        places = with_metric(evidence.trials, metric)[factors].astype(str)
        cells = set(places.itertuples(index=False, name=None)) or {()}
        trials = beside_neighbours(evidence.trials, metric.column, by=factors)
        pairs = compare_trials(trials, metric.column, reference=evidence.reference, by=factors)
        compared += [each for each in pairs if (*each.levels.values(),) in cells]
    return tuple(compared)


def _counts(values: pd.Series[str]) -> dict[str, int]:
    return dict(Counter(map(str, values)).most_common())


def goes_by(trials: pd.DataFrame) -> str:
    """Return the CPUs that runtimes in pods say they go by, and a JVM's collector: ``2`` or ``1, Serial``; empty: no
    trial says so."""
    recorded = trials[trials["runtime_cpus"].notna()]
    words = {
        f"{plain(int(cpus))}, {collector}" if isinstance(collector, str) else plain(int(cpus))
        for cpus, collector in zip(recorded["runtime_cpus"], recorded["gc_found"], strict=True)
    }
    return " or ".join(sorted(words))


def _runtime_cpus(evidence: Evidence) -> Mapping[str, Mapping[str, str]]:
    """Variant -> cell in words -> what its runtime goes by there; without those that do not say so."""
    by_variant: dict[str, dict[str, str]] = {}
    recorded = evidence.trials[evidence.trials["runtime_cpus"].notna()]
    for (*levels, variant), trials in recorded.groupby([*evidence.factors, "variant"], sort=False):
        place = cell_words(dict(zip(evidence.factors, map(str, levels), strict=True)))
        by_variant.setdefault(str(variant), {})[place] = goes_by(trials)
    return by_variant
