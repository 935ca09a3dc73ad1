# SPDX-License-Identifier: Apache-2.0
"""How fast each CPU is while a load runs: the CPU time of one fixed calculation, read again and again on that CPU.

A virtual CPU is often one of two hardware threads of a core, and another guest has the other one. While that works,
everything here takes a third longer, and neither steal nor pressure shows it: the CPU was not taken away, it was
slower. A reading takes about a tenth of a millisecond.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Sequence

#: Readings a second, of all CPUs together: a thousandth of their time.
READINGS_PER_S = 10.0
#: An interval is longer or shorter by at most this share, lest readings keep in step with something periodic.
JITTER = 0.2
#: The first steps bring the calculation back into the caches, and are not counted.
WARMING_STEPS, STEPS = 200, 1500


class CpuSpeedMeter:
    """Reads the speed of CPUs, each with a thread that runs there alone. ``per_s``: readings a second, of all CPUs
    together. A CPU that this process may not use is left out, and so are all where threads cannot be pinned (macOS)."""

    def __init__(self, cpus: Sequence[int], per_s: float = READINGS_PER_S) -> None:
        self._over = threading.Event()
        self._read: dict[int, list[float]] = {}
        interval_s = len(cpus) / per_s
        self._threads = [
            threading.Thread(target=self._work, args=(cpu, interval_s), name=f"CPU {cpu}", daemon=True)
            for cpu in cpus
        ]

    def start(self) -> None:
        """Begin to read."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> list[dict[str, float]]:
        """Stop, and return the fields of ``model.CpuSpeed``: 5th percentile, median and mean of the CPU time of a step,
        in nanoseconds; CPUs in order, one that could not be read is left out. Idempotent."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        results: list[dict[str, float]] = []
        for cpu, read in sorted(self._read.items()):
            ordered, n = sorted(read), len(read)
            steps = {"p05": ordered[n // 20], "p50": ordered[n // 2], "mean": sum(ordered) / n}
            rounded = {f"step_ns_{name}": round(step_ns, 2) for name, step_ns in steps.items()}
            results.append({"cpu": cpu, "n_readings": n, **rounded})
        return results

    def _work(self, cpu: int, interval_s: float) -> None:
        pin = getattr(os, "sched_setaffinity", None)
        if pin is None:
            return
        try:
            pin(0, {cpu})  # of this thread alone
        except OSError:
            return
        rng = random.Random(cpu)
        read = self._read[cpu] = [step_ns()]  # also of a load that is over at once
        while not self._over.wait(interval_s * (1.0 + JITTER * (2.0 * rng.random() - 1.0))):
            read.append(step_ns())


def step_ns() -> float:
    """Return the CPU time of one step of the calculation in nanoseconds."""
    _calculate(WARMING_STEPS)
    began_ns = time.thread_time_ns()
    _calculate(STEPS)
    return (time.thread_time_ns() - began_ns) / STEPS


def _calculate(steps: int) -> int:
    value = 0
    for step in range(steps):
        value = (value * 31 + step) & 0xFFFF
    return value
