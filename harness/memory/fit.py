# SPDX-License-Identifier: Apache-2.0
"""Equal memory, measured before the first trial: least heaps, and limits at what other variants hold.

A comparison of collectors is one of memory unless memory is the same, so an experiment may say of a Java
variant that its heap is a multiple of the least one (``heap_max = "2x"``), and of a Go variant that it has
as much as a Java one (``gomemlimit = "rss of NAME"``, ``gogc = "off"``).

The least heap is searched for each program with each collector on its own, because collectors need different
room for the same work: ZGC has no 1.3 times of what Serial can live in. What the heaps come to, and
what each variant held, is in the record, so collectors can be compared at one size as well.
To live in a heap is to start, to answer as many requests at one moment as the load has connections, and to answer a
number of requests of the mix rightly at the rate of the load (at most ``MOST_PER_S``) without falling behind it by
more than ``MOST_LATE_S`` once it is no longer cold; so a program that does little but collect does not live. The
search tells of seconds: what needs more after minutes shows in the trials.

A limit on a Go program bounds what its runtime manages, and resident memory is more (the program's text), or less
(what was never touched). So Go is tried with the wanted memory as its limit, and again with the
limit corrected by what it came to; of the two the one that came closer is taken.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.errors import MemoryFitFailed, TrialFailure
from harness.memory.least_heap import Found, least_heap
from harness.memory.probe import Asked, ProbeOrder, held_bytes
from harness.model import (
    BuildRecord,
    Experiment,
    HeapProbe,
    HeldMemory,
    Implementation,
    LeastHeap,
    LimitProbe,
    Load,
    MatchedLimit,
    MemoryFit,
    OpenLoad,
    Outcome,
    Request,
    Variant,
)
from harness.runner import Parts
from harness.workloads import Case

MIB = 2**20
#: A search asks for so long, and memory is read after so long at the most: seconds.
COLD_S, SEARCH_S, HOLD_S = 0.8, 1.5, 8.0
FEWEST_REQUESTS = 200
#: As many requests at one moment as the load has connections or users, up to this.
MOST_AT_ONCE = 100
#: Faster than this nobody can ask from within this process.
MOST_PER_S = 500.0
#: Of a load of users, who have no rate.
USERS_PER_S = 200.0
#: A program that can do little more than half of the rate comes later than this in ``SEARCH_S``; a pause does not.
MOST_LATE_S = 0.75
#: As close as one correction of a limit need come.
CLOSE_ENOUGH = 0.02
LEAST_LIMIT_MIB = 4
#: About what each takes, for planning only: a search, and one program whose memory is read.
SEARCH_TAKES_S, START_TAKES_S = 24.0, 4.0

Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class FitOrder:
    """What is to be measured: variants of ``experiment`` (``names``) under its mix and one of its loads."""

    experiment: Experiment
    names: tuple[str, ...]
    implementations: Mapping[str, Implementation]
    build: Callable[[Implementation, Variant], BuildRecord]
    requests: tuple[Request, ...]
    cases: tuple[Case, ...]
    load: Load
    folder: Path
    say: Callable[[str], None]


def asked_of(experiment: Experiment, names: tuple[str, ...]) -> dict[str, str]:
    """Return variant -> what of its memory must be measured, of these variants and those that they name."""
    asked: dict[str, str] = {}
    for name in names:
        runtime = experiment.variants[name].runtime
        for each in (name, runtime.memory_of):
            what = None if each is None else experiment.variants[each].runtime.memory_asked
            if each is not None and what is not None:
                asked[each] = what
    return asked


def fit_s(experiment: Experiment, names: tuple[str, ...]) -> float:
    """Return about how long it takes, in seconds."""
    asked = asked_of(experiment, names)
    variants = [experiment.variants[name] for name in asked]
    held = {variant.runtime.memory_of for variant in variants} - {None}
    limits = sum(variant.runtime.memory_of is not None for variant in variants)
    searches = len({_key(one) for one in variants if one.runtime.heap_multiple is not None})
    return searches * SEARCH_TAKES_S + (len(held) + 2 * limits) * (HOLD_S + START_TAKES_S)


def fit_memory(order: FitOrder, parts: Parts) -> MemoryFit:
    """Measure everything that is asked for, one program after another.

    Raises:
        MemoryFitFailed: no heap works, or a program whose memory is to be matched does not do its work.
    """
    return _Fit(order=order, parts=parts).go()


@dataclass(kw_only=True)
class _Fit:
    order: FitOrder
    parts: Parts
    resolved: dict[str, dict[str, str]] = field(default_factory=dict)
    builds: dict[str, BuildRecord] = field(default_factory=dict)

    def go(self) -> MemoryFit:
        order = self.order
        asked = asked_of(order.experiment, order.names)
        self._build_all(asked)
        began_s = time.monotonic()
        least = tuple(self._least(names) for names in self._alike(asked).values())
        java = {order.experiment.variants[name].runtime.memory_of: name for name in asked}
        held = {name: self._held(name) for name in java if name is not None}
        limits = tuple(
            self._limit(name, held[other])
            for name in asked
            if (other := order.experiment.variants[name].runtime.memory_of) is not None
        )
        return MemoryFit(
            asked=asked,
            resolved=self.resolved,
            mix=order.experiment.mix,
            rate_per_s=self._rate_per_s,
            n_requests=self._searched.n_requests,
            cold_requests=self._searched.cold_requests,
            at_once=self._at_once,
            most_late_s=MOST_LATE_S,
            hold_s=self._hold_s,
            warm_up_requests=order.experiment.warm_up_requests,
            least=least,
            held=tuple(held.values()),
            limits=limits,
            sources={name: build.source_sha256 for name, build in self.builds.items()},
            measured_epoch_s=time.time(),
            took_s=time.monotonic() - began_s,
        )

    def _build_all(self, asked: Mapping[str, str]) -> None:
        """Build first, so that no compiler works while something is tried."""
        variants = self.order.experiment.variants
        for name in dict.fromkeys(
            [*asked, *(other for each in asked if (other := variants[each].runtime.memory_of))]
        ):
            variant = variants[name]
            if variant.build_name not in self.builds:
                self.order.say(f"build of {variant.build_name}")
                implementation = self.order.implementations[variant.implementation]
                self.builds[variant.build_name] = self.order.build(implementation, variant)

    def _alike(self, asked: Mapping[str, str]) -> dict[Key, list[str]]:
        """Variants that differ in nothing but their multiple: they share a least heap."""
        found: dict[Key, list[str]] = {}
        for name in asked:
            variant = self.order.experiment.variants[name]
            if variant.runtime.heap_multiple is not None:
                found.setdefault(_key(variant), []).append(name)
        return found

    def _least(self, names: list[str]) -> LeastHeap:
        variant = self.order.experiment.variants[names[0]]
        what = f"{variant.implementation} with the collector {variant.runtime.gc or 'of its choice'}"

        def attempt(mib: int) -> HeapProbe:
            self.order.say(f"least heap of {what}: {mib} MiB")
            began_s, problem = time.monotonic(), None
            try:
                self._probe(names[0], {"heap_max": f"{mib}m"}, self._searched)
            except TrialFailure as failure:
                problem = failure
            return HeapProbe(
                heap_mib=mib,
                worked=problem is None,
                reason=None if problem is None else str(problem),
                fell_behind=problem is not None and problem.outcome == Outcome.OVERLOADED,
                took_s=time.monotonic() - began_s,
            )

        found: Found = least_heap(attempt, what=what)
        for name in names:
            multiple = self.order.experiment.variants[name].runtime.heap_multiple or 1.0
            self.resolved[name] = {"heap_max": f"{heap_mib(multiple, found.least_mib)}m"}
        return LeastHeap(
            implementation=variant.implementation,
            collector=variant.runtime.gc,
            variants=tuple(names),
            least_mib=found.least_mib,
            step_mib=found.step_mib,
            steady=found.steady,
            probes=found.probes,
        )

    def _held(self, name: str) -> HeldMemory:
        self.order.say(f"memory that {name} holds")
        settings = self.resolved.get(name, {})
        rss_bytes = self._must(name, settings)
        heap_max = settings.get("heap_max", self.order.experiment.variants[name].runtime.heap_max)
        return HeldMemory(variant=name, heap_max=heap_max, rss_bytes=rss_bytes)

    def _limit(self, name: str, held: HeldMemory) -> MatchedLimit:
        probes: list[LimitProbe] = []
        for limit_mib in corrected(held.rss_bytes, probes):
            self.order.say(f"limit of {name} at what {held.variant} holds: {limit_mib} MiB")
            rss_bytes = self._must(name, {"gomemlimit": f"{limit_mib}MiB"})
            probes.append(LimitProbe(limit_mib=limit_mib, rss_bytes=rss_bytes))
        best = min(probes, key=lambda probe: abs(probe.rss_bytes - held.rss_bytes))
        self.resolved[name] = {"gomemlimit": f"{best.limit_mib}MiB"}
        return MatchedLimit(
            variant=name,
            memory_of=held.variant,
            wanted_bytes=held.rss_bytes,
            limit_mib=best.limit_mib,
            probes=tuple(probes),
        )

    def _must(self, name: str, settings: Mapping[str, str]) -> int:
        try:
            return self._probe(name, settings, self._held_under)
        except TrialFailure as failure:
            how = ", ".join(f"{key} = {value}" for key, value in settings.items()) or "as defined"
            raise MemoryFitFailed(
                f"the memory of {name} ({how}) cannot be read: {failure}; "
                "see that this variant runs here, then start again"
            ) from failure

    def _probe(self, name: str, settings: Mapping[str, str], asked: Asked) -> int:
        variant = self.order.experiment.variants[name]
        variant = variant.model_copy(update={"runtime": variant.runtime.model_copy(update=dict(settings))})
        implementation = self.order.implementations[variant.implementation]
        return held_bytes(
            ProbeOrder(
                name=name,
                implementation=implementation,
                variant=variant,
                build=self.builds[variant.build_name],
                asked=asked,
                folder=self.order.folder,
            ),
            self.parts,
        )

    @property
    def _rate_per_s(self) -> float:
        profile = self.order.load.profile
        return min(profile.rate_per_s, MOST_PER_S) if isinstance(profile, OpenLoad) else USERS_PER_S

    @property
    def _hold_s(self) -> float:
        return min(self.order.load.profile.whole_s or HOLD_S, HOLD_S)

    @property
    def _searched(self) -> Asked:
        return replace(
            self._asks(SEARCH_S), cold_requests=round(self._rate_per_s * COLD_S), at_once=self._at_once
        )

    @property
    def _at_once(self) -> int:
        profile = self.order.load.profile
        callers = profile.connections if isinstance(profile, OpenLoad) else profile.users
        return min(callers, MOST_AT_ONCE)

    @property
    def _held_under(self) -> Asked:
        order = self.order
        return replace(
            self._asks(self._hold_s),
            as_trial=order.cases,
            warm_up_requests=order.experiment.warm_up_requests,
            most_late_s=HOLD_S,
        )

    def _asks(self, lasts_s: float) -> Asked:
        return Asked(
            requests=self.order.requests,
            rate_per_s=self._rate_per_s,
            n_requests=max(FEWEST_REQUESTS, round(self._rate_per_s * lasts_s)),
            most_late_s=MOST_LATE_S,
        )


def heap_mib(multiple: float, least_mib: int) -> int:
    """Return a multiple of the least heap in whole mebibytes, the nearest.

    >>> heap_mib(1.3, 10), heap_mib(1.3, 7), heap_mib(3, 7)
    (13, 9, 21)
    """
    return max(least_mib, math.floor(multiple * least_mib + 0.5))


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


def _key(variant: Variant) -> Key:
    """What a least heap belongs to: the program with all its settings but the multiple."""
    runtime = variant.runtime.model_copy(update={"heap_max": None})
    return variant.implementation, variant.model_copy(
        update={"runtime": runtime, "label": None}
    ).model_dump_json()
