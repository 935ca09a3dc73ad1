# SPDX-License-Identifier: Apache-2.0
"""A report as one self-contained page: what happened when, the tail, what explains it, and what cannot be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
from jinja2 import Environment

from harness.analysis.report_plots import latency_by_percentile, latency_over_time, words
from harness.analysis.report_result import QUANTILES, Report
from harness.analysis.report_words import CANNOT_SAY, latency_cell, latency_cells, share_words
from harness.analysis.spans import Span
from harness.model.digits import plain

FloatArray = npt.NDArray[np.float64]
_STALLS_SHOWN = 50
_PAGE = Path(__file__).with_name("templates") / "report.html.jinja"


def render_html(
    report: Report,
    *,
    latency_s: FloatArray | None = None,
    slowest: tuple[FloatArray, FloatArray] | None = None,
    pauses: Sequence[tuple[str, Span]] = (),
) -> str:
    """Return the page; nothing in it is loaded from anywhere.

    Args:
        latency_s: of every successful request, shape (n,), seconds; None: no plots.
        slowest: start (epoch seconds) and latency of the slowest requests of all moments, shapes (k,), by start.
        pauses: (cause, span in epoch seconds) of the runtime's log.
    """
    plots = []
    if slowest is not None:
        plots.append(latency_over_time(report, *slowest, pauses))
    if slowest is not None and latency_s is not None:
        plots.append(
            latency_by_percentile(latency_s, None if report.loop is None else report.loop.corrected_ms)
        )
    rows, n_stalls = _stall_rows(report)
    names, shares, gone = _shares(report)
    began = None
    if report.start_epoch_s is not None and report.duration_s is not None:
        began = datetime.fromtimestamp(report.start_epoch_s, UTC).isoformat(sep=" ", timespec="milliseconds")
    page = Environment(autoescape=True, trim_blocks=True).from_string(_PAGE.read_text(encoding="utf-8"))
    return page.render(
        report=report, plots=plots, began=began, latencies=_latency_rows(report),
        notes=[said for said in report.warnings if said not in {one.text for one in report.units}],
        stalls=rows, n_stalls=n_stalls, share_names=names, shares=shares, gone=gone, plain=plain,
    )  # fmt: skip


def _latency_rows(report: Report) -> list[tuple[str, ...]]:
    corrected = None if report.loop is None else report.loop.corrected_ms
    rows: list[tuple[str, ...]] = []
    for name in ("mean", *QUANTILES, "max"):
        value, bounds = report.latency_ms.get(name), report.intervals.get(name)
        rows.append((
            name,
            *latency_cells(value, bounds),
            *(() if corrected is None else (_corrected(corrected, name),)),
        ))  # fmt: skip
    return rows


def _corrected(corrected: Mapping[str, float | None], name: str) -> str:
    if name not in corrected:
        return ""
    return latency_cell(corrected[name])


def _stall_rows(report: Report) -> tuple[list[tuple[str, ...]], int]:
    stalls = list(report.stalls or ())
    pairs = list(zip(stalls, report.causes or (None,) * len(stalls), strict=True))
    longest = sorted(pairs, key=lambda pair: -pair[0].duration_s)[:_STALLS_SHOWN]
    rows: list[tuple[str, ...]] = [
        (
            words(stall.kind), f"{stall.start_s - (report.start_epoch_s or 0.0):.3f}", f"{stall.duration_s * 1e3:.1f}",
            f"{stall.n_requests:,}", "no log to say" if cause is None else words(cause),
        )
        for stall, cause in sorted(longest, key=lambda pair: pair[0].start_s)
    ]  # fmt: skip
    return rows, len(stalls)


def _shares(report: Report) -> tuple[list[str], list[tuple[str, list[str]]], list[str]]:
    if report.attribution is None or "refused" in report.attribution:
        return [], [], []
    names: list[str] = [name for name in ("p99", "p99.9") if name in report.attribution]
    causes = list(dict.fromkeys(cause for name in names for cause in report.attribution[name]["causes"]))
    rows = [
        (words(c), [_percent(report.attribution[name]["causes"].get(c)) for name in names]) for c in causes
    ]
    gone = [
        f"{name}: {_percent(report.attribution[name]['share'])} of it goes away with the pauses and their wakes."
        for name in names
    ]
    return names, rows, gone


def _percent(share: dict[str, float | None] | None) -> str:
    return CANNOT_SAY if share is None else share_words(share)
