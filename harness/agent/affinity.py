# SPDX-License-Identifier: Apache-2.0
"""Two arms of a duet on two sets of CPUs, which are exchanged again and again while both are under load.

An arm is a service with its load generator. Exchanged by the affinity of every thread of both, so that what happens
on one CPU (another process, a slower core, a stolen slice) meets both arms for the same share of the time.
Duet benchmarking is of Bulej et al., "Duet Benchmarking: Improving Measurement Accuracy in the Cloud" (ICPE 2020);
there both arms stay where they are.
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
from harness.agent.processes import PROC, read_stat

#: An interval is longer or shorter than asked by at most this share, so that noise of the same period cannot keep in
#: step with the exchanges and meet one arm alone.
JITTER = 0.2
#: A thread that is made while the others are moved inherits where its maker was: look until a look finds nobody new.
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
    """Let every thread of these processes and their children run on ``cpus`` alone; return how many were moved. Looks
    again until no new thread is there, and at least twice: one that was made meanwhile has what its maker had."""
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
    """Moves two arms between two sets of CPUs. ``add`` their processes; ``start`` and ``stop`` once: before and
    after, each arm stays where it is. The arm that is moved first takes turns: until the other was moved, both are on
    the same CPUs."""

    def __init__(
        self, sets: tuple[Sequence[int], Sequence[int]], *, interval_s: float, seed: int = 0
    ) -> None:
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
        thread = self._thread
        if thread is not None:
            thread.join()

    def write(self, file: Path, arm: int) -> None:
        """Write every exchange as one arm saw it; CPUs of a set are joined by spaces.

        Raises OSError: it cannot be written.
        """
        rows = [
            f"{exchange.began_s:.6f},{exchange.done_s:.6f},"
            f"{_listed(exchange.cpus[arm])},{_listed(exchange.cpus[1 - arm])},"
            f"{exchange.n_threads[arm]},{exchange.n_threads[1 - arm]}"
            for exchange in self.exchanges
        ]
        file.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")

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
        """Processes that still are who they were when they were added."""
        results = []
        for pid, start_ticks in list(self._roots[arm].items()):
            stat = read_stat(pid)
            if stat is None or stat.ended or stat.start_ticks != start_ticks:
                del self._roots[arm][pid]
            else:
                results.append(pid)
        return results

    def _note(self, began_s: float, n_threads: tuple[int, int]) -> None:
        self.exchanges.append(Exchange(began_s, time.monotonic(), (self.cpus(0), self.cpus(1)), n_threads))


def _listed(cpus: Sequence[int]) -> str:
    return " ".join(map(str, cpus))
