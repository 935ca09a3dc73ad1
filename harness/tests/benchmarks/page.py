# SPDX-License-Identifier: Apache-2.0
"""``docs/benchmarks.md``: one section a benchmark, each replaced when that benchmark ran again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from harness.tests.benchmarks.others import number
from harness.tests.benchmarks.result import BenchResult, BenchRow

PAGE = Path("docs") / "benchmarks.md"
HEAD = """# Benchmarks of the harness

Written by `make bench BENCH="all --write"`; do not edit.
Each section comes from one run, and everything compared in it ran within that run, in turn, on the same machine.
A ratio is the harness over its peer, below 1 the harness needs less, unless the row says else.
Most were made on a virtual machine with two cores that other work disturbs: read ratios, not seconds.
*holds*: the median of the repetitions keeps the target, and the table has their range.
*cannot say*: the median misses the target and a repetition meets it, others used the machine, or an interval has it.
"""


def write_page(root: Path, results: Iterable[BenchResult], order: Iterable[str]) -> Path:
    """Put the results into the page; sections of benchmarks that did not run now stay as they are."""
    path = root / PAGE
    sections = read_sections(path.read_text("utf-8")) if path.is_file() else {}
    sections |= {result.name: render(result) for result in results}
    names = [name for name in order if name in sections]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([HEAD, *(sections[name] for name in names)]), "utf-8")
    return path


def read_sections(text: str) -> dict[str, str]:
    """Return name -> section of a page that was written here."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {part[3:].split("\n", 1)[0]: part.rstrip("\n") + "\n" for part in parts}


def render(result: BenchResult) -> str:
    """Return one section."""
    lines = [f"## {result.name}", "", result.question, ""]
    lines += [
        "| what | value | range | peer | its value | ratio | target | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in result.rows]
    said = dict.fromkeys(row.said for row in result.rows if row.said)
    lines += ["", *(f"- {one}" for one in (*result.notes, *said)), f"- {result.place}"]
    return "\n".join(lines) + "\n"


def cells(row: BenchRow) -> tuple[str, ...]:
    """Return a row as text: what, value, range, peer, its value, ratio, target, verdict."""
    unit = "" if row.value is None else f" {row.unit}"
    return (
        row.name,
        f"{number(row.value)}{unit}",
        "" if row.low is None or row.high is None else f"{number(row.low)} to {number(row.high)}",
        row.peer or "",
        number(row.peer_value) if row.peer_value is not None else "",
        ratio_words(row),
        row.target or "",
        row.verdict,
    )


def ratio_words(row: BenchRow) -> str:
    """The ratio, with its interval where it has one; empty without a ratio."""
    if row.ratio is None:
        return ""
    interval = "" if row.ratio_low is None else f" ({number(row.ratio_low)} to {number(row.ratio_high)})"
    return number(row.ratio) + interval
