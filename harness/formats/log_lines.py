# SPDX-License-Identifier: Apache-2.0
"""The lines of a runtime's log, freed from whatever carried them to the file.

A line begins with a stamp in brackets (a JVM's unified log) or with ``gc N @`` (Go). What Docker, Kubernetes, journald
or a logger writes before it is told apart; inside of a JSON string, the string is decoded first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.formats.source import SourceNotes, read_text_pieces

#: A longer line is cut: no runtime writes one, and to search one takes the square of its length.
LONGEST_LINE = 1 << 14
STAMP = r"\d{1,18}(?:[.,]\d{1,9})?(?:ns|ms|s)|\d{4}-\d\d-\d\dT[\d:.]{8,18}[+-]\d{4}"
_BEGIN = rf"\[ *(?:{STAMP}) *\]|gc(?:(?<!\wgc)|(?<=\[0mgc)) \d+ @"
_BEGIN_IN_BYTES = _BEGIN.encode()
BEGINS = re.compile(_BEGIN, re.ASCII)
_BEGINS = re.compile(_BEGIN_IN_BYTES)
_ANY_LINE = re.compile(rb"\S[^\n]*")
_IN_BRACKETS = re.compile(r"(?:\[[^\]]*\])+\s")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_COLOURS = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
#: Dates and times in what precedes a line: what remains names who wrote it.
_CLOCKS = re.compile(
    r"\S{0,20}\d\d:\d\d\S{0,24}|\d{4}[-/]\d\d[-/]\d\d|\b[A-Z][a-z]{2}\b(?: +\d{1,2}\b)?|\b\d{9,}(?:\.\d+)?"
)


@dataclass(slots=True)
class LogLine:
    """One line of a runtime. ``before``: what stood in front of it; ``complete``: its end is there."""

    before: str
    text: str
    complete: bool

    @property
    def source(self) -> str:
        """Who wrote it, as far as the words before it tell: a container, a unit with its process, or nobody."""
        return _CLOCKS.sub("", self.before).strip() if self.before else ""


@dataclass
class OtherLines:
    """What of a file is no runtime's line. ``cut``: the file ends within a line."""

    n: int = 0
    examples: list[str] = field(default_factory=list)
    cut: bool = False

    def pass_over(self, data: bytes) -> None:
        """Count the lines that are not blank."""
        lines = _ANY_LINE.findall(data)
        self.n += len(lines)
        for line in lines[: 3 - len(self.examples)]:
            self.examples.append(line[:400].decode("utf-8", "replace").strip()[:200])


def read_lines(path: Path, notes: SourceNotes, others: OtherLines) -> Iterator[LogLine]:
    """Yield the lines of a runtime; all other lines are counted.

    Raises:
        InputError: the file cannot be opened.
    """
    for block in _blocks(path, notes):
        at = 0
        while found := _BEGINS.search(block, at):
            begin = max(block.rfind(b"\n", at, found.start()) + 1, at)
            end = block.find(b"\n", found.end())
            end = len(block) if end < 0 else end
            others.pass_over(block[at:begin])
            before = block[max(begin, found.start() - LONGEST_LINE) : found.start()]
            text = block[found.start() : min(end, found.start() + LONGEST_LINE)]
            yield from _freed(
                before.decode("utf-8", "replace"), text.decode("utf-8", "replace"), end < len(block)
            )
            at = end + 1
        others.pass_over(block[at:])
        others.cut = not block.endswith(b"\n")


def _blocks(path: Path, notes: SourceNotes) -> Iterator[bytes]:
    """Yield whole lines together; a line without end is cut."""
    rest = b""
    for piece in read_text_pieces(path, notes):
        data = rest + piece
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) > LONGEST_LINE else 0)
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        yield rest


def _freed(before: str, text: str, complete: bool) -> Iterator[LogLine]:
    text = text.rstrip("\r")
    if "\x1b" in before:
        before, text = _COLOURS.sub("", before), _COLOURS.sub("", text)
    if '"' in before:
        line = before + text
        for quoted in _QUOTED.finditer(line):
            if quoted.end() > len(before) > quoted.start():
                try:
                    inside = json.loads(quoted[0], strict=False)
                except ValueError:
                    break
                outside = line[: quoted.start()].partition("{")[0]
                for one in inside.splitlines():
                    if found := BEGINS.search(one):
                        yield from _freed(outside + one[: found.start()], one[found.start() :], True)
                return
    while (stamps := _IN_BRACKETS.match(text)) and BEGINS.match(text, stamps.end()):  # somebody else's
        before, text = before + stamps[0], text[stamps.end() :]
    yield LogLine(before, text, complete)
