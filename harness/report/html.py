# SPDX-License-Identifier: Apache-2.0
"""A report as one self-contained page: what happened when, the tail, what explains it, and what cannot be said.

Its plots are latency over time with its causes, and rates over time. Colours are never the only
sign: each cause has a marker of its own, so the page reads in grey.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.analysis.attribution.spans import Span
from harness.formats.arrays import BoolArray, FloatArray
from harness.formats.gc_events import GcLog
from harness.formats.table import RequestTable
from harness.model.formatting import counted
from harness.report import words
from harness.report.checks import is_coarse
from harness.report.result import Report
from harness.report.words import plain_cause

_STALLS_SHOWN = 200
_TEMPLATES = Path(__file__).with_name("templates")


def render_page(template: Path, *sheets: Path, **values: object) -> str:
    """Return a page of a template, which may import ``tables.html.jinja``.

    ``sheets``: style sheets after that of every page, which is for light, dark and print.
    """
    loader = FileSystemLoader([template.parent, _TEMPLATES])
    pages = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    style = Markup("".join(sheet.read_text("utf-8") for sheet in (_TEMPLATES / "page.css", *sheets)))
    return pages.get_template(template.name).render(style=style, **values)


def render_html(report: Report, requests: RequestTable | None = None, log: GcLog | None = None) -> str:
    """Return the page; nothing in it is loaded from anywhere.

    ``requests``: all of them, by start; None: no plots. ``log``: the runtime's.
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
    if not requests.has_start_times:
        return
    coarse = is_coarse(start)
    course = course_of(start, latency, ok, step_s=1.0 if coarse else 0.0)
    if len(course.at_s) > 1:
        yield course_over_time(course, report.start_epoch_s)
    if ok.any() and not coarse:
        events = log.events if log is not None and log.clock == "epoch" else ()
        pauses = [(event.cause, (event.start_s, event.end_s)) for event in events]
        at = np.flatnonzero(ok)[slowest_of_slices(start[ok], latency[ok])]
        yield latency_over_time(report, start[at], latency[at], pauses)


#: Text and lines: the page puts its own colour of text in its place, light or dark.
INK = "#111111"
_GREY = "#888888"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "rematch",
    "svg.fonttype": "none",
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}
#: Okabe-Ito colours and a marker for each cause.
_LOOKS: dict[str, tuple[str, str]] = {
    "gc_pause": ("#D55E00", "o"),
    "allocation_stall": ("#CC79A7", "D"),
    "other_safepoint": ("#0072B2", "s"),
    "unexplained": (INK, "x"),
    "no log": (INK, "x"),
}
_OTHER = ("#009E73", "^")
_ERRORS, _TAIL = "#D55E00", "#2A88C8"
#: Points drawn at most: the slowest request of each slice of time, so that no peak is lost.
SLICES = 1500
#: Slices of a course at most, requests that each has on average at least, and those that a percentile of one needs.
_MOST_SLICES, _PER_SLICE, _FEWEST = 120, 150, {0.5: 10, 0.99: 100}
#: Fewer points of a course than this are marked one by one.
_FEW = 30


def slowest_of_slices(start: FloatArray, latency: FloatArray, n_slices: int = SLICES) -> npt.NDArray[np.intp]:
    """Return the indices of the slowest request of each slice of time, in time order.

    ``start`` and ``latency``: shapes (n,), n > 0, by start.
    """
    width = max(float(start[-1] - start[0]) / n_slices, 1e-9)
    slices = np.minimum(((start - start[0]) / width).astype(np.int64), n_slices - 1)
    begins = np.flatnonzero(np.append(True, np.diff(slices) > 0))
    most = np.repeat(np.maximum.reduceat(latency, begins), np.diff(np.append(begins, len(start))))
    at = np.flatnonzero(latency == most)
    return np.asarray(at[np.append(True, np.diff(slices[at]) > 0)])


@mpl.rc_context(_STYLE)
def latency_over_time(
    report: Report, start: FloatArray, latency: FloatArray, pauses: Sequence[tuple[str, Span]]
) -> dict[str, Any]:
    """Return a drawing with its caption and alternative text: the slowest requests, pauses, and peaks by cause.

    ``start`` and ``latency``: epoch seconds and seconds of the slowest request of each moment, shapes (k,), by start.
    ``pauses``: (cause, span in epoch seconds) of the runtime's log.
    """
    origin = report.start_epoch_s if report.start_epoch_s is not None else float(start.min())
    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(start - origin, latency * 1e3, ".", markersize=2, color=_GREY)
    last = float(start.max()) - origin
    shown = [
        (cause, a - origin, b - origin) for cause, (a, b) in pauses if b >= origin and a - origin <= last
    ]
    for cause in dict.fromkeys(cause for cause, _, _ in shown):
        spans = [(a, b) for name, a, b in shown if name == cause]
        # A pause of a millisecond is narrower than a pixel: a tick below the axis marks it.
        axes.plot(
            [a for a, _ in spans],
            np.full(len(spans), 0.015),
            "|",
            color=_look(cause)[0],
            transform=axes.get_xaxis_transform(),
            markersize=7,
            label=f"{plain_cause(cause)} in the log",
        )
        for a, b in spans:
            axes.axvspan(a, b, color=_look(cause)[0], alpha=0.25, linewidth=0)
    by_cause: dict[str, list[tuple[float, float]]] = {}
    for stall in report.stalls or ():
        inside = (start < stall.end_s) & (start + latency >= stall.start_s)
        if inside.any():
            worst = np.flatnonzero(inside)[int(np.argmax(latency[inside]))]
            by_cause.setdefault(stall.cause or "no log", []).append(
                (float(start[worst]) - origin, float(latency[worst]) * 1e3)
            )
    for cause, points in by_cause.items():
        colour, marker = _look(cause)
        axes.plot(
            *zip(*points, strict=True),
            linestyle="",
            marker=marker,
            markersize=6,
            color=colour,
            fillstyle="none",
            label=f"{counted(len(points), 'stall')}: {plain_cause(cause)}",
        )
    axes.set(yscale="log", xlabel="seconds since the first request", ylabel="latency, ms")
    _plain_log(axes)
    if by_cause or shown:
        figure.legend(loc="outside upper left", ncols=3, fontsize=8, frameon=False)
    counts = ", ".join(f"{len(points)} {plain_cause(cause)}" for cause, points in by_cause.items()) or "none"
    caption = f"Latency over time: the slowest request of each of {len(start):,} moments; stalls by cause: {counts}."
    if shown:
        caption += f" Shaded and ticked: {len(shown)} events of the runtime's log."
    return _drawing(figure, caption)


