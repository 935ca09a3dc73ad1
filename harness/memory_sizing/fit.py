# SPDX-License-Identifier: Apache-2.0
"""Equal memory, measured before the first trial: least heaps, and limits at what other variants hold.

A comparison of collectors is one of memory unless memory is the same, so an experiment may say of a Java variant that
its heap is a multiple of the least one (``heap_max = "2x"``), of a Go variant the same of its limit, or that it has as
much as a Java one (``gomemlimit = "rss of NAME"``), both with ``gogc = "off"``.

The least heap is searched for each program with each collector on its own, because collectors need different room for
the same work. To live in a heap is to bear the load of the session, short, in a trial of which nothing is kept; a Go
program must also keep to its limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from harness.errors import MemoryFitFailed
from harness.memory_sizing.probe import MIB, Attempts, FitSpec, alike, asked_of
from harness.model import BuildRecord, HeapProbe, HeldMemory, LeastHeap, LimitProbe, MatchedLimit, MemoryFit
from harness.runner import TrialContext


def fit_memory(spec: FitSpec, context: TrialContext) -> MemoryFit:
    """Measure everything that is asked for, one program after another.

    Raises:
        MemoryFitFailed: no heap works, or a program whose memory is to be matched does not do its work.
        MissingTool: the load generator is not there.
    """
    experiment, began_s = spec.experiment, time.monotonic()
    asked = asked_of(experiment, spec.names)
    partners = {name: partner for name in asked if (partner := experiment.variants[name].runtime.memory_of)}
    builds = _built(dict.fromkeys([*asked, *partners.values()]), spec)
    attempts = Attempts(order=spec, parts=context, builds=builds)
    least = tuple(_least(names, attempts) for names in alike(experiment, tuple(asked)))
    resolved = {name: attempts.multiple_of(name, item.least_mib) for item in least for name in item.variants}
    held = {
        partner: attempts.held(partner, resolved.get(partner, {}))
        for partner in dict.fromkeys(partners.values())
    }
    limits = tuple(matched_limit(name, held[partner], attempts) for name, partner in partners.items())
    return MemoryFit(
        asked=asked,
        resolved=resolved | {limit.variant: {"gomemlimit": f"{limit.limit_mib}MiB"} for limit in limits},
        mix=spec.configuration.mix, warm_up_requests=spec.configuration.warm_up_requests, tried=spec.tried, least=least,
        held=tuple(held.values()), limits=limits,
        sources={name: build.source_sha256 for name, build in builds.items()}, measured_epoch_s=time.time(),
        took_s=time.monotonic() - began_s,
    )  # fmt: skip


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
    what = f"{variant.build_name} with the collector {variant.runtime.gc or 'of its choice'}"

    def attempt(mib: int) -> HeapProbe:
        order.say(f"least {'limit' if limit else 'heap'} of {what}: {mib} MiB")
        return attempts.heap(name, mib)

    result = least_heap(attempt, what=what)
    return LeastHeap(
        implementation=variant.implementation, collector=variant.runtime.gc,
        setting="gomemlimit" if limit else "heap_max", variants=names, least_mib=result.least_mib,
        step_mib=result.step_mib, steady=result.steady, probes=result.probes,
    )  # fmt: skip


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


#: Where the search begins, and where it gives up: no service here needs gigabytes for a request.
FIRST_MIB, MOST_MIB = 16, 4096
#: How fine it is: this share of the heap, a mebibyte at least.
STEP_SHARE = 0.05
#: By what a heap grows that was not enough after all, and after how many failures that share doubles.
GROWTH_SHARE, FAILURES_EACH = 0.10, 3


@dataclass(frozen=True, kw_only=True)
class SearchEnd:
    """Where a search of a heap ended. ``steady``: no outcome contradicts another."""

    least_mib: int
    step_mib: int
    steady: bool
    probes: tuple[HeapProbe, ...]


def least_heap(attempt: Callable[[int], HeapProbe], *, what: str, most_mib: int = MOST_MIB) -> SearchEnd:
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
        if mib >= most_mib:
            raise MemoryFitFailed(
                f"{what} does its work in no heap up to {mib} MiB; in the last one: {probes[-1].reason}; "
                "check that this variant runs here and sustains its load, then start again"
            )
        return min(wanted_mib, most_mib)

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
    return SearchEnd(least_mib=high, step_mib=step, steady=agree(probes), probes=tuple(probes))


def step_mib(heap_mib: int) -> int:
    """Return how fine the search is at this heap, in MiB."""
    return max(1, int(heap_mib * STEP_SHARE))


def agree(probes: Sequence[HeapProbe]) -> bool:
    """Return whether every heap that worked is larger than every one that did not."""
    worked = [probe.heap_mib for probe in probes if probe.worked]
    failed = [probe.heap_mib for probe in probes if not probe.worked]
    return not worked or not failed or min(worked) > max(failed)
