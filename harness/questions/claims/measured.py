# SPDX-License-Identifier: Apache-2.0
"""What a session says of the number that a claim is about: a ratio by blocks, or a variant's own value.

The comparisons and means are those of every other page (:func:`harness.analysis.stats.comparisons.compare`,
:func:`harness.analysis.stats.summaries.summarise`), under the same condition on what bounded the trials. Facts of
files and builds are no measurements of services: they have no interval, and nothing bounds them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.about_services import BOUND_SHARE, bounds_of, condition_of, not_about_services
from harness.analysis.stats.ages import AGE, ages_of
from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import counting
from harness.analysis.stats.summaries import summarise
from harness.analysis.tables.schema import factor_column
from harness.analysis.tables.success_shares import failed_share
from harness.definitions.strict_files import read_toml
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.load_parts import parts_table
from harness.model import Estimate, OpenLoad
from harness.model.age import Ages
from harness.model.claim import MeasuredNumber
from harness.project import EXPERIMENTS

ERROR_SHARE = "error_share"
#: Of a trial, what tells whether a ratio of its parts speaks of the services, and of which age.
_OF_TRIAL = (
    "bound_by", "service_share", "generator_share", "backing_share", "machine_share", AGE, "measurement_s",
)  # fmt: skip
#: Sizes of files and the time of the one build: the same in every trial.
_FACTS = ("image_bytes", "build_s")
#: Time until warm, which is counted in windows of the warm-up.
_IN_WINDOWS = "cold_s"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One number of one session.

    ``estimate``: of the ratio or the value, with its 95 % interval; ``n``: pairs of trials, or trials.
    ``p_value``: of sign flips against the predicate's limit; ``None``: of a value, or of fewer than five blocks.
    ``ages``: of both arms, a value's twice; ``None``: the number has no age. ``fact``: of files or a build, without an
    interval. ``below``: the estimate is 0 in every trial, so less than this resolution, in the metric's unit.
    """

    number: MeasuredNumber
    session: str
    machine: str
    n_cpus: int
    estimate: Estimate
    comparison: Comparison | None
    n: int
    bound_by: dict[str, int]
    not_about: str | None
    p_value: float | None
    ages: Ages | None = None
    fact: bool = False
    below: float | None = None

    @property
    def n_measured(self) -> int:
        """How many there are with those that are left out for their age."""
        beside = None if self.comparison is None else self.comparison.beside
        return self.n if beside is None else beside.n_blocks

    @property
    def young(self) -> bool:
        """Whether an arm is young: then the number is one of young processes."""
        return self.ages is not None and self.ages.young

    @property
    def warm(self) -> bool:
        """Whether every arm has warmed up, or is compiled ahead of time."""
        return self.ages is not None and self.ages.warm


@dataclass(frozen=True)
class NotMeasured:
    """Why a session says nothing of a number."""

    why: str


def measure(
    evidence: Evidence, number: MeasuredNumber, *, limit: float, gated: bool = True
) -> Measured | NotMeasured:
    """Return what the session says of a number.

    Args:
        limit: what the predicate compares a ratio with; the p-value is that of the ratio over it.
        gated: ask whether the number speaks of the services; false of a claim on a whole system.

    Raises:
        InputError: the session is not tidied, or the metric is no column of its trials.
    """
    trials = _trials(evidence, number)
    if isinstance(trials, NotMeasured):
        return trials
    variants = [number.variant] if number.over is None else [number.variant, number.over]
    lacking = [name for name in variants if not _has(trials, number, "variant", name)]
    if lacking:
        levels = ", ".join(f"{factor}={level}" for factor, level in number.levels.items())
        at = f" at {levels}" if levels else ""
        return NotMeasured(f"no {number.metric} of {', '.join(lacking)}{at} in {number.experiment}")
    if number.factor is not None:
        column = factor_column(number.factor)
        arms = trials[
            (trials["variant"] == number.variant) & trials[column].isin([number.level, number.base])
        ]
        lacking = [
            str(level) for level in (number.level, number.base) if not _has(arms, number, column, str(level))
        ]
        if lacking:
            return NotMeasured(f"no trials of {number.factor} {', '.join(lacking)} in {number.experiment}")
        return _ratio(evidence, number, arms.assign(variant=arms[column]), str(number.base), limit, gated)
    if number.over is not None:
        # the session's reference too: its duplicates tell how much is noise
        arms = trials[trials["variant"].isin([*variants, evidence.reference])]
        return _ratio(evidence, number, arms, number.over, limit, gated)
    return _value(evidence, number, trials[trials["variant"] == number.variant], gated)


def machine_words(evidence: Evidence) -> str:
    """Return the machine of a session: its CPUs and their model."""
    n = evidence.machine.n_cpus
    return f"{n} {'CPU' if n == 1 else 'CPUs'}, {evidence.machine.cpu_model}"


