# SPDX-License-Identifier: Apache-2.0
"""A report as one self-contained page: what happened when, the tail, what explains it, and what cannot be said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from harness.analysis.attribution.spans import Span
from harness.formats.arrays import FloatArray
from harness.report import words
from harness.report.course import Course
from harness.report.numbers import length, percent_between, resolution
from harness.report.peaks import TAILS
from harness.report.plots import course_over_time, latency_by_percentile, latency_over_time, plain_cause
from harness.report.result import Report
from harness.report.spread import EveryLatency

_STALLS_SHOWN = 200
_TEMPLATES = Path(__file__).with_name("templates")


def page_style() -> Markup:
    """Return the style of every page: light, dark and printed."""
    return Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8"))


def render_page(template: Path, **values: object) -> str:
    """Return a page of a template, which may import ``tables.html.jinja``."""
    loader = FileSystemLoader([template.parent, _TEMPLATES])
    pages = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return pages.get_template(template.name).render(style=page_style(), **values)


def render_html(
    report: Report,
    *,
    latency: EveryLatency | None = None,
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
    shares, gone = _shares(report)
    return render_page(
        _TEMPLATES / "report.html.jinja",
        report=report,
        plots=plots,
        tables=(words.latency_table(report), words.labels_table(report), words.kinds_table(report), shares),
        summary=words.summary(report),
        when=words.when(report),
        resolution=resolution(report.resolution_ms),
        stalls=_stalls(report),
        stall_count=words.count_stalls(report),
        shorter=words.shorter_stalls(report),
        visible=words.shortest_visible(report),
        warnings=words.weighty(report),
        background=words.background(report),
        gone=gone,
    )


def _corrected(report: Report, latency: EveryLatency) -> EveryLatency | None:
    """All latencies with those that waiting left out; ``None``: there is no correction."""
    loop = report.loop
    if loop is None or loop.corrected_ms is None or loop.interval_ms is None:
        return None
    return latency.with_missing(loop.interval_ms / 1e3)


def _stalls(report: Report) -> words.Table:
    rows = [
        (
            plain_cause(stall.kind),
            f"{stall.start_s - (report.start_epoch_s or 0.0):.3f}",
            length(stall.duration_s * 1e3),
            f"{stall.n_requests:,}",
            length(stall.harm_s * 1e3),
            *(() if report.attribution is None else (plain_cause(stall.cause or "unexplained"),)),
        )
        for stall in (report.stalls or ())[:_STALLS_SHOWN]
    ]
    n = len(report.stalls or ())
    which = f"the most harmful {len(rows)} of {n}" if n > len(rows) else f"all {n}"
    heads = ("kind", "at, s", "length", "requests", "taken from requests", "cause")
    return words.Table(
        f"{which}, by time taken from requests", heads[: len(rows[0]) if rows else 0], rows, texts=()
    )


def _shares(report: Report) -> tuple[words.Table, list[str]]:
    """The causes of the slowest requests, and what each percentile would be without the pauses."""
    parts = {} if report.attribution is None else report.attribution
    names = [name for name in TAILS if name in parts]
    causes = list(dict.fromkeys(cause for name in names for cause in parts[name]["causes"]))
    rows = [(plain_cause(c), *(_percent(parts[name]["causes"].get(c)) for name in names)) for c in causes]
    gone = [
        f"How much lower {name} would be without the pauses and the queues behind them: "
        f"{_percent(parts[name]['share'])}."
        for name in names
    ]
    heads = ("cause", *(f"time beyond the median, {name}" for name in names))
    return words.Table("what explains the tail", heads, rows, texts=()), gone


def _percent(share: dict[str, float | None] | None) -> str:
    if share is None or share["value"] is None:
        return "cannot say"
    return percent_between(share["value"], share["low"], share["high"])
