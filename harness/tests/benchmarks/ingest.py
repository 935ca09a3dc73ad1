# SPDX-License-Identifier: Apache-2.0
"""From a result file to the whole report: how long and how much memory, beside two who do less.

Each works in a process of its own on the same file; its start is part of the time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from harness.provenance import describe_place
from harness.tests.benchmarks.child import Taken, take
from harness.tests.benchmarks.others import Others, at_most, judge, words
from harness.tests.benchmarks.result import BenchResult, BenchRow, over
from harness.tests.benchmarks.simulated import write_jtl
from harness.toolchains import Surroundings, find_jdks, find_tool

MIB = 1 << 20
#: Of ``rematch report FILE``: at most twice the time of a plain script, a tenth of JMeter's own report.
MOST_OVER_PANDAS, MOST_OVER_JMETER = 2.0, 0.1
LIMIT_S, LIMIT_MB = 3.0, 600.0
#: Time per row of the largest file over that of the smallest: more would not be linear growth.
MOST_GROWTH = 1.25
SIZES = (100_000, 1_000_000)
#: The file whose analysis costs little but the start of the program.
SMALL = 1_000
REPEATS = 3
WHAT = "the report with a log"
PLAIN = "`rematch report FILE`"
PANDAS = "pandas script: mean and percentiles only"
JMETER = "JMeter's report generator"


class _Files(NamedTuple):
    jtl: Path
    gc_log: Path | None

    @property
    def alone(self) -> _Files:
        """The same requests without their log."""
        return self._replace(gc_log=None)


def bench_ingest(
    root: Path,
    *,
    seed: int = 1,
    long_rows: Sequence[int] = (),
    sizes: Sequence[int] = SIZES,
    repeats: int = REPEATS,
) -> BenchResult:
    """Analyse simulated files of several sizes; the largest of ``sizes`` is compared with the peers.

    Args:
        long_rows: rows of longer files, each analysed once, and removed before the next is written.

    Raises:
        RematchError: one of the programs failed.
    """
    notes: list[str] = []
    others = Others()
    with tempfile.TemporaryDirectory(prefix="rematch-bench-") as name:
        folder = Path(name)
        files = {n: _simulate(folder, n, seed) for n in (SMALL, *sizes)}
        largest = max(sizes)
        take(_report(files[SMALL]), folder)  # not counted: makes byte code, warms the file cache
        take(_pandas(files[SMALL]), folder)
        plain: dict[int, list[Taken]] = {n: [] for n in files}
        with_log: list[Taken] = []
        peer: list[Taken] = []
        for _ in range(repeats):  # in turn, so that a slow minute of the machine hits everybody
            for n, file in files.items():
                plain[n].append(take(_report(file.alone), folder))
            with_log.append(take(_report(files[largest]), folder))
            peer.append(take(_pandas(files[largest]), folder))
        jmeter = _jmeter(root, files[largest].jtl, folder, notes)
        for file in files.values():
            file.jtl.unlink()
        for n in sorted(long_rows):
            long = _simulate(folder, n, seed)
            plain[n] = [take(_report(long.alone), folder)]
            long.jtl.unlink()
    busy = others.share()
    notes.append(words(busy))
    notes.append(
        f"start of the program, part of every time: {_wall(plain[SMALL]):.2f} s; "
        f"CPU time of {PLAIN} of {largest:,} rows: {median(one.cpu_s for one in plain[largest]):.2f} s, "
        f"of {WHAT}: {median(one.cpu_s for one in with_log):.2f} s, "
        f"of the {PANDAS}: {median(one.cpu_s for one in peer):.2f} s; median of {repeats}"
    )
    return BenchResult(
        name="ingest",
        question=(
            "How long does a JMeter result file take to become statistics, intervals and stalls, and how long "
            "with attribution to a garbage collection log?"
        ),
        rows=(
            *_ratios(largest, plain[largest], peer, jmeter, busy),
            *_against(largest, with_log, peer, jmeter, busy),
            *growth(plain, min(sizes), largest),
        ),
        notes=tuple(notes),
        place=describe_place(root),
    )


def _simulate(folder: Path, n: int, seed: int) -> _Files:
    jtl, gc_log = folder / f"{n}.jtl", folder / f"{n}.gc.log"
    write_jtl(jtl, gc_log, n_rows=n, seed=seed)
    return _Files(jtl, gc_log)


def _report(files: _Files) -> tuple[str, ...]:
    log = () if files.gc_log is None else ("--gc", str(files.gc_log))
    return (sys.executable, "-m", "harness", "report", str(files.jtl), *log, "--json")


def _pandas(files: _Files) -> tuple[str, ...]:
    return (sys.executable, str(Path(__file__).with_name("plain_pandas.py")), str(files.jtl))


def _jmeter(root: Path, jtl: Path, folder: Path, notes: list[str]) -> Taken | None:
    around = Surroundings(project=root)
    tool, jdks = find_tool("jmeter", around), find_jdks(around)
    if not tool.usable or tool.path is None or not jdks:
        notes.append(f"not compared with {JMETER}: {tool.complaint() if not tool.usable else 'no JDK'}")
        return None
    out = folder / "jmeter-report"
    shutil.rmtree(out, ignore_errors=True)
    # The heap is the one that JMeter's own start script gives.
    return take(
        (
            str(jdks[0].java), "-Xms1g", "-Xmx1g", "-Djava.awt.headless=true", "-jar", str(tool.path),
            "-g", str(jtl), "-o", str(out), "-j", str(folder / "jmeter.log"),
        ),
        folder,
    )  # fmt: skip


def _ratios(
    n: int, plain: list[Taken], peer: list[Taken], jmeter: Taken | None, busy: float | None
) -> list[BenchRow]:
    """The two ratios of ``rematch report FILE``, without a log: to a plain script, and to JMeter's own report."""
    walls = [one.wall_s for one in plain]
    peers = [(PANDAS, [one.wall_s for one in peer], MOST_OVER_PANDAS)]
    if jmeter is not None:
        peers.append((JMETER, [jmeter.wall_s] * len(walls), MOST_OVER_JMETER))
    rows = []
    for name, theirs, most in peers:
        ratios = [mine / other for mine, other in zip(walls, theirs, strict=True)]  # of one repetition each
        rows.append(
            BenchRow(
                name=f"{PLAIN} of {n:,} rows, time", value=median(walls), unit="s",
                low=min(walls), high=max(walls), peer=name, peer_value=median(theirs), ratio=median(ratios),
                target=f"ratio <= {most:g}", holds=judge(most, ratios, busy),
            )
        )  # fmt: skip
    return rows