def _trials(evidence: Evidence, number: MeasuredNumber) -> pd.DataFrame | NotMeasured:
    """The trials at the number's levels, or the parts of their loads."""
    trials = evidence.trials
    if number.parts:
        parts = parts_table(evidence)
        if parts is None:
            return NotMeasured(f"{number.experiment} has no single requests to cut into parts")
        more = [name for name in _OF_TRIAL if name in trials and name not in parts]
        trials = parts.merge(trials[["session_id", "trial_id", *more]], on=["session_id", "trial_id"])
    else:
        trials = trials.assign(**{ERROR_SHARE: failed_share(trials)})
    if number.metric not in trials:
        raise InputError(
            "no such metric", place=number.experiment, found=number.metric,
            allowed="error_share, or a column of trials.parquet (docs/data.md)",
        )  # fmt: skip
    for factor, level in number.levels.items():
        column = factor_column(factor)
        if column not in trials:
            if not _as_defined(evidence, number, factor, level):
                return NotMeasured(f"{number.experiment} was measured before it had the factor {factor}")
            continue
        trials = trials[trials[column] == level]
    return trials


def _as_defined(evidence: Evidence, number: MeasuredNumber, factor: str, level: str) -> bool:
    """Whether a session from before a factor measured what its level is: the variants had all settings of the level."""
    path = evidence.root / EXPERIMENTS / f"{number.experiment}.toml"
    wanted = read_toml(path).get("factors", {}).get(factor, {}).get(level, {})
    names = [number.variant, *([] if number.over is None else [number.over])]
    variants = [evidence.header.experiment.variants[name] for name in names]
    return set(wanted) == {"settings"} and all(
        wanted["settings"].items() <= variant.settings.items() for variant in variants
    )


def _has(trials: pd.DataFrame, number: MeasuredNumber, column: str, name: str) -> bool:
    mine = trials[(trials[column] == name) & ~trials["excluded"].astype(bool)]
    return bool(mine[number.metric].notna().any())


def _ratio(
    evidence: Evidence, number: MeasuredNumber, arms: pd.DataFrame, base: str, limit: float, gated: bool
) -> Measured | NotMeasured:
    mine = str(number.level if number.factor is not None else number.variant)
    found = _compared(arms, number.metric, mine, base, gated)
    if condition_of(number.metric) == "throughput" and _at_a_rate(found.bound_by):
        return NotMeasured(f"in {number.experiment} all meet the rate that is offered")
    against = found
    if limit != 1.0 and found.ratio.value is not None:
        # of the ratio over the limit: the base raised to it
        raised = arms.assign(
            **{number.metric: arms[number.metric].where(arms["variant"] != base, arms[number.metric] * limit)}
        )
        against = _compared(raised, number.metric, mine, base, gated)
    fact = number.metric in _FACTS
    return Measured(
        number=number,
        session=evidence.sessions[0].key,
        machine=machine_words(evidence),
        n_cpus=evidence.machine.n_cpus,
        estimate=found.ratio if number.parts else _of_whole(found.ratio, evidence, number.metric),
        comparison=found,
        n=1 if fact else found.n_blocks,
        bound_by={} if fact else found.bound_by,
        not_about=found.not_about,
        p_value=against.p_value,
        ages=found.ages,
        fact=fact,
    )


def _at_a_rate(bound_by: dict[str, int]) -> bool:
    """Whether trials answered what was offered: their throughput is the plan's."""
    return bool(bound_by) and bound_by.get("offered", 0) >= BOUND_SHARE * sum(bound_by.values())


def _of_whole(ratio: Estimate, evidence: Evidence, metric: str) -> Estimate:
    """Say that a ratio is of whole loads, where other tables have the same metric of their parts."""
    loads = [trial.configuration.load for trial in evidence.header.plan.trials]
    if not any(load and isinstance(load.profile, OpenLoad) and load.profile.parts > 1 for load in loads):
        return ratio
    said = ratio.estimand.replace(f"of {metric},", f"of the whole load's {metric},", 1)
    return ratio.model_copy(update={"estimand": said})


def _compared(arms: pd.DataFrame, metric: str, mine: str, base: str, gated: bool) -> Comparison:
    return next(one for one in compare(arms, metric, reference=base, gated=gated) if one.variant == mine)


def _value(evidence: Evidence, number: MeasuredNumber, trials: pd.DataFrame, gated: bool) -> Measured:
    kept = counting(trials)
    ages = ages_of(kept, kept, number.metric)
    if ages is not None and ages.warm and condition_of(number.metric) is not None:
        kept = kept[kept[AGE] == ages.variant.age]
    estimate: Estimate = summarise(kept, number.metric)["estimate"].iloc[0]
    resolution = _resolution(evidence, number.metric)
    return Measured(
        number=number,
        session=evidence.sessions[0].key,
        machine=machine_words(evidence),
        n_cpus=evidence.machine.n_cpus,
        estimate=estimate,
        comparison=None,
        n=estimate.n_trials,
        bound_by=bounds_of(kept, kept.iloc[:0]),
        not_about=not_about_services(kept, kept, number.metric) if gated else None,
        p_value=None,
        ages=ages,
        below=resolution if estimate.value == 0 else None,
    )


def _resolution(evidence: Evidence, metric: str) -> float | None:
    """Return the least that a metric can tell from nothing, in its unit; ``None``: it is not counted in steps."""
    if metric != _IN_WINDOWS:
        return None
    spec = evidence.header.experiment.profiles[evidence.header.plan.profile].warm_up
    return None if spec is None else float(spec.window_s)
