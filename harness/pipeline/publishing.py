# SPDX-License-Identifier: Apache-2.0
"""Publish from the bundled sessions, and typeset nothing: for pages that are made of published results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.evidence.parameters import RunAllParameters
from harness.pipeline.execute import run
from harness.pipeline.plan import make_plan
from harness.pipeline.status import StageTable


def publish_bundled(root: Path, *, command: str) -> StageTable:
    """Run the stages of profile ``sample`` that are not up to date, all but the paper; return how they ended.

    Args:
        root: the project.
        command: named in a failure as what goes on where it stopped.

    Raises:
        StageFailed: a notebook did not end well.
    """
    plan = make_plan(RunAllParameters(profile="sample"), root=root)
    return run(
        replace(plan, command=command, stages=tuple(stage for stage in plan.stages if stage.kind != "paper"))
    )
