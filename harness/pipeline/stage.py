# SPDX-License-Identifier: Apache-2.0
"""A stage of ``run_all``, the plan of all of them in order, and the one table that shows how they stand."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from harness.agent.platforms import usable_cpus
from harness.analysis.evidence.parameters import StageParameters
from harness.errors import InputError
from harness.publish.display import html_table

FOLDER = Path("notebooks")
#: Notebooks from this number on analyse; the ones before check, measure and tidy.
FIRST_ANALYSIS = 29
Kind = Literal["check", "measure", "tidy", "analysis", "paper"]
State = Literal["done", "to do", "skipped", "bundled", "running", "failed", "stopped", "unchanged"]
_MARKS = {
    "done": "✓", "unchanged": "✓", "to do": "·", "skipped": "–", "bundled": "–", "running": "▶", "failed": "✗",
    "stopped": "✗",
}  # fmt: skip
#: Each analysis is a kernel with tables of its own in memory, so a large machine has no more than this.
_MOST_AT_ONCE = 4


@dataclass(frozen=True)
class NotebookFile:
    """One notebook of the project."""

    path: Path

    @property
    def name(self) -> str:
        """The name without its ending, such as ``30-strings``."""
        return self.path.stem

    @cached_property
    def content(self) -> dict[str, Any]:
        """The file's JSON.

        Raises:
            InputError: not a notebook.
        """
        try:
            content = json.loads(self.path.read_text("utf-8"))
            return {**content, "cells": content["cells"]}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a notebook ({error})", file=self.path) from None

    @property
    def code_cells(self) -> tuple[str, ...]:
        """The source of every code cell."""
        return tuple("".join(c["source"]) for c in self.content["cells"] if c["cell_type"] == "code")

    @property
    def declared(self) -> dict[str, list[str]]:
        """Its ``metadata.rematch``; an empty list of experiments: it has something to say without any."""
        return dict(self.content.get("metadata", {}).get("rematch", {}))

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments without which this notebook has nothing to say."""
        return tuple(self.declared.get("experiments", ()))

    @property
    def optional(self) -> tuple[str, ...]:
        """The experiments it speaks of where they were chosen; without ``experiments`` it needs one of them."""
        return tuple(self.declared.get("optional", ()))


def analysis_notebooks(root: Path) -> tuple[NotebookFile, ...]:
    """Return the notebooks that analyse, in the order of their numbers. A new one needs no registration."""
    paths = sorted((root / FOLDER).glob("[0-9][0-9]-*.ipynb"))
    return tuple(NotebookFile(path) for path in paths if int(path.name[:2]) >= FIRST_ANALYSIS)


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """One stage. ``why``: the reason to run, or to leave it. ``took_s``: ``None`` before it has begun."""

    name: str
    kind: Kind
    state: State
    why: str
    expected_s: float | None
    notebook: NotebookFile | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    experiments: tuple[str, ...] = ()
    took_s: float | None = None

    @property
    def expected(self) -> str:
        """The time expected of a stage that is not over, in words; empty: it is over, or not known."""
        known = self.state in ("to do", "running") and self.expected_s is not None
        return f"~{duration(self.expected_s)}" if known else ""


class StageTable:
    """The stages as they stand now, by name, with a note below them."""

    def __init__(self, stages: Sequence[PlannedStage] = (), note: str = "") -> None:
        self.rows = {stage.name: stage for stage in stages}
        self.note = note

    def change(self, name: str, **changes: Any) -> None:
        """Put new values into the row of a stage."""
        self.rows[name] = replace(self.rows[name], **changes)

    def html(self) -> str:
        """Return the table for a notebook."""
        cells = [
            (_MARKS[row.state], row.name, row.state, row.why, row.expected, duration(row.took_s))
            for row in self.rows.values()
        ]
        heads = ["", "stage", "state", "why", "time expected", "time taken"]
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return html_table(pd.DataFrame(cells, columns=heads)) + note

    def lines(self) -> list[str]:
        """Return the table for a terminal, one line a stage."""
        width = max(map(len, self.rows), default=0)
        return [*(self.line(name, width) for name in self.rows), *([self.note] if self.note else [])]

    def line(self, name: str, width: int = 26) -> str:
        """Return one stage for a terminal."""
        row = self.rows[name]
        time = duration(row.took_s) or row.expected
        return f"{_MARKS[row.state]} {name:<{width}}  {row.state:<9} {time:>9}  {row.why}".rstrip()


def duration(seconds: float | None) -> str:
    """Return a span in seconds, minutes or hours; ``None``: empty."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """What ``run_all`` is about to do; shows itself as a table.

    ``left_out``: experiments that are measured only when they are named. ``command``: what goes on where the plan
    stopped, when it is not papermill with these settings.
    """

    root: Path
    settings: StageParameters
    stages: tuple[PlannedStage, ...]
    left_out: tuple[str, ...] = ()
    command: str = ""

    @property
    def note(self) -> str:
        """Which experiments are measured only when they are named, and how; empty: none is left out."""
        if not self.left_out:
            return ""
        names = ", ".join(self.left_out)
        return f"Not measured unless named (parameter experiments, or make paper EXPERIMENTS=a,b): {names}."

    @property
    def results(self) -> Path:
        """The folder of the executed copies of this profile."""
        return self.root / "results" / self.settings.profile

    @property
    def expected_s(self) -> float:
        """The time expected for all that is to do, analyses beside each other as here is room for them."""
        todo = [stage for stage in self.stages if stage.state == "to do"]
        alone = sum(stage.expected_s or 0.0 for stage in todo if stage.kind != "analysis")
        beside = [stage.expected_s or 0.0 for stage in todo if stage.kind == "analysis"]
        return alone + max([sum(beside) / places_here(), *beside])

    def _repr_html_(self) -> str:
        return StageTable(self.stages, self.note).html()

    def __repr__(self) -> str:
        return "\n".join(StageTable(self.stages, self.note).lines())


def places_here() -> int:
    """Return how many analyses may be at work at once on this machine: one for each core that is ours."""
    return min(len(usable_cpus()), _MOST_AT_ONCE)
