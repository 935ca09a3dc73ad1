# SPDX-License-Identifier: Apache-2.0
"""Resource samples beside a file of requests: how much memory and CPU each process took."""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from harness.errors import InputError
from harness.model import Frozen
from harness.report.result import Report, Resources

ROLE, EPOCH, MONOTONIC = "role", "epoch_s", "monotonic_s"
ALLOWED = (
    f"csv with {MONOTONIC} or {EPOCH}, and rss_bytes or cpu_s (CPU seconds since the process started); "
    f"{ROLE} where there are several processes"
)
ONLY = "process"
#: A sampler has some dozen; a line of millions of commas is no heading.
MOST_COLUMNS = 10_000


class SampleSummary(Frozen):
    """What a file of samples says."""

    processes: dict[str, Resources]
    warnings: tuple[str, ...] = ()


def with_samples(report: Report, path: Path) -> Report:
    """Return the same report with what a file of resource samples says.

    Raises:
        InputError: the file cannot be read, or holds no samples.
    """
    window = None
    if report.start_epoch_s is not None and report.duration_s is not None:
        window = (report.start_epoch_s, report.start_epoch_s + report.duration_s)
    summary = summarise_samples(path, window)
    notes = (*(f"samples: {warning}" for warning in summary.warnings), *report.warnings)
    return report.model_copy(update={"resources": summary.processes, "warnings": notes})


def summarise_samples(path: Path, window: tuple[float, float] | None) -> SampleSummary:
    """Read a csv of samples, ours or anybody's with the same columns, and sum up each process.

    Args:
        window: first request to last answer, epoch seconds. Samples with ``epoch_s`` are cut to it; those
            on a monotonic clock cannot be, so all of them count.

    Raises:
        InputError: the file cannot be read, or does not have the columns.
    """
    frame = _read(path)
    warnings: list[str] = []
    time = EPOCH if EPOCH in frame else MONOTONIC
    if time == EPOCH and window is not None:
        frame = frame[frame[EPOCH].between(*window)]
        if frame.empty:
            warnings.append(
                "no sample overlaps the requests: samples of another execution, or clocks out of sync"
            )
    elif time == MONOTONIC:
        warnings.append(
            f"samples are on a monotonic clock, so they could not be cut to the time of the requests; an {EPOCH} "
            "column would allow it"
        )
    names = frame[ROLE].astype(str) if ROLE in frame else pd.Series(ONLY, index=frame.index)
    processes = {
        str(name): _resources(rows.sort_values(time, kind="stable"), time)
        for name, rows in frame.groupby(names, sort=False)
    }
    if any(process.cpu_s is not None and process.cpu_s < 0 for process in processes.values()):
        raise InputError(
            "CPU time runs backwards: samples of two processes under one name?", file=path, allowed=ALLOWED
        )
    return SampleSummary(processes=processes, warnings=tuple(warnings))


def _read(path: Path) -> pd.DataFrame:
    try:
        if _n_columns(path) > MOST_COLUMNS:
            raise ValueError(f"more than {MOST_COLUMNS} columns")
        frame = pd.read_csv(path)
    except (OSError, ValueError, OverflowError) as error:  # pandas' own errors are of the second kind
        raise InputError(
            f"cannot be read ({error})", file=path, place="--samples", allowed=ALLOWED
        ) from error
    numbers = [name for name in (EPOCH, MONOTONIC, "rss_bytes", "cpu_s") if name in frame]
    if not {EPOCH, MONOTONIC} & set(numbers) or not {"rss_bytes", "cpu_s"} & set(numbers):
        raise InputError(
            "holds no samples",
            file=path,
            place="line 1",
            found=",".join(map(str, frame.columns))[:80],
            allowed=ALLOWED,
        )
    for name in numbers:
        try:
            frame[name] = pd.to_numeric(frame[name])
            if np.isinf(frame[name].to_numpy(dtype=np.float64)).any():
                raise ValueError("it is infinite")
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(
                f"not a number: {error}", file=path, place=f"column {name}", allowed=ALLOWED
            ) from error
    return frame[frame[EPOCH if EPOCH in frame else MONOTONIC].notna()]


def _n_columns(path: Path) -> int:
    """Return the number of columns of a file as it stands or gzipped; 0: pandas finds out.

    Each name takes memory and time, and is compared with those before it.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", errors="replace", newline="") as stream:
        try:
            return next((len(row) for row in csv.reader(stream) if "".join(row).strip() or len(row) > 1), 0)
        except (csv.Error, EOFError, zlib.error):
            return 0


def _resources(rows: pd.DataFrame, time: str) -> Resources:
    at = rows[time].to_numpy(dtype=np.float64)
    rss = rows["rss_bytes"].dropna() if "rss_bytes" in rows else pd.Series(dtype=float)
    cpu = rows[[time, "cpu_s"]].dropna() if "cpu_s" in rows else pd.DataFrame(columns=[time, "cpu_s"])
    used = lasted = None
    if len(cpu) > 1:
        used = float(cpu["cpu_s"].iloc[-1] - cpu["cpu_s"].iloc[0])
        lasted = float(cpu[time].iloc[-1] - cpu[time].iloc[0])
    return Resources(
        n_samples=len(rows),
        lasted_s=float(at[-1] - at[0]) if len(at) else 0.0,
        rss_median_bytes=float(rss.median()) if len(rss) else None,
        rss_max_bytes=float(rss.max()) if len(rss) else None,
        cpu_s=used,
        cores=used / lasted if used is not None and lasted else None,
    )
