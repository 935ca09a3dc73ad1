# SPDX-License-Identifier: Apache-2.0
"""Execute what the plan says is to do, in its order: analyses beside each other, everything else alone.

Each notebook has a papermill and a kernel of its own.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.agent.platforms import die_with_parent
from harness.analysis.evidence.parameters import RunAllParameters
from harness.analysis.evidence.sessions import session_of
from harness.errors import RematchError
from harness.papermill_engine import ENGINE, UNDER_PAPERMILL
from harness.pipeline.plan import judge, make_plan, remember
from harness.pipeline.stage import PlannedStage, StagePlan, StageTable, duration, places_here
from harness.publish.build import build_paper
from harness.publish.generated import PUBLISHING, clear, replace
from harness.store import SessionFolder

#: How often stages under way are looked at, and how often a long one is worth a line on a terminal.
_LOOK_EVERY_S, _LINE_EVERY_S = 0.5, 30.0
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


class StageFailed(RematchError):
    """A stage did not end well: names the notebook, the cell, what it said, and the command that resumes."""


class Progress:
    """The table in one display of a Jupyter kernel, updated in place; its news as lines on stderr elsewhere, and under
    papermill, whose ``--log-output`` shows them."""

    def __init__(self, *, in_kernel: bool | None = None) -> None:
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None and in_kernel is None else None
        self._act: Any = None
        if in_kernel or hasattr(shell, "kernel"):
            from IPython.display import DisplayHandle

            self._handle: Any = DisplayHandle()  # type: ignore[no-untyped-call]  # IPython's own is untyped
            self._act = self._handle.display

    def show(self, table: StageTable, *lines: str) -> None:
        """Show the table as it stands now; ``lines``: the news."""
        if self._act is None or os.environ.get(UNDER_PAPERMILL) == "1":
            for line in lines:
                print(line, file=sys.stderr, flush=True)
        if self._act is not None:
            self._act({"text/html": table.html(), "text/plain": "\n".join(table.lines())}, raw=True)
            self._act = self._handle.update


def run(plan: StagePlan, *, progress: Progress | None = None, places: int | None = None) -> StageTable:
    """Execute the stages that are to do and return the table of how they ended; ``places``: for analyses at once.

    A stage is judged again when its turn comes. A notebook's contribution is replaced when the notebook has ended well,
    and those of notebooks outside the plan leave the paper when all of the plan have.

    Raises:
        StageFailed: the first stage of the plan that did not end well, with the names of the others. Other analyses
            are executed all the same; after any other stage that failed none is begun.
    """
    plan.results.mkdir(parents=True, exist_ok=True)
    work = _Work(plan, progress or Progress())
    places = places or places_here()
    waiting = deque(stage for stage in plan.stages if stage.state == "to do")
    try:
        while waiting or work.busy:
            if failed := {stage.kind for stage in plan.stages if stage.name in work.failures}:
                # an analysis needs no other analysis
                waiting = deque(stage for stage in waiting if {stage.kind, *failed} == {"analysis"})
            if waiting and may_begin(waiting[0], [process.stage for process in work.busy], places):
                work.begin(waiting.popleft())
            elif not work.look():
                time.sleep(_LOOK_EVERY_S)
    except BaseException:
        work.stop()
        raise
    first, *rest = [stage.name for stage in plan.stages if stage.name in work.failures] or [""]
    if first:
        also = f"; also failed: {', '.join(rest)}" if rest else ""
        raise StageFailed(f"{work.failures[first]}{also}")
    _drop_outsiders(plan)
    return work.table


def publish_bundled(root: Path, *, command: str) -> StageTable:
    """Run the stages of profile ``sample`` that are not up to date, all but the paper, as :func:`run` does.

    ``command``: named in a failure as what goes on where it stopped.
    """
    plan = make_plan(RunAllParameters(profile="sample"), root=root)
    stages = tuple(stage for stage in plan.stages if stage.kind != "paper")
    return run(dataclasses.replace(plan, command=command, stages=stages))


def may_begin(stage: PlannedStage, at_work: Sequence[PlannedStage], places: int) -> bool:
    """Tell whether a stage may begin beside those at work.

    Analyses read tables that stand still and write each its own contribution. Everything else is alone:
    what runs beside a measurement is measured too, and tidying and the paper need all that comes before.
    """
    analyses = all(item.kind == "analysis" for item in (stage, *at_work))
    return not at_work or (analyses and len(at_work) < places)


@dataclass(kw_only=True)
class RunningStage:
    """A notebook at work: where its executed copy and papermill's words go, since when, and what it measures."""

    stage: PlannedStage
    child: subprocess.Popen[bytes]
    output: Path
    log: Path
    started_s: float = dataclasses.field(default_factory=time.monotonic)
    session: SessionFolder | None = None

    @property
    def took_s(self) -> float:
        """Seconds since it was begun."""
        return time.monotonic() - self.started_s


