# SPDX-License-Identifier: Apache-2.0
"""What a session says of the number that a claim is about: a ratio by blocks, or a variant's own value.

The comparisons and means are those of every other page (:func:`harness.analysis.stats.comparisons.compare`,
:func:`harness.analysis.stats.summaries.summarise`), under the same condition on what bounded the trials.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.about_services import bounds_of, not_about_services
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
from harness.model.claim import MeasuredNumber
from harness.project import EXPERIMENTS

ERROR_SHARE = "error_share"
#: Of a trial, what tells whether a ratio of its parts speaks of the services.
_BOUND = ("bound_by", "service_share", "generator_share", "backing_share", "machine_share")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One number of one session.

    ``estimate``: of the ratio or the value, with its 95 % interval; ``n``: pairs of trials, or trials.
    ``p_value``: of sign flips against the predicate's limit; ``None``: of a value, or of fewer than five blocks.
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


@dataclass(frozen=True)
class NotMeasured:
    """Why a session says nothing of a number."""

    why: str


def measure(evidence: Evidence, number: MeasuredNumber, *, limit: float) -> Measured | NotMeasured:
    """Return what the session says of a number.

    Args:
        limit: what the predicate compares a ratio with; the p-value is that of the ratio over it.

    Raises:
        InputError: the session is not tidied, or the metric is no column of its trials.
    """
    trials = _trials(evidence, number)
    session = evidence.sessions[0].key
    if isinstance(trials, NotMeasured):
        return trials
    variants = [number.variant] if number.over is None else [number.variant, number.over]
    lacking = [name for name in variants if not _has(trials, number, "variant", name)]
    if lacking:
        return NotMeasured(f"{session} has no such trials of {', '.join(lacking)}")
    if number.factor is not None:
        column = factor_column(number.factor)
        arms = trials[
            (trials["variant"] == number.variant) & trials[column].isin([number.level, number.base])
        ]
        lacking = [
            str(level) for level in (number.level, number.base) if not _has(arms, number, column, str(level))
        ]
        if lacking:
            return NotMeasured(f"{session} has no trials of {number.factor} {', '.join(lacking)}")
        return _ratio(evidence, number, arms.assign(variant=arms[column]), str(number.base), limit)
    if number.over is not None:
        # the session's reference too: its duplicates tell how much is noise
        return _ratio(
            evidence,
            number,
            trials[trials["variant"].isin([*variants, evidence.reference])],
            number.over,
            limit,
        )
    return _value(evidence, number, trials[trials["variant"] == number.variant])


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
            return NotMeasured(f"{evidence.sessions[0].key} has no single requests to cut into parts")
        bound = [name for name in _BOUND if name in trials]
        trials = parts.merge(trials[["session_id", "trial_id", *bound]], on=["session_id", "trial_id"])
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
                return NotMeasured(
                    f"{evidence.sessions[0].key} was measured before it had the factor {factor}"
                )
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
    evidence: Evidence, number: MeasuredNumber, arms: pd.DataFrame, base: str, limit: float
) -> Measured:
    mine = number.level if number.factor is not None else number.variant
    found = _compared(arms, number.metric, str(mine), base)
    against = found
    if limit != 1.0 and found.ratio.value is not None:
        # of the ratio over the limit: the base raised to it
        raised = arms.assign(
            **{number.metric: arms[number.metric].where(arms["variant"] != base, arms[number.metric] * limit)}
        )
        against = _compared(raised, number.metric, str(mine), base)
    return Measured(
        number=number,
        session=evidence.sessions[0].key,
        machine=machine_words(evidence),
        n_cpus=evidence.machine.n_cpus,
        estimate=found.ratio if number.parts else _of_whole(found.ratio, evidence, number.metric),
        comparison=found,
        n=found.n_blocks,
        bound_by=found.bound_by,
        not_about=found.not_about,
        p_value=against.p_value,
    )


def _of_whole(ratio: Estimate, evidence: Evidence, metric: str) -> Estimate:
    """Say that a ratio is of whole loads, where other tables have the same metric of their parts."""
    loads = [trial.configuration.load for trial in evidence.header.plan.trials]
    if not any(load and isinstance(load.profile, OpenLoad) and load.profile.parts > 1 for load in loads):
        return ratio
    said = ratio.estimand.replace(f"of {metric},", f"of the whole load's {metric},", 1)
    return ratio.model_copy(update={"estimand": said})


def _compared(arms: pd.DataFrame, metric: str, mine: str, base: str) -> Comparison:
    return next(one for one in compare(arms, metric, reference=base) if one.variant == mine)


def _value(evidence: Evidence, number: MeasuredNumber, trials: pd.DataFrame) -> Measured:
    kept = counting(trials)
    estimate: Estimate = summarise(trials, number.metric)["estimate"].iloc[0]
    return Measured(
        number=number,
        session=evidence.sessions[0].key,
        machine=machine_words(evidence),
        n_cpus=evidence.machine.n_cpus,
        estimate=estimate,
        comparison=None,
        n=estimate.n_trials,
        bound_by=bounds_of(kept, kept.iloc[:0]),
        not_about=not_about_services(kept, kept, number.metric),
        p_value=None,
    )
