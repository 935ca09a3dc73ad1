# SPDX-License-Identifier: Apache-2.0
"""What others used of the machine while something was measured, and what a miss beside their work is worth."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from statistics import median

from harness.agent.machine_counters import read_machine
from harness.agent.platforms import usable_cpus
from harness.model.digits import plain

#: Beyond this share of its CPU time used by others the machine is not idle.
BUSY_SHARE = 0.1


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


def number(value: float | None) -> str:
    """Three digits that count; ``unknown`` for ``None``."""
    return "unknown" if value is None else plain(value)
