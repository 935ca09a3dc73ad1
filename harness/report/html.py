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
from harness.report.latencies import EveryLatency
from harness.report.plots import course_of, course_over_time, latency_by_percentile, latency_over_time
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
    return render_page(
        _TEMPLATES / "report.html.jinja",
        report=report,
        plots=[] if requests is None else list(_plots(report, requests, log)),
        tables=(
            words.latency_table(report),
            words.labels_table(report),
            words.kinds_table(report),
            words.causes_table(report),
        ),
        stalls=words.stalls_table(report, _STALLS_SHOWN),
        words=words,
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