class _Work:
    """What is under way, and what became of what was; ``failures``: stage -> what it said."""

    def __init__(self, plan: StagePlan, progress: Progress) -> None:
        self.plan, self.progress = plan, progress
        self.table = StageTable(plan.stages)
        self.failures: dict[str, str] = {}
        self.busy: list[RunningStage] = []
        self._line_s = time.monotonic()
        progress.show(self.table, *self.table.lines(), f"expected: {duration(plan.expected_s)}")

    def begin(self, stage: PlannedStage) -> None:
        """Begin a stage, unless nothing it depends on has changed. The paper is made at once."""
        plan = self.plan
        if stage.kind == "paper":
            _drop_outsiders(plan)
        now = judge(plan.root, plan.settings, stage)
        if now.state == "done":
            self._show(stage, state="unchanged", why="everything it depends on is unchanged")
            return
        self._show(stage, state="running", why=now.why)
        if stage.kind != "paper":
            process = begin(plan, now)
            if stage.kind == "measure":
                process.session = session_of(plan.root, plan.settings, stage.experiments[0])
            self.busy.append(process)
            return
        started_s, problem = time.monotonic(), ""
        try:
            build_paper(plan.root)
        except RematchError as error:
            problem = f"paper: {error}; resume: {resume_command(plan)}"
        self._end(now, time.monotonic() - started_s, problem)

    def look(self) -> bool:
        """Show how far those under way are; return whether one has ended."""
        ended = [process for process in self.busy if process.child.poll() is not None]
        self.busy = [process for process in self.busy if process not in ended]
        news = time.monotonic() - self._line_s >= _LINE_EVERY_S
        for process in self.busy:
            changes: dict[str, Any] = {"took_s": float(int(process.took_s))}
            if process.session is not None and process.session.exists:
                n = len(process.session.finished())
                changes["why"] = f"{n} of {len(process.session.header.plan.trials)} trials"
            if news or self.table.rows[process.stage.name].took_s != changes["took_s"]:
                self._show(process.stage, line=news, **changes)
        self._line_s = time.monotonic() if news else self._line_s
        for process in ended:
            self._end(process.stage, process.took_s, self._problem(process))
        return bool(ended)

    def stop(self) -> None:
        """Stop what is under way in a way that it can tidy up after, and kill what does not end; say that it was."""
        for process in self.busy:
            process.child.send_signal(signal.SIGINT)
        until_s = time.monotonic() + _STOP_WITHIN_S
        for process in self.busy:
            try:
                process.child.wait(max(0.0, until_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.child.kill()
                process.child.wait()
            self._show(process.stage, state="stopped", took_s=process.took_s, why="interrupted")

    def _problem(self, process: RunningStage) -> str:
        """What went wrong with a notebook that has ended; empty: nothing, and what it published is in its place."""
        plan, stage, session = self.plan, process.stage, process.session
        if process.child.returncode:
            return _explain(plan, process)
        if session is not None and not (session.exists and session.complete):
            return f"{stage.name}: trials are missing from {session.key}; resume: {resume_command(plan)}"
        if stage.notebook is not None and stage.kind in ("tidy", "analysis"):
            try:
                replace(plan.root, stage.notebook.name, _published_by(plan, stage))
            except RematchError as error:
                return f"{stage.name}: {error}"
        return ""

    def _end(self, stage: PlannedStage, took_s: float, problem: str) -> None:
        if problem:
            self.failures[stage.name] = problem
            self._show(stage, state="failed", took_s=took_s, why=problem)
            return
        remember(self.plan.root, self.plan.settings, stage, took_s)
        why = self.table.rows[stage.name].why if stage.kind == "measure" else f"was: {stage.why}"
        self._show(stage, state="done", took_s=took_s, why=why)

    def _show(self, stage: PlannedStage, *, line: bool = True, **changes: Any) -> None:
        self.table.change(stage.name, **changes)
        self.progress.show(self.table, *([self.table.line(stage.name)] if line else []))


def _drop_outsiders(plan: StagePlan) -> None:
    """Numbers of a notebook that is not part of this plan belong to another measurement."""
    for stage in plan.stages:
        if stage.kind == "analysis" and stage.state == "skipped":
            clear(plan.root, stage.name)


def begin(plan: StagePlan, stage: PlannedStage) -> RunningStage:
    """Start papermill on a stage's notebook."""
    assert stage.notebook is not None  # only the paper has none
    name = stage.notebook.name + (f"-{stage.experiments[0]}" if stage.kind == "measure" else "")
    output = plan.results / f"{name}.ipynb"
    log = output.with_suffix(".log")
    command = [
        sys.executable, "-c", _PAPERMILL, str(stage.notebook.path), str(output), "--engine", ENGINE,
        "--no-progress-bar", "--log-level", "ERROR", "--cwd", str(plan.root / "notebooks"),
        "-y", json.dumps(stage.parameters),
    ]  # fmt: skip
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(plan.root), os.environ.get("PYTHONPATH")))),
        "REMATCH_ROOT": str(plan.root),
        PUBLISHING: str(_published_by(plan, stage)),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    output.unlink(missing_ok=True)  # a copy of an earlier time must not pass for this one's
    shutil.rmtree(_published_by(plan, stage), ignore_errors=True)
    with log.open("wb") as stream:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, env=environment,
            preexec_fn=die_with_parent,  # a child of a kernel that died must not go on measuring unseen
        )  # fmt: skip
    return RunningStage(stage=stage, child=child, output=output, log=log)


