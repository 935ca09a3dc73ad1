# SPDX-License-Identifier: Apache-2.0
"""What was published of the clients, from ``data/published``, and ours beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from harness.analysis.load.load_segments import COLUMN as PART
from harness.evidence.published import FOLDER, published_table
from harness.model import Estimate
from harness.publish.cells import Cell, gapped
from harness.publish.results import as_is
from harness.questions.clients.results import RUN, ClientCase, parts_rows, percentile_rows
from harness.questions.clients.usage import PERCENTILES

NUMBERS = (
    "start_up_s", "cpu_max_percent", "rss_max_mb", "throughput_per_s", "latency_mean_ms", "latency_max_ms",
    *(column.replace("_s", "_ms") for column in PERCENTILES),
)  # fmt: skip
COLUMNS = ("source", "stack", "load", *NUMBERS)
#: Of wrk2's own histograms.
HISTOGRAM_COLUMNS = (
    "source", "path", "stack", "load", "p50_ms", "p75_ms", "p90_ms", "p99_ms", "p999_ms", "p9999_ms", "max_ms",
    "mean_ms", "sd_ms", "recorded", "requests",
)  # fmt: skip
#: Their words for what we call a variant; a native image is measured by `forms-clients`, not here.
LABELS = {
    "go-nethttp": "Go",
    "java-quarkus": "Quarkus, JVM",
    "java-quarkus-native": "Quarkus, native",
    "java-vertx": "Vert.x",
    "java-panache-reactive": "Quarkus, Panache reactive",
}


def published_clients(name: str, *, root: Path | None = None) -> pd.DataFrame:
    """Return the published numbers of ``clients-hello`` or ``clients-db``, a row a load; NaN: not printed.

    Raises:
        InputError: no such table, other columns, or what is no number above zero.
    """
    return _published(name, COLUMNS, NUMBERS, root)


def published_histograms(*, root: Path | None = None) -> pd.DataFrame:
    """Return what the histograms of the published tool say, a row a load.

    Raises:
        InputError: see ``published_clients``.
    """
    return _published("clients-wrk2", HISTOGRAM_COLUMNS, HISTOGRAM_COLUMNS[4:], root)


def histogram_rows(published: pd.DataFrame) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: path, service, load, and of what share of its answers the latencies are."""
    rows: list[Mapping[str, Cell]] = [
        {
            "path": str(row["path"]),
            "variant": LABELS[str(row["stack"])],
            RUN: None if pd.isna(row["load"]) else str(row["load"]),
            "requests": int(row["requests"]),
            "recorded": int(row["recorded"]),
            "share": as_is(float(row["recorded"] / row["requests"]), "share", "published"),
            "mean_s": _plain(row["mean_ms"] / 1e3, "s"),
            "max_s": _plain(row["max_ms"] / 1e3, "s"),
        }
        for _, row in published.iterrows()
    ]
    return gapped(rows, "path")


def _published(name: str, columns: Sequence[str], numbers: Sequence[str], root: Path | None) -> pd.DataFrame:
    frame = published_table(FOLDER / f"{name}.csv", columns, numbers, root=root, gaps=True)
    return frame.astype(dict.fromkeys(numbers, "float64"))


def published_rows(published: pd.DataFrame, case: ClientCase) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: each published load, and below it the same part of ours; without trials
    of ours there is nothing to set beside it."""
    rows: list[Mapping[str, Cell] | None] = []
    ours = [row for row in parts_rows(case) if row is not None]
    labels = case.evidence.variants if case.evidence else {}
    for stack, theirs in published[published["load"] != "best"].groupby("stack", sort=False) if ours else ():
        rows += [None] * bool(rows)
        rows += [_published_row(row) for _, row in theirs.iterrows()]
        rows += [{**row, "who": "here"} for row in ours if row["variant"] == labels.get(str(stack))]
    return rows


def percentiles_beside(published: pd.DataFrame, case: ClientCase) -> list[Mapping[str, Cell] | None]:
    """Return the rows of ``percentile_rows``, then what was published, which is of the second half of each load."""
    ours: list[Mapping[str, Cell] | None] = [{**row, "who": "here"} for row in percentile_rows(case)]
    best = published[published["load"] == "best"]
    gap = [None] if ours and len(best) else []
    theirs = [
        {"variant": LABELS[str(row["stack"])], "who": "published, best of five", "window": "second half"}
        | {column: _plain(row[column.replace("_s", "_ms")] / 1e3, "s") for column in PERCENTILES}
        for _, row in best.iterrows()
    ]
    return [*ours, *gap, *theirs] if ours else []


def _published_row(row: pd.Series) -> Mapping[str, Cell]:
    return {
        "variant": LABELS[str(row["stack"])],
        "who": "published",
        PART: str(row["load"]),
        "latency_mean_s": _plain(row["latency_mean_ms"] / 1e3, "s"),
        "latency_max_s": _plain(row["latency_max_ms"] / 1e3, "s"),
        "throughput_per_s": _plain(row["throughput_per_s"], "1/s"),
        "rss_max_bytes": _plain(row["rss_max_mb"] * 1e6, "B"),
    }


def _plain(value: float, unit: str) -> Estimate | None:
    """A published number as a cell; ``None``: it was not printed."""
    return None if pd.isna(value) else as_is(float(value), unit, "published")