def _against(
    n: int, ours: list[Taken], peer: list[Taken], jmeter: Taken | None, busy: float | None
) -> list[BenchRow]:
    walls, peaks = [one.wall_s for one in ours], [one.peak_rss_bytes / MIB for one in ours]
    sums = [(PANDAS, _wall(peer), _peak(peer))]
    if jmeter is not None:
        sums.append((JMETER, jmeter.wall_s, jmeter.peak_rss_bytes / MIB))
    rows: list[BenchRow] = []
    for name, wall_s, _ in sums:
        rows.append(_row(f"{WHAT} of {n:,} rows, time", walls, "s", LIMIT_S, name, wall_s, busy))
    for name, _, peak in sums:
        rows.append(_row(f"{WHAT} of {n:,} rows, memory", peaks, "MiB", LIMIT_MB, name, peak))
    return rows


def _row(
    name: str,
    values: list[float],
    unit: str,
    limit: float,
    peer: str,
    peer_value: float,
    busy: float | None = 0.0,
) -> BenchRow:
    value = median(values)
    return BenchRow(
        name=name, value=value, unit=unit, low=min(values), high=max(values),
        peer=peer, peer_value=peer_value, ratio=over(value, peer_value),
        target=f"<= {limit:g} {unit}", holds=judge(limit, values, busy),
    )  # fmt: skip


def growth(ours: dict[int, list[Taken]], smallest: int, largest: int) -> list[BenchRow]:
    """Return rows for CPU time per row and memory, beyond the start of the program.

    Args:
        ours: rows of a file (with one of ``SMALL`` rows) -> what each repetition took.
    """
    rows: list[BenchRow] = []
    for n in sorted(n for n in ours if n > smallest):
        per_row = [_per_row_s(ours, n, i) for i in range(len(ours[n]))]
        base = median(_per_row_s(ours, smallest, i) for i in range(len(ours[smallest])))
        ratios = [one / base for one in per_row]
        rows.append(
            BenchRow(
                name=f"time per row, {n:,} rows", value=median(per_row) * 1e6, unit="us",
                low=min(per_row) * 1e6, high=max(per_row) * 1e6,
                peer=f"itself with {smallest:,} rows", peer_value=base * 1e6, ratio=median(ratios),
                target=f"ratio <= {MOST_GROWTH}", holds=at_most(MOST_GROWTH, ratios),
            )
        )  # fmt: skip
        if n != largest:
            peaks = [one.peak_rss_bytes / MIB for one in ours[n]]
            row = _row(f"memory, {n:,} rows", peaks, "MiB", LIMIT_MB, f"itself with {smallest:,} rows", 0.0)
            peer_value = _peak(ours[smallest])
            rows.append(
                row.model_copy(update={"peer_value": peer_value, "ratio": over(row.value, peer_value)})
            )
    return rows


def _per_row_s(ours: dict[int, list[Taken]], n: int, i: int) -> float:
    """CPU time, not wall time: whoever else works on the machine must not look like growth."""
    start_s = median(one.cpu_s for one in ours[SMALL])
    return max(ours[n][i].cpu_s - start_s, 1e-9) / (n - SMALL)


def _wall(taken: list[Taken]) -> float:
    return median(one.wall_s for one in taken)


def _peak(taken: list[Taken]) -> float:
    return median(one.peak_rss_bytes for one in taken) / MIB
