# SPDX-License-Identifier: Apache-2.0
"""One trial of which nothing is kept: whether a program bears its load in so much memory, and how much it holds; and
the variants of an experiment whose memory is asked for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import MemoryFitFailed
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.loadgen.base import LoadGenerator
from harness.loadgen.flow import is_flow
from harness.model import (
    BuildRecord,
    Configuration,
    Experiment,
    HeapProbe,
    HeldMemory,
    Implementation,
    Load,
    Outcome,
    Request,
    TrialRecord,
    Variant,
)
from harness.runner import Limits, TrialContext, TrialSpec
from harness.runner.outcome import kinds_of_errors
from harness.runner.trial import bounded, rehearse, unplanned
from harness.workloads import Case

MIB = 2**20
#: Seconds that the load lasts beyond the time in which loads settle; and the most that a program without room may take
#: to start, and to end its load.
TRIED_S, READY_S, EXTRA_S = 3.0, 10.0, 10.0
#: What another program on the machine may bring about as well as too small a heap.
_TOO_SLOW = (Outcome.OVERLOADED, Outcome.TIMED_OUT)
#: ``GOMEMLIMIT`` is soft: a limit is enough only where what the runtime holds, by its own account, is no more than the
#: limit when the program has answered; a runtime that paces itself may be so far above it at one moment.
OVER_SHARE = 0.05
_OBTAINED, _RETURNED = "go_memstats_sys_bytes", "go_memstats_heap_released_bytes"
#: So many trials end a search, for planning only.
TRIALS_EACH = 9


@dataclass(frozen=True, kw_only=True)
class FitSpec:
    """Variants (``names``) under ``load``, which ``generator`` offers; ``settle_s``: how long loads settle."""

    experiment: Experiment
    names: tuple[str, ...]
    implementations: Mapping[str, Implementation]
    build: Callable[[Implementation, Variant], BuildRecord]
    configuration: Configuration
    load: Load
    generator: LoadGenerator
    settle_s: float
    requests: tuple[Request, ...]
    cases: tuple[Case, ...]
    contract: Path
    folder: Path
    seed: int
    limits: Limits
    say: Callable[[str], None]

    @property
    def tried(self) -> Load:
        """The load, short: under which a heap has to hold."""
        return tried(self.load, self.settle_s, len(self.requests) if is_flow(self.requests) else 1)


@dataclass(kw_only=True)
class Attempts:
    """Trials of variants of ``order``, each with another schedule. ``builds``: build name -> what was built."""

    order: FitSpec
    parts: TrialContext
    builds: Mapping[str, BuildRecord]
    n_trials: int = field(default=0, init=False)

    def heap(self, name: str, mib: int) -> HeapProbe:
        """Load a variant with so large a heap, or a Go variant with so large a limit."""
        began_s = time.monotonic()
        record, metrics = self._trial(name, self.bounded_by(name, mib))
        reason = fault(record)
        if reason is None and self._has_limit(name):
            reason = over_limit(metrics, mib * MIB)
        return HeapProbe(
            heap_mib=mib, worked=reason is None, reason=reason, took_s=time.monotonic() - began_s,
            fell_behind=reason is not None and was_slow(record), asked_by=self.order.load.generator,
        )  # fmt: skip

    def bounded_by(self, name: str, mib: int) -> dict[str, str]:
        """Return the runtime setting that gives a variant so much memory."""
        return {"gomemlimit": f"{mib}MiB"} if self._has_limit(name) else {"heap_max": f"{mib}m"}

    def multiple_of(self, name: str, least_mib: int) -> dict[str, str]:
        """Return the runtime setting that gives a variant its multiple of the least heap or limit."""
        multiple = self.order.experiment.variants[name].runtime.memory_multiple or 1.0
        return self.bounded_by(name, heap_mib(multiple, least_mib))

    def _has_limit(self, name: str) -> bool:
        return self.order.experiment.variants[name].runtime.limit_multiple is not None

    def held(self, name: str, settings: Mapping[str, str]) -> HeldMemory:
        """Return what a variant holds that another one's limit is to be matched with."""
        self.order.say(f"memory that {name} holds")
        rss_bytes = self.held_bytes(name, settings)
        heap_max = settings.get("heap_max", self.order.experiment.variants[name].runtime.heap_max)
        return HeldMemory(variant=name, heap_max=heap_max, rss_bytes=rss_bytes)

    def held_bytes(self, name: str, settings: Mapping[str, str]) -> int:
        """Return what a variant holds, resident, in bytes, right after the load.

        Raises:
            MemoryFitFailed: it does not do its work.
        """
        record, _ = self._trial(name, settings)
        held = next((item.reading.rss_bytes for item in record.boundaries if item.name == "after-load"), None)
        if record.outcome == Outcome.OK and held:
            return held
        how = ", ".join(f"{key} = {value}" for key, value in settings.items()) or "as defined"
        raise MemoryFitFailed(
            f"the memory of {name} ({how}) cannot be read: {fault(record) or 'its memory is not to be had'}; see that "
            "this variant runs here, then start again"
        )

    def _trial(self, name: str, settings: Mapping[str, str]) -> tuple[TrialRecord, str | None]:
        """Return the record of a trial, and the runtime's own metrics after its load."""
        order, variant = self.order, self.order.experiment.variants[name]
        variant = variant.model_copy(update={"runtime": variant.runtime.model_copy(update=dict(settings))})
        configuration = order.configuration.model_copy(
            update={"variant_name": name, "variant": variant, "load": order.tried, "warm_up": None}
        )
        ready_s, extra_s = min(order.limits.ready_s, READY_S), min(order.limits.load_extra_s, EXTRA_S)
        self.n_trials += 1
        spec = TrialSpec(
            planned=unplanned("memory", configuration), experiment=order.experiment.name, session_id="memory",
            implementation=order.implementations[variant.implementation], build=self.builds[variant.build_name],
            generator=order.generator, requests=order.requests, cases=order.cases, folder=order.folder,
            contract=order.contract, seed=order.seed + self.n_trials,
            limits=replace(order.limits, ready_s=ready_s, load_extra_s=extra_s),
        )  # fmt: skip
        metrics: list[str] = []

        def look(folder: Path) -> None:
            metrics.extend(file.read_text("utf-8") for file in folder.glob("boundary-after-load.prom"))

        return rehearse(spec, self.parts, look=look), next(iter(metrics), None)


