# SPDX-License-Identifier: Apache-2.0
"""Read Gatling's ``simulation.log`` as its releases before 3.12 wrote it: lines of text, fields between tabs.

What stands before the name of a request differs between releases (scenario and user came and went, and stood before
the kind of the line until 2.1), so a line is read from its verdict, OK or KO, to the left: end, start, name, groups.
Until 2.1 two more times stood between start and end: the request was sent, the answer began. Since 3.12 the file is
binary.
"""

from __future__ import annotations

import re
from pathlib import Path

from harness.errors import InputError
from harness.formats.collect import RequestStream, line_stream
from harness.formats.row_layout import Layout, Row
from harness.formats.source import TextFile, another_file, text_file
from harness.formats.values import error_kind

RESOLUTION_S = 1e-3
_REQUEST, _RUN = b"REQUEST", "RUN"
_VERDICTS = {b"OK": True, b"KO": False}
#: Fields that stand before the verdict at least: the word REQUEST, groups, name, start, end.
_BEFORE = 5
#: Milliseconds since 1970 have so many digits, from 2001 to 2286.
_STAMP_DIGITS = 13
#: How a binary log begins: the kind of its first record, the length of a text, and that text, Gatling's release.
_BINARY = re.compile(r"\0{4}[\x05-\x1f]\d+\.\d+\.\d")


def looks_like_gatling(line: str) -> bool:
    """The line that begins a run, or a request of a log that was cut."""
    fields = line.split("\t", 3)
    return len(fields) > 3 and not {_RUN, _REQUEST.decode()}.isdisjoint(fields[0:3:2])


def open_gatling(path: Path | TextFile) -> RequestStream:
    """Recognise the log; its rows are read when they are asked for, in bounded memory.

    A row's label is its name with the groups around it, as Gatling writes them: ``group / name``.

    Raises:
        InputError: it is another file.
    """
    file = text_file(path)
    if not looks_like_gatling(file.first):
        raise another_file(
            "not a log of Gatling in text",
            file,
            "simulation.log of a release before 3.12, which begins with RUN",
        )
    return line_stream(
        file,
        Layout(delimiter="\t", n_columns=7, latency=4, start=3, ok=5, label=2, header=None),
        source="gatling",
        resolution_s=RESOLUTION_S,
        begins_record=_begins_a_record,
        is_row=lambda line: _REQUEST in line.split(b"\t", 3)[0:3:2],
        row_of=_row,
    )


def refuse_binary(file: TextFile) -> None:
    """Refuse a log of a release from 3.12 on.

    Raises:
        InputError: it is one.
    """
    if _BINARY.match(file.head):
        raise InputError(
            "is Gatling's binary log, which only Gatling's own reports read", file=file.path,
            allowed="simulation.log of a release before 3.12; for newer ones the requests as CSV, such as a converter "
            "writes, with the columns timeStamp,elapsed,label,success",
        )  # fmt: skip


def _begins_a_record(line: bytes) -> bool:
    return not {_REQUEST, b"USER", b"GROUP", b"ERROR"}.isdisjoint(line.split(b"\t", 3)[0:3:2])


def _row(line: bytes) -> Row:
    """The request of one line.

    Raises:
        ValueError: it cannot be read.
    """
    fields = line.rstrip(b"\r").split(b"\t")
    places = range(_BEFORE, len(fields))
    at = next((i for i in places if fields[i] in _VERDICTS and fields[i - 1].isdigit()), 0)
    if not at:
        raise ValueError("no verdict")
    stamps = fields[at - 4 : at] if at > _BEFORE + 1 else []
    is_old = stamps and all(stamp.isdigit() and len(stamp) == _STAMP_DIGITS for stamp in stamps)
    start = at - 4 if is_old else at - 2
    start_ms, end_ms = int(fields[start]), int(fields[at - 1])
    ok = _VERDICTS[fields[at]]
    groups, name = (fields[i].decode(errors="replace") for i in (start - 2, start - 1))
    message = b"\t".join(fields[at + 1 :]).decode(errors="replace").strip()
    return Row(
        start_epoch_s=start_ms / 1e3,
        latency_s=(end_ms - start_ms) / 1e3,
        ok=ok,
        label=" / ".join([*filter(None, groups.split(",")), name]) if groups.strip() else name,
        error_kind="" if ok else error_kind("", "", "", message),
    )
