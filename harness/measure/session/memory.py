# SPDX-License-Identifier: Apache-2.0
"""Equal memory, measured before the first trial: least heaps, and limits at what other variants hold.

A comparison of collectors is one of memory unless memory is the same, so an experiment may say of a Java variant that
its heap is a multiple of the least one (``heap_max = "2x"``), of a Go variant the same of its limit, or that it has as
much as a Java one (``gomemlimit = "rss of NAME"``), both with ``gogc = "off"`` (docs/memory.md).

The least heap is searched for each program with each collector on its own, because collectors need different room for
the same work. To live in a heap is to bear the load of the session, short, in a trial of which nothing is kept; a Go
program must also keep to its limit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from harness.errors import MemoryFitFailed
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.loadgen.flow import is_flow
from harness.measure.runner.outcome import kinds_of_errors
from harness.measure.runner.trial import bounded, rehearse
from harness.measure.session.planning import Prepared, first_configuration
from harness.measure.session.rehearsing import Rehearsals
from harness.model import (
    BuildRecord,
    Experiment,
    HeapProbe,
    HeldMemory,
    LeastHeap,
    LimitProbe,
    Load,
    MatchedLimit,
    MemoryFit,
    Outcome,
    TrialRecord,
)
from harness.workloads import load_cases

MIB = 2**20
#: Seconds that the load lasts beyond the time in which loads settle; and the most that a program without room may take
#: to start, and to end its load.
TRIED_S, READY_S, EXTRA_S = 3.0, 10.0, 10.0
#: ``GOMEMLIMIT`` is soft: a limit is enough only where what the runtime holds, by its own account, is no more than the
#: limit when the program has answered; a runtime that paces itself may be so far above it at one moment.
OVER_SHARE = 0.05
#: So many trials end a search, for planning only.
TRIALS_EACH = 9
#: A limit is corrected once, unless it is as close as this.
CLOSE_ENOUGH, LEAST_LIMIT_MIB = 0.02, 4
#: Where the search begins, and where it gives up: no service here needs gigabytes for a request.
FIRST_MIB, MOST_MIB = 16, 4096
#: How fine it is: this share of the heap, a mebibyte at least.
STEP_SHARE = 0.05
#: By what a heap grows that was not enough after all, and after how many failures that share doubles.
GROWTH_SHARE, FAILURES_EACH = 0.10, 3
_OBTAINED, _RETURNED = "go_memstats_sys_bytes", "go_memstats_heap_released_bytes"


def fit_memory(trials: MemoryTrials) -> MemoryFit:
    """Measure everything that is asked for, one program after another.

    Raises:
        MemoryFitFailed: no heap works, or a program whose memory is to be matched does not do its work.
        MissingTool: the load generator is not there.
    """
    experiment, began_s = trials.experiment, time.monotonic()
    asked = memory_asked(trials.rehearsals.prepared)
    partners = {name: partner for name in asked if (partner := experiment.variants[name].runtime.memory_of)}
    for name in (*asked, *partners.values()):  # no compiler works while something is tried
        trials.build(name)
    least = tuple(_least(names, trials) for names in alike(experiment, tuple(asked)))
    resolved = {
        name: trials.setting(
            name, heap_mib(experiment.variants[name].runtime.memory_multiple or 1.0, item.least_mib)
        )
        for item in least
        for name in item.variants
    }
    held = {
        partner: trials.held(partner, resolved.get(partner, {}))
        for partner in dict.fromkeys(partners.values())
    }
    limits = tuple(_matched_limit(name, held[partner], trials) for name, partner in partners.items())
    return MemoryFit(
        asked=asked,
        resolved=resolved | {limit.variant: {"gomemlimit": f"{limit.limit_mib}MiB"} for limit in limits},
        mix=trials.configuration.mix,
        warm_up_requests=trials.configuration.warm_up_requests,
        tried=trials.load,
        least=least,
        held=tuple(held.values()),
        limits=limits,
        sources={name: build.source_sha256 for name, build in trials.builds.items()},
        measured_epoch_s=time.time(),
        took_s=time.monotonic() - began_s,
    )


@dataclass
class MemoryTrials:
    """Trials of a plan's variants of which nothing is kept, under its reference's first load, mix and warm-up.

    Each has another schedule. ``builds``: build name -> what was built.
    """

    rehearsals: Rehearsals
    builds: dict[str, BuildRecord] = field(default_factory=dict)
    n_trials: int = 0

    def __post_init__(self) -> None:
        prepared = self.rehearsals.prepared
        self.experiment, self.say = prepared.experiment, self.rehearsals.say
        self.configuration = first_configuration(prepared)
        self.requests = prepared.study.requests[self.configuration.mix]
        load, settle_s = self.configuration.load, self.experiment.profiles[prepared.plan.profile].settle_s
        assert load is not None  # no definition leaves memory to be measured without one
        #: Short: under which a heap has to hold.
        self.load = tried(load, settle_s, len(self.requests) if is_flow(self.requests) else 1)

    def build(self, name: str) -> None:
        """Build a variant's program, unless it was built."""
        variant = self.experiment.variants[name]
        if variant.build_name not in self.builds:
            self.say(f"build of {variant.build_name}")
            configuration = self.configuration.model_copy(update={"variant": variant, "backing": None})
            self.builds[variant.build_name] = self.rehearsals.built(configuration)

    def setting(self, name: str, mib: int) -> dict[str, str]:
        """Return the runtime setting that gives a variant so large a heap, or a Go variant so large a limit."""
        return {"gomemlimit": f"{mib}MiB"} if self._has_limit(name) else {"heap_max": f"{mib}m"}

    def heap(self, name: str, mib: int) -> HeapProbe:
        """Load a variant with so large a heap, or a Go variant with so large a limit."""
        began_s = time.monotonic()
        record, metrics = self._trial(name, self.setting(name, mib))
        reason = fault(record)
        if reason is None and self._has_limit(name):
            reason = over_limit(metrics, mib * MIB)
        return HeapProbe(
            heap_mib=mib, worked=reason is None, reason=reason, took_s=time.monotonic() - began_s,
            fell_behind=reason is not None and was_slow(record), asked_by=self.load.generator,
        )  # fmt: skip

    def _has_limit(self, name: str) -> bool:
        return self.experiment.variants[name].runtime.limit_multiple is not None

    def held(self, name: str, settings: Mapping[str, str]) -> HeldMemory:
        """Return what a variant holds that another one's limit is to be matched with."""
        self.say(f"memory that {name} holds")
        heap_max = settings.get("heap_max", self.experiment.variants[name].runtime.heap_max)
        return HeldMemory(variant=name, heap_max=heap_max, rss_bytes=self.held_bytes(name, settings))

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
        variant, limits = self.experiment.variants[name], self.rehearsals.limits
        variant = variant.model_copy(update={"runtime": variant.runtime.model_copy(update=dict(settings))})
        changes = {"variant_name": name, "variant": variant, "load": self.load, "warm_up": None}
        configuration, contract = self.configuration.model_copy(update=changes), self.rehearsals.contract()
        self.n_trials += 1
        spec = replace(
            self.rehearsals.rehearsal(
                "memory", configuration, self.builds[variant.build_name], self.requests
            ),
            cases=load_cases(contract),
            contract=contract,
            seed=self.rehearsals.prepared.plan.seed + self.n_trials,
            limits=replace(
                limits,
                ready_s=min(limits.ready_s, READY_S),
                load_extra_s=min(limits.load_extra_s, EXTRA_S),
            ),
        )
        metrics: list[str] = []

        def look(folder: Path) -> None:
            metrics.extend(file.read_text("utf-8") for file in folder.glob("boundary-after-load.prom"))

        context = self.rehearsals.parts(self.load)
        return rehearse(spec, context, look=look), next(iter(metrics), None)


