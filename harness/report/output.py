# SPDX-License-Identifier: Apache-2.0
"""Print a report: for a person as a page, for a program as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import InputError
from harness.formats.detect import files_of_run
from harness.formats.jtl_units import NOTHING_SAID, NumberStyle
from harness.formats.runtime_log import read_runtime_log
from harness.formats.table import AggregateTable
from harness.report.analyse import read_files, report_table
from harness.report.limits import Checked, Limit, check_file
from harness.report.result import QUANTILES
from harness.report.selection import Selection, select

ALL = Selection()


def main(
    paths: Sequence[Path],
    *,
    gc: Sequence[Path] = (),
    process_start_epoch_s: float | None = None,
    how: NumberStyle = NOTHING_SAID,
    as_json: bool = False,
    html: Path | None = None,
    selection: Selection = ALL,
    limits: Sequence[Limit] = (),
    quantiles: Mapping[str, float] = QUANTILES,
) -> Sequence[Checked]:
    """Report on each of ``paths``, and return what came of the limits, file by file.

    ``how``: of ``elapsed`` in JMeter's files. ``html``: also write a page with plots to this file; for one path only.
    ``selection``: the part of each file that is meant.
    ``quantiles``: those that are shown, name -> share. Raises InputError: a file cannot be used.
    """
    log = read_runtime_log(*gc, process_start_epoch_s=process_start_epoch_s) if gc else None
    if html is not None:
        _check_page(html, paths, gc)
    reports = []
    for path in paths:
        table = select(read_files(files_of_run(path), how), selection)
        reports.append(report_table(table, log, quantiles))
        if html is not None:
            from harness.report.html import render_html  # its plots cost a second that no other report needs

            # by start since it was reported on
            requests = None if isinstance(table, AggregateTable) else table
            write_page(html, render_html(reports[-1], requests, log), "--html")
    checked = [[check_file(limit, report) for limit in limits] for report in reports]
    if as_json:
        plain = [
            report.as_json()
            | {"limits": [{"text": limit.text, "outcome": limit.outcome} for limit in outcomes]}
            for report, outcomes in zip(reports, checked, strict=True)
        ]
        print(json.dumps(plain[0] if len(plain) == 1 else plain, indent=2, allow_nan=False))
    else:
        from harness.report.text import show  # rich: not before the files are read, and not for programs

        for report, outcomes in zip(reports, checked, strict=True):
            show(report, outcomes)
    return [limit for outcomes in checked for limit in outcomes]


def _check_page(html: Path, paths: Sequence[Path], gc: Sequence[Path]) -> None:
    """Refuse a page of several files, and one over a file that is read."""
    if len(paths) != 1:
        raise InputError(
            "a page shows one file", place="--html", found=f"{len(paths)} files", allowed="1 file"
        )
    if html.resolve() in {file.resolve() for file in (*files_of_run(paths[0]), *gc)}:
        raise InputError(
            "is one of the files that are read", file=html, place="--html", allowed="another file"
        )


def write_page(target: Path, page: str, option: str) -> None:
    """Write a page to the file that an option names; raises InputError: it cannot be written."""
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}",
            file=target,
            place=option,
            allowed="a file in a folder that exists",
        ) from error
