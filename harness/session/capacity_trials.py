# SPDX-License-Identifier: Apache-2.0
"""The trials of a search for the capacity: real loads on one warm process, as the search asks for them.

A search is part of a calibration, or of each trial, after its load.

Profiles for small machines offer shares of a capacity (``rate_share``, ``users_share``) instead of the
published numbers, and that capacity is measured here, never guessed. Users without a pause ask the
reference variant's first configuration, by the generator of the trials, for a few seconds (or each variant's,
warmed up as trials are: the least capacity counts); the capacity
is what was answered rightly per second, in passes of a flow or in requests of a plain mix. It is written
once (``calibration.json``) and stands in the session's header, so that a session that is resumed goes on
with the same plan.

With ``capacity = "search"`` that is only where it begins: in the same process arrivals at rates around it are offered,
and the capacity is the highest rate that keeps its goals. All these trials are
kept with it.

The capacity is that of generator, service and backing services together on shared cores. It says where
this machine's limit lies, not how fast the service is; no estimate is made of it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import numpy as np

from harness.analysis.load.capacity_search import judged, search_capacity
from harness.errors import CalibrationFailed, TrialFailure
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.loadgen.base import LoadGenerator
from harness.loadgen.flow import is_flow
from harness.model import (
    BuildRecord,
    Calibration,
    CalibrationSpec,
    CapacityGoals,
    CapacitySearch,
    Configuration,
    Implementation,
    Load,
    LoadSummary,
    OpenLoad,
    Request,
    SearchTrial,
)
from harness.model.load_tools import BY_NAME, GeneratorName
from harness.runner import Limits, LoadAgain, TrialContext, TrialSpec
from harness.runner.trial import rehearse, unplanned
from harness.workloads import Case


def arrivals(
    goals: CapacityGoals, generator: GeneratorName, *, rate_per_s: float = 1.0, duration_s: float = 1.0
) -> Load:
    """Return the load of one trial; a tool that offers whole rates only is given one."""
    rate = max(float(round(rate_per_s)), 1.0) if BY_NAME[generator].whole_rates else rate_per_s
    return Load(
        generator=generator,
        profile=OpenLoad(
            rate_per_s=rate, duration_s=duration_s, arrivals=goals.arrivals, connections=goals.connections
        ),
    )


@dataclass(kw_only=True)
class SearchAfterLoad:
    """Searches for the capacity of a trial's process once its load is over; see ``Then`` of the runner.

    ``spec``: of the trial. ``context``: of the search's own load tool. ``folder``: the name of one that is made for
    each of its loads and thrown away. ``found``: what it came to; ``None``: it has not ended.
    """

    spec: TrialSpec
    goals: CapacityGoals
    tool: GeneratorName
    generator: LoadGenerator
    context: TrialContext
    folder: Path
    found: CapacitySearch | None = None

    def __call__(self, load: LoadSummary, again: LoadAgain) -> None:
        """Search around what the load reached, right answers per second.

        Raises:
            TrialFailure: no rate keeps the goals, or service or generator ended early.
        """
        right = load.n_requests - load.n_errors
        if load.duration_s <= 0 or right <= 0:
            raise TrialFailure("failed", "the load reached nothing that a search could begin at")
        trials = CapacityTrials(
            order=replace(self.spec, folder=self.folder),
            goals=self.goals,
            tool=self.tool,
            generator=self.generator,
            context=self.context,
            again=again,
        )
        try:
            self.found = trials.search(right / load.duration_s)
        except CalibrationFailed as problem:
            raise TrialFailure("failed", str(problem)) from problem


@dataclass(frozen=True, kw_only=True)
class CapacityTrials:
    """Offers loads to one process, one after another, and says what became of each.

    ``order``: the trial that began the process. ``tool``, ``generator``: of the search.
    """

    order: TrialSpec
    goals: CapacityGoals
    tool: GeneratorName
    generator: LoadGenerator
    context: TrialContext
    again: LoadAgain
    #: No two trials have the same arrivals: they would share their bad luck.
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def search(self, begin_per_s: float) -> CapacitySearch:
        """Search around a rate.

        Raises:
            CalibrationFailed: no rate keeps the goals.
            TrialFailure: service or generator ended early.
        """
        return search_capacity(
            self.offer, self.goals,
            lowest_per_s=self.goals.from_share * begin_per_s, highest_per_s=self.goals.to_share * begin_per_s,
        )  # fmt: skip

    def offer(self, rate_per_s: float, duration_s: float) -> SearchTrial:
        """Offer a rate (passes per second) for so long, in a folder that is thrown away."""
        load = arrivals(self.goals, self.tool, rate_per_s=rate_per_s, duration_s=duration_s)
        configuration = self.order.planned.configuration.model_copy(
            update={"load_name": "search", "load": load}
        )
        folder = self.order.folder.with_name(f"{self.order.folder.name}-search")
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "load").mkdir(parents=True)
        try:
            spec = replace(
                self.order,
                planned=unplanned("search", configuration),
                generator=self.generator,
                folder=folder,
                seed=self.order.seed + next(self.numbers),
            )
            summary = self.again(spec, self.context)
            latency_s = latencies(folder / "load")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return of_load(self.goals, summary, latency_s, rate_per_s=rate_per_s, duration_s=duration_s)


def latencies(folder: Path) -> np.ndarray:
    """Return the latencies of the right answers of one load, in seconds.

    Raises:
        TrialFailure: its tool left no rows.
    """
    table = rows_of(folder)
    if table is None:
        raise TrialFailure(
            "failed", "the load left no row per request, so nothing tells which answers were late"
        )
    return np.asarray(table.latency_s[table.ok], dtype=np.float64)


def rows_of(folder: Path) -> RequestTable | None:
    """Return the single requests that a tool left in its folder; ``None``: it left none."""
    for path in sorted(folder.glob("samples.*")):
        table = read_any(path) if path.suffix in (".jtl", ".csv", ".db") else None
        if isinstance(table, RequestTable):
            return table
    return None


def of_load(
    goals: CapacityGoals, summary: LoadSummary, latency_s: np.ndarray, *, rate_per_s: float, duration_s: float
) -> SearchTrial:
    """Return what a load came to: shares of its arrivals (of a flow, passes) and of its requests."""
    sent, right = summary.n_requests, summary.n_requests - summary.n_errors
    if summary.n_flows is not None and summary.n_flows_right is not None:
        sent, right = summary.n_flows, summary.n_flows_right
    n_arrivals = sent + (summary.n_dropped or 0)
    took_s = max(summary.duration_s, duration_s)
    n_late = int(np.count_nonzero(latency_s > goals.late_after_s))
    return judged(
        goals,
        rate_per_s=rate_per_s,
        duration_s=duration_s,
        n_arrivals=n_arrivals,
        right_per_s=right / took_s,
        lost_share=1 - right / n_arrivals if n_arrivals else 0.0,
        late_share=n_late / summary.n_requests if summary.n_requests else 0.0,
    )


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
