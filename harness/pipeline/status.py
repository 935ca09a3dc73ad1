# SPDX-License-Identifier: Apache-2.0
"""The one table that ``run_all`` shows: as HTML in a notebook, as lines on a terminal."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.papermill_engine import UNDER_PAPERMILL

_MARKS = {
    "done": "✓",
    "to do": "·",
    "skipped": "–",
    "bundled": "–",
    "running": "▶",
    "failed": "✗",
    "stopped": "✗",
    "unchanged": "✓",
}
_COLOURS = {"running": "#0072B2", "failed": "#B22222", "stopped": "#B22222", "to do": "#666666"}


@dataclass
class Row:
    """One stage as it stands now."""

    name: str
    state: str
    why: str
    expected_s: float | None
    took_s: float | None = None


@dataclass
class StageTable:
    """All stages. Rows change while the work goes on."""

    rows: dict[str, Row] = field(default_factory=dict)
    note: str = ""

    def html(self) -> str:
        """Return the table for a notebook."""
        heads = ("", "stage", "state", "why", "time expected", "time taken")
        head = "".join(f'<th style="text-align:left">{head}</th>' for head in heads)
        body = "".join(self._row(row) for row in self.rows.values())
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return f'<table style="text-align:left"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}'

    def lines(self) -> Sequence[str]:
        """Return the table for a terminal, one line a stage."""
        width = max((len(name) for name in self.rows), default=0)
        return [*(self.line(name, width) for name in self.rows), *([self.note] if self.note else [])]

    def line(self, name: str, width: int = 26) -> str:
        """Return one stage for a terminal."""
        row = self.rows[name]
        time = duration(row.took_s) if row.took_s is not None else _expected(row)
        return f"{_MARKS.get(row.state, ' ')} {name:<{width}}  {row.state:<9} {time:>9}  {row.why}".rstrip()

    def _row(self, row: Row) -> str:
        colour = _COLOURS.get(row.state, "inherit")
        cells = (
            _MARKS.get(row.state, ""),
            row.name,
            row.state,
            row.why,
            _expected(row),
            "" if row.took_s is None else duration(row.took_s),
        )
        style = f"text-align:left;color:{colour}"
        return f"<tr>{''.join(f'<td style={style!r}>{html.escape(cell)}</td>' for cell in cells)}</tr>"


def duration(seconds: float) -> str:
    """Return a span as a person would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _expected(row: Row) -> str:
    if row.state not in ("to do", "running") or row.expected_s is None:
        return ""
    return f"~{duration(row.expected_s)}"


class Progress(Protocol):
    """Shows the table."""

    def show(self, table: StageTable, *lines: str) -> None:
        """Show the table as it stands now; ``lines`` are the news, for readers of a terminal."""
        ...


class KernelProgress:
    """One display that is updated in place. Under papermill the news are printed too: ``--log-output`` shows them."""

    def __init__(self) -> None:
        from IPython.display import DisplayHandle

        self._handle: Any = DisplayHandle()  # type: ignore[no-untyped-call]  # IPython's own is untyped
        self._shown = False

    def show(self, table: StageTable, *lines: str) -> None:
        """Update the display; the first call makes it."""
        if os.environ.get(UNDER_PAPERMILL) == "1":
            LineProgress().show(table, *lines)
        data = {"text/html": table.html(), "text/plain": "\n".join(table.lines())}
        act = self._handle.update if self._shown else self._handle.display
        act(data, raw=True)
        self._shown = True


class LineProgress:
    """The news as lines on stderr."""

    def show(self, table: StageTable, *lines: str) -> None:
        """Print the news, nothing else."""
        for line in lines:
            print(line, file=sys.stderr, flush=True)


def progress_here() -> Progress:
    """Return what fits the place: a Jupyter kernel can show and update a display, nothing else can."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return KernelProgress() if shell is not None and hasattr(shell, "kernel") else LineProgress()
