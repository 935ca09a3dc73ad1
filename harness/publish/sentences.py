# SPDX-License-Identifier: Apache-2.0
r"""Sentences of authors that numbers must support: what a row says, and whether a claim on rows holds.

The paper writes ``\holds{pattern}{claim}{sentence}``. A pattern is a key with ``*`` for a part or a piece of one; a
comma joins several. Claims: ``higher``, ``lower``, ``differs``, ``equal``, ``open``, ``refused``, ``measured``, and
``>20`` or ``<0.5``: the whole interval lies there. Every matching row must support the claim; another claim is an
``InputError``.

``\least{pattern}``, ``\most{pattern}``, ``\leastname{pattern}`` and ``\mostname{pattern}`` print the ends of several
rows. In a build of the bundled sessions an untrue sentence is an error; in one of own measurements it is grey, with the
numbers that contradict it, and a sentence on what was not measured is left out.

In the README ``<!-- val KEY -->text<!-- / -->`` holds a number, ``valci`` one with its interval, and
``<!-- holds PATTERN,PATTERN CLAIM -->`` stands before a sentence that every matching row must support.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.errors import InputError, UnknownKey
from harness.model import Verdict
from harness.model.formatting import DASH
from harness.publish.generated import (
    GENERATED,
    MACROS,
    VALUES,
    contributions,
    paper_sources,
    read_values,
    write_json,
)
from harness.publish.latex import define, escape, value_macros

Row = Mapping[str, Any]
Rows = Mapping[str, Row]
#: Of a pattern that matches nothing.
NO_ROW = "no such row"
_WORDS = ("higher", "lower", "differs", "equal", "open", "refused", "measured")
_BOUND = re.compile(r"([<>])\s*(\d+(?:\.\d+)?)")
_GUARD = re.compile(r"\\holds\{([^}]*)\}\{([^}]*)\}")
_END = re.compile(r"\\(least|most|leastname|mostname)\{([^}]*)\}")
_CITED = re.compile(r"\\(?:val|valci|ifsaid)\{([^}]*)\}")
PICTURE = Path("docs") / "headline.png"
#: The figure of the picture.
FIGURE = "strings_warm.workloads"
_README_NUMBER = re.compile(r"<!-- (val|valci) (\S+) -->.*?<!-- / -->", re.DOTALL)
_README_GUARD = re.compile(r"<!-- holds (\S+) (\S+) -->")


def says(row: Row) -> str:
    """Return what a row says: higher, lower, equal, open or refused; without a verdict measured or absent."""
    verdict = row.get("verdict")
    if verdict is None:
        return "absent" if row["value"] is None and row.get("text") is None else "measured"
    if verdict == Verdict.DIFFERENT:
        return "higher" if row["value"] > 1 else "lower"
    return {Verdict.INCONCLUSIVE: "open", Verdict.NOT_ABOUT_SERVICES: "refused"}.get(verdict, "equal")


def holds(row: Row, claim: str) -> bool:
    """Tell whether a row supports a claim; a ratio that is not about the services supports ``refused`` alone."""
    word = says(row)
    if bound := _BOUND.fullmatch(claim):
        end = row["low"] if bound[1] == ">" else row["high"]
        end = row["value"] if end is None else end
        beyond = end is not None and (end > float(bound[2]) if bound[1] == ">" else end < float(bound[2]))
        return beyond and word != "refused"
    if claim not in _WORDS:
        raise InputError("no such claim", found=claim, allowed=f"{', '.join(_WORDS)}, >1.5, <1.5")
    if claim == "differs":
        return word in ("higher", "lower")
    return word == claim or (claim == "measured" and word not in ("absent", "refused"))


def matching(rows: Rows, patterns: str) -> list[Row]:
    """Return the rows whose keys match a pattern, by key; a star never stands for a dot."""
    asked = [pattern.strip().split(".") for pattern in patterns.split(",")]
    return [rows[key] for key in sorted(rows) if any(_fits(key.split("."), parts) for parts in asked)]


def _fits(key: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(key) == len(pattern) and all(map(fnmatchcase, key, pattern))


def contradicting(rows: Iterable[Row], claim: str) -> str:
    """Return the rows that do not support a claim, with their numbers; empty: all do."""
    against = [row for row in rows if not holds(row, claim)]
    return "; ".join(f"{row['label']} {row['interval_text']}, {says(row)}" for row in against)


def ends_of(rows: Sequence[Row]) -> tuple[Row, Row]:
    """Return the rows with the least and the greatest value; refused ones only where there are no others.

    Raises:
        InputError: no row has a value.
    """
    valued = [row for row in rows if row["value"] is not None]
    if not valued:
        raise InputError("no row has a value", found=f"{len(rows)} rows")
    spoken = [row for row in valued if says(row) != "refused"] or valued
    ordered = sorted(spoken, key=lambda row: float(row["value"]))
    return ordered[0], ordered[-1]


def write_macros(root: Path) -> list[str]:
    """Write what LaTeX needs for the paper; return what is untrue of bundled sessions, with its place.

    That is every value that the paper cites, what is true of its sentences, and where tables and figures are; the cited
    values also stand in ``values.json``.
    """
    rows = read_values(root)
    measured = {key for key, row in rows.items() if any(not t.startswith("bundled/") for t in row["inputs"])}
    own = set(map(_question, measured))
    bundled = {_question(key) for key, row in rows.items() if row["inputs"]} - own
    lines, problems = ["% Written by the build; changes are lost."], []
    cited: dict[str, Any] = {}
    if own:
        lines.append(r"\expandafter\def\csname rematch@own\endcsname{1}")
    for path in paper_sources(root / "paper"):
        text = re.sub(r"(?<!\\)%[^\n]*", "", path.read_text("utf-8"))  # without comments
        for match in _GUARD.finditer(text):
            patterns, claim = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            place = f"{path.relative_to(root / 'paper').as_posix()}:{line}"
            problem = _problem(rows, patterns, claim, place)
            lines.append(define("checked", f"{patterns}@{claim}", ""))
            if problem:
                kind = "nothing" if problem == NO_ROW else "untrue"
                lines.append(define(kind, f"{patterns}@{claim}", escape(problem)))
            if problem and (not own or _question(patterns) in bundled):
                problems.append(f"{place}: {patterns} is not {claim}: {problem}")
        lines += [_end(rows, *match.groups()) for match in _END.finditer(text)]
        for key in _CITED.findall(text):
            if row := rows.get(key):
                cited[key] = row
                lines.append(value_macros(key, row))
            elif own:
                lines.append(define("absent", key, "1"))
    for part in contributions(root / GENERATED):
        for key, figure in part["figures"].items():
            lines.append(define("figure", key, str(figure["file"])))
            lines.append(define("caption", key, escape(str(figure["caption"]))))
        lines += [define("table", key, f"generated/tables/{key.replace('.', '-')}") for key in part["tables"]]
    (root / GENERATED / MACROS).write_text("\n".join(dict.fromkeys(lines)) + "\n", "utf-8")
    write_json(root / GENERATED / VALUES, cited)
    return problems


def _problem(rows: Rows, patterns: str, claim: str, place: str) -> str:
    """Return what is wrong with a claim; empty: nothing."""
    matched = matching(rows, patterns)
    try:
        return contradicting(matched, claim) if matched else NO_ROW
    except InputError as error:
        raise InputError(error.problem, place=place, found=claim, allowed=error.allowed) from None


def _end(rows: Rows, which: str, patterns: str) -> str:
    """Return the definition of an end of several rows: its value or the name of its variant."""
    matched = matching(rows, patterns)
    if not any(row["value"] is not None for row in matched):
        return define(which, patterns, escape(DASH))
    least, most = ends_of(matched)
    row = least if which.startswith("least") else most
    return define(which, patterns, escape(str(row["label" if which.endswith("name") else "text"])))


def _question(key: str) -> str:
    return key.strip().partition(".")[0]


def write_readme(root: Path) -> Path:
    """Write the numbers of the README and its picture from what is published; return the README's path.

    Raises:
        UnknownKey: a number or the figure was not published. InputError: a sentence is untrue, or it has no row.
    """
    values, readme = read_values(root), root / "README.md"
    text = readme.read_text("utf-8")
    filled = fill(text, values, readme)
    figures = {key: each for part in contributions(root / GENERATED) for key, each in part["figures"].items()}
    if FIGURE not in figures:
        raise UnknownKey(f"the figure {FIGURE} was not published; execute the notebooks first: make paper")
    png = next(file for file in figures[FIGURE]["files"] if file.endswith(".png"))
    shutil.copyfile(root / GENERATED / png, root / PICTURE)
    readme.write_text(filled, "utf-8")
    return readme


def fill(text: str, values: Rows, file: Path) -> str:
    """Return the text with today's numbers, after its conditions were checked.

    Raises:
        UnknownKey: no such key. InputError: a condition does not hold, with its line.
    """
    for guard in _README_GUARD.finditer(text):
        place = f"line {text.count(chr(10), 0, guard.start()) + 1}"
        matched = matching(values, guard[1])
        if not matched:
            raise InputError("a sentence has no row", file=file, place=place, found=guard[1])
        if against := contradicting(matched, guard[2]):
            raise InputError(f"a sentence is not {guard[2]}", file=file, place=place, found=against)

    def number(match: re.Match[str]) -> str:
        kind, key = match[1], match[2]
        if key not in values:
            raise UnknownKey(f"{file.name}: {key} was not published; execute the notebooks first: make paper")
        printed = values[key]["interval_text" if kind == "valci" else "text"]
        return f"<!-- {kind} {key} -->{printed}<!-- / -->"

    return _README_NUMBER.sub(number, text)
