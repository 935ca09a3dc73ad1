# SPDX-License-Identifier: Apache-2.0
"""CPU throttling of a control group, version 1 or 2: ``cpu.stat`` read again and again, turned into spans.

A group that used up its quota stands still until the period (100 ms as a rule) ends, which
looks just like a collection. The counters say that it happened between two readings and for
how long, not when; so a span is the whole time between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pydantic import Field

from harness.errors import InputError
from harness.model import Frozen


class CpuStat(Frozen):
    """One reading of ``cpu.stat``."""

    n_periods: int
    n_throttled: int = Field(description="periods in which the group was stopped")
    throttled_s: float = Field(description="summed over its CPUs: may grow faster than time")
    n_unknown: int
    unknown_examples: tuple[str, ...] = ()


def parse_cpu_stat(text: str) -> CpuStat | None:
    """Parse ``cpu.stat``; ``None`` when the group has no CPU quota to speak of (the topmost group of version 2).

    Version 1 counts ``throttled_time`` in nanoseconds, version 2 ``throttled_usec`` in microseconds.
    """
    values: dict[str, int] = {}
    unknown: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            values[words[0]] = int(words[1])
        elif words:
            unknown.append(line[:200])
    if "nr_throttled" not in values or not values.keys() & {"throttled_time", "throttled_usec"}:
        return None
    throttled = (
        values["throttled_usec"] / 1e6 if "throttled_usec" in values else values["throttled_time"] / 1e9
    )
    return CpuStat(
        n_periods=values.get("nr_periods", 0),
        n_throttled=values["nr_throttled"],
        throttled_s=throttled,
        n_unknown=len(unknown),
        unknown_examples=tuple(unknown[:3]),
    )


def throttle_spans(readings: Sequence[tuple[float, CpuStat]]) -> list[tuple[float, float]]:
    """Return the times between neighbouring readings in which the group was throttled.

    Args:
        readings: (time in seconds, reading) in time order.

    Raises:
        InputError: times or counters go backwards: these are readings of two groups.
    """
    spans = []
    for (earlier_s, earlier), (later_s, later) in itertools.pairwise(readings):
        if later_s < earlier_s or later.n_throttled < earlier.n_throttled:
            raise InputError("readings of one group, in time order, never fall", found=(earlier_s, later_s))
        if later.n_throttled > earlier.n_throttled:
            spans.append((earlier_s, later_s))
    return spans
