# SPDX-License-Identifier: Apache-2.0
"""Equal memory, measured before the first trial: least heaps, and limits at what other variants hold.

A comparison of collectors is one of memory unless memory is the same, so an experiment may say of a Java variant that
its heap is a multiple of the least one (``heap_max = "2x"``), of a Go variant the same of its limit, or that it has as
much as a Java one (``gomemlimit = "rss of NAME"``), both with ``gogc = "off"``.

The least heap is searched for each program with each collector on its own, because collectors need different room for
the same work. To live in a heap is to start, to answer as many requests at one moment as the load has connections, and
to answer a number of requests of the mix rightly at the rate of the load (at most ``MOST_PER_S``) without falling
behind it by more than ``MOST_LATE_S`` once it is no longer cold. A Go program must also keep to its limit. That much is
asked from within the harness, in seconds. The result is then tried under the load's own generator, in a trial like any
other of which nothing is kept, and grows until it holds there twice in a row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import MemoryFitFailed, TrialFailure
from harness.memory_sizing.probe import (
    MOST_LATE_S,
    Asked,
    FitSpec,
    ProbeSpec,
    alike,
    asked_of,
    held_bytes,
    over_limit,
)
from harness.model import (
    BuildRecord,
    HeapProbe,
    HeldMemory,
    LeastHeap,
    LimitProbe,
    MatchedLimit,
    MemoryFit,
    Outcome,
    TrialRecord,
    Variant,
)
from harness.runner import TrialContext, TrialSpec
from harness.runner.outcome import kinds_of_errors
from harness.runner.trial import rehearse, unplanned

MIB = 2**20
#: What another program on the machine may bring about as well as too small a heap.
_TOO_SLOW = (Outcome.OVERLOADED, Outcome.TIMED_OUT)


@dataclass(kw_only=True)
class Attempts:
    """Tries variants of ``order``. ``builds``: build name -> what was built."""

    order: FitSpec
    parts: TrialContext
    builds: Mapping[str, BuildRecord]
    n_trials: int = field(default=0, init=False)

    def heap(self, name: str, heap_mib: int) -> HeapProbe:
        """Have a variant with a heap, or a Go variant with a limit, asked from within the harness."""
        began_s, reason, slow = time.monotonic(), None, False
        searched = self.order.searched
        if self._has_limit(name):
            searched = replace(searched, keeps_to_bytes=heap_mib * MIB)
        try:
            self._asked(name, self.bounded_by(name, heap_mib), searched)
        except TrialFailure as failure:
            reason, slow = str(failure), failure.outcome == Outcome.OVERLOADED
        return _probe(heap_mib, began_s, reason, slow)

    def heap_under_load(self, name: str, heap_mib: int) -> HeapProbe:
        """Give a variant with a heap or limit what a trial would, by the load's own generator; another schedule each
        time."""
        began_s = time.monotonic()
        self.n_trials += 1
        metrics: list[str] = []

        def look(folder: Path) -> None:
            metrics.extend(file.read_text("utf-8") for file in folder.glob("boundary-after-load.prom"))

        record = rehearse(self._trial(name, self.bounded_by(name, heap_mib)), self.parts, look=look)
        reason = fault(record)
        if reason is None and self._has_limit(name):
            reason = over_limit(next(iter(metrics), None), heap_mib * MIB)
        slow = reason is not None and was_slow(record)
        probe = _probe(heap_mib, began_s, reason, slow)
        return probe.model_copy(update={"asked_by": self.order.load.generator})

    def bounded_by(self, name: str, mib: int) -> dict[str, str]:
        """Return the runtime setting that gives a variant so much memory."""
        return {"gomemlimit": f"{mib}MiB"} if self._has_limit(name) else {"heap_max": f"{mib}m"}

    def _has_limit(self, name: str) -> bool:
        return self.order.experiment.variants[name].runtime.limit_multiple is not None

    def held(self, name: str, settings: Mapping[str, str]) -> HeldMemory:
        """Return what a variant holds that another one's limit is to be matched with."""
        self.order.say(f"memory that {name} holds")
        rss_bytes = self.held_bytes(name, settings)
        heap_max = settings.get("heap_max", self.order.experiment.variants[name].runtime.heap_max)
        return HeldMemory(variant=name, heap_max=heap_max, rss_bytes=rss_bytes)

    def held_bytes(self, name: str, settings: Mapping[str, str]) -> int:
        """Return what a variant holds, resident, when it was asked for a while.

        Raises:
            MemoryFitFailed: it does not do its work.
        """
        try:
            return self._asked(name, settings, self.order.held_under)
        except TrialFailure as failure:
            how = ", ".join(f"{key} = {value}" for key, value in settings.items()) or "as defined"
            why = f"the memory of {name} ({how}) cannot be read: {failure}"
            raise MemoryFitFailed(f"{why}; see that this variant runs here, then start again") from failure

    def _asked(self, name: str, settings: Mapping[str, str], asked: Asked) -> int:
        variant = self._variant(name, settings)
        spec = ProbeSpec(
            name=name, implementation=self.order.implementations[variant.implementation], variant=variant,
            build=self.builds[variant.build_name], asked=asked, folder=self.order.folder,
        )  # fmt: skip
        return held_bytes(spec, self.parts)

    def _trial(self, name: str, settings: Mapping[str, str]) -> TrialSpec:
        order, variant = self.order, self._variant(name, settings)
        configuration = order.configuration.model_copy(
            update={"variant_name": name, "variant": variant, "load": order.tried, "warm_up": None}
        )
        return TrialSpec(
            planned=unplanned("memory", configuration), experiment=order.experiment.name, session_id="memory",
            implementation=order.implementations[variant.implementation], build=self.builds[variant.build_name],
            generator=order.generator, requests=order.requests, cases=order.cases, folder=order.folder,
            contract=order.contract, seed=order.seed + self.n_trials, limits=order.limits,
        )  # fmt: skip

    def _variant(self, name: str, settings: Mapping[str, str]) -> Variant:
        variant = self.order.experiment.variants[name]
        return variant.model_copy(update={"runtime": variant.runtime.model_copy(update=dict(settings))})