def heap_mib(multiple: float, least_mib: int) -> int:
    """Return a multiple of the least heap in whole mebibytes, the nearest."""
    return max(least_mib, math.floor(multiple * least_mib + 0.5))


def fault(record: TrialRecord) -> str | None:
    """Return why a trial's service did not bear its load; ``None``: all arrivals were answered, and rightly."""
    if record.outcome != Outcome.OK:
        return f"{record.outcome.value}: {record.reason}"
    load = record.load
    if load is not None and load.n_errors:
        return f"errors: {load.n_errors} of {load.n_requests} requests went wrong{kinds_of_errors(load)}"
    if load is not None and "arrivals_dropped" in record.flags:
        return f"overloaded: {load.n_dropped} arrivals were never sent, or answered too late"
    return None


def was_slow(record: TrialRecord) -> bool:
    """Return whether all that was wrong with a trial is that something was too slow."""
    n_errors = 0 if record.load is None else record.load.n_errors
    return not n_errors and (record.outcome in _TOO_SLOW or "arrivals_dropped" in record.flags)


def over_limit(metrics: str | None, limit_bytes: int) -> str | None:
    """Return why a Go program does not keep to its limit, by its own metrics, or ``None``."""
    values = {} if metrics is None else parse_runtime_metrics(metrics).gauges
    if _OBTAINED not in values or _RETURNED not in values:
        return "its metrics do not tell what its runtime holds"
    held = int(values[_OBTAINED] - values[_RETURNED])
    if held <= (1 + OVER_SHARE) * limit_bytes:
        return None
    return f"its runtime holds {held / MIB:.1f} MiB, more than its limit of {limit_bytes / MIB:.1f} MiB"


def tried(load: Load, settle_s: float, n_steps: int = 1) -> Load:
    """Return the same load for as long as loads settle and ``TRIED_S`` more; ``n_steps``: of a flow."""
    return load.model_copy(update={"profile": bounded(load.profile, n_steps, settle_s + TRIED_S)})


def asked_of(experiment: Experiment, names: tuple[str, ...]) -> dict[str, str]:
    """Return variant -> what of its memory must be measured, of these variants and those that they name."""
    with_others = [
        each for name in names for each in (name, experiment.variants[name].runtime.memory_of) if each
    ]
    wanted = {name: experiment.variants[name].runtime.memory_asked for name in with_others}
    return {name: what for name, what in wanted.items() if what is not None}


def alike(experiment: Experiment, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the variants whose heap or limit is a multiple, together where they differ in nothing but that."""
    results: dict[tuple[str, str], tuple[str, ...]] = {}
    for name in names:
        variant = experiment.variants[name]
        if variant.runtime.memory_multiple is not None:
            runtime = variant.runtime.model_copy(update={"heap_max": None, "gomemlimit": None})
            bare = variant.model_copy(update={"runtime": runtime, "label": None})
            key = variant.implementation, bare.model_dump_json()
            results[key] = (*results.get(key, ()), name)
    return list(results.values())


def fit_s(experiment: Experiment, names: tuple[str, ...], trial_s: float) -> float:
    """Return about how long it takes, in seconds. ``trial_s``: one trial under the load."""
    asked = tuple(asked_of(experiment, names))
    matched = [each for name in asked if (each := experiment.variants[name].runtime.memory_of) is not None]
    n_trials = len(alike(experiment, asked)) * TRIALS_EACH + len(set(matched)) + 2 * len(matched)
    return n_trials * trial_s
