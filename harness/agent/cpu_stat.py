# SPDX-License-Identifier: Apache-2.0
"""``cpu.stat`` of a control group."""

from __future__ import annotations

from dataclasses import dataclass

#: Digits of the largest counter: 64 bits.
LONGEST_NUMBER = 20


@dataclass(frozen=True)
class CpuStat:
    """One reading of ``cpu.stat``.

    ``n_throttled``: periods in which the group was stopped; ``throttled_s``: summed over its CPUs, so it
    may grow faster than time.
    """

    n_throttled: int
    throttled_s: float
    n_unknown: int
    unknown_examples: tuple[str, ...] = ()


def whole_number(text: str) -> int | None:
    """Return the number in a file of the kernel; ``None`` for anything but digits, and for more than it counts to."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else None


def parse_cpu_stat(text: str) -> CpuStat | None:
    """Parse ``cpu.stat``; ``None`` when the group has no CPU quota to speak of (the topmost group of version 2).

    Version 1 counts ``throttled_time`` in nanoseconds, version 2 ``throttled_usec`` in microseconds.
    """
    values: dict[str, int] = {}
    unknown: list[str] = []
    for line in text.splitlines():
        words = line.split()
        number = whole_number(words[1]) if len(words) == 2 else None
        if number is not None:
            values[words[0]] = number
        elif words:
            unknown.append(line[:200])
    if "nr_throttled" not in values or not values.keys() & {"throttled_time", "throttled_usec"}:
        return None
    throttled = (
        values["throttled_usec"] / 1e6 if "throttled_usec" in values else values["throttled_time"] / 1e9
    )
    return CpuStat(
        n_throttled=values["nr_throttled"],
        throttled_s=throttled,
        n_unknown=len(unknown),
        unknown_examples=tuple(unknown[:3]),
    )
