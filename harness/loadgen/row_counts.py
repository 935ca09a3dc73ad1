# SPDX-License-Identifier: Apache-2.0
"""Rows of a load of millions of requests, counted when it is over: answers per second, and how often each latency was.

A million rows are some two megabytes, packed. Throughput over the time of the load and quantiles need far less: a
latency is counted with three significant digits, as in an HdrHistogram. The summary has exact quantiles.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harness.errors import InputError, TrialFailure
from harness.formats.detect import read_any
from harness.formats.table import RequestTable
from harness.model import LoadSummary

#: Answers in each second since the first request began, by when they came; requests by latency, right answers alone.
SECONDS, LATENCIES = "seconds.csv", "latencies.csv"
#: Of a tool with smaller steps.
_LEAST_STEP_S, _DIGITS = 1e-6, 3
_QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)


def rows_of(folder: Path) -> RequestTable | None:
    """Return the single requests that a tool left in its folder; ``None``: it left none. Raises InputError: they cannot
    be read."""
    for path in sorted(folder.glob("samples.*")):
        table = read_any(path) if path.suffix in (".jtl", ".csv", ".db") else None
        if isinstance(table, RequestTable):
            return table
    return None


def count_rows(folder: Path, summary: LoadSummary) -> LoadSummary:
    """Replace the rows in a generator's folder by their counts, and return the summary with mean and quantiles of right
    answers, each quantile an order statistic.

    Raises TrialFailure: the folder has no file of rows, or no row was answered rightly.
    """
    try:
        table = rows_of(folder)
    except InputError as problem:
        raise TrialFailure("failed", f"rows that were to be counted cannot be read: {problem}") from problem
    if table is None or not table.ok.any() or not table.has_start_times:
        raise TrialFailure("failed", f"{folder.name} has no rows to be counted")
    answered_s = table.start_epoch_s + table.latency_s - (table.first_start_epoch_s or 0.0)
    second = np.floor(answered_s).astype(np.int64)
    every = np.bincount(second)
    wrong = np.bincount(second[~table.ok], minlength=every.size)
    seconds = [f"{at},{each},{bad}" for at, (each, bad) in enumerate(zip(every, wrong, strict=True))]
    _write(folder / SECONDS, "since_start_s,n_requests,n_errors", seconds)
    right, step_s = np.sort(table.latency_s[table.ok]), max(table.resolution_s, _LEAST_STEP_S)
    steps = np.rint(right / step_s)
    scale = 10.0 ** np.maximum(np.floor(np.log10(np.maximum(steps, 1))) + 1 - _DIGITS, 0)
    steps, counts = np.unique(np.rint(steps / scale) * scale, return_counts=True)
    latencies = [f"{at * step_s:.9g},{n}" for at, n in zip(steps, counts, strict=True)]
    _write(folder / LATENCIES, "latency_s,n_requests", latencies)
    for path in folder.glob("samples.*"):
        path.unlink()
    quantiles = np.quantile(right, _QUANTILES, method="inverted_cdf")
    named = {f"p{q * 100:g}": float(value) for q, value in zip(_QUANTILES, quantiles, strict=True)}
    return summary.model_copy(
        update={
            "has_requests": False,
            "latency_mean_s": float(right.mean()),
            "latency_quantiles_s": named | {"min": float(right[0]), "max": float(right[-1])},
            "n_latencies": int(right.size),
        }
    )


def _write(file: Path, header: str, lines: list[str]) -> None:
    file.write_text("\n".join((header, *lines, "")), "utf-8")
