# SPDX-License-Identifier: Apache-2.0
"""A notebook at work in a papermill and a kernel of its own: begun, stopped, and why it failed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.agent.platforms import die_with_parent
from harness.papermill_engine import ENGINE
from harness.pipeline.stage import PlannedStage, StagePlan
from harness.publish.generated import PUBLISHING

#: A notebook that was asked to stop gets this long: a trial under way must stop its service.
_STOP_WITHIN_S = 30.0
#: ``python -m papermill`` without a grammar of IRIs that jsonschema would make first: no notebook has one, and
#: making it takes two thirds of papermill's start.
_PAPERMILL = (
    "import sys; sys.modules['rfc3987_syntax'] = None; from papermill.__main__ import papermill; papermill()"
)


#: In the environment: the command that a user gave, where it is not papermill's own.
COMMAND = "REMATCH_COMMAND"
#: Where a traceback of IPython names the line of a cell, and what colours it.
_IN_CELL, _COLOUR = re.compile(r"Cell In\[\d+\], line (\d+)"), re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, kw_only=True)
class UnderWay:
    """One stage's notebook, and where its executed copy and papermill's words go."""

    stage: PlannedStage
    child: subprocess.Popen[bytes]
    output: Path
    log: Path


def begin(plan: StagePlan, stage: PlannedStage) -> UnderWay:
    """Start papermill on a stage's notebook."""
    assert stage.notebook is not None  # only the paper has none
    output = plan.results / f"{_copy_name(stage)}.ipynb"
    log = output.with_suffix(".log")
    command = [
        sys.executable, "-c", _PAPERMILL, str(stage.notebook.path), str(output), "--engine", ENGINE,
        "--no-progress-bar", "--log-level", "ERROR", "--cwd", str(plan.root / "notebooks"),
        "-y", json.dumps(stage.parameters),
    ]  # fmt: skip
    output.unlink(missing_ok=True)  # a copy of an earlier time must not pass for this one's
    shutil.rmtree(published_by(plan, stage), ignore_errors=True)
    with log.open("wb") as stream:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT,
            env=_environment(plan, stage),
            preexec_fn=die_with_parent,  # a child of a kernel that died must not go on measuring unseen
        )  # fmt: skip
    return UnderWay(stage=stage, child=child, output=output, log=log)


def stop(several: Sequence[UnderWay]) -> None:
    """End notebooks in a way they can tidy up after: all are asked at once, and killed when they do not end."""
    for item in several:
        item.child.send_signal(signal.SIGINT)
    until_s = time.monotonic() + _STOP_WITHIN_S
    for item in several:
        try:
            item.child.wait(max(0.0, until_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            item.child.kill()
            item.child.wait()


def explain(plan: StagePlan, process: UnderWay) -> str:
    """Return the failure in one line: notebook, cell, what it said, where to look, and how to go on."""
    assert process.stage.notebook is not None
    where = f"{process.stage.notebook.path.name}"
    what = f"papermill ended with {process.child.returncode}"
    failed = _failed_cell(process.output)
    if failed is not None:
        number, line, what = failed
        where = f"{where}, cell {number} ({line})"
    else:
        tail = [
            line for line in process.log.read_text("utf-8", errors="replace").splitlines() if line.strip()
        ]
        what = tail[-1].strip() if tail else what
    shown = os.path.relpath(process.output if process.output.exists() else process.log, plan.root)
    return f"{where}: {what}; see {shown}; resume: {resume_command(plan)}"


def resume_command(plan: StagePlan) -> str:
    """Return the command that goes on from where it stopped: what the user gave, where make or the plan say so."""
    given = os.environ.get(COMMAND) or plan.command
    if given:
        return given
    settings = plan.settings
    default = type(settings)()
    words = [
        f"-p {name} {value}"
        for name, value in settings.model_dump().items()
        if value != getattr(default, name)
    ]
    return " ".join(["papermill notebooks/run_all.ipynb", *words])


def _failed_cell(output: Path) -> tuple[int, str, str] | None:
    """Return number (from 1, as papermill counts), failing line and message of the cell that failed."""
    try:
        cells = json.loads(output.read_text("utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return None
    notes = ("papermill-error-cell-tag",)  # papermill puts its own remarks into the copy
    counted = [c for c in cells if not set(notes) & set(c.get("metadata", {}).get("tags", ()))]
    for number, cell in enumerate(counted, start=1):
        for result in cell.get("outputs", ()):
            if result.get("output_type") == "error":
                lines = "".join(cell["source"]).splitlines() or [""]
                at = _IN_CELL.search(_COLOUR.sub("", "\n".join(result.get("traceback", ()))))
                line = lines[min(int(at[1]), len(lines)) - 1] if at else lines[0]
                return number, line.strip(), f"{result['ename']}: {result['evalue']}".replace("\n", " ")
    return None


def _copy_name(stage: PlannedStage) -> str:
    assert stage.notebook is not None
    return f"{stage.notebook.name}-{stage.experiments[0]}" if stage.kind == "measure" else stage.notebook.name


def published_by(plan: StagePlan, stage: PlannedStage) -> Path:
    """Return the folder into which a stage's notebook publishes until it has ended well."""
    return plan.results / "published" / stage.name


def _environment(plan: StagePlan, stage: PlannedStage) -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(plan.root), os.environ.get("PYTHONPATH", "")) if part)
    return {
        **os.environ,
        "PYTHONPATH": path,
        "REMATCH_ROOT": str(plan.root),
        PUBLISHING: str(published_by(plan, stage)),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
