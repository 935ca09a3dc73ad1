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
from statistics import median
from typing import NamedTuple

import psutil

from harness.agent.processes import read_stat
from harness.agent.sampler import SLOW_HZ, Calls, PythonTicks, Sampler, Schedule, Watched
from harness.provenance import describe_place
from harness.sampling import tick_source_here
from harness.tests.benchmarks.others import Others, judge, words
from harness.tests.benchmarks.result import BenchResult, BenchRow, over

HZ = 100.0
#: As long as the load of a short trial, in turn with the peers.
DURATION_S, ROUNDS = 8.0, 5
LIMIT_SHARE = 0.01
PEER = "psutil, the same readings"
#: The product's own other way.
INTERPRETER = "itself with all ticks in the interpreter"
#: What no sampler that wakes so often can go below, in this language, and in any.
FLOOR = "a Python loop that only wakes"
BARE = "waking alone, outside of the interpreter"


class _Cost(NamedTuple):
    ticks: int
    missed: int
    cpu_s: float
    lasted_s: float

    @property
    def share(self) -> float:
        """Of a core."""
        return self.cpu_s / self.lasted_s

    @property
    def each_us(self) -> float:
        """CPU time of a tick."""
        return self.cpu_s / self.ticks * 1e6


def bench_sampler(
    root: Path, *, duration_s: float = DURATION_S, hz: float = HZ, rounds: int = ROUNDS
) -> BenchResult:
    """Sample two processes for a while, with the sampler as a session has it and with others in turn."""
    glancer, why_not_native = tick_source_here()
    ours, interpreter, peer, floor, bare = [], [], [], [], []
    with _two_processes() as pids, tempfile.TemporaryDirectory(prefix="rematch-bench-") as name:
        others = Others()
        for _ in range(rounds):
            ours.append(_ours(pids, Path(name), duration_s, hz, glancer))
            interpreter.append(_ours(pids, Path(name), duration_s, hz, PythonTicks()))
            peer.append(_peer(pids, Path(name), duration_s, hz))
            floor.append(_floor(duration_s, hz))
            bare.append(_bare(glancer, duration_s, hz))
        busy = others.share()
    shares, peer_share = [one.share for one in ours], median(one.share for one in peer)
    each, missed = [one.each_us for one in ours], [one.missed for one in ours]
    return BenchResult(
        name="sampler",
        question=f"What does sampling two processes at {hz:g} Hz cost?",
        rows=(
            _beside("CPU time", shares, PEER, peer_share).model_copy(
                update={
                    "target": f"<= {LIMIT_SHARE * 100:g} % of a core",
                    "holds": judge(LIMIT_SHARE, shares, busy),
                }
            ),
            _beside(
                "CPU time beside the interpreter's ticks", shares, INTERPRETER,
                median(one.share for one in interpreter),
            ),
            _beside("CPU time beside waking alone", shares, FLOOR, median(floor)),
            *(
                [_beside("CPU time beside waking alone, outside of the interpreter", shares, BARE, median(bare))]
                if why_not_native is None
                else []
            ),
            BenchRow(
                name="CPU time per tick", value=median(each), low=min(each), high=max(each), unit="us", peer=PEER,
                peer_value=median(one.each_us for one in peer),
                ratio=over(median(each), median(one.each_us for one in peer)),
            ),
            BenchRow(
                name=f"missed ticks of {sum(one.ticks + one.missed for one in ours)}", value=sum(missed),
                unit="ticks", peer=PEER, peer_value=sum(one.missed for one in peer),
                ratio=over(sum(missed), sum(one.missed for one in peer)),
                target="0 on an idle machine", holds=judge(0, [sum(missed)], busy),
            ),
        ),
        notes=(
            f"{rounds} rounds of {duration_s:g} s each; CPU time is the median of them, what a sampler costs to "
            "begin and to end is in it",
            "resident memory and CPU time at every tick; threads, descriptors, children and the machine "
            f"{SLOW_HZ:g} times a second",
            f"ticks taken by: {glancer.name}" + (f" ({why_not_native})" if why_not_native else ""),
            words(busy),
        ),
        place=describe_place(root),
    )  # fmt: skip


def _beside(name: str, shares: list[float], peer: str, peer_share: float) -> BenchRow:
    """Shares of a core in percent, beside a peer's."""
    value = median(shares)
    return BenchRow(
        name=name, value=value * 100, low=min(shares) * 100, high=max(shares) * 100, unit="% of a core",
        peer=peer, peer_value=peer_share * 100, ratio=over(value, peer_share),
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


def _ours(pids: tuple[int, int], folder: Path, duration_s: float, hz: float, glancer: PythonTicks) -> _Cost:
    watched = {
        f"process {pid}": Watched(pid=pid, start_ticks=stat.start_ticks)
        for pid in pids
        if (stat := read_stat(pid)) is not None
    }
    cpu_s = time.process_time()
    sampler = Sampler(
        watched, samples=folder / "samples.csv", machine=folder / "machine.csv", hz=hz, glancer=glancer
    )
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


def _bare(glancer: PythonTicks, duration_s: float, hz: float) -> float:
    """Share of a core that the same ticks cost with nobody to look at: what this machine takes for waking."""
    cpu_s, begin = time.process_time(), time.monotonic()
    glancer.take(Schedule.beginning_now(hz), round(duration_s * hz), [], Calls())
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
