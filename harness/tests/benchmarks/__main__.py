# SPDX-License-Identifier: Apache-2.0
"""``python -m harness.tests.benchmarks NAME...``: one line a ratio; exit status 1: a target does not hold.

A target that others on the machine may have spoiled is no failure ("cannot say"). Peers do the same work in the same
run, in turn; each command is a process of its own, its start is part of the time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil

from harness.agent.processes import read_stat
from harness.agent.sampler import SLOW_HZ, Sampler, Subject
from harness.errors import RematchError
from harness.model.digits import plain
from harness.project import find_root
from harness.provenance import describe_place
from harness.toolchains import Surroundings, find_jdks, find_tool

#: Beyond this share of its CPU time used by others the machine is not idle.
BUSY_SHARE = 0.1
#: Of ``rematch report FILE``: at most twice the time of a plain script, a tenth of JMeter's own report.
MOST_OVER_PANDAS, MOST_OVER_JMETER, MOST_MIB = 2.0, 0.1, 600.0
#: CPU time per row of the largest file over that of the smallest: more would not be linear growth.
MOST_GROWTH = 1.25
#: Rows; the analysis of the first file costs little but the start of the program.
SIZES = SMALL, MIDDLE, LARGE = (1_000, 100_000, 1_000_000)
REPEATS = 3
#: Of the sampler: as often as in a load and as long as that of a short trial, in turn with the peers.
HZ, DURATION_S, ROUNDS, MOST_PERCENT = 50.0, 8.0, 5, 1.0
#: What a data analyst would write first.
SCRIPT = """
import json, sys
import pandas as pd
frame = pd.read_csv(sys.argv[1])
elapsed = frame.loc[frame["success"], "elapsed"]
span_s = ((frame["timeStamp"] + frame["elapsed"]).max() - frame["timeStamp"].min()) / 1e3
shares = elapsed.quantile([0.5, 0.9, 0.95, 0.99, 0.999])
print(json.dumps([len(frame), len(frame) / span_s, elapsed.mean(), *shares]))
"""


class Ratio(NamedTuple):
    """Repetitions of the harness and of a peer, in the same unit; their ratio is that of the medians."""

    name: str
    values: Sequence[float]
    unit: str
    peer: str = ""
    peers: Sequence[float] = ()
    limit: float | None = None
    of_value: bool = False

    def holds(self, busy: float) -> bool | None:
        """Return whether the median keeps the limit; ``None``: there is none, or a repetition keeps it, or the share
        of the machine that others used, ``busy``, is too large to tell."""
        if self.limit is None:
            return None
        scale = 1.0 if self.of_value else median(self.peers)
        if median(self.values) <= self.limit * scale:
            return True
        return False if min(self.values) > self.limit * scale and busy <= BUSY_SHARE else None

    def text(self, busy: float) -> str:
        """Return the line that is printed."""
        low, high = min(self.values), max(self.values)
        parts = [f"{self.name}: {plain(median(self.values))} {self.unit} ({plain(low)} to {plain(high)})"]
        if self.peers:
            ratio = plain(median(self.values) / median(self.peers))
            parts.append(f"{self.peer}: {plain(median(self.peers))}, ratio {ratio}")
        if self.limit is not None:
            verdict = {True: "holds", False: "DOES NOT HOLD", None: "cannot say"}[self.holds(busy)]
            parts.append(f"{'at' if self.of_value else 'ratio at'} most {self.limit:g}: {verdict}")
        return "; ".join(parts)


class Cost(NamedTuple):
    """Wall time, CPU time and peak memory of a process."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def cost_of(*argv: str) -> Cost:
    """Run a command and return what it took; it is an error that it fails."""
    environment = {**os.environ, "PYTHONPATH": str(find_root(Path(__file__).parent))}
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(argv, env=environment, stdout=output, stderr=subprocess.STDOUT) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - began
        output.seek(0)
        words = output.read().decode(errors="replace").strip()[-300:]
    if process.returncode:
        raise RematchError(f"{Path(argv[0]).name} ended with {process.returncode}; output: {words}")
    return Cost(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def write_jtl(path: Path, n: int, users: int = 100) -> Path:
    """Write a closed load of ``n`` requests with all of JMeter's columns, in the order its own report wants."""
    rng = np.random.default_rng(n)
    elapsed = np.maximum(1, rng.lognormal(np.log(50.0), 0.5, (users, n // users))).astype(int)
    started = 1_790_000_000_000 + np.cumsum(elapsed, axis=1) - elapsed
    frame = pd.DataFrame({
        "timeStamp": started.ravel(), "elapsed": elapsed.ravel(), "label": "work", "responseCode": 200,
        "responseMessage": "OK", "threadName": np.repeat([f"users 1-{k}" for k in range(users)], n // users),
        "dataType": "text", "success": "true", "failureMessage": "", "bytes": 84, "sentBytes": 189,
        "grpThreads": users, "allThreads": users, "URL": "http://127.0.0.1:8080/work",
        "Latency": elapsed.ravel() // 2, "IdleTime": 0, "Connect": 0,
    })  # fmt: skip
    order = np.argsort((started + elapsed).ravel(), kind="stable")
    frame.iloc[order].to_csv(path, index=False)
    return path


def bench_ingest(root: Path) -> list[Ratio]:
    """Analyse result files of several sizes; the largest is compared with the peers."""
    with tempfile.TemporaryDirectory(prefix="rematch-bench-") as name:
        files = {n: str(write_jtl(Path(name) / f"{n}.jtl", n)) for n in SIZES}
        report = (sys.executable, "-m", "harness", "report", "--json")
        cost_of(*report, files[SMALL])  # not counted: makes byte code, warms the file cache
        costs = defaultdict[object, list[Cost]](list)
        for _ in range(REPEATS):  # in turn, so that a slow minute of the machine hits everybody
            for n in SIZES:
                costs[n].append(cost_of(*report, files[n]))
            costs["pandas"].append(cost_of(sys.executable, "-c", SCRIPT, files[LARGE]))
        jmeter = jmeter_costs(root, files[LARGE], Path(name) / "jmeter-report")
    what, walls = f"`rematch report FILE` of {LARGE:,} rows", [cost.wall_s for cost in costs[LARGE]]
    start_s = median(cost.cpu_s for cost in costs[SMALL])
    per_row = {n: [1e6 * (cost.cpu_s - start_s) / (n - SMALL) for cost in costs[n]] for n in (MIDDLE, LARGE)}
    pandas_s, pandas_mib = zip(*((cost.wall_s, cost.peak_mib) for cost in costs["pandas"]), strict=True)
    memory = [cost.peak_mib for cost in costs[LARGE]]
    peer = "pandas script: mean and percentiles only"
    return [
        Ratio(f"{what}, time", walls, "s", peer, pandas_s, MOST_OVER_PANDAS),
        *(Ratio(f"{what}, time", walls, "s", "JMeter's report", (s,), MOST_OVER_JMETER) for s in jmeter),
        Ratio(f"{what}, memory", memory, "MiB", peer, pandas_mib, MOST_MIB, of_value=True),
        Ratio(
            f"CPU time per row, {LARGE:,} rows", per_row[LARGE], "us", f"itself with {MIDDLE:,} rows",
            per_row[MIDDLE], MOST_GROWTH,
        ),
    ]  # fmt: skip


def jmeter_costs(root: Path, jtl: str, out: Path) -> tuple[float, ...]:
    """Return the seconds that JMeter's report took; empty where there is no JMeter."""
    around = Surroundings(project=root)
    tool, jdks = find_tool("jmeter", around), find_jdks(around)
    if not tool.usable or not jdks:
        print(f"not compared with JMeter's report: {tool.complaint() if not tool.usable else 'no JDK'}")
        return ()
    # the heap is the one that JMeter's own start script gives
    java = (str(jdks[0].java), "-Xms1g", "-Xmx1g", "-Djava.awt.headless=true", "-jar", str(tool.path))
    return (cost_of(*java, "-g", jtl, "-o", str(out), "-j", f"{out}.log").wall_s,)


def bench_sampler(root: Path) -> list[Ratio]:
    """Sample two processes for a while, with the sampler as a session has it and with others in turn."""
    own, same, waking, n_missed = [], [], [], 0
    with tempfile.TemporaryDirectory(prefix="rematch-bench-") as name, two_processes() as pids:
        stats = [(pid, read_stat(pid)) for pid in pids]
        watched = {f"process {pid}": Subject(pid=pid, start_ticks=s.start_ticks) for pid, s in stats if s}
        for _ in range(ROUNDS):
            cpu_s = time.process_time()
            sampler = Sampler(Path(name, "samples.csv"), Path(name, "machine.csv"), HZ)
            for role, process in watched.items():
                sampler.add(role, process)
            sampler.start()
            time.sleep(DURATION_S)
            summary = sampler.stop()
            own.append(100 * (time.process_time() - cpu_s) / summary.duration_s)
            n_missed += summary.missed_ticks
            same.append(percent_of_a_core(pids))
            waking.append(percent_of_a_core(()))
    return [
        Ratio("CPU time", own, "% of a core", "psutil, the same readings", same, MOST_PERCENT, of_value=True),
        Ratio("CPU time", own, "% of a core", "a Python loop that only wakes", waking),
        Ratio("missed ticks", [n_missed], "ticks", limit=0.0, of_value=True),
    ]


@contextlib.contextmanager
def two_processes() -> Iterator[tuple[int, int]]:
    """Start two processes that do nothing; yield their ids."""
    with subprocess.Popen(["sleep", "600"]) as a, subprocess.Popen(["sleep", "600"]) as b:
        try:
            yield a.pid, b.pid
        finally:
            a.kill()
            b.kill()


def percent_of_a_core(pids: Sequence[int]) -> float:
    """Return what the sampler's readings of these processes cost by psutil, on its schedule; none: waking alone."""
    processes, slow_every = [psutil.Process(pid) for pid in pids], round(HZ / SLOW_HZ)
    cpu_s, begin = time.process_time(), time.monotonic()
    with tempfile.TemporaryFile("w") as stream:
        for number in range(round(DURATION_S * HZ)):
            slow = number % slow_every == 0
            of_all = slow and pids
            rows: list[Sequence[object]] = [(*psutil.cpu_times(), *psutil.getloadavg())] if of_all else []
            for process in processes:
                with process.oneshot():
                    times = process.cpu_times()
                    row = [time.monotonic(), process.memory_info().rss, times.user + times.system]
                if slow:
                    row += [process.num_threads(), process.num_fds(), len(process.children(recursive=True))]
                rows.append(row)
            stream.writelines(",".join(map(str, row)) + "\n" for row in rows)
            time.sleep(max(0.0, begin + (number + 1) / HZ - time.monotonic()))
    return 100 * (time.process_time() - cpu_s) / (time.monotonic() - begin)


def others_cpu_s() -> float:
    """Return the CPU time of the machine since boot without that of this process and its ended children."""
    times, own = psutil.cpu_times(), os.times()
    children_s = own.children_user + own.children_system
    return sum(times) - times.idle - times.iowait - own.user - own.system - children_s


BENCHMARKS = {"ingest": bench_ingest, "sampler": bench_sampler}


def main() -> int:
    """Run the benchmarks that are named, and print what they find."""
    parser = argparse.ArgumentParser(prog="python -m harness.tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="+", choices=(*BENCHMARKS, "all"))
    names = parser.parse_args().names
    root, failed = find_root(), False
    for name in BENCHMARKS if "all" in names else names:
        before_s, began = others_cpu_s(), time.monotonic()
        try:
            ratios = BENCHMARKS[name](root)
        except RematchError as problem:
            print(f"{name}: not run: {problem}")
            failed = True
            continue
        wall_s = (time.monotonic() - began) * (os.cpu_count() or 1)
        busy = max(0.0, others_cpu_s() - before_s) / wall_s
        print(f"{name}: others used {busy:.0%} of the machine meanwhile")
        for ratio in ratios:
            print(f"  {ratio.text(busy)}")
        failed |= any(ratio.holds(busy) is False for ratio in ratios)
    print(describe_place(root))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
