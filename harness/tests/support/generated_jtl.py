# SPDX-License-Identifier: Apache-2.0
"""JMeter files made up from a load of users or of arrivals, reports on them, and folders of runs for a comparison."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st

from harness.formats.detect import files_of_run
from harness.formats.gc_events import GcLog
from harness.formats.jtl_units import NumberStyle
from harness.report.analyse import read_files, report_table
from harness.report.result import QUANTILES, Report

EPOCH_S = 1_790_000_000.0
#: What JMeter writes unless it is told otherwise, but for columns that say nothing here.
FULL = (
    "timeStamp", "elapsed", "label", "responseCode", "threadName", "success", "grpThreads", "allThreads", "Latency",
    "Connect",
)  # fmt: skip
BARE = ("timeStamp", "elapsed", "label", "responseCode", "success")


@dataclass(frozen=True, kw_only=True)
class Load:
    """What was sent by whom, in seconds; shapes (n,). ``threads``: so many were there when each row was written."""

    start: np.ndarray
    latency: np.ndarray
    thread: np.ndarray
    threads: np.ndarray
    seed: int = 0


def closed_load(
    users: int, each: int, median_s: float, *, sigma: float = 0.5, think_s: float = 0.0, seed: int = 0
) -> Load:
    """``users`` who each send ``each`` requests, one after the other's answer."""
    rng = np.random.default_rng(seed)
    latency = rng.lognormal(np.log(median_s), sigma, (users, each))
    wait = rng.exponential(think_s, (users, each)) if think_s else np.zeros((users, each))
    begun = rng.uniform(0, median_s + think_s, (users, 1))
    start = begun + np.concatenate([np.zeros((users, 1)), np.cumsum(latency + wait, axis=1)[:, :-1]], axis=1)
    thread = np.repeat(np.arange(users), each)
    return Load(
        start=start.ravel(), latency=latency.ravel(), thread=thread, threads=np.full(users * each, users),
        seed=seed,
    )  # fmt: skip


def open_load(
    n: int, rate_per_s: float, median_s: float, *, sigma: float = 0.5, even: bool = False, seed: int = 0
) -> Load:
    """Arrivals, random or evenly spaced, each with a thread of its own."""
    rng = np.random.default_rng(seed)
    start = np.arange(n) / rate_per_s if even else np.cumsum(rng.exponential(1 / rate_per_s, n))
    latency = rng.lognormal(np.log(median_s), sigma, n)
    end = start + latency
    there = np.searchsorted(start, end, side="right") - np.searchsorted(np.sort(end), end, side="left")
    return Load(start=start, latency=latency, thread=np.arange(n), threads=there, seed=seed)


def write_load(
    path: Path,
    load: Load,
    columns: Sequence[str] = FULL,
    *,
    elapsed_per_s: float = 1e3,
    stamps_per_s: float = 1e3,
) -> Path:
    """Write the rows in the order of their ends, all other columns in JMeter's units."""
    rng = np.random.default_rng(load.seed)
    end_ms = np.floor((EPOCH_S + load.start + load.latency) * 1e3)
    start_ms = np.floor((EPOCH_S + load.start) * 1e3)
    elapsed_ms = end_ms - start_ms
    first_byte = np.floor(elapsed_ms * rng.uniform(0.2, 1.0, len(elapsed_ms)))
    elapsed = elapsed_ms if elapsed_per_s == 1e3 else np.round(load.latency * elapsed_per_s)
    frame = pd.DataFrame({
        "timeStamp": np.floor((EPOCH_S + load.start) * stamps_per_s).astype(np.int64)
        if stamps_per_s != 1e3 else start_ms.astype(np.int64),
        "elapsed": elapsed.astype(np.int64),
        "label": "work",
        "responseCode": 200,
        "threadName": [f"users 1-{number + 1}" for number in load.thread.tolist()],
        "success": "true",
        "grpThreads": load.threads,
        "allThreads": load.threads,
        "Latency": first_byte.astype(np.int64),
        "Connect": np.where(rng.random(len(elapsed_ms)) < 0.05, np.floor(first_byte / 2), 0).astype(np.int64),
    })  # fmt: skip
    text = io.StringIO()
    frame.iloc[np.argsort(end_ms, kind="stable")][list(columns)].to_csv(text, index=False)
    path.write_text(text.getvalue(), "utf-8")
    return path


SOME = settings(max_examples=12, deadline=None)
COLUMNS = st.sampled_from([
    FULL, BARE, tuple(c for c in FULL if c != "threadName"), tuple(c for c in FULL if "Threads" not in c),
    tuple(c for c in FULL if c not in {"Latency", "Connect"}), ("timeStamp", "elapsed", "allThreads", "success"),
])  # fmt: skip
seeds = st.integers(0, 10_000)


def reported(load: Load, columns: tuple[str, ...] = FULL, **written: float) -> Report:
    with tempfile.TemporaryDirectory() as name:
        return report_file(write_load(Path(name) / "some.jtl", load, columns, **written))


def accused(report: Report) -> list[str]:
    return [one.text for one in report.units if one.contradicted]


def suspected(report: Report) -> set[str | None]:
    return {one.rather for one in report.units if one.contradicted}


#: Places in time of A's and of B's runs.
TURNS = ((0, 3, 4, 7, 8), (1, 2, 5, 6, 9))
RUN_S = 100.0


def users_wait(seed: int, *, users: int = 10, median_s: float = 0.05, each: int = 200) -> Load:
    """Users who send again when their answer has come."""
    return closed_load(users, each, median_s, seed=seed)


def write_arms(
    folder: Path,
    a: Callable[[int], Load] = users_wait,
    b: Callable[[int], Load] = users_wait,
    *,
    order: Sequence[Sequence[int]] = TURNS,
    columns: Sequence[str] | None = None,
) -> tuple[Path, Path]:
    """Write a folder of runs an arm, each run 100 s after the one before; return both folders."""
    arms = []
    for name, load, places in zip("ab", (a, b), order, strict=True):
        arm = folder / name
        arm.mkdir(parents=True)
        for number, place in enumerate(places):
            made = load(place)
            made = replace(made, start=made.start + RUN_S * place)
            path = arm / f"run{number}.jtl"
            write_load(path, made) if columns is None else write_load(path, made, columns)
        arms.append(arm)
    return arms[0], arms[1]


def change_rows(path: Path, change: Callable[[int, dict[str, str]], None]) -> None:
    """Change the rows of a file: the number of each, and its fields by name; new fields become columns."""
    head, *lines = path.read_text("utf-8").splitlines()
    names = head.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    for number, row in enumerate(rows):
        change(number, row)
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows), ""]), "utf-8")


def report_file(
    path: Path, gc_log: GcLog | None = None, *, quantiles: Mapping[str, float] = QUANTILES, **how: Any
) -> Report:
    """Read a file and report on it; ``how``: its numbers are written, as of ``NumberStyle``."""
    return report_table(read_files(files_of_run(path), NumberStyle(**how)), gc_log, quantiles)
