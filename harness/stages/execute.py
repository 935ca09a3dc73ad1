# SPDX-License-Identifier: Apache-2.0
"""Execute what the plan says is to do, each notebook in a papermill and a kernel of its own."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from harness.errors import RematchError
from harness.paper import build_paper
from harness.publish.contribution import clear
from harness.stages.planned import PlannedStage, StagePlan
from harness.stages.progress import Progress, progress_here
from harness.stages.sessions import session_of
from harness.stages.staleness import judge, remember
from harness.stages.table import StageTable, duration
from harness.store import SessionFolder

#: How often a stage under way is looked at, and how often a long one is worth a line on a terminal.
_LOOK_EVERY_S, _LINE_EVERY_S = 0.5, 30.0
#: A notebook that was asked to stop gets this long: a trial under way must stop its service.
_STOP_WITHIN_S = 30.0
_PR_SET_PDEATHSIG = 1


class StageFailed(RematchError):
    """A stage did not end well: names the notebook, the cell, what it said, and the command that resumes."""


def run(plan: StagePlan, *, progress: Progress | None = None) -> StageTable:
    """Execute the stages that are to do and return the table of how they ended.

    A stage is looked at again when its turn comes: when everything it depends on turned out
    unchanged it is left alone. Contributions of notebooks outside the plan leave the paper.

    Raises:
        StageFailed: the first stage that did not end well; later ones are not begun.
    """
    shown = progress or progress_here()
    table = StageTable.of(plan.stages)
    plan.results.mkdir(parents=True, exist_ok=True)
    _drop_outsiders(plan)
    shown.show(table, *table.lines(), f"expected: {duration(plan.expected_s)}")
    for stage in plan.stages:
        _one(plan, stage, table, shown)
    return table


def _one(plan: StagePlan, stage: PlannedStage, table: StageTable, shown: Progress) -> None:
    row = table.rows[stage.name]
    if stage.state != "to do":
        return
    now = judge(plan.root, plan.settings, stage)
    if now.state == "done":
        row.state, row.why = "unchanged", "everything it depends on is unchanged"
        shown.show(table, table.line(stage.name))
        return
    row.state, row.why = "running", now.why
    shown.show(table, table.line(stage.name))
    started = time.monotonic()
    try:
        _execute(plan, now, _teller(plan, now, table, shown, started))
    except RematchError as error:
        row.state, row.took_s, row.why = "failed", time.monotonic() - started, str(error)
        shown.show(table, table.line(stage.name))
        raise
    row.state, row.took_s = "done", time.monotonic() - started
    row.why = row.why if stage.kind == "measure" else f"was: {now.why}"
    remember(plan.root, plan.settings, now, row.took_s)
    shown.show(table, table.line(stage.name))


def _execute(plan: StagePlan, stage: PlannedStage, tell: Callable[[], None]) -> None:
    if stage.kind == "paper":
        try:
            build_paper(plan.root)
        except RematchError as error:
            raise StageFailed(f"paper: {error}; resume: {resume_command(plan)}") from error
        return
    if stage.kind == "analysis":
        clear(plan.root, stage.name)
    _execute_notebook(plan, stage, tell)
    if stage.kind == "measure":
        session = session_of(plan.root, plan.settings, stage.experiments[0])
        if not (session.exists and session.complete):
            raise StageFailed(
                f"{stage.name}: trials are missing from {session.key}; resume: {resume_command(plan)}"
            )


def _execute_notebook(plan: StagePlan, stage: PlannedStage, tell: Callable[[], None]) -> None:
    assert stage.notebook is not None  # only the paper has none
    output = plan.results / f"{_copy_name(stage)}.ipynb"
    log = output.with_suffix(".log")
    command = [
        sys.executable,
        "-m",
        "papermill",
        str(stage.notebook.path),
        str(output),
        "--no-progress-bar",
        "--log-level",
        "ERROR",
        "--cwd",
        str(plan.root / "notebooks"),
        "-y",
        json.dumps(stage.parameters),
    ]
    output.unlink(missing_ok=True)  # a copy of an earlier time must not pass for this one's
    with log.open("wb") as stream:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=_environment(plan.root),
            preexec_fn=die_with_parent,  # one system call, no lock and no allocation
        )
        _watch(child, tell)
    if child.returncode:
        raise StageFailed(_explain(plan, stage, output, log, child.returncode))


def _watch(child: subprocess.Popen[bytes], tell: Callable[[], None]) -> None:
    """Wait for the child; whatever ends the waiting ends the child too, in a way it can tidy up after."""
    try:
        while child.poll() is None:
            tell()
            time.sleep(_LOOK_EVERY_S)
    except BaseException:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        raise


def _teller(
    plan: StagePlan, stage: PlannedStage, table: StageTable, shown: Progress, started: float
) -> Callable[[], None]:
    """Return what is called while a stage works: it updates the time, and the trials made."""
    last_line = [started]
    session = session_of(plan.root, plan.settings, stage.experiments[0]) if stage.kind == "measure" else None

    def tell() -> None:
        now = time.monotonic()
        row = table.rows[stage.name]
        whole = int(now - started)
        if row.took_s == whole:
            return
        row.took_s = whole
        if session is not None and session.exists:
            row.why = _trials_made(session)
        news: tuple[str, ...] = ()
        if now - last_line[0] >= _LINE_EVERY_S:
            last_line[0] = now
            news = (table.line(stage.name),)
        shown.show(table, *news)

    return tell


def _trials_made(session: SessionFolder) -> str:
    return f"{len(session.finished())} of {len(session.header.plan.trials)} trials"


def _explain(plan: StagePlan, stage: PlannedStage, output: Path, log: Path, code: int) -> str:
    """Return the failure in one line: notebook, cell, what it said, where to look, and how to go on."""
    assert stage.notebook is not None
    where = f"{stage.notebook.path.name}"
    what = f"papermill ended with {code}"
    failed = _failed_cell(output)
    if failed is not None:
        number, first_line, said = failed
        where, what = f"{where}, cell {number} ({first_line})", said
    else:
        tail = [line for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
        what = tail[-1].strip() if tail else what
    shown = os.path.relpath(output if output.exists() else log, plan.root)
    return f"{where}: {what}; see {shown}; resume: {resume_command(plan)}"


def _failed_cell(output: Path) -> tuple[int, str, str] | None:
    """Return number (from 1, as papermill counts), first line and message of the cell that failed."""
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
                return number, lines[0].strip(), f"{result['ename']}: {result['evalue']}".replace("\n", " ")
    return None


def resume_command(plan: StagePlan) -> str:
    """Return the command that goes on from where it stopped."""
    settings = plan.settings
    default = type(settings)()
    words = [
        f"-p {name} {value}"
        for name, value in settings.model_dump().items()
        if value != getattr(default, name)
    ]
    return " ".join(["papermill notebooks/run_all.ipynb", *words])


def _copy_name(stage: PlannedStage) -> str:
    assert stage.notebook is not None
    return f"{stage.notebook.name}-{stage.experiments[0]}" if stage.kind == "measure" else stage.notebook.name


def _drop_outsiders(plan: StagePlan) -> None:
    """Numbers of a notebook that is not part of this plan belong to another measurement."""
    inside = {stage.name for stage in plan.stages if stage.kind == "analysis" and stage.state != "skipped"}
    for stage in plan.stages:
        if stage.kind == "analysis" and stage.name not in inside:
            clear(plan.root, stage.name)


def _environment(root: Path) -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(root), os.environ.get("PYTHONPATH", "")) if part)
    return {
        **os.environ,
        "PYTHONPATH": path,
        "REMATCH_ROOT": str(root),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def die_with_parent() -> None:
    """Linux: when the kernel of run_all dies without a word, the child must not go on measuring unseen."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
