# SPDX-License-Identifier: Apache-2.0
"""What sampling costs, beside psutil taking the same readings on the same schedule."""

from __future__ import annotations

import contextlib
import math
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from harness.bench.others import Others, judge, words
from harness.bench.place import describe_place
from harness.bench.result import BenchResult, BenchRow, over
from harness.processes import read_stat
from harness.sampling import Sampler, Watched
from harness.sampling.sampler import SLOW_HZ

HZ = 100.0
DURATION_S = 5.0
LIMIT_SHARE = 0.01
PEER = "psutil, the same readings"
#: What no sampler that wakes so often in this language can go below.
FLOOR = "a Python loop that only wakes"


class _Cost(NamedTuple):
    ticks: int
    missed: int
    cpu_s: float
    lasted_s: float


def bench_sampler(root: Path, *, duration_s: float = DURATION_S, hz: float = HZ) -> BenchResult:
    """Sample two processes for a while, with the sampler and with psutil, and compare CPU time and ticks."""
    with _two_processes() as pids, tempfile.TemporaryDirectory(prefix="rematch-bench-") as name:
        others = Others()
        ours = _ours(pids, Path(name), duration_s, hz)
        peer = _peer(pids, Path(name), duration_s, hz)
        floor = _floor(duration_s, hz)
        busy = others.share()
    share, peer_share = ours.cpu_s / ours.lasted_s, peer.cpu_s / peer.lasted_s
    each, peer_each = ours.cpu_s / ours.ticks * 1e6, peer.cpu_s / peer.ticks * 1e6
    return BenchResult(
        name="sampler",
        question=f"What does sampling two processes at {hz:g} Hz cost?",
        rows=(
            BenchRow(
                name="CPU time", value=share * 100, unit="% of a core", peer=PEER, peer_value=peer_share * 100,
                ratio=over(share, peer_share), target=f"<= {LIMIT_SHARE * 100:g} % of a core",
                holds=judge(LIMIT_SHARE, [share], busy),
            ),
            BenchRow(
                name="CPU time beside waking alone", value=share * 100, unit="% of a core", peer=FLOOR,
                peer_value=floor * 100, ratio=over(share, floor),
            ),
            BenchRow(
                name="CPU time per tick", value=each, unit="us", peer=PEER, peer_value=peer_each,
                ratio=over(each, peer_each),
            ),
            BenchRow(
                name=f"missed ticks of {ours.ticks + ours.missed}", value=ours.missed, unit="ticks", peer=PEER,
                peer_value=peer.missed, ratio=over(ours.missed, peer.missed),
                target="0 on an idle machine", holds=judge(0, [ours.missed], busy),
            ),
        ),
        notes=(
            "resident memory and CPU time at every tick; threads, descriptors, children and the machine "
            f"{SLOW_HZ:g} times a second",
            words(busy),
        ),
        place=describe_place(root),
    )  # fmt: skip


@contextlib.contextmanager
def _two_processes() -> Iterator[tuple[int, int]]:
    first, second = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    try:
        yield first.pid, second.pid
    finally:
        for process in (first, second):
            process.kill()
            process.wait()


def _ours(pids: tuple[int, int], folder: Path, duration_s: float, hz: float) -> _Cost:
    watched = {
        f"process {pid}": Watched(pid=pid, start_ticks=stat.start_ticks)
        for pid in pids
        if (stat := read_stat(pid)) is not None
    }
    cpu_s = time.process_time()
    sampler = Sampler(watched, samples=folder / "samples.csv", machine=folder / "machine.csv", hz=hz)
    with sampler:
        time.sleep(duration_s)
    summary = sampler.stop()
    return _Cost(
        ticks=summary.ticks,
        missed=summary.missed_ticks,
        cpu_s=time.process_time() - cpu_s,
        lasted_s=summary.duration_s,
    )


def _floor(duration_s: float, hz: float) -> float:
    """Share of a core that waking costs on the same schedule, with nothing done."""
    cpu_s, begin = time.process_time(), time.monotonic()
    for number in range(1, round(duration_s * hz) + 1):
        time.sleep(max(0.0, begin + number / hz - time.monotonic()))
    return (time.process_time() - cpu_s) / (time.monotonic() - begin)


def _peer(pids: tuple[int, int], folder: Path, duration_s: float, hz: float) -> _Cost:
    processes = [psutil.Process(pid) for pid in pids]
    slow_every = max(1, round(hz / SLOW_HZ))
    cpu_s, begin = time.process_time(), time.monotonic()
    number = ticks = missed = next_slow = 0
    with (folder / "psutil.csv").open("w") as stream:
        while time.monotonic() - begin < duration_s:
            slow = number >= next_slow
            if slow:
                next_slow = (number // slow_every + 1) * slow_every
                counters = (*psutil.cpu_times(), *psutil.getloadavg())
                stream.write(",".join(map(str, counters)) + "\n")
            for process in processes:
                with process.oneshot():
                    times = process.cpu_times()
                    row = [time.monotonic(), process.memory_info().rss, times.user + times.system]
                if slow:
                    row += [process.num_threads(), process.num_fds(), len(process.children(recursive=True))]
                stream.write(",".join(map(str, row)) + "\n")
            ticks += 1
            due = max(number + 1, math.ceil((time.monotonic() - begin) * hz))
            missed += due - number - 1
            number = due
            time.sleep(max(0.0, begin + number / hz - time.monotonic()))
    return _Cost(
        ticks=ticks, missed=missed, cpu_s=time.process_time() - cpu_s, lasted_s=time.monotonic() - begin
    )
