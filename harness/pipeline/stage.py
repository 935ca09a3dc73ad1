# SPDX-License-Identifier: Apache-2.0
"""A stage of ``run_all``, all of them in order, and which may be at work beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.agent.platforms import usable_cpus
from harness.evidence.parameters import StageParameters
from harness.pipeline.notebook_file import NotebookFile
from harness.pipeline.status import StageTable

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
        return StageTable.of(self.stages, note=self.note).html()

    def __repr__(self) -> str:
        return "\n".join(StageTable.of(self.stages, note=self.note).lines())


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
