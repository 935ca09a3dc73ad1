# SPDX-License-Identifier: Apache-2.0
"""CPU throttling of a control group, version 1 or 2: ``cpu.stat`` read again and again, turned into spans.

A group that used up its quota stands still until the period (100 ms as a rule) ends, which
looks just like a collection. The counters say that it happened between two readings and for
how long, not when; so a span is the whole time between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from harness.agent.cgroup import CpuStat, parse_cpu_stat
from harness.errors import InputError

__all__ = ["CpuStat", "parse_cpu_stat", "throttle_spans"]


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
