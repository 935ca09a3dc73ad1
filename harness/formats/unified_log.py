# SPDX-License-Identifier: Apache-2.0
"""The lines of unified JVM logs (``-Xlog``): rotated parts in order, decorators taken off, stamps read.

Source: JEP 158 (unified logging).
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from harness.errors import InputError

_DECORATORS = re.compile(r"((?:\[[^\]]*\])+)\s?(.*)")
_STAMP = re.compile(r"(\d+(?:\.\d+)?)(ns|ms|s)")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d{4}")
#: A number above this many seconds is a date, not an uptime (30 years).
_EPOCH_FROM_S = 1e9
#: No date lies behind the year 9999.
_EPOCH_TO_S = 2.5e11
#: A longer line is read as several: no JVM writes one, and to search one takes the square of its length.
LONGEST_LINE = 1 << 14
#: As much as one read of a gzip stream gives: what precedes a damage is read.
_PIECE_BYTES = 8192
#: A log may be millions of empty lines, which tell nothing: they are passed over all at once.
_EMPTY_LINES = re.compile(rb"(?:\n+|\r\n)*")


@dataclass(slots=True)
class Line:
    """One line without its decorators; it has at least one stamp."""

    epoch_s: float | None
    uptime_s: float | None
    tags: str
    text: str


def rotated_parts(path: Path) -> tuple[Path, ...]:
    """Return ``path`` and its rotated siblings ``path.0``, ``path.1``, ... that exist."""
    begin = f"{path.name}."
    named = [part for part in path.parent.glob("*") if part.name.startswith(begin)]
    return (path, *sorted(part for part in named if re.fullmatch(r"\d+", part.name[len(begin) :])))


def read_lines(paths: Iterable[Path]) -> Iterator[tuple[str, bool]]:
    """Read the lines of one process's log in all its parts, the earliest first, and whether each is complete.

    Raises:
        InputError: a file cannot be opened.
    """
    for path in sorted(paths, key=_first_stamp):
        yield from _lines(path)


def parse_line(text: str) -> Line | None:
    """Return the line without its decorators; ``None``: it has none, or no stamp among them."""
    match = _DECORATORS.fullmatch(text)
    if match is None:
        return None
    epoch: float | None = None
    uptime: float | None = None
    tags = ""
    for decorator in match.group(1)[1:-1].split("]["):
        value = decorator.strip()
        stamp = _STAMP.fullmatch(value)
        if stamp:
            seconds = float(stamp.group(1)) * {"ns": 1e-9, "ms": 1e-3, "s": 1.0}[stamp.group(2)]
            if stamp.group(2) == "ms" and _EPOCH_FROM_S < seconds < _EPOCH_TO_S:
                epoch = seconds
            elif seconds <= _EPOCH_FROM_S:
                uptime = seconds if uptime is None or stamp.group(2) == "ns" else uptime
        elif _ISO.fullmatch(value):
            epoch = _iso_epoch_s(value) if epoch is None else epoch
        else:
            tags = value
    if epoch is None and uptime is None:
        return None
    return Line(epoch, uptime, tags, match.group(2))


def _iso_epoch_s(text: str) -> float | None:
    """A date as epoch seconds; ``None``: digits in the form of a date, but none, such as the 41st hour."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
    except (ValueError, OverflowError):
        return None


def _lines(path: Path) -> Iterator[tuple[str, bool]]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as stream:
            kept = b""
            while piece := stream.read1(_PIECE_BYTES):
                data = kept + piece
                at = _after_empty_lines(data, 0)
                while line := _line(data, at):
                    yield line.decode("utf-8", "replace").rstrip("\r\n"), line.endswith(b"\n")
                    at = _after_empty_lines(data, at + len(line))
                kept = data[at:]
            if kept:
                yield kept.decode("utf-8", "replace").rstrip("\r\n"), False
    except (EOFError, zlib.error):
        yield "", False
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error


def _after_empty_lines(data: bytes, at: int) -> int:
    found = _EMPTY_LINES.match(data, at)
    assert found is not None  # none are some, too
    return found.end()


def _line(data: bytes, at: int) -> bytes:
    """Return the line that begins there, cut at ``LONGEST_LINE``; empty: its end is not there yet."""
    end = data.find(b"\n", at, at + LONGEST_LINE) + 1
    if not end and len(data) - at >= LONGEST_LINE:
        end = at + LONGEST_LINE
    return data[at:end]


def _first_stamp(path: Path) -> tuple[float, str]:
    for text, _ in _lines(path):
        line = parse_line(text)
        if line is not None:
            return (line.uptime_s if line.uptime_s is not None else line.epoch_s or 0.0, path.name)
    return (float("inf"), path.name)
