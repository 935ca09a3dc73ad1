# SPDX-License-Identifier: Apache-2.0
"""The source of a workshop unit: one Markdown file, of which notebooks, slides and the teacher's notes are made.

It begins with a TOML head between lines of ``+++``. Below it are Markdown and these fenced blocks:

* ``python setup``, ``python``: a code cell of both notebooks.
* ``python exercise 1.2``, and right after it ``python solution 1.2``: the cell of the students, and of the solutions.
* ``checkpoint A 10``: where somebody who is late can go on, in the minute that the plan says.
* ``teacher``: a note for the teacher; in the solutions and on the page of the workshop.
* ``slide``: a slide.

Each heading of the second level begins a cell, and so does a line of three dashes.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from harness.errors import InputError
from harness.model import Frozen

FOLDER = Path("notebooks") / "workshop"
SOURCES = Path("docs") / "workshop"
Kind = Literal["markdown", "setup", "code", "exercise", "solution", "checkpoint", "teacher", "slide"]
_HEAD = "+++"
_FENCE = re.compile(r"^```(python|checkpoint|teacher|slide)\b ?(.*)$")
_KINDS: dict[str, Kind] = {"checkpoint": "checkpoint", "teacher": "teacher", "slide": "slide"}
_EXERCISE = re.compile(r"\d\.\d")
_CHECKPOINT = re.compile(r"[A-Z] \d+")


class Head(Frozen):
    """The head of a unit: what it is about, and how long it takes."""

    title: str
    question: str = Field(pattern=r"\?$")
    minutes: int = Field(ge=20, le=45)
    experiments: tuple[str, ...] = Field(min_length=1)
    objectives: tuple[str, ...] = Field(min_length=2)


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block of a unit; ``name``: of an exercise or solution its number, of a checkpoint letter and minute."""

    kind: Kind
    text: str
    line: int
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A unit of the workshop. ``stem``: the name of its files."""

    number: int
    stem: str
    head: Head
    blocks: tuple[Block, ...]

    def of_kind(self, *kinds: Kind) -> tuple[Block, ...]:
        """Return the blocks of these kinds in their order."""
        return tuple(block for block in self.blocks if block.kind in kinds)

    @property
    def opening(self) -> tuple[str, ...]:
        """The text before the first heading, if there is any."""
        first = self.blocks[0]
        return (first.text,) if first.kind == "markdown" and not first.text.startswith("## ") else ()

    @property
    def body(self) -> tuple[Block, ...]:
        """The blocks behind the opening."""
        return self.blocks[len(self.opening) :]

    @property
    def exercises(self) -> tuple[str, ...]:
        """The numbers of its exercises."""
        return tuple(block.name for block in self.of_kind("exercise"))


def read_units(root: Path) -> tuple[Unit, ...]:
    """Return all units in the order of their numbers.

    Raises:
        InputError: a source is not as this module says.
    """
    return tuple(read_unit(path) for path in sorted((root / SOURCES).glob("[0-9]*.md")))


def read_unit(path: Path) -> Unit:
    """Read one source, named such as ``01-latency-distribution.md``.

    Raises:
        InputError: it is not as this module says.
    """
    lines = path.read_text("utf-8").splitlines()
    if lines[:1] != [_HEAD] or _HEAD not in lines[1:]:
        raise InputError(
            "a head is missing", file=path, place="line 1", allowed=f"TOML between {_HEAD} lines"
        )
    end = lines.index(_HEAD, 1)
    try:
        head = Head.model_validate(
            {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in tomllib.loads("\n".join(lines[1:end])).items()
            }
        )
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise InputError(f"is no head of a unit ({error})", file=path, place="head") from None
    number = int(path.stem.partition("-")[0])
    blocks = tuple(_blocks(path, lines, end + 1))
    _check_blocks(path, number, blocks)
    return Unit(number=number, stem=path.stem, head=head, blocks=blocks)


def _blocks(path: Path, lines: list[str], at: int) -> list[Block]:
    found: list[Block] = []
    text: list[str] = []
    begun = at

    def close_text(next_line: int) -> None:
        nonlocal begun
        if "\n".join(text).strip():
            found.append(Block(kind="markdown", text="\n".join(text).strip(), line=begun + 1))
        text.clear()
        begun = next_line

    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence is not None:
            close_text(at)
            inside: list[str] = []
            opened = at
            at += 1
            while at < len(lines) and lines[at] != "```":
                inside.append(lines[at])
                at += 1
            if at == len(lines):
                raise InputError("a block is not closed", file=path, place=f"line {opened + 1}", found=line)
            found.append(_fenced(path, fence[1], fence[2].strip(), "\n".join(inside).strip("\n"), opened + 1))
            begun = at + 1
        elif line == "---":
            close_text(at + 1)
        else:
            if line.startswith("## "):
                close_text(at)
            text.append(line)
        at += 1
    close_text(at)
    return found


def _fenced(path: Path, language: str, words: str, text: str, line: int) -> Block:
    if language != "python":
        if language == "checkpoint" and not _CHECKPOINT.fullmatch(words):
            raise InputError(
                "which checkpoint?", file=path, place=f"line {line}", found=words, allowed="A 10"
            )
        return Block(kind=_KINDS[language], text=text, line=line, name=words)
    kind, _, name = words.partition(" ")
    if kind in ("", "setup") and not name:
        return Block(kind="setup" if kind else "code", text=text, line=line)
    if kind == "exercise" and _EXERCISE.fullmatch(name):
        return Block(kind="exercise", text=text, line=line, name=name)
    if kind == "solution" and _EXERCISE.fullmatch(name):
        return Block(kind="solution", text=text, line=line, name=name)
    raise InputError(
        "is no code cell", file=path, place=f"line {line}", found=words,
        allowed="python, python setup, python exercise 1.2, python solution 1.2",
    )  # fmt: skip


def _check_blocks(path: Path, number: int, blocks: tuple[Block, ...]) -> None:
    if [block.kind for block in blocks].count("setup") != 1:
        raise InputError("a unit has one set-up cell", file=path, place="python setup")
    for block, after in zip(blocks, (*blocks[1:], None), strict=True):
        place = f"line {block.line}"
        if block.kind == "exercise":
            if after is None or (after.kind, after.name) != ("solution", block.name):
                raise InputError("its solution has to follow", file=path, place=place, found=block.name)
            if not block.name.startswith(f"{number}."):
                raise InputError("is of another unit", file=path, place=place, found=block.name)
    names = [block.name for block in blocks if block.kind == "exercise"]
    if names != [f"{number}.{place}" for place in range(1, len(names) + 1)]:
        raise InputError("exercises are numbered one after the other", file=path, found=", ".join(names))
