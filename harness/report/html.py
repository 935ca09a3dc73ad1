# SPDX-License-Identifier: Apache-2.0
"""A report as one self-contained page: what happened when, the tail, what explains it, and what cannot be said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from harness.analysis.attribution.spans import Span
from harness.formats.arrays import FloatArray
from harness.report import words as report_words
from harness.report.course import Course
from harness.report.numbers import interval, length, milliseconds, percent, percent_between, rate, resolution
from harness.report.plots import course_over_time, latency_by_percentile, latency_over_time, words
from harness.report.result import Report
from harness.report.spread import Ranked, Spread

_STALLS_SHOWN = 200
_PAGE = Path(__file__).with_name("templates") / "report.html.jinja"
_STYLE = Path(__file__).with_name("templates") / "page.css"


def page_style() -> Markup:
    """Return the style of every page: light, dark and printed."""
    return Markup(_STYLE.read_text(encoding="utf-8"))


def render_html(
    report: Report,
    *,
    latency: Spread | None = None,
    slowest: tuple[FloatArray, FloatArray] | None = None,
    pauses: Sequence[tuple[str, Span]] = (),
    course: Course | None = None,
) -> str:
    """Return the page; nothing in it is loaded from anywhere.

    Args:
        latency: of the successful requests; None: no plots.
        slowest: start (epoch seconds) and latency of the slowest requests of all moments, shapes (k,), by start.
        pauses: (cause, span in epoch seconds) of the runtime's log.
        course: rates and percentiles over time; None: no such plot.
    """
    plots = []
    if course is not None and len(course.at_s) > 1:
        plots.append(course_over_time(course, report.start_epoch_s))
    if slowest is not None:
        plots.append(latency_over_time(report, *slowest, pauses))
    if latency is not None and latency.n:
        plots.append(latency_by_percentile(latency, _corrected(report, latency)))
    names, shares, gone = _shares(report)
    stalls = _stall_rows(report)
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _PAGE.read_text(encoding="utf-8")
    )
    return page.render(
        style=page_style(), report=report, plots=plots, tiles=_tiles(report),
        latencies=report_words.latency_rows(report),
        summary=report_words.summary(report), when=report_words.when(report),
        resolution=resolution(report.resolution_ms),
        kinds=[(f"{n:,}", percent(n / max(report.requests, 1)), kind) for kind, n in report.errors_by_kind.items()],
        label_statistics=report_words.LABEL_STATISTICS, labels=_label_rows(report),
        stalls=stalls, n_stalls=len(report.stalls or ()), stall_count=report_words.count_stalls(report),
        shorter=report_words.shorter_stalls(report), visible=report_words.shortest_visible(report),
        warnings=report_words.weighty(report), background=report_words.background(report),
        share_names=names, shares=shares, gone=gone,
    )  # fmt: skip


def _tiles(report: Report) -> list[tuple[str, str, str]]:
    """Key figures: what, value, and a word on it."""
    tiles = []
    if report.throughput_per_s is not None:
        users = report.loop.words if report.loop is not None else ""
        tiles.append(("answers per second", rate(report.throughput_per_s), users))
    for name in ("p50", "p99"):
        value, bounds = report.latency_ms.get(name), report.intervals.get(name)
        if value is not None:
            shown = milliseconds(value, bounds, resolution_ms=report.resolution_ms)
            between = interval(value, bounds, resolution_ms=report.resolution_ms)
            tiles.append((name, f"{shown} ms", f"95 %: {between}" if between else ""))
    tiles.append((
        "errors", percent(report.errors / report.requests) if report.errors else "none",
        f"{report.errors:,} of {report.requests:,} requests",
    ))  # fmt: skip
    if report.stalls is not None:
        longest = max((stall.duration_s for stall in report.stalls), default=None)
        tiles.append((
            "longest stall", "none" if longest is None else length(longest * 1e3),
            report_words.shortest_visible(report) or "",
        ))  # fmt: skip
    return tiles


def _corrected(report: Report, latency: Spread) -> Ranked | None:
    """All latencies with those that waiting left out; ``None``: there is no correction."""
    loop = report.loop
    if loop is None or loop.corrected_ms is None or loop.interval_ms is None:
        return None
    return latency.with_missing(loop.interval_ms / 1e3)


def _label_rows(report: Report) -> list[tuple[str, tuple[str, ...], list[tuple[str, str]]]]:
    return [
        (
            row.label or "(no name)",
            report_words.label_cells(report, row)[:3],
            report_words.label_latencies(report, row),
        )
        for row in report.labels
    ]


def _stall_rows(report: Report) -> list[tuple[str, ...]]:
    return [
        (
            words(stall.kind), f"{stall.start_s - (report.start_epoch_s or 0.0):.3f}", length(stall.duration_s * 1e3),
            f"{stall.n_requests:,}", "" if harm_s is None else length(harm_s * 1e3),
            *(() if report.attribution is None else (words(cause or "unexplained"),)),
        )
        for stall, cause, harm_s in report.listed_stalls[:_STALLS_SHOWN]
    ]  # fmt: skip


def _shares(report: Report) -> tuple[list[str], list[tuple[str, list[str]]], list[str]]:
    if report.attribution is None or "refused" in report.attribution:
        return [], [], []
    names: list[str] = [name for name in ("p99", "p99.9") if name in report.attribution]
    causes = list(dict.fromkeys(cause for name in names for cause in report.attribution[name]["causes"]))
    rows = [
        (words(c), [_percent(report.attribution[name]["causes"].get(c)) for name in names]) for c in causes
    ]
    gone = [
        f"How much lower {name} would be without the pauses and the queues behind them: "
        f"{_percent(report.attribution[name]['share'])}."
        for name in names
    ]
    return names, rows, gone


def _percent(share: dict[str, float | None] | None) -> str:
    if share is None or share["value"] is None:
        return "cannot say"
    return percent_between(share["value"], share["low"], share["high"])
