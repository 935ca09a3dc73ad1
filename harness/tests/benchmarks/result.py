# SPDX-License-Identifier: Apache-2.0
"""What a benchmark says: rows with value, peer, ratio and target, and whether each target holds."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from statistics import median

from pydantic import Field, computed_field

from harness.agent.machine_counters import read_machine
from harness.agent.platforms import usable_cpus
from harness.model import Frozen

#: Beyond this share of its CPU time used by others the machine is not idle.
BUSY_SHARE = 0.1


class BenchRow(Frozen):
    """One number. ``holds``: True, False, or ``None`` for cannot say (with a target) or nothing to keep."""

    name: str
    value: float | None
    unit: str
    low: float | None = Field(default=None, description="the smallest of the repetitions")
    high: float | None = Field(default=None, description="the largest of the repetitions")
    peer: str | None = Field(default=None, description="who did the same work in the same run")
    peer_value: float | None = Field(default=None, description="in the same unit")
    ratio: float | None = Field(
        default=None, description="value over peer's value, unless the name says else"
    )
    ratio_low: float | None = Field(default=None, description="end of the ratio's 95 % interval")
    ratio_high: float | None = None
    target: str | None = None
    holds: bool | None = None
    said: str = Field(default="", description="what a reader must know beside it")

    @property
    def verdict(self) -> str:
        """``holds`` in words; empty without a target."""
        if self.target is None:
            return ""
        return {True: "holds", False: "DOES NOT HOLD", None: "cannot say"}[self.holds]


class BenchResult(Frozen):
    """One benchmark, all of its rows from one run."""

    name: str
    question: str
    rows: tuple[BenchRow, ...]
    notes: tuple[str, ...] = ()
    place: str = Field(description="cores, memory and commit; no date, no name of a machine")

    @computed_field  # type: ignore[prop-decorator]  # pydantic puts it on a property, so that --json has it
    @property
    def holds(self) -> bool | None:
        """False when a target does not hold; else ``None`` when one cannot be told; else True."""
        verdicts = [row.holds for row in self.rows if row.target is not None]
        if False in verdicts:
            return False
        return None if None in verdicts else True


class Others:
    """What others used of the machine since this was made, this process and its ended children left out."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._machine_s, self._own_s = read_machine().total_cpu_s, _own_cpu_s()

    def share(self) -> float | None:
        """Share of all cores' time; ``None``: the kernel does not tell."""
        now_s = read_machine().total_cpu_s
        if now_s is None or self._machine_s is None:
            return None
        used_s = now_s - self._machine_s - (_own_cpu_s() - self._own_s)
        lasted_s = max(time.monotonic() - self._began, 1e-9)
        return max(0.0, used_s / lasted_s / len(usable_cpus()))


def words(share: float | None) -> str:
    """The share in a sentence."""
    return f"others used {'an unknown share' if share is None else format(share, '.0%')} of the machine meanwhile"


def _own_cpu_s() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def at_most(limit: float, values: Sequence[float]) -> bool | None:
    """Judge repetitions against an upper limit: the median keeps it, none does, or it cannot be told."""
    if median(values) <= limit:
        return True
    return False if min(values) > limit else None


def judge(limit: float, values: Sequence[float], share: float | None) -> bool | None:
    """Judge what must not be more than ``limit``; a miss beside others' work is ``None``, cannot say."""
    verdict = at_most(limit, values)
    return None if verdict is False and (share is None or share > BUSY_SHARE) else verdict


def at_least(limit: float, value: float | None, high: float | None) -> bool | None:
    """Judge an estimate against a lower limit.

    False only when the whole interval lies below; a value that keeps it holds; between the two, or
    below and without an interval, it cannot be told.
    """
    if value is None:
        return None
    if value >= limit:
        return True
    return False if high is not None and high < limit else None


def over(value: float | None, peer: float | None) -> float | None:
    """The ratio, or ``None`` when either is unknown or the peer's is zero."""
    return None if value is None or not peer else value / peer
