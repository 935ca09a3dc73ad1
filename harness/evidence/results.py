# SPDX-License-Identifier: Apache-2.0
"""What a session says: every variant against the reference, in the usual metrics, at each cell of levels.

The same comparisons as in the notebooks (:func:`harness.analysis.stats.comparisons.compare`), of one session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.pairing import inputs_of
from harness.analysis.stats.session_agreement import SessionAgreement, agreement, expected_agreement
from harness.analysis.stats.summaries import summarise
from harness.errors import InputError
from harness.evidence.experiment import Evidence
from harness.model import Estimate, Flag, Verdict
from harness.model.digits import plain
from harness.model.level_words import cell_words
from harness.project import experiment_paths

Better = Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """``name``: on the command line; ``words``: in a sentence; ``better``: which direction is the better one."""

    name: str
    column: str
    words: str
    better: Better


#: In this order; the first that a session has is what its winner is named by.
METRICS = (
    Metric(name="throughput", column="throughput_per_s", words="throughput", better="higher"),
    Metric(name="mean", column="latency_mean_s", words="mean latency", better="lower"),
    Metric(name="p99", column="latency_p99_s", words="99th percentile of latency", better="lower"),
    Metric(name="cpu", column="cpu_s_per_request", words="CPU time per request", better="lower"),
    Metric(name="memory", column="rss_after_bytes", words="memory after the load (RSS)", better="lower"),
    Metric(name="start", column="time_to_first_response_s", words="time to first response", better="lower"),
)
#: In the place of resident memory for services of one's own, which may be several processes: a page that they share
#: counts once.
PROPORTIONAL = Metric(
    name="memory",
    column="pss_after_bytes",
    words="memory after the load (PSS of all its processes)",
    better="lower",
)

#: What a flag is called at the head of a column; when it is set stands in ``harness.runner.outcome``.
FLAG_WORDS: dict[Flag, str] = {
    "generator_bottleneck": "generator at its limit",
    "headroom_unknown": "generator's limit unknown",
    "errors_seen": "errors",
    "arrivals_dropped": "arrivals dropped",
    "throttled": "throttled",
    "noisy_machine": "machine noisy",
    "shared_cores": "cores shared",
    "killed_on_stop": "killed at the end",
    "limits_not_enforced": "limits not enforced",
    "sampling_gap": "gap in the samples",
    "few_requests": "under 1,000 requests",
    "clock_skew": "clocks apart",
    "still_compiling": "JVM still compiling",
}


@dataclass(frozen=True, kw_only=True)
class VariantResult:
    """One variant in one metric at one cell; ``comparison``: None for the reference and where it is not there."""

    variant: str
    estimate: Estimate
    comparison: Comparison | None

    @property
    def young(self) -> bool:
        """Whether its ratio is one of young processes."""
        return self.comparison is not None and self.comparison.young

    def sides_with(self, better: Better) -> Literal["better", "worse"] | None:
        """Return whether it is better or worse than the reference; ``None``: no such verdict."""
        comparison = self.comparison
        if (
            comparison is None
            or comparison.verdict is not Verdict.DIFFERENT
            or comparison.ratio.value is None
        ):
            return None
        return "better" if (comparison.ratio.value > 1) == (better == "higher") else "worse"


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """The variants at one combination of factor levels, the reference first."""

    levels: dict[str, str]
    variants: tuple[VariantResult, ...]


@dataclass(frozen=True, kw_only=True)
class MetricResult:
    """One metric in every cell that has it."""

    metric: Metric
    cells: tuple[CellResult, ...]


@dataclass(frozen=True, kw_only=True)
class Results:
    """``outcomes``: outcome -> trials made; ``flags``: flag -> trials that carry it, excluded ones too;
    ``runtime_cpus``: variant -> cell in words -> how many CPUs its runtime in a pod says that it goes by."""

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
    metrics: tuple[MetricResult, ...]

    @property
    def conclusive(self) -> bool:
        """Smoke sessions check that everything works; nothing can be concluded from them."""
        return self.profile != "smoke"


def metrics_named(names: Sequence[str]) -> tuple[Metric, ...]:
    """Return these metrics, all where none is named.

    Raises:
        InputError: there is no such metric.
    """
    known = {metric.name: metric for metric in METRICS}
    for name in names:
        if name not in known:
            raise InputError("no such metric", place="--metric", found=name, allowed=", ".join(known))
    return tuple(known[name] for name in names) if names else METRICS


def results_of(evidence: Evidence, metrics: Sequence[Metric] = METRICS) -> Results:
    """Return what the session of ``evidence`` says of each metric that any of its trials has.

    Throughput is left out of cells whose load is open: its rate is given, and no result.

    Raises:
        InputError: the session is not tidied.
    """
    trials = evidence.trials
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
        metrics=tuple(
            MetricResult(metric=metric, cells=_cells(evidence, metric))
            for metric in _shown(evidence, metrics)
        ),
    )


def verdicts_of(evidence: Evidence) -> tuple[Comparison, ...]:
    """Return every comparison that :func:`results_of` has, in its order, without the values beside them.

    Raises:
        InputError: the session is not tidied.
    """
    return tuple(
        comparison
        for metric in _shown(evidence, METRICS)
        for levels in _cells_with(evidence, metric)
        for comparison in evidence.compared(metric.column)
        if comparison.levels == levels
    )


def session_agreement(evidence: Evidence, other: Evidence) -> SessionAgreement:
    """Return every verdict of ``rematch results`` in one session beside that in another.

    A variant is comparable where each of its trials, in both sessions, ran the same program on the same runtime.

    Raises:
        InputError: one of them is not tidied.
    """
    return agreement(verdicts_of(evidence), verdicts_of(other), changed=changed_programs(evidence, other))


def changed_programs(evidence: Evidence, other: Evidence) -> tuple[str, ...]:
    """Return the variants of both sessions whose program or runtime is not the same in both."""
    first, second = evidence.programs, other.programs
    return tuple(name for name in first if name in second and first[name] != second[name])


def counts_in_words(found: SessionAgreement, *, changed: bool = False) -> str:
    """Return ``22 of 33 verdicts agree (where nothing changed, sampling alone gives 18 to 27, on average 23.1), none
    contradict, in 11 at most one session decides, and in 4 of the 22 neither does``; kinds without pairs omitted."""
    counts, expected = found.counts(changed=changed), expected_agreement(found, changed=changed)
    beside = ""
    if expected is not None:
        span = f"{expected.low} to {expected.high}" if expected.low < expected.high else str(expected.low)
        beside = f" (where nothing changed, sampling alone gives {span}, on average {plain(expected.agree)})"
    words = [f"{counts['agree']} of {sum(counts.values())} verdicts agree{beside}"]
    if counts["contradict"] or counts["one undecided"]:
        n = counts["contradict"]
        words.append(f"{n or 'none'} contradict{'s' if n == 1 else ''}")
    if counts["one undecided"]:
        words.append(f"in {counts['one undecided']} at most one session decides")
    if n_neither := found.n_undecided_in_both(changed=changed):
        neither = "neither does" if counts["one undecided"] else "neither session decides"
        words.append(f"and in {n_neither} of the {counts['agree']} {neither}")
    return ", ".join(words)


def _shown(evidence: Evidence, metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """The metrics that any trial has."""
    if (
        evidence.experiment not in experiment_paths(evidence.root)
        and evidence.trials[PROPORTIONAL.column].notna().any()
    ):
        metrics = [PROPORTIONAL if metric.name == PROPORTIONAL.name else metric for metric in metrics]
    return tuple(metric for metric in metrics if not _with(evidence.trials, metric).empty)


def _with(trials: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The kept trials that have the metric as a result."""
    has_metric = ~trials["excluded"].astype(bool) & trials[metric.column].notna()
    if metric.name == "throughput":
        has_metric &= trials["load_model"].fillna("") != "open"
    return trials[has_metric]


