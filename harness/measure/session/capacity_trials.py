# SPDX-License-Identifier: Apache-2.0
"""Capacities: of a session once, for its scaled loads, and of each trial where its profile searches for one.

Profiles for small machines offer shares of a capacity (``rate_share``, ``users_share``), which is measured before the
first trial: what users without a pause have answered rightly, in passes of a flow or requests of a plain mix per
second. It is written once (``calibration.json``) and stands in the session's header. With ``capacity = "search"`` the
same process is then offered arrivals at rates around it; the capacity is the highest rate that keeps its goals.

It is that of generator, service and backing services together on shared cores; no estimate is made of it.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

import numpy as np

from harness.analysis.load.capacity_search import judged, search_capacity
from harness.errors import CalibrationFailed, TrialFailure
from harness.loadgen.base import LoadGenerator
from harness.loadgen.flow import is_flow
from harness.loadgen.row_counts import rows_of
from harness.measure.runner import LoadAgain, TrialContext, TrialSpec
from harness.measure.runner.trial import rehearse, unplanned
from harness.model import (
    Calibration,
    CalibrationSpec,
    CapacityGoals,
    CapacitySearch,
    Configuration,
    Load,
    LoadSummary,
    OpenLoad,
    SearchTrial,
)
from harness.model.load_tools import BY_NAME, GeneratorName


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
class CapacityTrials:
    """Searches for a capacity on a process that has had its load; ``after_load`` is what ``Then`` of the runner is.

    ``order``: the trial that began the process; beside its ``folder`` one is made for each load and thrown away.
    ``tool``, ``generator``, ``context``: of the search. ``n_steps``: of a pass. ``result``: what it came to; ``None``:
    it has not ended.
    """

    order: TrialSpec
    goals: CapacityGoals
    tool: GeneratorName
    generator: LoadGenerator
    context: TrialContext
    n_steps: int = 1
    result: CapacitySearch | None = None
    #: No two trials have the same arrivals: they would share their bad luck.
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def after_load(self, load: LoadSummary, again: LoadAgain) -> None:
        """Search around what the load reached.

        Raises:
            TrialFailure: the load reached nothing, no rate keeps the goals, or service or generator ended early.
        """
        begin_per_s = capacity_per_s(load, self.n_steps)
        if begin_per_s <= 0:
            raise TrialFailure("failed", "the load reached nothing that a search could begin at")
        try:
            self.result = search_capacity(
                partial(self.offer, again),
                self.goals,
                lowest_per_s=self.goals.from_share * begin_per_s,
                highest_per_s=self.goals.to_share * begin_per_s,
            )
        except CalibrationFailed as problem:
            raise TrialFailure("failed", str(problem)) from problem

    def offer(self, again: LoadAgain, rate_per_s: float, duration_s: float) -> SearchTrial:
        """Offer a rate (passes per second) for so long, in a folder that is thrown away.

        Raises:
            TrialFailure: as of ``after_load``; or the tool left no rows.
        """
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
            summary = again(spec, self.context)
            table = rows_of(folder / "load")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if table is None:
            raise TrialFailure(
                "failed", "the load left no row per request, so nothing tells which answers were late"
            )
        # shares of its arrivals (of a flow, passes) and of its requests
        sent, right = summary.n_requests, summary.n_requests - summary.n_errors
        if summary.n_flows is not None and summary.n_flows_right is not None:
            sent, right = summary.n_flows, summary.n_flows_right
        n_arrivals = sent + (summary.n_dropped or 0)
        n_late = int(np.count_nonzero(table.latency_s[table.ok] > self.goals.late_after_s))
        return judged(
            self.goals,
            rate_per_s=rate_per_s,
            duration_s=duration_s,
            n_arrivals=n_arrivals,
            right_per_s=right / max(summary.duration_s, duration_s),
            lost_share=1 - right / n_arrivals if n_arrivals else 0.0,
            late_share=n_late / summary.n_requests if summary.n_requests else 0.0,
        )


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
    order: CalibrationSpec, trial: TrialSpec, context: TrialContext, search: CapacityTrials | None
) -> Calibration:
    """Saturate a configuration, search from there where that is asked for, and return the capacity.

    Args:
        trial: of a saturated configuration, in a folder that is thrown away.

    Raises:
        CalibrationFailed: nothing was answered rightly, or no rate keeps the goals; without a capacity there is no
            plan.
    """
    n_steps = len(trial.requests) if is_flow(trial.requests) else 1
    configuration = trial.planned.configuration
    record = rehearse(trial, context, then=None if search is None else search.after_load)
    load, result = record.load, None if search is None else search.result
    reached_per_s = 0.0 if load is None else capacity_per_s(load, n_steps)
    if load is None or reached_per_s <= 0 or (search is not None and result is None):
        raise CalibrationFailed(
            f"the calibration of {configuration.key} found no capacity: {record.outcome.value}"
            f"{f': {record.reason}' if record.reason else ''}; see that this variant runs here, then start again"
        )
    return Calibration(
        order=order,
        variant=configuration.variant_name,
        configuration=configuration.key,
        mix=configuration.mix,
        n_steps=n_steps,
        capacity_per_s=round(reached_per_s if result is None else result.lower_per_s, 3),
        n_requests=load.n_requests,
        n_errors=load.n_errors,
        duration_s=load.duration_s,
        measured_epoch_s=time.time(),
        searches={} if result is None else {configuration.variant_name: result},
    )


def least_of(calibrations: Sequence[Calibration]) -> Calibration:
    """Return the calibration with the least capacity; of several it names all."""
    least = min(calibrations, key=lambda calibration: calibration.capacity_per_s)
    if len(calibrations) == 1:
        return least
    searches = {name: search for item in calibrations for name, search in item.searches.items()}
    return least.model_copy(
        update={
            "capacities_per_s": {item.variant: item.capacity_per_s for item in calibrations},
            "searches": searches,
        }
    )