def _probe(heap_mib: int, began_s: float, reason: str | None, slow: bool) -> HeapProbe:
    took_s = time.monotonic() - began_s
    return HeapProbe(heap_mib=heap_mib, worked=reason is None, reason=reason, fell_behind=slow, took_s=took_s)


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
    """Whether all that was wrong with a trial is that something was too slow."""
    n_errors = 0 if record.load is None else record.load.n_errors
    return not n_errors and (record.outcome in _TOO_SLOW or "arrivals_dropped" in record.flags)


Settings = dict[str, dict[str, str]]


def fit_memory(spec: FitSpec, context: TrialContext) -> MemoryFit:
    """Measure everything that is asked for, one program after another.

    Raises:
        MemoryFitFailed: no heap works, or a program whose memory is to be matched does not do its work.
        MissingTool: the load generator is not there.
    """
    experiment, searched = spec.experiment, spec.searched
    asked = asked_of(experiment, spec.names)
    partners = {name: partner for name in asked if (partner := experiment.variants[name].runtime.memory_of)}
    builds = _built(dict.fromkeys([*asked, *partners.values()]), spec)
    attempts = Attempts(order=spec, parts=context, builds=builds)
    began_s = time.monotonic()
    least = tuple(_least(names, attempts) for names in alike(experiment, tuple(asked)))
    resolved = {name: settings for item in least for name, settings in _heaps(item, attempts).items()}
    held = {
        partner: attempts.held(partner, resolved.get(partner, {}))
        for partner in dict.fromkeys(partners.values())
    }
    limits = tuple(matched_limit(name, held[partner], attempts) for name, partner in partners.items())
    return MemoryFit(
        asked=asked,
        resolved=resolved | {limit.variant: {"gomemlimit": f"{limit.limit_mib}MiB"} for limit in limits},
        mix=spec.configuration.mix, rate_per_s=spec.rate_per_s, n_requests=searched.n_requests,
        cold_requests=searched.cold_requests, at_once=searched.at_once, most_late_s=MOST_LATE_S, hold_s=spec.hold_s,
        warm_up_requests=spec.configuration.warm_up_requests, tried=spec.tried if least else None, least=least,
        held=tuple(held.values()), limits=limits,
        sources={name: build.source_sha256 for name, build in builds.items()}, measured_epoch_s=time.time(),
        took_s=time.monotonic() - began_s,
    )  # fmt: skip