def _cells_with(evidence: Evidence, metric: Metric) -> list[dict[str, str]]:
    """The combinations of levels at which any trial has the metric."""
    factors = list(evidence.factors)
    present = _with(evidence.trials, metric)[factors]
    combinations = set(present.astype(str).itertuples(index=False, name=None))
    return [
        levels for levels in evidence.cells() if tuple(levels[factor] for factor in factors) in combinations
    ]


def _cells(evidence: Evidence, metric: Metric) -> tuple[CellResult, ...]:
    factors = list(evidence.factors)
    compared = {(one.variant, *one.levels.values()): one for one in evidence.compared(metric.column)}
    trials = of_ratios(evidence.trials, compared.values(), [*factors, "variant"])
    frame = summarise(trials, metric.column, by=[*factors, "variant"])
    results: list[CellResult] = []
    for levels in _cells_with(evidence, metric):
        places = tuple(levels[factor] for factor in factors)
        variants = [
            VariantResult(variant=variant, estimate=estimate, comparison=compared.get((variant, *places)))
            for variant, estimate, *at in zip(
                frame["variant"],
                frame["estimate"],
                *(frame[factor].astype(str) for factor in factors),
                strict=True,
            )
            if tuple(at) == places
        ]
        variants.sort(key=lambda one: one.variant != evidence.reference)
        results.append(CellResult(levels=levels, variants=tuple(variants)))
    return tuple(results)


def of_ratios(trials: pd.DataFrame, compared: Iterable[Comparison], groups: Sequence[str]) -> pd.DataFrame:
    """Return the trials that any ratio is of, so that a value is of the same ones; of a group without, all."""
    inputs = {trial for comparison in compared for trial in comparison.ratio.inputs}
    used = pd.Series([trial in inputs for trial in inputs_of(trials)], index=trials.index)
    has_any = used.groupby([trials[name] for name in groups], observed=True, dropna=False).transform("any")
    return trials[used | ~has_any | trials["excluded"].astype(bool)]


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
    if evidence.trials["runtime_cpus"].notna().any():
        for levels in evidence.cells():
            for variant, trials in evidence.cell(**levels).groupby("variant"):
                if words := goes_by(trials):
                    by_variant.setdefault(str(variant), {})[cell_words(levels)] = words
    return by_variant
