# SPDX-License-Identifier: Apache-2.0
"""What a process holds, and whether it grows with the number of trials; read from outside."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Literal

from scipy import stats

from harness.agent.processes import read_stat

#: What of a process only the process can give back. Pages of files, such as those of programs and libraries, are left
#: out: the kernel takes them when memory is short, and maps them when they are used.
_OWN_MEMORY = ("RssAnon", "RssShmem", "VmSwap")
#: What builds up once, such as pools and caches, is no leak: this share of the trials is left out.
WARM_UP_SHARE = 0.2
#: Readings that follow each other are alike: the slope and its interval are of one value in each of so many windows.
WINDOWS = 16
#: Of these the least value of a window counts: what is left when a trial has ended. A median would change with the
#: share of its time that a trial has a service and a sampler, and so with the load of the machine.
LEFT_BEHIND = frozenset({"memory", "descriptors", "threads", "files left on disk"})
#: The most that 1,000 trials may add, by what is read; memory, disk and logs in bytes.
LIMITS = {
    "memory": 2.0 * 2**20,
    "descriptors": 1.0,
    "threads": 1.0,
    "files left on disk": 64.0 * 2**10,
    "record of a trial": 1024.0,
    "log a trial": 64.0,
}


def held(pid: int) -> dict[str, float] | None:
    """Return memory in bytes, descriptors and threads of a process; ``None``: it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8", errors="replace")
        n_descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
    stat, fields = read_stat(pid), dict(line.partition(":")[::2] for line in status.splitlines())
    if stat is None or stat.ended or not fields.keys() >= set(_OWN_MEMORY):
        return None
    memory = sum(int(fields[name].split()[0]) << 10 for name in _OWN_MEMORY)
    return {"memory": float(memory), "descriptors": float(n_descriptors), "threads": float(stat.n_threads)}


def peak_bytes(pid: int) -> int:
    """The most resident memory that a process ever had."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def bytes_below(folders: Iterable[Path]) -> float:
    """Return the size of all files below some folders, links not followed."""
    total = 0
    for folder in folders:
        for base, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):  # it went meanwhile
                    total += os.lstat(os.path.join(base, name)).st_size
    return float(total)


def judged(what: str, series: Sequence[tuple[float, float]]) -> Literal["flat", "grows", "undecided"] | None:
    """Return how a series of (trials done, value) grows with the number of trials; ``None``: it is too short to tell.

    ``flat``: the whole 95 % interval of its slope is within the limit of 1,000 trials; ``grows``: it is beyond it. The
    slope is Theil and Sen's, of ``WINDOWS`` windows with as many trials each, however long these took: of the least
    value of what is ``LEFT_BEHIND``, of the median of the others.
    """
    first, last = series[0][0], series[-1][0]
    begin = first + (last - first) * WARM_UP_SHARE
    windows: list[list[tuple[float, float]]] = [[] for _ in range(WINDOWS)]
    for x, y in series:
        if begin <= x < last:
            windows[int((x - begin) / (last - begin) * WINDOWS)].append((x, y))
    if not all(windows):
        return None
    trials = [median(x for x, _ in window) for window in windows]
    values = [(min if what in LEFT_BEHIND else median)([y for _, y in window]) for window in windows]
    _, _, low, high = (1000 * number for number in stats.theilslopes(values, trials, 0.95))
    return "flat" if high <= LIMITS[what] else "grows" if low > LIMITS[what] else "undecided"
