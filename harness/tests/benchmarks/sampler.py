# SPDX-License-Identifier: Apache-2.0
"""What sampling costs, beside others that take the same readings on the same schedule."""

from __future__ import annotations

import contextlib
import math
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from harness.agent.processes import read_stat
from harness.agent.sampler import SLOW_HZ, Sampler, Watched
from harness.tests.benchmarks.ratio import Ratio

#: As often as in a load and as long as that of a short trial, in turn with the peers.
HZ, DURATION_S, ROUNDS = 50.0, 8.0, 5
LIMIT_PERCENT = 1.0


def bench_sampler(root: Path) -> list[Ratio]:
    """Sample two processes for a while, with the sampler as a session has it and with others in turn."""
    shares: dict[str, list[float]] = {name: [] for name in ("own", "psutil", "waking")}
    n_missed = 0
    with _two_processes() as pids, tempfile.TemporaryDirectory(prefix="rematch-bench-") as name:
        for _ in range(ROUNDS):
            share, missed = _own(pids, Path(name))
            shares["own"].append(share)
            n_missed += missed
            shares["psutil"].append(_psutil(pids, Path(name)))
            shares["waking"].append(_waking())
    peers = {"psutil": "psutil, the same readings", "waking": "a Python loop that only wakes"}
    return [
        Ratio(
            "CPU time", shares["own"], "% of a core", peers[name], tuple(shares[name]),
            LIMIT_PERCENT if name == "psutil" else None, of_value=True,
        )
        for name in peers
    ] + [Ratio("missed ticks", [float(n_missed)], "ticks", limit=0.0, of_value=True)]  # fmt: skip


@contextlib.contextmanager
def _two_processes() -> Iterator[tuple[int, int]]:
    with subprocess.Popen(["sleep", "600"]) as first, subprocess.Popen(["sleep", "600"]) as second:
        try:
            yield first.pid, second.pid
        finally:
            first.kill()
            second.kill()


def _own(pids: tuple[int, int], folder: Path) -> tuple[float, int]:
    """Return percent of a core, and ticks that were missed."""
    stats = {pid: stat for pid in pids if (stat := read_stat(pid)) is not None}
    watched = {
        f"process {pid}": Watched(pid=pid, start_ticks=stat.start_ticks) for pid, stat in stats.items()
    }
    cpu_s = time.process_time()
    sampler = Sampler(watched, samples=folder / "samples.csv", machine=folder / "machine.csv", hz=HZ)
    with sampler:
        time.sleep(DURATION_S)
    summary = sampler.stop()
    return 100 * (time.process_time() - cpu_s) / summary.duration_s, summary.missed_ticks


def _waking() -> float:
    """Percent of a core that waking costs on the same schedule, with nothing done."""
    cpu_s, begin = time.process_time(), time.monotonic()
    for number in range(1, round(DURATION_S * HZ) + 1):
        time.sleep(max(0.0, begin + number / HZ - time.monotonic()))
    return 100 * (time.process_time() - cpu_s) / (time.monotonic() - begin)


def _psutil(pids: tuple[int, int], folder: Path) -> float:
    processes = [psutil.Process(pid) for pid in pids]
    slow_every = round(HZ / SLOW_HZ)
    cpu_s, begin, number, next_slow = time.process_time(), time.monotonic(), 0, 0
    with (folder / "psutil.csv").open("w") as stream:
        while time.monotonic() - begin < DURATION_S:
            slow = number >= next_slow
            if slow:
                next_slow = (number // slow_every + 1) * slow_every
                stream.write(",".join(map(str, (*psutil.cpu_times(), *psutil.getloadavg()))) + "\n")
            for process in processes:
                with process.oneshot():
                    times = process.cpu_times()
                    row = [time.monotonic(), process.memory_info().rss, times.user + times.system]
                if slow:
                    row += [process.num_threads(), process.num_fds(), len(process.children(recursive=True))]
                stream.write(",".join(map(str, row)) + "\n")
            number = max(number + 1, math.ceil((time.monotonic() - begin) * HZ))
            time.sleep(max(0.0, begin + number / HZ - time.monotonic()))
    return 100 * (time.process_time() - cpu_s) / (time.monotonic() - begin)
