# SPDX-License-Identifier: Apache-2.0
"""From a result file to the whole report: how long and how much memory, beside two who do less.

Each works in a process of its own on the same file; its start is part of the time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from harness.tests.benchmarks.ratio import Ratio, Taken, take
from harness.tests.support.generated_jtl import closed_load, write_load
from harness.toolchains import Surroundings, find_jdks, find_tool

#: Of ``rematch report FILE``: at most twice the time of a plain script, a tenth of JMeter's own report.
MOST_OVER_PANDAS, MOST_OVER_JMETER = 2.0, 0.1
MOST_MIB = 600.0
#: CPU time per row of the largest file over that of the smallest: more would not be linear growth.
MOST_GROWTH = 1.25
#: Rows; the analysis of the first file costs little but the start of the program.
SIZES = (1_000, 100_000, 1_000_000)
REPEATS = 3
PANDAS, JMETER = "pandas script: mean and percentiles only", "JMeter's report generator"
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


def bench_ingest(root: Path) -> list[Ratio]:
    """Analyse simulated files of several sizes; the largest is compared with the peers."""
    with tempfile.TemporaryDirectory(prefix="rematch-bench-") as name:
        files = {n: _simulate(Path(name), n) for n in SIZES}
        small, middle, large = SIZES
        report = {
            n: (sys.executable, "-m", "harness", "report", str(file), "--json") for n, file in files.items()
        }
        pandas = (sys.executable, "-c", SCRIPT, str(files[large]))
        take(report[small])  # not counted: makes byte code, warms the file cache
        taken: dict[int, list[Taken]] = {n: [] for n in SIZES}
        peers = []
        for _ in range(REPEATS):  # in turn, so that a slow minute of the machine hits everybody
            for n in SIZES:
                taken[n].append(take(report[n]))
            peers.append(take(pandas))
        jmeter = _jmeter(root, files[large], Path(name) / "jmeter-report")
    what, walls = f"`rematch report FILE` of {large:,} rows", [one.wall_s for one in taken[large]]
    start_s = np.median([one.cpu_s for one in taken[small]])
    per_row = {n: [1e6 * (one.cpu_s - start_s) / (n - small) for one in taken[n]] for n in (middle, large)}
    return [
        Ratio(f"{what}, time", walls, "s", PANDAS, tuple(one.wall_s for one in peers), MOST_OVER_PANDAS),
        *(Ratio(f"{what}, time", walls, "s", JMETER, (one.wall_s,), MOST_OVER_JMETER) for one in jmeter),
        Ratio(
            f"{what}, memory", [one.peak_mib for one in taken[large]], "MiB", PANDAS,
            tuple(one.peak_mib for one in peers), MOST_MIB, of_value=True,
        ),
        Ratio(
            f"CPU time per row, {large:,} rows", per_row[large], "us", f"itself with {middle:,} rows",
            tuple(per_row[middle]), MOST_GROWTH,
        ),
    ]  # fmt: skip


#: As JMeter writes them unless it is told otherwise; its report wants all of them, in this order.
COLUMNS = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,URL,Latency,IdleTime,Connect"
)
LINE = "{},{},{},{},OK,{},text,{},,84,189,{},{},http://127.0.0.1:8080/work,{},0,{}"


def _simulate(folder: Path, n: int) -> Path:
    path = write_load(folder / f"{n}.jtl", closed_load(100, n // 100, 0.05))
    _, *rows = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([COLUMNS, *(LINE.format(*row.split(",")) for row in rows), ""]), "utf-8")
    return path


def _jmeter(root: Path, jtl: Path, out: Path) -> tuple[Taken, ...]:
    """Return what JMeter's report took; empty where there is no JMeter."""
    around = Surroundings(project=root)
    tool, jdks = find_tool("jmeter", around), find_jdks(around)
    if not tool.usable or not jdks:
        print(f"not compared with {JMETER}: {tool.complaint() if not tool.usable else 'no JDK'}")
        return ()
    # The heap is the one that JMeter's own start script gives.
    options = ("-Xms1g", "-Xmx1g", "-Djava.awt.headless=true", "-jar", str(tool.path))
    return (take((str(jdks[0].java), *options, "-g", str(jtl), "-o", str(out), "-j", f"{out}.log")),)
