# SPDX-License-Identifier: Apache-2.0
"""How much this machine bears: saturated trials before a session plans its loads, of the reference or of all variants.

Profiles for small machines offer shares of a capacity (``rate_share``, ``users_share``) instead of the
published numbers, and that capacity is measured here, never guessed. Users without a pause ask the
reference variant's first configuration, by the generator of the trials, for a few seconds (or each variant's,
warmed up as trials are: the least capacity counts); the capacity
is what was answered rightly per second, in passes of a flow or in requests of a plain mix. It is written
once (``calibration.json``) and stands in the session's header, so that a session that is resumed goes on
with the same plan.

With ``capacity = "search"`` that is only where it begins: in the same process arrivals at rates around it are offered,
and the capacity is the highest rate that keeps its goals (``harness/session/capacity_trials.py``). All these trials are
kept with it.

The capacity is that of generator, service and backing services together on shared cores. It says where
this machine's limit lies, not how fast the service is; no estimate is made of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import CalibrationFailed
from harness.loadgen.base import LoadGenerator
from harness.loadgen.flow import is_flow
from harness.model import (
    BuildRecord,
    Calibration,
    CalibrationSpec,
    CapacitySearch,
    Configuration,
    Implementation,
    LoadSummary,
    Request,
)
from harness.runner import Limits, LoadAgain, TrialContext, TrialSpec
from harness.runner.short_trial import rehearse, unplanned
from harness.session.capacity_trials import CapacityTrials
from harness.workloads import Case


@dataclass(frozen=True, kw_only=True)
class CalibrationTrial:
    """One saturated trial of a configuration, in a folder that is thrown away."""

    order: CalibrationSpec
    configuration: Configuration
    implementation: Implementation
    build: BuildRecord
    requests: tuple[Request, ...]
    cases: tuple[Case, ...]
    generator: LoadGenerator
    warm_up_generator: LoadGenerator | None = None
    search_generator: LoadGenerator | None = None
    folder: Path
    contract: Path
    seed: int
    limits: Limits


def saturated(configuration: Configuration, spec: CalibrationSpec) -> Configuration:
    """Return the configuration under the calibration's load; a database that lives on is not touched by it."""
    backing = configuration.backing
    return configuration.model_copy(
        update={
            "load_name": "calibration",
            "load": spec.load,
            "warm_up_requests": spec.warm_up_requests,
            "backing": None if backing is None else backing.model_copy(update={"wiped": True}),
        }
    )


def capacity_per_s(load: LoadSummary, n_steps: int) -> float:
    """Return right passes per second, counted by their steps: the passes under way at the end count in part."""
    right = (load.n_requests - load.n_errors) / n_steps
    return right / load.duration_s if load.duration_s > 0 else 0.0


def calibrate(
    trial: CalibrationTrial, context: TrialContext, search_context: TrialContext | None = None
) -> Calibration:
    """Saturate the configuration, search from there where that is asked for, and return the capacity.

    Args:
        search_context: of the search's own load tool; ``None``: as the saturation's.

    Raises:
        CalibrationFailed: nothing was answered rightly, or no rate keeps the goals; without a capacity there is no
            plan.
    """
    n_steps = len(trial.requests) if is_flow(trial.requests) else 1
    order, goals = _as_order(trial), trial.order.goals
    searches: list[CapacitySearch] = []

    def search(saturation: LoadSummary, again: LoadAgain) -> None:
        begin_per_s = capacity_per_s(saturation, n_steps)
        if goals is None or trial.search_generator is None or begin_per_s <= 0:
            return
        offered = CapacityTrials(
            order=order,
            goals=goals,
            tool=goals.generator or trial.order.generator,
            generator=trial.search_generator,
            context=search_context or context,
            again=again,
        )
        searches.append(offered.search(begin_per_s))

    record = rehearse(order, context, then=None if goals is None else search)
    result = capacity_per_s(record.load, n_steps) if record.load is not None else 0.0
    if record.load is None or result <= 0 or (goals is not None and not searches):
        raise CalibrationFailed(
            f"the calibration of {trial.configuration.key} found no capacity: {record.outcome.value}"
            f"{f': {record.reason}' if record.reason else ''}; see that this variant runs here, then start again"
        )
    return Calibration(
        order=trial.order,
        variant=trial.configuration.variant_name,
        configuration=trial.configuration.key,
        mix=trial.configuration.mix,
        n_steps=n_steps,
        capacity_per_s=round(searches[0].lower_per_s if searches else result, 3),
        n_requests=record.load.n_requests,
        n_errors=record.load.n_errors,
        duration_s=record.load.duration_s,
        measured_epoch_s=time.time(),
        searches={trial.configuration.variant_name: searches[0]} if searches else {},
    )


def least_of(found: Sequence[Calibration]) -> Calibration:
    """Return the calibration with the least capacity; of several it names all."""
    least = min(found, key=lambda one: one.capacity_per_s)
    if len(found) == 1:
        return least
    searches = {name: search for item in found for name, search in item.searches.items()}
    return least.model_copy(
        update={
            "capacities_per_s": {item.variant: item.capacity_per_s for item in found},
            "searches": searches,
        }
    )


def _as_order(trial: CalibrationTrial) -> TrialSpec:
    return TrialSpec(
        planned=unplanned("calibration", saturated(trial.configuration, trial.order)),
        experiment="calibration",
        session_id="calibration",
        implementation=trial.implementation,
        build=trial.build,
        generator=trial.generator,
        warm_up_generator=trial.warm_up_generator,
        requests=trial.requests,
        cases=trial.cases,
        folder=trial.folder,
        contract=trial.contract,
        seed=trial.seed,
        limits=trial.limits,
    )