class Course(NamedTuple):
    """Rates and percentiles over time, a value a slice, shapes (k,). NaN: too few requests.

    ``at_s``: the middle of each slice, epoch seconds.
    """

    at_s: FloatArray
    answers_per_s: FloatArray
    errors_per_s: FloatArray
    p50_ms: FloatArray
    p99_ms: FloatArray


def course_of(start_s: FloatArray, latency_s: FloatArray, ok: BoolArray, *, step_s: float = 0.0) -> Course:
    """Return the course of a file. Answers count when they come, latencies where their request began.

    ``start_s``, ``latency_s`` and ``ok``: of every request, shapes (n,), n > 0, by start. ``step_s``: the smallest
    step of the time stamps; no slice is narrower.
    """
    end_s = start_s + latency_s
    first_s, last_s = float(start_s[0]), float(end_s.max())
    width_s = max((last_s - first_s) / np.clip(len(start_s) // _PER_SLICE, 1, _MOST_SLICES), 1e-9)
    if step_s > 0:
        width_s = float(np.ceil(width_s / step_s) * step_s)
    n = max(1, int(np.ceil((last_s - first_s) / width_s - 1e-9)))

    def place(at_s: FloatArray) -> npt.NDArray[np.int64]:
        return np.asarray(np.minimum((at_s - first_s) / width_s, n - 1), dtype=np.int64)

    def percentile_ms(q: float) -> FloatArray:
        slices = np.split(latency_s[ok], edges)
        return np.array(
            [np.quantile(each, q) * 1e3 if len(each) >= _FEWEST[q] else np.nan for each in slices]
        )

    # The last slice may be cut short by the end of the file.
    widths = np.full(n, width_s)
    widths[-1] = max(last_s - first_s - width_s * (n - 1), width_s / 2)
    ended, edges = place(end_s), np.searchsorted(place(start_s[ok]), np.arange(1, n))
    return Course(
        at_s=np.asarray(first_s + width_s * (np.arange(n) + 0.5), dtype=np.float64),
        answers_per_s=np.bincount(ended, minlength=n) / widths,
        errors_per_s=np.bincount(ended[~ok], minlength=n) / widths,
        p50_ms=percentile_ms(0.5),
        p99_ms=percentile_ms(0.99),
    )


@mpl.rc_context(_STYLE)
def course_over_time(course: Course, origin_s: float | None) -> dict[str, Any]:
    """Return a drawing with its caption and alternative text: rates above, percentiles below.

    ``origin_s``: the first request, epoch seconds; None: the first slice counts from 0.
    """
    at = course.at_s - (origin_s if origin_s is not None else course.at_s[0])
    has_errors = bool((np.nan_to_num(course.errors_per_s) > 0).any())
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    marker = {"marker": "o" if len(at) < _FEW else "", "markersize": 3.0, "linewidth": 1.2}
    above.plot(at, course.answers_per_s, color=INK, label="answers", **marker)
    if has_errors:
        above.plot(at, course.errors_per_s, color=_ERRORS, linestyle="--", label="errors", **marker)
    above.set(ylabel="per second", ylim=(0, None))
    below.set(xlabel="seconds since the first request", ylabel="latency, ms")
    for values, colour, style, name in (
        (course.p50_ms, INK, "-", "p50"),
        (course.p99_ms, _TAIL, "--", "p99"),
    ):
        if (values > 0).any():  # zero is below the clock, and has no place on this axis
            below.plot(
                at, np.where(values > 0, values, np.nan), color=colour, linestyle=style, label=name, **marker
            )
    if below.lines:
        below.set(yscale="log")
        _plain_log(below)
    for axes in (above, below):
        if axes.lines:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=8, frameon=False)
    rates = course.answers_per_s[np.isfinite(course.answers_per_s)]
    span = f"; {rates.min():,.0f} to {rates.max():,.0f} answers per second" if len(rates) else ""
    errors = "with errors" if has_errors else "no errors"
    return _drawing(figure, f"Rate and percentiles in {len(at)} slices of time{span}, {errors}.")


def _plain_log(axes: Axes) -> None:
    """Write the numbers of a logarithmic axis of latencies as they are: 1, 2, 5, 10, not powers of ten."""
    low, high = axes.get_ylim()
    subs = (1.0, 2.0, 5.0) if high / low < 1e3 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _drawing(figure: Figure, caption: str) -> dict[str, Any]:
    """A figure as part of a page: no background, and text in the colour of the page's own."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    drawn = stream.getvalue()
    # Labels are ours and numbers; nothing from the analysed file is drawn as text.
    svg = Markup(drawn[drawn.index("<svg") :].replace(INK, "currentColor"))
    return {"svg": svg, "alt": caption, "caption": caption}


def _look(cause: str) -> tuple[str, str]:
    return _LOOKS.get(cause, _OTHER)