def heap_mib(multiple: float, least_mib: int) -> int:
    """Return a multiple of the least heap in whole mebibytes, the nearest."""
    return max(least_mib, math.floor(multiple * least_mib + 0.5))


def _built(names: Iterable[str], spec: FitSpec) -> dict[str, BuildRecord]:
    """Build first, so that no compiler works while something is tried."""
    builds: dict[str, BuildRecord] = {}
    for name in names:
        variant = spec.experiment.variants[name]
        if variant.build_name not in builds:
            spec.say(f"build of {variant.build_name}")
            builds[variant.build_name] = spec.build(spec.implementations[variant.implementation], variant)
    return builds


def _least(names: tuple[str, ...], attempts: Attempts) -> LeastHeap:
    order, name = attempts.order, names[0]
    variant = order.experiment.variants[name]
    limit = variant.runtime.limit_multiple is not None
    memory = "least limit" if limit else "least heap"
    what = f"{variant.build_name} with the collector {variant.runtime.gc or 'of its choice'}"
    generator = order.load.generator

    def asked(mib: int) -> HeapProbe:
        order.say(f"{memory} of {what}: {mib} MiB")
        return attempts.heap(name, mib)

    def under_load(mib: int) -> HeapProbe:
        order.say(f"{memory} of {what}, under the load of {generator}: {mib} MiB")
        return attempts.heap_under_load(name, mib)

    within = least_heap(asked, what=what)
    result = enlarged(under_load, within, what=f"{what}, under the load of {generator},")
    return LeastHeap(
        implementation=variant.implementation, collector=variant.runtime.gc,
        setting="gomemlimit" if limit else "heap_max", variants=names, least_mib=result.least_mib,
        step_mib=result.step_mib, steady=result.steady, probes=result.probes,
    )  # fmt: skip


def _heaps(least: LeastHeap, attempts: Attempts) -> Settings:
    """Return variant -> the setting with its multiple of the least heap or limit."""
    variants = attempts.order.experiment.variants
    multiples = {name: variants[name].runtime.memory_multiple or 1.0 for name in least.variants}
    return {
        name: attempts.bounded_by(name, heap_mib(each, least.least_mib)) for name, each in multiples.items()
    }


#: As close as one correction of a limit need come.
CLOSE_ENOUGH = 0.02
LEAST_LIMIT_MIB = 4


def matched_limit(name: str, held: HeldMemory, attempts: Attempts) -> MatchedLimit:
    """Return the limit at which the variant comes closest to what another one holds."""

    def tried(limit_mib: int) -> LimitProbe:
        attempts.order.say(f"limit of {name} at what {held.variant} holds: {limit_mib} MiB")
        rss_bytes = attempts.held_bytes(name, {"gomemlimit": f"{limit_mib}MiB"})
        return LimitProbe(limit_mib=limit_mib, rss_bytes=rss_bytes)

    wanted_bytes = held.rss_bytes
    probes = [tried(max(LEAST_LIMIT_MIB, round(wanted_bytes / MIB)))]
    if (second_mib := corrected(wanted_bytes, probes[0])) is not None:
        probes.append(tried(second_mib))
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


