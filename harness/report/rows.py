# SPDX-License-Identifier: Apache-2.0
"""The rows of a report's tables, as its text and its page show them."""

from __future__ import annotations

from harness.report.numbers import interval, milliseconds, rate
from harness.report.result import LABEL_QUANTILES, LabelRow, Report

LABEL_STATISTICS = ("mean", *LABEL_QUANTILES, "max")


def latency_rows(report: Report) -> list[tuple[str, ...]]:
    """Return statistic, value, interval or why there is none, and the corrected value where there is a correction."""
    corrected = None if report.loop is None else report.loop.corrected_ms
    rows: list[tuple[str, ...]] = []
    for name in report.latency_ms:
        value, bounds = report.latency_ms.get(name), report.intervals.get(name)
        step_ms = 0.0 if name == "mean" else report.resolution_ms
        cells = [
            name,
            milliseconds(value, bounds, resolution_ms=step_ms),
            interval(value, bounds, resolution_ms=step_ms) or report.interval_reasons.get(name, ""),
        ]
        if corrected is not None:
            cells.append(milliseconds(corrected[name], resolution_ms=step_ms) if name in corrected else "")
        rows.append(tuple(cells))
    return rows


def label_cells(report: Report, row: LabelRow) -> tuple[str, ...]:
    """Return requests, errors, rate and latencies of one name, without intervals."""
    counts = (
        f"{row.requests:,}", f"{row.errors:,}", "" if row.throughput_per_s is None else rate(row.throughput_per_s),
    )  # fmt: skip
    return (*counts, *(value for value, _ in label_latencies(report, row)))


def label_latencies(report: Report, row: LabelRow) -> list[tuple[str, str]]:
    """Return each latency of one name and its interval; an empty one where there is none."""
    found = []
    for name in LABEL_STATISTICS:
        value, bounds = row.latency_ms.get(name), row.intervals.get(name)
        step_ms = 0.0 if name == "mean" else report.resolution_ms
        found.append((
            milliseconds(value, bounds, resolution_ms=step_ms), interval(value, bounds, resolution_ms=step_ms)
        ))  # fmt: skip
    return found