def _published_by(plan: StagePlan, stage: PlannedStage) -> Path:
    """The folder into which a stage's notebook publishes until it has ended well."""
    return plan.results / "published" / stage.name


def resume_command(plan: StagePlan) -> str:
    """Return the command that goes on from where it stopped: what the user gave, where make or the plan say so."""
    if given := os.environ.get(COMMAND) or plan.command:
        return given
    changed = plan.settings.model_dump(exclude_defaults=True)
    return " ".join(
        ["papermill notebooks/run_all.ipynb", *(f"-p {name} {value}" for name, value in changed.items())]
    )


def _explain(plan: StagePlan, process: RunningStage) -> str:
    """The failure in one line: notebook, cell, what it said, where to look, and how to go on."""
    assert process.stage.notebook is not None
    where = process.stage.notebook.path.name
    if (failed := _failed_cell(process.output)) is not None:
        number, line, what = failed
        where = f"{where}, cell {number} ({line})"
    else:
        words = process.log.read_text("utf-8", errors="replace").split("\n")
        ended = f"papermill ended with {process.child.returncode}"
        what = next((line.strip() for line in reversed(words) if line.strip()), ended)
    shown = os.path.relpath(process.output if process.output.exists() else process.log, plan.root)
    return f"{where}: {what}; see {shown}; resume: {resume_command(plan)}"


def _failed_cell(output: Path) -> tuple[int, str, str] | None:
    """Number (from 1, as papermill counts), failing line and message of the cell that failed."""
    try:
        cells = json.loads(output.read_text("utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return None
    remark = "papermill-error-cell-tag"  # papermill puts its own remarks into the copy
    own = [cell for cell in cells if remark not in cell.get("metadata", {}).get("tags", ())]
    for number, cell in enumerate(own, start=1):
        for result in cell.get("outputs", ()):
            if result.get("output_type") == "error":
                lines = "".join(cell["source"]).splitlines() or [""]
                at = _IN_CELL.search(_COLOUR.sub("", "\n".join(result.get("traceback", ()))))
                line = lines[min(int(at[1]), len(lines)) - 1] if at else lines[0]
                return number, line.strip(), f"{result['ename']}: {result['evalue']}".replace("\n", " ")
    return None
