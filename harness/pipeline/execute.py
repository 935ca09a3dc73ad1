# SPDX-License-Identifier: Apache-2.0
"""Execute what the plan says is to do, in its order: analyses beside each other, everything else alone."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import RematchError
from harness.evidence.parameters import RunAllParameters
from harness.evidence.sessions import session_of
from harness.pipeline.notebook_process import UnderWay, begin, explain, published_by, resume_command, stop
from harness.pipeline.plan import make_plan
from harness.pipeline.stage import PlannedStage, StagePlan, may_begin, places_here, table_of
from harness.pipeline.staleness import judge, remember
from harness.pipeline.status import Progress, StageTable, duration, progress_here
from harness.publish.build import build_paper
from harness.publish.generated import clear, replace
from harness.store import SessionFolder

#: How often stages under way are looked at, and how often a long one is worth a line on a terminal.
_LOOK_EVERY_S, _LINE_EVERY_S = 0.5, 30.0
#: Kernels begin this far apart: each looks for free ports a moment before it takes them.
_APART_S = 3.0


class StageFailed(RematchError):
    """A stage did not end well: names the notebook, the cell, what it said, and the command that resumes."""


def run(plan: StagePlan, *, progress: Progress | None = None, places: int | None = None) -> StageTable:
    """Execute the stages that are to do and return the table of how they ended.

    A stage is looked at again when its turn comes: when everything it depends on turned out
    unchanged it is left alone. A notebook's contribution is replaced when the notebook has ended well, and those of
    notebooks outside the plan leave the paper when all of the plan have.

    Args:
        places: how many analyses may be at work at once; ``None``: as this machine has cores, four at most.

    Raises:
        StageFailed: the first stage of the plan that did not end well, with the names of the others. Other analyses
            are executed all the same; after any other stage that failed none is begun, and those under way are let
            finish.
    """
    shown = progress or progress_here()
    table = table_of(plan.stages)
    plan.results.mkdir(parents=True, exist_ok=True)
    shown.show(table, *table.lines(), f"expected: {duration(plan.expected_s)}")
    room = places or places_here()
    work = _Work(plan, table, shown)
    waiting = deque(stage for stage in plan.stages if stage.state == "to do")
    try:
        while waiting or work.busy:
            if work.failures:
                waiting = deque(stage for stage in waiting if work.may_follow(stage))
            if waiting and may_begin(waiting[0], work.busy, room) and work.apart:
                work.begin(waiting.popleft())
            elif not work.look():
                time.sleep(_LOOK_EVERY_S)
    except BaseException:
        work.stop()
        raise
    if work.failures:
        raise work.failure()
    _drop_outsiders(plan)
    return table


@dataclass
class _Work:
    """What is under way, and what became of what was."""

    plan: StagePlan
    table: StageTable
    shown: Progress
    failures: dict[str, RematchError] = field(default_factory=dict)
    _under_way: list[_Watched] = field(default_factory=list)

    @property
    def busy(self) -> Sequence[PlannedStage]:
        """The stages at work now."""
        return [watched.one.stage for watched in self._under_way]

    @property
    def apart(self) -> bool:
        """Whether the last one was begun long enough ago."""
        return not self._under_way or time.monotonic() - self._under_way[-1].started_s >= _APART_S

    def may_follow(self, stage: PlannedStage) -> bool:
        """Tell whether a stage can still be executed although another one failed: analyses need no other analysis."""
        failed = [item.kind for item in self.plan.stages if item.name in self.failures]
        return stage.kind == "analysis" and set(failed) == {"analysis"}

    def failure(self) -> RematchError:
        """Return the first failure in the order of the plan; its text names the other stages that failed."""
        first, *rest = [stage.name for stage in self.plan.stages if stage.name in self.failures]
        if not rest:
            return self.failures[first]
        return StageFailed(f"{self.failures[first]}; also failed: {', '.join(rest)}")

    def begin(self, stage: PlannedStage) -> None:
        """Begin a stage, unless nothing it depends on has changed. The paper is made at once."""
        if stage.kind == "paper":
            _drop_outsiders(self.plan)
        row = self.table.rows[stage.name]
        now = judge(self.plan.root, self.plan.settings, stage)
        if now.state == "done":
            row.state, row.why = "unchanged", "everything it depends on is unchanged"
            self._show(stage)
            return
        row.state, row.why = "running", now.why
        self._show(stage)
        started_s = time.monotonic()
        try:
            if now.kind == "paper":
                self._build_paper()
                self._done(now, time.monotonic() - started_s)
                return
        except RematchError as error:
            self._failed(now, time.monotonic() - started_s, error)
            return
        self._under_way.append(_Watched(begin(self.plan, now), started_s, self._session(now)))

    def look(self) -> bool:
        """Show how far those under way are; return whether one has ended."""
        ended = [watched for watched in self._under_way if watched.one.child.poll() is not None]
        for watched in self._under_way:
            if watched not in ended:
                self._tell(watched)
        for watched in ended:
            self._under_way.remove(watched)
            self._ended(watched)
        return bool(ended)

    def stop(self) -> None:
        """Stop what is under way, and say that it was."""
        stop([watched.one for watched in self._under_way])
        for watched in self._under_way:
            row = self.table.rows[watched.one.stage.name]
            row.state, row.took_s, row.why = "stopped", time.monotonic() - watched.started_s, "interrupted"
        self.shown.show(self.table, *(self.table.line(stage.name) for stage in self.busy))

    def _build_paper(self) -> None:
        try:
            build_paper(self.plan.root)
        except RematchError as error:
            raise StageFailed(f"paper: {error}; resume: {resume_command(self.plan)}") from error

    def _ended(self, watched: _Watched) -> None:
        stage, took_s = watched.one.stage, time.monotonic() - watched.started_s
        if watched.one.child.returncode:
            self._failed(stage, took_s, StageFailed(explain(self.plan, watched.one)))
            return
        session = watched.session
        if session is not None and not (session.exists and session.complete):
            text = f"{stage.name}: trials are missing from {session.key}; resume: {resume_command(self.plan)}"
            self._failed(stage, took_s, StageFailed(text))
            return
        if stage.notebook is not None and stage.kind in ("tidy", "analysis"):
            try:
                replace(self.plan.root, stage.notebook.name, published_by(self.plan, stage))
            except RematchError as error:
                self._failed(stage, took_s, StageFailed(f"{stage.name}: {error}"))
                return
        self._done(stage, took_s)

    def _done(self, stage: PlannedStage, took_s: float) -> None:
        row = self.table.rows[stage.name]
        row.state, row.took_s = "done", took_s
        row.why = row.why if stage.kind == "measure" else f"was: {stage.why}"
        remember(self.plan.root, self.plan.settings, stage, took_s)
        self._show(stage)

    def _failed(self, stage: PlannedStage, took_s: float, error: RematchError) -> None:
        row = self.table.rows[stage.name]
        row.state, row.took_s, row.why = "failed", took_s, str(error)
        self.failures[stage.name] = error
        self._show(stage)

    def _tell(self, watched: _Watched) -> None:
        """Update the time a stage has taken, and the trials made; a long one is worth a line now and then."""
        stage, row = watched.one.stage, self.table.rows[watched.one.stage.name]
        now_s = time.monotonic()
        whole_s = int(now_s - watched.started_s)
        if row.took_s == whole_s:
            return
        row.took_s = whole_s
        if watched.session is not None and watched.session.exists:
            row.why = _trials_made(watched.session)
        news: tuple[str, ...] = ()
        if now_s - watched.told_s >= _LINE_EVERY_S:
            watched.told_s = now_s
            news = (self.table.line(stage.name),)
        self.shown.show(self.table, *news)

    def _session(self, stage: PlannedStage) -> SessionFolder | None:
        if stage.kind != "measure":
            return None
        return session_of(self.plan.root, self.plan.settings, stage.experiments[0])

    def _show(self, stage: PlannedStage) -> None:
        self.shown.show(self.table, self.table.line(stage.name))


@dataclass
class _Watched:
    """A notebook under way, since when, the session it measures, and when a line was last given to it."""

    one: UnderWay
    started_s: float
    session: SessionFolder | None
    told_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.told_s = self.started_s


def _trials_made(session: SessionFolder) -> str:
    return f"{len(session.finished())} of {len(session.header.plan.trials)} trials"


def _drop_outsiders(plan: StagePlan) -> None:
    """Numbers of a notebook that is not part of this plan belong to another measurement."""
    inside = {stage.name for stage in plan.stages if stage.kind == "analysis" and stage.state != "skipped"}
    for stage in plan.stages:
        if stage.kind == "analysis" and stage.name not in inside:
            clear(plan.root, stage.name)


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
        dataclasses.replace(
            plan, command=command, stages=tuple(stage for stage in plan.stages if stage.kind != "paper")
        )
    )
