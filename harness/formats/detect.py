# SPDX-License-Identifier: Apache-2.0
"""Recognise whose result file this is, and read it.

A file is recognised by a line of its head: the first that is not blank, or else the first that no other format has,
because scripts and generators print lines of their own before the results. JSON is parsed whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from harness.errors import InputError
from harness.formats.json_summaries import looks_like_json, read_json
from harness.formats.jtl import header_of, looks_like_xml, open_jtl
from harness.formats.jtl_units import NOTHING_SAID, NumberStyle
from harness.formats.line_files import (
    lines_of,
    looks_like_gatling,
    looks_like_k6_csv,
    open_gatling,
    open_json_lines,
    open_k6_csv,
    refuse_binary,
)
from harness.formats.row_files import ROW_FORMATS, looks_like_sqlite, read_oha_db
from harness.formats.rows import RequestStream
from harness.formats.source import TextFile, another_file, text_file
from harness.formats.table import AggregateTable, RequestTable
from harness.formats.totals_csv import kind_of, read_totals
from harness.formats.wrk_text import looks_like_wrk, open_wrk
from harness.model.load_tools import written_by

Opened = RequestStream | RequestTable | AggregateTable
#: Joins the files of one run.
JOIN = "+"
#: Characters that text hardly has in its first line; a name may have one of them.
_NO_TEXT, _FIRST_BYTES = re.compile("[\x01-\x08\x0e-\x1a]"), 200
#: Lines of another program at the beginning of a file.
_MOST_LINES_BEFORE = 1000


#: Of each format what its first line is, and how a file of it is opened; the first line of vegeta's csv would do for
#: JMeter, which comes behind all of them.
_FORMATS: tuple[tuple[Callable[[str], object], Callable[[TextFile], Opened]], ...] = (
    (looks_like_wrk, open_wrk),
    (looks_like_gatling, open_gatling),
    (looks_like_k6_csv, open_k6_csv),
    (lines_of, open_json_lines),
    *((form.layout_of, form.open) for form in ROW_FORMATS),
    (kind_of, read_totals),
)


def files_of_run(word: Path | str) -> tuple[Path, ...]:
    """Return the files that ``FILE+FILE`` names, which several load generators wrote in one run; of a file, itself;
    raises InputError: one of them is named twice, or does not exist."""
    if Path(word).exists():
        return (Path(word),)
    paths = tuple(map(Path, str(word).split(JOIN)))
    if len({path.resolve() for path in paths}) < len(paths):
        raise InputError("names a file twice", file=Path(word), allowed=f"different files in FILE{JOIN}FILE")
    for path in paths:
        if not path.exists():
            raise InputError(
                "does not exist", file=path, allowed=f"files, or FILE{JOIN}FILE for those of one run"
            )
    return paths


def read_any(path: Path, how: NumberStyle = NOTHING_SAID) -> RequestTable | AggregateTable:
    """Read a whole file of any load tool, whichever it is; arguments and errors are those of :func:`open_any`."""
    opened = open_any(path, how)
    return opened.collect() if isinstance(opened, RequestStream) else opened


def open_any(path: Path, how: NumberStyle = NOTHING_SAID) -> Opened:
    """Recognise a file; most tools' single requests are read when they are asked for.

    ``how``: the response times of a JMeter file, or of another csv with a header, are written where they are not whole
    milliseconds. Raises InputError: it is a folder, empty, or of none of them; or the tool's
    own reader refuses it; or ``how`` was said of a file of another tool.
    """
    if path.is_dir():
        raise InputError("is a folder", file=path, allowed=f"one file of {written_by()}")
    if looks_like_sqlite(path):
        _only_for_jmeter(path, how)
        return read_oha_db(path)
    file = text_file(path)
    if not file.head.strip():
        raise InputError("is empty", file=path, allowed=f"a file of {written_by()}")
    lines = file.head.split("\n")[:_MOST_LINES_BEFORE]
    refuse_binary(file)
    head = lines[0][:_FIRST_BYTES]
    if len(_NO_TEXT.findall(head)) > len(head) / 20:
        raise InputError(
            "is a binary file", file=path,
            allowed=f"text of {written_by()}; what vegeta attack writes after: vegeta encode -to csv",
        )  # fmt: skip
    opened = _opened(file, lines[0], how)
    if opened is not None:
        return opened
    try:
        return open_jtl(file, how)  # headerless files may begin with a quote or a date
    except InputError as problem:
        for n_before, line in enumerate(lines[1:], start=1):
            opened = _opened(file.from_line(n_before), line, how) if line.strip() else None
            if opened is not None:
                return opened
        raise another_file(
            "is not recognised", file,
            f"JMeter csv (a first line like timeStamp,elapsed,label,...), a file of {written_by()} with a header such "
            "as timestamp,latency_ms,status (docs/report.md lists the files of each tool)",
        ) from problem  # fmt: skip


def _opened(file: TextFile, line: str, how: NumberStyle) -> Opened | None:
    """The file from a line on, where that begins the results of a tool."""
    known = next((opens for begins, opens in _FORMATS if begins(line)), None)
    if known is not None or looks_like_json(line):
        _only_for_jmeter(file.path, how)
        return read_json(file) if known is None else known(file)
    if looks_like_xml(line) or header_of(line) is not None:
        return open_jtl(file, how)
    return None


def _only_for_jmeter(path: Path, how: NumberStyle) -> None:
    for option, given in (("--latency-unit", how.unit), ("--decimal", how.decimal)):
        if given is not None:
            raise InputError(
                "has units and numbers of its own form",
                file=path,
                place=option,
                found=given,
                allowed="only for JMeter's files and other csv with a header, which may have passed through a script",
            )
