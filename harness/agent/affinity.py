# SPDX-License-Identifier: Apache-2.0
"""Two arms of a duet, each a service with its load generator, on two sets of CPUs that are exchanged under load.

So what happens on one CPU (another process, a slower core, a stolen slice) meets both arms for the same share of the
time. In Bulej et al., "Duet Benchmarking" (ICPE 2020), both arms stay where they are.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.agent.process_tree import children
from harness.agent.processes import PROC, alive

#: An interval is longer or shorter by at most this share, lest periodic noise keep in step with exchanges.
JITTER = 0.2
#: A thread that is made while the others are moved inherits where its maker was: look until no new one is there.
MOST_LOOKS = 5
HEADER = "monotonic_s,done_monotonic_s,cpus,partner_cpus,n_threads,partner_n_threads"


class Exchange(NamedTuple):
    """One exchange: when it began and was done, the CPUs of each arm from then on, the threads that were moved."""

    began_s: float
    done_s: float
    cpus: tuple[tuple[int, ...], tuple[int, ...]]
    n_threads: tuple[int, int]


def intervals(interval_s: float, seed: int) -> Iterable[float]:
    """Yield how long each exchange holds; two in a row are equal, so that either arm had both sets as long."""
    rng = random.Random(seed)
    while True:
        length_s = interval_s * (1.0 + JITTER * (2.0 * rng.random() - 1.0))
        yield length_s
        yield length_s


def tree_of(roots: Iterable[int]) -> set[int]:
    """Return the ids of processes with all their children, and theirs."""
    result, to_look_at = set(), list(roots)
    while to_look_at:
        pid = to_look_at.pop()
        if pid not in result:
            result.add(pid)
            to_look_at += children(pid)
    return result


def threads_of(pid: int) -> set[int]:
    """Return the ids of a process's threads; empty: it is gone."""
    try:
        return {int(task) for task in os.listdir(f"{PROC}/{pid}/task")}
    except OSError:
        return set()


def move(roots: Iterable[int], cpus: Sequence[int]) -> int:
    """Let every thread of these processes and their children run on ``cpus`` alone; return how many were moved."""
    moved: set[int] = set()
    roots = tuple(roots)
    for look in range(MOST_LOOKS):
        new = {thread for pid in tree_of(roots) for thread in threads_of(pid)} - moved
        for thread in new:
            with contextlib.suppress(OSError):  # it has ended
                os.sched_setaffinity(thread, cpus)
        moved |= new
        if look and not new:
            break
    return len(moved)


class Exchanger:
    """Moves two arms between two sets of CPUs from ``start`` to ``stop``. The arm that is moved first takes turns:
    until the other was moved, both are on the same CPUs."""

    def __init__(self, sets: tuple[Sequence[int], Sequence[int]], *, interval_s: float, seed: int) -> None:
        self._sets = (tuple(sets[0]), tuple(sets[1]))
        self._interval_s, self._seed = interval_s, seed
        self._roots: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._crossed = False
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self.exchanges: list[Exchange] = []

    def cpus(self, arm: int) -> tuple[int, ...]:
        """Return where an arm (0 or 1) is now."""
        return self._sets[arm ^ self._crossed]

    def add(self, arm: int, pid: int, start_ticks: int) -> None:
        """Move a process with the arm from now on, and to where the arm is at once."""
        with self._lock:
            self._roots[arm][pid] = start_ticks
            move([pid], self.cpus(arm))

    def start(self) -> None:
        """Begin to exchange. Idempotent."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._go, name="exchanger", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Exchange no more. Idempotent."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def write(self, file: Path, arm: int) -> None:
        """Write every exchange as one arm saw it; CPUs of a set are joined by spaces. Raises OSError."""
        lines = [HEADER]
        for exchange in self.exchanges:
            own, partner = (" ".join(map(str, exchange.cpus[side])) for side in (arm, 1 - arm))
            times = f"{exchange.began_s:.6f},{exchange.done_s:.6f}"
            lines.append(f"{times},{own},{partner},{exchange.n_threads[arm]},{exchange.n_threads[1 - arm]}")
        file.write_text("\n".join([*lines, ""]), encoding="utf-8")

    def _go(self) -> None:
        due_s = time.monotonic()
        self._note(due_s, (0, 0))  # where they began
        for length_s in intervals(self._interval_s, self._seed):
            due_s += length_s
            if self._over.wait(max(0.0, due_s - time.monotonic())):
                return
            with self._lock:
                self._exchange()

    def _exchange(self) -> None:
        began_s = time.monotonic()
        self._crossed = not self._crossed
        n_threads = [0, 0]
        first = len(self.exchanges) // 2 % 2
        for arm in (first, 1 - first):
            n_threads[arm] = move(self._alive(arm), self.cpus(arm))
        self._note(began_s, (n_threads[0], n_threads[1]))

    def _alive(self, arm: int) -> list[int]:
        return [pid for pid, start_ticks in self._roots[arm].items() if alive(pid, start_ticks)]

    def _note(self, began_s: float, n_threads: tuple[int, int]) -> None:
        self.exchanges.append(Exchange(began_s, time.monotonic(), (self.cpus(0), self.cpus(1)), n_threads))
