# SPDX-License-Identifier: Apache-2.0
"""A report as one self-contained page: what happened when, the tail, what explains it, and what cannot be said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from harness.analysis.load.coordinated_omission import with_missing_requests
from harness.formats.gc_events import GcLog
from harness.formats.table import RequestTable
from harness.report import words
from harness.report.checks import is_coarse
from harness.report.course import course_of
from harness.report.latencies import EveryLatency
from harness.report.numbers import length, percent_between, resolution
from harness.report.peaks import TAILS
from harness.report.plots import course_over_time, latency_by_percentile, latency_over_time, plain_cause
from harness.report.requests import slowest_of_slices
from harness.report.result import Report

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


def render_html(report: Report, requests: RequestTable | None = None, log: GcLog | None = None) -> str:
    """Return the page; nothing in it is loaded from anywhere.

    Args:
        requests: all of them, by start; None: no plots. log: the runtime's.
    """
    shares, gone = _shares(report)
    return render_page(
        _TEMPLATES / "report.html.jinja",
        report=report,
        plots=[] if requests is None else list(_plots(report, requests, log)),
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


def _plots(report: Report, requests: RequestTable, log: GcLog | None) -> Iterator[dict[str, Any]]:
    start, latency, ok = requests.start_epoch_s, requests.latency_s, requests.ok
    coarse = requests.has_start_times and is_coarse(start)
    if requests.has_start_times:
        course = course_of(start, latency, ok, step_s=1.0 if coarse else 0.0)
        if len(course.at_s) > 1:
            yield course_over_time(course, report.start_epoch_s)
    if not ok.any():
        return
    if requests.has_start_times and not coarse:
        events = log.events if log is not None and log.clock == "epoch" else ()
        pauses = [(event.cause, (event.start_s, event.end_s)) for event in events]
        at = np.flatnonzero(ok)[slowest_of_slices(start[ok], latency[ok])]
        yield latency_over_time(report, start[at], latency[at], pauses)
    interval_ms = None if report.loop is None or report.loop.corrected_ms is None else report.loop.interval_ms
    every = None if interval_ms is None else with_missing_requests(latency[ok], interval_ms / 1e3)
    corrected = None if every is None else EveryLatency(every)
    yield latency_by_percentile(EveryLatency(latency[ok]), corrected)


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
