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
NUMBER, DATE = r"\d{1,18}(?:[.,]\d{1,9})?", r"\d{4}-\d\d-\d\dT[\d:.]{8,18}[+-]\d{4}"
_BEGIN = rf"\[ *(?:{NUMBER}(?:ns|ms|s)|{DATE}) *\]|gc(?:(?<!\wgc)|(?<=\[0mgc)) \d+ @"
BEGINS = re.compile(_BEGIN, re.ASCII)
_ANY_LINE = re.compile(r"\S[^\n]*")
#: Stamps in brackets before those of the line: somebody else's.
_OTHER_STAMPS = re.compile(rf"(?:\[[^\]]*\])+\s(?={_BEGIN})", re.ASCII)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_COLOURS = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
#: Dates, times and numbers of lines in what precedes a line: what remains names who wrote it.
_CLOCKS = re.compile(
    r"\S{0,20}\d\d:\d\d\S{0,24}|\d{4}[-/]\d\d[-/]\d\d|\b[A-Z][a-z]{2}\b(?: +\d{1,2}\b)?|\b\d{9,}(?:\.\d+)?"
    r"|(?:^|(?<=:))\s*\d+[:\t]"
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

    def pass_over(self, text: str) -> None:
        """Count the lines that are not blank."""
        lines = _ANY_LINE.findall(text)
        self.n += len(lines)
        self.examples += [line.strip()[:200] for line in lines[: 3 - len(self.examples)]]


def read_lines(path: Path, notes: SourceNotes, lines: OtherLines) -> Iterator[LogLine]:
    """Yield the lines of a runtime; all other lines are counted; raises InputError: the file cannot be opened."""
    for block in _blocks(path, notes):
        at = 0
        while match := BEGINS.search(block, at):
            start = match.start()
            end = block.find("\n", start)
            end = len(block) if end < 0 else end
            text, complete = block[start : min(end, start + LONGEST_LINE)], end < len(block)
            # As in a file that the runtime writes alone: what follows the brackets begins no line itself.
            alone = start == at and (
                text.partition("] ")[2][:1] not in ("[", "g", "") or not _OTHER_STAMPS.match(text)
            )
            if alone:
                yield LogLine("", text.rstrip("\r"), complete)
            else:
                begin = max(block.rfind("\n", at, start) + 1, at)
                lines.pass_over(block[at:begin])
                yield from _freed(block[max(begin, start - LONGEST_LINE) : start], text, complete)
            at = end + 1
        lines.pass_over(block[at:])
        lines.cut = not block.endswith("\n")


def _blocks(path: Path, notes: SourceNotes) -> Iterator[str]:
    """Yield whole lines together; a line without end is cut."""
    rest = b""
    for piece in read_text_pieces(path, notes):
        data = rest + piece
        end = data.rfind(b"\n") + 1 or (len(data) if len(data) > LONGEST_LINE else 0)
        rest = data[end:]
        if end:
            yield data[:end].decode("utf-8", "replace")
    if rest:
        yield rest.decode("utf-8", "replace")


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
                for splitline in inside.splitlines():
                    if match := BEGINS.search(splitline):
                        yield from _freed(
                            outside + splitline[: match.start()], splitline[match.start() :], True
                        )
                return
    while stamps := _OTHER_STAMPS.match(text):
        before, text = before + stamps[0], text[stamps.end() :]
    yield LogLine(before, text, complete)