def _least(names: tuple[str, ...], trials: MemoryTrials) -> LeastHeap:
    variant = trials.experiment.variants[names[0]]
    kind = "heap" if variant.runtime.limit_multiple is None else "limit"
    program = f"{variant.build_name} with the collector {variant.runtime.gc or 'of its choice'}"

    def attempt(mib: int) -> HeapProbe:
        trials.say(f"least {kind} of {program}: {mib} MiB")
        return trials.heap(names[0], mib)

    end = least_heap(attempt, what=program)
    return LeastHeap(
        implementation=variant.implementation, collector=variant.runtime.gc,
        setting="heap_max" if kind == "heap" else "gomemlimit", variants=names, **end._asdict(),
    )  # fmt: skip


def _matched_limit(name: str, held: HeldMemory, trials: MemoryTrials) -> MatchedLimit:
    """Return the limit at which the variant comes closest to what another one holds."""

    def attempt(limit_mib: int) -> LimitProbe:
        trials.say(f"limit of {name} at what {held.variant} holds: {limit_mib} MiB")
        rss_bytes = trials.held_bytes(name, {"gomemlimit": f"{limit_mib}MiB"})
        return LimitProbe(limit_mib=limit_mib, rss_bytes=rss_bytes)

    wanted_bytes = held.rss_bytes
    probes = [attempt(max(LEAST_LIMIT_MIB, round(wanted_bytes / MIB)))]
    if (second_mib := corrected(wanted_bytes, probes[0])) is not None:
        probes.append(attempt(second_mib))
    best = min(probes, key=lambda probe: abs(probe.rss_bytes - wanted_bytes))
    return MatchedLimit(
        variant=name, memory_of=held.variant, wanted_bytes=wanted_bytes, limit_mib=best.limit_mib,
        probes=tuple(probes),
    )  # fmt: skip