# The least heap in which something works: doubled until it does, halved until it does not, and tried once more. Whether
# a heap is enough may hang on luck, so who was too slow is tried again, and the heap must work twice.

#: Where the search begins, and where it gives up: no service here needs gigabytes for a request.
FIRST_MIB, MOST_MIB = 16, 4096
#: How fine it is: this share of the heap, a mebibyte at least.
STEP_SHARE = 0.05
#: By what a heap grows that was not enough after all, and after how many failures that share doubles.
GROWTH_SHARE, FAILURES_EACH = 0.10, 3

Attempt = Callable[[int], HeapProbe]


@dataclass(frozen=True, kw_only=True)
class SearchEnd:
    """Where a search of a heap ended. ``steady``: no outcome contradicts another."""

    least_mib: int
    step_mib: int
    steady: bool
    probes: tuple[HeapProbe, ...]


def least_heap(attempt: Attempt, *, what: str, most_mib: int = MOST_MIB) -> SearchEnd:
    """Return the least heap that works, by ``attempt``, which tries one in MiB; ``what``: of what, for the message.

    Raises:
        MemoryFitFailed: none works.
    """
    probes: list[HeapProbe] = []
    low, high = 0, FIRST_MIB
    while not _works(attempt, high, probes):
        low, high = high, _larger(high, 2 * high, most_mib, what, probes)
    while high - low > step_mib(high):
        middle = (low + high) // 2
        low, high = (low, middle) if _works(attempt, middle, probes) else (middle, high)
    while not _works(attempt, high, probes):  # it was luck before
        high = _larger(high, high + step_mib(high), most_mib, what, probes)
    return SearchEnd(least_mib=high, step_mib=step_mib(high), steady=agree(probes), probes=tuple(probes))


def enlarged(attempt: Attempt, search: SearchEnd, *, what: str, most_mib: int = MOST_MIB) -> SearchEnd:
    """Return the heap of a search, or the next larger one that works twice in a row by another ``attempt``.

    Raises:
        MemoryFitFailed: none works.
    """
    probes: list[HeapProbe] = []
    heap_mib, step, failures = search.least_mib, search.step_mib, 0
    while not (_works(attempt, heap_mib, probes) and _works(attempt, heap_mib, probes)):
        share = GROWTH_SHARE * 2 ** (failures // FAILURES_EACH)
        larger_mib = _larger(heap_mib, heap_mib + max(1, round(share * heap_mib)), most_mib, what, probes)
        heap_mib, step, failures = larger_mib, larger_mib - heap_mib, failures + 1
    steady = search.steady and agree(probes)
    return SearchEnd(least_mib=heap_mib, step_mib=step, steady=steady, probes=(*search.probes, *probes))


def step_mib(heap_mib: int) -> int:
    """Return how fine the search is at this heap, in MiB."""
    return max(1, int(heap_mib * STEP_SHARE))


def agree(probes: Sequence[HeapProbe]) -> bool:
    """Return whether every heap that worked is larger than every one that did not."""
    worked = [probe.heap_mib for probe in probes if probe.worked]
    failed = [probe.heap_mib for probe in probes if not probe.worked]
    return not worked or not failed or min(worked) > max(failed)


def _works(attempt: Attempt, heap_mib: int, probes: list[HeapProbe]) -> bool:
    """Try a heap; once more if it was only too slow."""
    probes.append(attempt(heap_mib))
    if probes[-1].fell_behind:
        probes.append(attempt(heap_mib))
    return probes[-1].worked


def _larger(heap_mib: int, wanted_mib: int, most_mib: int, what: str, probes: Sequence[HeapProbe]) -> int:
    if heap_mib >= most_mib:
        raise MemoryFitFailed(
            f"{what} does its work in no heap up to {heap_mib} MiB; in the last one: {probes[-1].reason}; "
            "check that this variant runs here and sustains its load, then start again"
        )
    return min(wanted_mib, most_mib)
