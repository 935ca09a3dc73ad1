# SPDX-License-Identifier: Apache-2.0
"""A stage of ``run_all``, and all of them in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.stages.notebook import NotebookFile
from harness.stages.parameters import StageParameters
from harness.stages.table import StageTable

State = Literal["done", "to do", "skipped", "bundled"]
Kind = Literal["check", "measure", "tidy", "analysis", "paper"]


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

    @property
    def results(self) -> Path:
        """The folder of the executed copies of this profile."""
        return self.root / "results" / self.settings.profile

    @property
    def expected_s(self) -> float:
        """The time expected for all that is to do."""
        return sum(stage.expected_s or 0.0 for stage in self.stages if stage.state == "to do")

    def _repr_html_(self) -> str:
        return StageTable.of(self.stages).html()

    def __repr__(self) -> str:
        return "\n".join(StageTable.of(self.stages).lines())
