# SPDX-License-Identifier: Apache-2.0
"""What the kernel counts of a process: its children, threads, open descriptors, its share of shared pages, and for how
long its threads waited for a CPU."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from harness.agent.processes import PROC


def children(pid: int) -> set[int]:
    """Return the ids of its children now, those of all its threads. Dear: one file for each thread."""
    results: set[int] = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"{PROC}/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"{PROC}/{pid}/task/{task}/children").read_text()
                results.update(int(child) for child in text.split())
    return results


def count_threads(pid: int) -> int:
    """How many threads a process has: two links of their folder are its own, as of every folder; 0: it is gone."""
    try:
        return max(0, os.stat(f"{PROC}/{pid}/task").st_nlink - 2)
    except OSError:
        return 0


def run_queue_wait_s(pid: int) -> float | None:
    """Return for how long the threads that a process has now could have run and had no CPU, seconds in all.

    One file a thread. ``None``: it is gone, or the kernel keeps no such count.
    """
    waited_ns = 0
    try:
        os.stat(f"{PROC}/{pid}/schedstat")
        for task in os.listdir(f"{PROC}/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
                waited_ns += int(Path(f"{PROC}/{pid}/task/{task}/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return waited_ns / 1e9


def count_descriptors(pid: int) -> int | None:
    """Return how many descriptors it has open; ``None``: it is gone, or we may not look."""
    try:
        # Linux 6.2 and newer say how many there are as the size of their folder; older ones say 0
        if n := os.stat(f"{PROC}/{pid}/fd").st_size:
            return n
        return len(os.listdir(f"{PROC}/{pid}/fd"))
    except OSError:
        return None


def pss_bytes(pids: tuple[int, ...]) -> int | None:
    """Return the proportional set size of all; ``None``: the first of them is gone, or we may not look."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"{PROC}/{pid}/smaps_rollup").read_text()
        except OSError:
            if pid == pids[0]:
                return None
            continue  # a child that has just ended has no memory
        total += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
    return total