def corrected(wanted_bytes: int, first: LimitProbe) -> int | None:
    """Return a limit in MiB, corrected by what came of the first one; ``None``: that is close enough."""
    off_bytes = wanted_bytes - first.rss_bytes
    limit_mib = max(LEAST_LIMIT_MIB, first.limit_mib + round(off_bytes / MIB))
    close = abs(off_bytes) <= CLOSE_ENOUGH * wanted_bytes
    return None if close or limit_mib == first.limit_mib else limit_mib


class SearchEnd(NamedTuple):
    """Where a search of a heap ended. ``steady``: no outcome contradicts another."""

    least_mib: int
    step_mib: int
    steady: bool
    probes: tuple[HeapProbe, ...]


def least_heap(attempt: Callable[[int], HeapProbe], *, what: str) -> SearchEnd:
    """Return the least heap that works, by ``attempt``, which tries one in MiB; ``what``: of what, for the message.

    It is doubled until it works, halved until it does not, and must then work twice in a row, or grows: whether a heap
    is enough may hang on luck. A program that was only too slow is tried again.

    Raises:
        MemoryFitFailed: none works.
    """
    probes: list[HeapProbe] = []

    def works(mib: int) -> bool:
        probes.append(attempt(mib))
        if probes[-1].fell_behind:
            probes.append(attempt(mib))
        return probes[-1].worked

    def larger(mib: int, wanted_mib: int) -> int:
        if mib >= MOST_MIB:
            raise MemoryFitFailed(
                f"{what} does its work in no heap up to {mib} MiB; in the last one: {probes[-1].reason}; "
                "check that this variant runs here and sustains its load, then start again"
            )
        return min(wanted_mib, MOST_MIB)

    low, high = 0, FIRST_MIB
    while not works(high):
        low, high = high, larger(high, 2 * high)
    while high - low > step_mib(high):
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    step, failures = step_mib(high), 0
    while not (works(high) and works(high)):
        share = GROWTH_SHARE * 2 ** (failures // FAILURES_EACH)
        grown = larger(high, high + max(1, round(share * high)))
        high, step, failures = grown, grown - high, failures + 1
    return SearchEnd(high, step, agree(probes), tuple(probes))


def step_mib(heap_mib: int) -> int:
    """Return how fine the search is at this heap, in MiB."""
    return max(1, int(heap_mib * STEP_SHARE))


def agree(probes: Sequence[HeapProbe]) -> bool:
    """Return whether every heap that worked is larger than every one that did not."""
    worked = [probe.heap_mib for probe in probes if probe.worked]
    failed = [probe.heap_mib for probe in probes if not probe.worked]
    return not worked or not failed or min(worked) > max(failed)


def heap_mib(multiple: float, least_mib: int) -> int:
    """Return a multiple of the least heap in whole mebibytes, the nearest."""
    return max(least_mib, math.floor(multiple * least_mib + 0.5))


def fault(record: TrialRecord) -> str | None:
    """Return why a trial's service did not bear its load; ``None``: all arrivals were answered, and rightly."""
    load = record.load
    if record.outcome != Outcome.OK:
        return f"{record.outcome.value}: {record.reason}"
    if load is not None and load.n_errors:
        return f"errors: {load.n_errors} of {load.n_requests} requests went wrong{kinds_of_errors(load)}"
    if load is not None and "arrivals_dropped" in record.flags:
        return f"overloaded: {load.n_dropped} arrivals were never sent, or answered too late"
    return None


def was_slow(record: TrialRecord) -> bool:
    """Return whether all that was wrong with a trial is that something was too slow, as another program may be why."""
    n_errors = 0 if record.load is None else record.load.n_errors
    slow = record.outcome in (Outcome.OVERLOADED, Outcome.TIMED_OUT) or "arrivals_dropped" in record.flags
    return slow and not n_errors


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


def memory_asked(prepared: Prepared) -> dict[str, str]:
    """Return variant -> what of its memory will be measured before the first trial, as the definition says it."""
    planned = {trial.configuration.variant_name for trial in prepared.plan.trials}
    return asked_of(prepared.experiment, tuple(n for n in prepared.experiment.variants if n in planned))


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


def fit_s(prepared: Prepared, trial_s: float) -> float:
    """Return about how long all of it takes, in seconds. ``trial_s``: one trial under the load."""
    experiment, asked = prepared.experiment, tuple(memory_asked(prepared))
    matched = [each for name in asked if (each := experiment.variants[name].runtime.memory_of) is not None]
    n_trials = len(alike(experiment, asked)) * TRIALS_EACH + len(set(matched)) + 2 * len(matched)
    return n_trials * trial_s
