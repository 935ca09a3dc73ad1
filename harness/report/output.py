# SPDX-License-Identifier: Apache-2.0
"""Print a report: for a person as a page, for a program as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from harness.errors import InputError
from harness.formats.collect import RequestStream
from harness.formats.detect import JOIN, files_of_run, open_any
from harness.formats.gc_events import GcLog
from harness.formats.jtl_units import Decimal, LatencyUnit
from harness.formats.table import AggregateTable, RequestChunk, RequestTable, together
from harness.report.analyse import report_table
from harness.report.course import Course, course_of_history
from harness.report.limits import Checked, Limit, check_file
from harness.report.requests import Gathered, gather_file
from harness.report.result import QUANTILES, Report
from harness.report.selection import Selection, select

ALL = Selection()
#: A shorter file is read before anybody asks how far it was read, and seconds between two lines that tell it.
LONG_BYTES, _BETWEEN_S = 100 << 20, 0.5


def main(
    paths: Sequence[Path],
    *,
    gc: Sequence[Path] = (),
    process_start_epoch_s: float | None = None,
    samples: Path | None = None,
    latency_unit: LatencyUnit | None = None,
    decimal: Decimal | None = None,
    as_json: bool = False,
    html: Path | None = None,
    selection: Selection = ALL,
    limits: Sequence[Limit] = (),
    quantiles: Mapping[str, float] = QUANTILES,
) -> Sequence[Checked]:
    """Report on each of ``paths``; print one JSON object for one path, a list for several.

    ``latency_unit``, ``decimal``: of ``elapsed`` in JMeter's files; None: milliseconds, with a point.
    ``samples``: a csv of resource samples taken beside it; for one path only.
    ``html``: also write a self-contained page with plots to this file; for one path only.
    ``selection``: the part of each file that is meant. ``limits``: what is checked of each file.
    ``quantiles``: those that are shown, name -> share.
    ``FILE+FILE`` is one run that several load generators wrote.

    Returns:
        What came of the limits, file by file.

    Raises:
        InputError: a file cannot be used; names the file, the place, what was found and what is allowed.
    """
    log = None
    if gc:
        from harness.formats.runtime_log import read_runtime_log  # its readers are for who has such a log

        log = read_runtime_log(*gc, process_start_epoch_s=process_start_epoch_s)
    _check_options(paths, html=html, samples=samples, gc=gc)
    reports = []
    for path in paths:
        opened = select(opened_together(path, latency_unit, decimal), selection)
        if isinstance(opened, AggregateTable):
            gathered, course = None, course_of_history(opened.history)
            report = report_table(opened, log, quantiles=quantiles)
        else:
            if isinstance(opened, RequestStream):
                opened = with_progress(opened, sys.stderr)
            gathered = gather_file(opened, log, plots=html is not None, quantiles=quantiles)
            report, course = gathered.report(), gathered.course
        if samples is not None:
            from harness.report.samples import with_samples  # pandas: half a second to load

            report = with_samples(report, samples)
        reports.append(report)
        if html is not None:
            _write_page(html, report, gathered, course, log)
    checked = [[check_file(limit, report) for limit in limits] for report in reports]
    if as_json:
        plain = [report.as_json() for report in reports]
        for item, outcomes in zip(plain, checked, strict=True):
            item["limits"] = [{"text": limit.text, "outcome": limit.outcome} for limit in outcomes]
        print(json.dumps(plain[0] if len(plain) == 1 else plain, indent=2, allow_nan=False))
        return [limit for outcomes in checked for limit in outcomes]
    from harness.report.text import show  # rich: not before the files are read, and not for programs

    for report, outcomes in zip(reports, checked, strict=True):
        show(report, outcomes)
    return [limit for outcomes in checked for limit in outcomes]


def _check_options(
    paths: Sequence[Path], *, html: Path | None, samples: Path | None, gc: Sequence[Path]
) -> None:
    """Refuse options of one file for several, and a page over a file that is read.

    Raises:
        InputError: always one of ours, which names the option.
    """
    for option, given, why in (
        ("--html", html, "a page shows one file"),
        ("--samples", samples, "samples belong to one file"),
    ):
        if given is not None and len(paths) != 1:
            raise InputError(why, place=option, found=f"{len(paths)} files", allowed="1 file")
    read = {file.resolve() for path in paths for file in (*files_of_run(path), *gc)}
    if html is not None and html.resolve() in read:
        raise InputError(
            "is one of the files that are read", file=html, place="--html", allowed="another file"
        )


def opened_together(
    path: Path, latency_unit: LatencyUnit | None, decimal: Decimal | None
) -> RequestStream | RequestTable | AggregateTable:
    """Open a file, or the files of one run: ``FILE+FILE``.

    Raises:
        InputError: one cannot be read; or one of several is a summary, whose percentiles cannot be merged.
    """
    paths = files_of_run(path)
    if len(paths) == 1:
        return open_any(path, latency_unit, decimal)
    opened = [open_any(item, latency_unit, decimal) for item in paths]
    tables = [item.collect() if isinstance(item, RequestStream) else item for item in opened]
    for table in tables:
        if isinstance(table, AggregateTable):
            raise InputError(
                "is a summary, and percentiles of summaries cannot be merged",
                file=table.path,
                allowed=f"single requests in every file of FILE{JOIN}FILE",
            )
        if not table.n_requests:
            raise InputError("holds no request", file=table.path, allowed="at least one row")
    whole = [table for table in tables if isinstance(table, RequestTable)]
    if len({table.from_zero for table in whole}) > 1:
        raise InputError("has times since its own start beside files with real ones", file=path)
    return replace(together(whole, [0.0] * len(whole)), path=path)


def _write_page(
    target: Path, report: Report, gathered: Gathered | None, course: Course | None, log: GcLog | None
) -> None:
    from harness.report.html import render_html  # its plots cost a second that no other report needs

    events = log.events if log is not None and log.clock == "epoch" else ()
    pauses = [(event.cause, (event.start_s, event.end_s)) for event in events]
    page = render_html(
        report,
        latency=gathered.kept.whole if gathered else None,
        slowest=gathered.slowest if gathered else None,
        pauses=pauses,
        course=course,
    )
    write_page(target, page, "--html")


def write_page(target: Path, page: str, option: str) -> None:
    """Write a page to the file that an option names.

    Raises:
        InputError: it cannot be written; names the file and the option.
    """
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}",
            file=target,
            place=option,
            allowed="a file in a folder that exists",
        ) from error


def with_progress(opened: RequestStream, out: TextIO) -> RequestStream:
    """Return the same stream, which tells on ``out`` how far it was read; a short file, or no terminal: nothing."""
    try:
        n_bytes = opened.path.stat().st_size
    except OSError:  # a pipe that is gone: the reader says so
        return opened
    if n_bytes < LONG_BYTES or not out.isatty():
        return opened
    return replace(opened, chunks=_telling(opened, n_bytes, out))


def progress_words(n_read: int, n_bytes: int, elapsed_s: float) -> str:
    """Return share read and time left in words; the time only once a twentieth was read."""
    share = min(n_read / n_bytes, 1.0)
    left = "" if share < 0.05 else f", about {elapsed_s * (1 - share) / share:.0f} s left"
    return f"{share:.0%} read{left}"


def _telling(opened: RequestStream, n_bytes: int, out: TextIO) -> Iterator[RequestChunk]:
    began = told_at = time.monotonic()
    try:
        for chunk in opened.chunks:
            yield chunk
            now = time.monotonic()
            if now - told_at >= _BETWEEN_S:
                told_at = now
                text = progress_words(opened.notes.n_bytes, n_bytes, now - began)
                print(f"\r\033[K{opened.path.name}: {text}", end="", file=out, flush=True)
    finally:
        print("\r\033[K", end="", file=out, flush=True)
