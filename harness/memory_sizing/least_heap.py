# SPDX-License-Identifier: Apache-2.0
"""The least heap in which something works: doubled until it does, halved until it does not, and tried once more.

A probe costs a fresh process and seconds, so there are few. Whether a heap is enough may hang on luck: what the
machine did meanwhile, when a collector began. So who was too slow is tried again, and the heap that was found must
work twice; where any outcome contradicts another the search says so.

There are two ways to try a heap, a quick one and a dear one that asks for more. ``least_heap`` searches with the first;
``enlarged`` begins where that ended and only grows, with the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.errors import MemoryFitFailed
from harness.model import HeapProbe

#: Where the search begins, and where it gives up: no service here needs gigabytes for a request.
FIRST_MIB, MOST_MIB = 16, 4096
#: How fine it is: this share of the heap, a mebibyte at least.
STEP_SHARE = 0.05
#: By what a heap grows that was not enough after all, and after how many failures that share doubles: who needs a
#: little more gets little more, and who works in none has been through them all in fifteen steps.
GROWTH_SHARE, FAILURES_EACH = 0.10, 3

Attempt = Callable[[int], HeapProbe]


@dataclass(frozen=True, kw_only=True)
class Found:
    """Where the search ended. ``steady``: no outcome contradicts another."""

    least_mib: int
    step_mib: int
    steady: bool
    probes: tuple[HeapProbe, ...]


def least_heap(
    attempt: Attempt, *, what: str, first_mib: int | None = None, most_mib: int = MOST_MIB
) -> Found:
    """Return the least heap that works.

    Args:
        attempt: tries one heap, in MiB. what: of what, for the message. first_mib: default ``FIRST_MIB``.

    Raises:
        MemoryFitFailed: none works.
    """
    probes: list[HeapProbe] = []

    def works(mib: int) -> bool:
        return _works(attempt, mib, probes)

    low, high = 0, first_mib or FIRST_MIB
    while not works(high):
        low, high = high, _larger(high, 2 * high, most_mib, what, probes)
    while high - low > step_mib(high):
        middle = (low + high) // 2
        if works(middle):
            high = middle
        else:
            low = middle
    while not works(high):  # it was luck before
        high = _larger(high, high + step_mib(high), most_mib, what, probes)
    return Found(least_mib=high, step_mib=step_mib(high), steady=agree(probes), probes=tuple(probes))


def enlarged(attempt: Attempt, found: Found, *, what: str, most_mib: int = MOST_MIB) -> Found:
    """Return the heap that was found, or the next larger one that works twice in a row when it is tried otherwise.

    Args:
        attempt: the other way to try a heap, in MiB. what: of what and how, for the message.

    Raises:
        MemoryFitFailed: none works.
    """
    probes: list[HeapProbe] = []
    heap_mib, step, failures = found.least_mib, found.step_mib, 0
    while not (_works(attempt, heap_mib, probes) and _works(attempt, heap_mib, probes)):
        share = GROWTH_SHARE * 2 ** (failures // FAILURES_EACH)
        larger_mib = _larger(heap_mib, heap_mib + max(1, round(share * heap_mib)), most_mib, what, probes)
        heap_mib, step, failures = larger_mib, larger_mib - heap_mib, failures + 1
    return Found(
        least_mib=heap_mib,
        step_mib=step,
        steady=found.steady and agree(probes),
        probes=(*found.probes, *probes),
    )


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
