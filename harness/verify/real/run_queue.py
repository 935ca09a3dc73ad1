# SPDX-License-Identifier: Apache-2.0
"""When processes waited for a CPU although they could have run: an independent witness of the machine's own noise.

The kernel counts in ``/proc/PID/task/TID/schedstat`` how long each thread was runnable and not run.
Time that a hypervisor took away altogether is steal, and counts as well. A stopped process is not
runnable, so a stop for which somebody sent SIGSTOP leaves no trace here.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

_STEAL_FIELD = 8
_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


class RunQueue:
    """Reads the waiting time of some processes again and again in a thread; use as a context manager."""

    def __init__(self, pids: Sequence[int], *, every_s: float = 0.005) -> None:
        self._pids, self._every_s = tuple(pids), every_s
        self._at: list[float] = []
        self._counts: list[list[float]] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="run-queue", daemon=True)

    def __enter__(self) -> RunQueue:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def waited_s(self, pid: int, start_s: float, end_s: float) -> float:
        """Return how long a process waited between two monotonic times, to the readings around them.

        A process of several threads waits as long as the one of them that waits longest.
        """
        return self._gained_s(self._pids.index(pid), start_s, end_s)

    def stolen_s(self, start_s: float, end_s: float) -> float:
        """Return how much CPU time the hypervisor gave to others between two monotonic times, over all CPUs."""
        return self._gained_s(-1, start_s, end_s)

    def waits(self, pid: int, at_least_s: float) -> list[tuple[float, float]]:
        """Return the spans in which a process waited through half of each reading or more, in monotonic seconds.

        Args:
            at_least_s: shorter spans are left out.
        """
        column, spans = self._pids.index(pid), list[tuple[float, float]]()
        readings = list(zip(self._at, self._counts, strict=False))  # the thread may be adding one
        for (before, had), (at, has) in pairwise(readings):
            if has[column] - had[column] < (at - before) / 2:
                continue
            if spans and spans[-1][1] == before:
                spans[-1] = (spans[-1][0], at)
            else:
                spans.append((before, at))
        return [(low, high) for low, high in spans if high - low >= at_least_s]

    def _gained_s(self, column: int, start_s: float, end_s: float) -> float:
        if len(self._at) < 2:
            return 0.0
        first = max(bisect_right(self._at, start_s) - 1, 0)
        last = min(bisect_left(self._at, end_s), len(self._at) - 1)
        return self._counts[last][column] - self._counts[first][column]

    def _work(self) -> None:
        readers = [_Waiting(pid) for pid in self._pids]
        while not self._stopping.wait(self._every_s):
            at = time.monotonic()
            self._counts.append([*(reader.read_s() for reader in readers), _steal_s()])
            self._at.append(at)  # last: who asks meanwhile finds a count for each time
        for reader in readers:
            reader.close()


class _Waiting:
    """The waiting time of one process: over its threads, the sum of what the longest waiting one waited each time."""

    _LOOK_AGAIN = 20

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._threads: dict[str, int] = {}
        self._before: dict[str, float] = {}
        self._total_s = 0.0
        self._n_reads = 0

    def read_s(self) -> float:
        if self._n_reads % self._LOOK_AGAIN == 0:
            self._look()
        self._n_reads += 1
        longest_s = 0.0
        for thread, descriptor in list(self._threads.items()):
            try:
                waited_s = int(os.pread(descriptor, 128, 0).split()[1]) / 1e9
            except (OSError, IndexError):  # it ended
                os.close(self._threads.pop(thread))
                continue
            longest_s = max(longest_s, waited_s - self._before.get(thread, waited_s))
            self._before[thread] = waited_s
        self._total_s += longest_s
        return self._total_s

    def _look(self) -> None:
        folder = f"/proc/{self._pid}/task"
        with contextlib.suppress(OSError):
            for thread in os.listdir(folder):
                if thread not in self._threads:
                    with contextlib.suppress(OSError):
                        self._threads[thread] = os.open(f"{folder}/{thread}/schedstat", os.O_RDONLY)

    def close(self) -> None:
        for descriptor in self._threads.values():
            os.close(descriptor)
        self._threads = {}


def _steal_s() -> float:
    try:
        with open("/proc/stat", "rb") as stream:
            fields = stream.readline().split()
        return int(fields[_STEAL_FIELD]) * _TICK_S
    except (OSError, IndexError, ValueError):
        return 0.0
