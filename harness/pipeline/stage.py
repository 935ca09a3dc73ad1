# SPDX-License-Identifier: Apache-2.0
"""A stage of ``run_all``, all of them in order, and which may be at work beside each other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from harness.agent.platforms import usable_cpus
from harness.errors import InputError
from harness.evidence.parameters import StageParameters
from harness.import_closure import closure, imports
from harness.pipeline.status import Row, StageTable

FOLDER = Path("notebooks")
#: Notebooks from this number on analyse; the ones before check, measure and tidy.
FIRST_ANALYSIS = 29


@dataclass(frozen=True)
class NotebookFile:
    """One notebook of the project. ``metadata.rematch`` may declare ``experiments``, ``optional``, ``title``."""

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
            cells = content["cells"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"not a notebook ({error})", file=self.path) from None
        return {**content, "cells": cells}

    @property
    def code_cells(self) -> tuple[str, ...]:
        """The source of every code cell."""
        return tuple("".join(c["source"]) for c in self.content["cells"] if c["cell_type"] == "code")

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments without which this notebook has nothing to say."""
        return tuple(self._declared.get("experiments", ()))

    @property
    def optional(self) -> tuple[str, ...]:
        """The experiments it speaks of where they were chosen; without ``experiments`` it needs one of them."""
        return tuple(self._declared.get("optional", ()))

    @property
    def needs_none(self) -> bool:
        """Whether it has something to say without any experiment: its list of ``experiments`` is there and empty."""
        return self._declared.get("experiments") == []

    @property
    def _declared(self) -> dict[str, Any]:
        declared: dict[str, Any] = self.content.get("metadata", {}).get("rematch", {})
        return declared

    @property
    def code_sha256(self) -> str:
        """A hash of the code cells alone: prose may be mended without measuring anything again."""
        return hashlib.sha256("\0".join(self.code_cells).encode()).hexdigest()

    def imported(self, root: Path) -> tuple[str, ...]:
        """Return the modules of this project that the cells import, and all that those import in turn."""
        return closure(root, {name for source in self.code_cells for name in imports(source)})


def analysis_notebooks(root: Path) -> tuple[NotebookFile, ...]:
    """Return the notebooks that analyse, in the order of their numbers. A new one needs no registration."""
    paths = sorted((root / FOLDER).glob("[0-9][0-9]-*.ipynb"))
    return tuple(NotebookFile(path) for path in paths if int(path.name[:2]) >= FIRST_ANALYSIS)


State = Literal["done", "to do", "skipped", "bundled"]
Kind = Literal["check", "measure", "tidy", "analysis", "paper"]
#: Each analysis is a kernel with tables of its own in memory, so a large machine has no more than this.
_MOST_AT_ONCE = 4


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """One stage. ``why``: the reason to run, or to leave it."""

    name: str
    kind: Kind
    state: State
    why: str
    expected_s: float | None
    notebook: NotebookFile | None = None
    parameters: dict[str, object] = field(default_factory=dict)
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """What ``run_all`` is about to do. Shows itself as a table."""

    root: Path
    settings: StageParameters
    stages: tuple[PlannedStage, ...]
    left_out: tuple[str, ...] = ()
    #: What goes on where this plan stopped, when it is not papermill with these settings.
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
        return table_of(self.stages, self.note).html()

    def __repr__(self) -> str:
        return "\n".join(table_of(self.stages, self.note).lines())


def table_of(stages: Iterable[PlannedStage], note: str = "") -> StageTable:
    """Return the table of stages of which none has begun, with a note below it."""
    return StageTable({s.name: Row(s.name, s.state, s.why, s.expected_s) for s in stages}, note)


def places_here() -> int:
    """Return how many analyses may be at work at once on this machine: one for each core that is ours."""
    return min(len(usable_cpus()), _MOST_AT_ONCE)


def may_begin(stage: PlannedStage, at_work: Sequence[PlannedStage], places: int) -> bool:
    """Tell whether a stage may begin beside those at work.

    Analyses read tables that stand still and write each its own contribution. Everything else is alone:
    what runs beside a measurement is measured too, and tidying and the paper need all that comes before.
    """
    if not at_work:
        return True
    return all(item.kind == "analysis" for item in (stage, *at_work)) and len(at_work) < places
