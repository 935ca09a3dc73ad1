# SPDX-License-Identifier: Apache-2.0
"""When a Go runtime started, on the wall clock: its log and what its service said of its last collection agree on it.

The log (gctrace) counts from the start of the runtime and is cut to whole milliseconds. The statistics that the
service's ``/metrics`` gives at the edges of the load tell the number of the last collection and the wall-clock time of
its end to the microsecond. The same collection in both bounds the runtime's start to a millisecond; each further
one can only narrow it. Nothing is added to the service and nothing is asked of it while load is on.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from harness.formats.gc_events import GcLog
from harness.formats.runtime_metrics import LastCollection
from harness.model import ClockReading, Frozen

#: Between the two clocks that the runtime reads one after the other when a collection ends.
_BETWEEN_READINGS_S = 2e-5
#: Bounds that miss each other by no more: the wall clock was slewed meanwhile, not set.
_SLEWED_S = 2e-3
#: A runtime starts no sooner than its process is launched, and in a container not much later.
_SOONEST_S, _LATEST_S = -2e-3, 5.0


class RuntimeStart(Frozen):
    """The wall-clock time at which the runtime's own clock began to count, in epoch seconds."""

    epoch_s: float = Field(description="the middle of what is possible")
    within_s: float = Field(description="half the width of what is possible")
    n_collections: int = Field(description="how many collections both sides told of")


def runtime_start(log: GcLog, told: Sequence[LastCollection]) -> RuntimeStart | None:
    """Bound the runtime's start; ``None``: no collection stands in both, or they contradict each other.

    Args:
        log: gctrace, its collections numbered.
        told: what ``/metrics`` said, in any order; the same collection may be told of twice.
    """
    by_number = {cycle.gc_id: cycle for cycle in log.cycles}
    low, high = float("-inf"), float("inf")
    seen = set()
    for last in told:
        cycle = by_number.get(last.number)
        if cycle is None:
            continue
        seen.add(last.number)
        high = min(high, last.ended_epoch_s - cycle.end_s + _BETWEEN_READINGS_S)
        low = max(low, last.ended_epoch_s - cycle.end_s - cycle.late_by_s - _BETWEEN_READINGS_S)
    if not seen or low - high > _SLEWED_S:
        return None
    return RuntimeStart(epoch_s=(low + high) / 2, within_s=abs(high - low) / 2, n_collections=len(seen))


def fits_launch(start: RuntimeStart, launched: ClockReading) -> bool:
    """Whether a process launched then can be the one whose runtime started there."""
    since_s = start.epoch_s - launched.wall_epoch_s
    return _SOONEST_S - start.within_s <= since_s <= _LATEST_S + start.within_s
