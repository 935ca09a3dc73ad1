# SPDX-License-Identifier: Apache-2.0
"""Equal memory, measured before the first trial: least heaps, and limits at what other variants hold.

A comparison of collectors is one of memory unless memory is the same, so an experiment may say of a Java
variant that its heap is a multiple of the least one (``heap_max = "2x"``), of a Go variant the same of its limit
(``gomemlimit = "2x"``), or that it has as much as a Java one (``gomemlimit = "rss of NAME"``), both with
``gogc = "off"``.

The least heap is searched for each program with each collector on its own, because collectors need different
room for the same work: ZGC has no 1.3 times of what Serial can live in. What the heaps come to, and
what each variant held, is in the record, so collectors can be compared at one size as well.
To live in a heap is to start, to answer as many requests at one moment as the load has connections, and to answer a
number of requests of the mix rightly at the rate of the load (at most ``MOST_PER_S``) without falling behind it by
more than ``MOST_LATE_S`` once it is no longer cold; so a program that does little but collect does not live. A Go
program must also keep to its limit, which is soft (``go_limit``). That much is asked from within the harness, in
seconds. What was found is then tried under the load's own generator, as trials
are, and grows until it holds there twice in a row. The search tells of seconds: what needs more after minutes shows in
the trials.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping

from harness.memory_sizing.attempts import MIB, Attempts
from harness.memory_sizing.least_heap import enlarged, least_heap
from harness.memory_sizing.spec import MOST_LATE_S, FitSpec, alike, asked_of
from harness.model import BuildRecord, HeapProbe, HeldMemory, LeastHeap, LimitProbe, MatchedLimit, MemoryFit
from harness.runner import TrialContext

Settings = dict[str, dict[str, str]]


def fit_memory(spec: FitSpec, context: TrialContext) -> MemoryFit:
    """Measure everything that is asked for, one program after another.

    Raises:
        MemoryFitFailed: no heap works, or a program whose memory is to be matched does not do its work.
        MissingTool: the load generator is not there.
    """
    experiment, searched = spec.experiment, spec.searched
    asked = asked_of(experiment, spec.names)
    others = {name: other for name in asked if (other := experiment.variants[name].runtime.memory_of)}
    builds = _built(dict.fromkeys([*asked, *others.values()]), spec)
    attempts = Attempts(order=spec, parts=context, builds=builds)
    began_s = time.monotonic()
    least = tuple(_least(names, attempts) for names in alike(experiment, tuple(asked)))
    resolved = {name: settings for item in least for name, settings in _heaps(item, spec).items()}
    held = {other: _held(other, resolved, attempts) for other in dict.fromkeys(others.values())}
    limits = tuple(matched_limit(name, held[other], attempts) for name, other in others.items())
    return MemoryFit(
        asked=asked,
        resolved=resolved | {limit.variant: {"gomemlimit": f"{limit.limit_mib}MiB"} for limit in limits},
        mix=spec.configuration.mix,
        rate_per_s=spec.rate_per_s,
        n_requests=searched.n_requests,
        cold_requests=searched.cold_requests,
        at_once=searched.at_once,
        most_late_s=MOST_LATE_S,
        hold_s=spec.hold_s,
        warm_up_requests=spec.configuration.warm_up_requests,
        tried=spec.tried if least else None,
        least=least,
        held=tuple(held.values()),
        limits=limits,
        sources={name: build.source_sha256 for name, build in builds.items()},
        measured_epoch_s=time.time(),
        took_s=time.monotonic() - began_s,
    )


def heap_mib(multiple: float, least_mib: int) -> int:
    """Return a multiple of the least heap in whole mebibytes, the nearest.

    >>> heap_mib(1.3, 10), heap_mib(1.3, 7), heap_mib(3, 7)
    (13, 9, 21)
    """
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
        implementation=variant.implementation,
        collector=variant.runtime.gc,
        setting="gomemlimit" if limit else "heap_max",
        variants=names,
        least_mib=result.least_mib,
        step_mib=result.step_mib,
        steady=result.steady,
        probes=result.probes,
    )


def _heaps(found: LeastHeap, spec: FitSpec) -> Settings:
    """Return variant -> its multiple of the least heap or limit."""
    multiples = {
        name: spec.experiment.variants[name].runtime.memory_multiple or 1.0 for name in found.variants
    }
    sizes = {name: heap_mib(each, found.least_mib) for name, each in multiples.items()}
    if found.setting == "gomemlimit":
        return {name: {"gomemlimit": f"{mib}MiB"} for name, mib in sizes.items()}
    return {name: {"heap_max": f"{mib}m"} for name, mib in sizes.items()}


def _held(name: str, resolved: Mapping[str, Mapping[str, str]], attempts: Attempts) -> HeldMemory:
    attempts.order.say(f"memory that {name} holds")
    settings = resolved.get(name, {})
    rss_bytes = attempts.held_bytes(name, settings)
    heap_max = settings.get("heap_max", attempts.order.experiment.variants[name].runtime.heap_max)
    return HeldMemory(variant=name, heap_max=heap_max, rss_bytes=rss_bytes)


#: As close as one correction of a limit need come.
CLOSE_ENOUGH = 0.02
LEAST_LIMIT_MIB = 4


def matched_limit(name: str, held: HeldMemory, attempts: Attempts) -> MatchedLimit:
    """Return the limit at which the variant comes closest to what another one holds.

    Raises:
        MemoryFitFailed: it does not do its work.
    """
    probes: list[LimitProbe] = []
    for limit_mib in corrected(held.rss_bytes, probes):
        attempts.order.say(f"limit of {name} at what {held.variant} holds: {limit_mib} MiB")
        rss_bytes = attempts.held_bytes(name, {"gomemlimit": f"{limit_mib}MiB"})
        probes.append(LimitProbe(limit_mib=limit_mib, rss_bytes=rss_bytes))
    best = min(probes, key=lambda probe: abs(probe.rss_bytes - held.rss_bytes))
    return MatchedLimit(
        variant=name,
        memory_of=held.variant,
        wanted_bytes=held.rss_bytes,
        limit_mib=best.limit_mib,
        probes=tuple(probes),
    )


def corrected(wanted_bytes: int, probes: list[LimitProbe]) -> Iterator[int]:
    """Yield the limits to be tried, in MiB: what is wanted, then that corrected by what came of it.

    ``probes`` has what came of each limit before the next one is asked for.
    """
    first_mib = max(LEAST_LIMIT_MIB, round(wanted_bytes / MIB))
    yield first_mib
    off_bytes = wanted_bytes - probes[0].rss_bytes
    second_mib = max(LEAST_LIMIT_MIB, first_mib + round(off_bytes / MIB))
    if abs(off_bytes) > CLOSE_ENOUGH * wanted_bytes and second_mib != first_mib:
        yield second_mib
