# SPDX-License-Identifier: Apache-2.0
"""What came of each fault of a campaign, one line of JSON each, appended when the fault is over.

A campaign that was interrupted goes on with the faults that have no line yet. Several processes may append.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from harness.errors import InputError
from harness.model import Frozen
from harness.verify.faults.plan import Fault

Came = Literal["held", "violated", "late", "unavailable"]


class FaultLine(Frozen):
    """One fault as it was tried."""

    number: int = Field(ge=1)
    kind: str
    came: Came
    broken: tuple[str, ...] = ()
    reason: str = Field(default="", description="why it was unavailable")
    said: str = Field(default="", description="the line that the session said last")
    heard: str = Field(default="", description="the end of its words, where a promise was broken")
    took_s: float = Field(ge=0)
    place: str = Field(description="as harness.provenance.describe_place says it")


class Journal:
    """The lines of one seed.

    Args:
        file: where lines are appended. kept: lines of earlier runs, which is only read.
    """

    def __init__(self, file: Path, kept: Path) -> None:
        self.file, self.kept = file, kept

    def read(self) -> tuple[FaultLine, ...]:
        """Return the lines, the oldest first, each once. The end of a line that was not written whole is left out.

        Raises:
            InputError: a file is damaged.
        """
        return tuple(dict.fromkeys(line for path in (self.kept, self.file) for line in _lines(path)))

    def append(self, line: FaultLine) -> None:
        """Add a line, which is on the disk when this returns."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a+b") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            stream.seek(0)
            stream.truncate(stream.read().rfind(b"\n") + 1)
            stream.write(_text(line))
            stream.flush()
            os.fsync(stream.fileno())

    def keep(self) -> None:
        """Put every line into ``kept``."""
        fresh = self.kept.with_name(f".{self.kept.name}.new")
        fresh.write_bytes(b"".join(_text(line) for line in self.read()))
        fresh.replace(self.kept)


def _text(line: FaultLine) -> bytes:
    return (line.model_dump_json(exclude_defaults=True) + "\n").encode()


def last_of_each(lines: Iterable[FaultLine]) -> dict[int, FaultLine]:
    """Return the last line of each fault, by number."""
    return dict(sorted({line.number: line for line in lines}.items()))


def still_to_do(faults: Iterable[Fault], lines: Iterable[FaultLine], place: str) -> Iterable[Fault]:
    """Yield the faults without a line, and those that were violated by another source than that of ``place``."""
    known = last_of_each(lines)
    for one in faults:
        line = known.get(one.number)
        if line is None or (line.came == "violated" and line.place != place):
            yield one


def _lines(path: Path) -> Iterable[FaultLine]:
    if not path.is_file():
        return
    *whole, _ = path.read_bytes().split(b"\n")
    for number, text in enumerate(whole, 1):
        try:
            yield FaultLine.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(first["msg"], file=path, place=f"line {number}") from None


__all__ = ["FaultLine", "Journal", "last_of_each", "still_to_do"]
