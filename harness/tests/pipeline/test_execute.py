# SPDX-License-Identifier: Apache-2.0
"""Analyses beside each other: which stages may, how a failure and a signal end them, and what they leave behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.pipeline import StageFailed, StageParameters, run
from harness.pipeline.execute import Progress, RunningStage, may_begin
from harness.pipeline.stage import Kind, NotebookFile, PlannedStage, StagePlan, StageTable
from harness.publish.generated import GENERATED, fact_entry, read_values, update
from harness.tests.support.available import only_in_ci, patient
from harness.tests.support.instances import eventually
from harness.tests.support.synthetic import ROOT

WITHIN_S = patient(300.0)
#: What the cells of these notebooks begin with: `tell` leaves a file behind.
PRELUDE = """import os, time
from pathlib import Path
def tell(name):
    (Path(os.environ["REMATCH_ROOT"]) / name).write_text(str(os.getpid()))
"""


def stage(name: str, kind: Kind = "analysis", root: Path | None = None) -> PlannedStage:
    """Return a stage that is to do, its notebook below ``root`` where there is one."""
    file = NotebookFile(root / "notebooks" / f"{name}.ipynb") if root else None
    return PlannedStage(name=name, kind=kind, state="to do", why="", expected_s=1.0, notebook=file)


def plan_of(root: Path) -> StagePlan:
    """Return the plan of all notebooks of a project, and of its paper."""
    files = sorted((root / "notebooks").glob("*.ipynb"))
    stages = (*(stage(file.stem, root=root) for file in files), stage("paper", "paper"))
    return StagePlan(root=root, settings=StageParameters(profile="smoke"), stages=stages)


def notebook_of(*sources: str) -> str:
    """Return a notebook's JSON; its first cell is that of the parameters."""
    empty: dict[str, object] = {"cell_type": "code", "outputs": [], "execution_count": None}
    cells = [
        empty | {"id": f"c{n}", "source": source, "metadata": {"tags": ["parameters"] if n == 0 else []}}
        for n, source in enumerate(sources)
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells})


class Shown(Progress):
    """Keeps the states of all stages, each time they are shown; makes a file once a failure is among them."""

    def __init__(self, failure_shown: Path | None = None) -> None:
        super().__init__(in_kernel=False)
        self.states: list[dict[str, str]] = []
        self._failure_shown = failure_shown

    def show(self, table: StageTable, *lines: str) -> None:
        self.states.append({name: row.state for name, row in table.rows.items()})
        if self._failure_shown is not None and "failed" in self.states[-1].values():
            self._failure_shown.touch()

    def at_once(self) -> int:
        """The most stages that were ever shown at work together."""
        return max(list(states.values()).count("running") for states in self.states)


def test_only_analyses_run_at_once_and_the_time_expected_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = stage("analysis")
    kinds: tuple[Kind, ...] = ("check", "measure", "tidy", "paper")
    for alone in (stage("alone", kind) for kind in kinds):
        assert may_begin(alone, [], places=4)
        assert not may_begin(alone, [analysis], places=4)
        assert not may_begin(analysis, [alone], places=4) and not may_begin(alone, [alone], places=4)
    assert may_begin(analysis, [analysis], places=2)
    assert not may_begin(analysis, [analysis, analysis], places=2)
    monkeypatch.setattr("harness.pipeline.stage.places_here", lambda: 2)
    stages = (stage("measure", "measure"), *(stage(str(number)) for number in range(6)))
    plan = StagePlan(root=Path(), settings=StageParameters(), stages=stages)
    assert plan.expected_s == pytest.approx(1 + 3)


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., StagePlan]:
    """Makes the plan of a project in which shell scripts stand in for papermill and its kernels."""
    monkeypatch.setattr("harness.pipeline.execute._LOOK_EVERY_S", 0.02)

    def make(**sources: str) -> StagePlan:
        def begin(plan: StagePlan, stage: PlannedStage) -> RunningStage:
            log = plan.results / f"{stage.name}.log"
            log.write_text(f"{stage.name} broke")
            child = subprocess.Popen(["/bin/sh", "-c", sources[stage.name]], cwd=tmp_path)
            return RunningStage(stage=stage, child=child, output=log.with_suffix(".ipynb"), log=log)

        monkeypatch.setattr("harness.pipeline.execute.begin", begin)
        for name in sources:
            (tmp_path / "notebooks").mkdir(exist_ok=True)
            (tmp_path / "notebooks" / f"{name}.ipynb").write_text(notebook_of(""))
        return plan_of(tmp_path)

    return make


def test_failed_analyses_are_named_without_a_paper(scripts: Callable[..., StagePlan], tmp_path: Path) -> None:
    until_shown = "until [ -e shown ]; do sleep 0.02; done;"
    plan = scripts(a=f"{until_shown} exit 1", b=f"{until_shown} touch b", c="exit 1", d="touch d")
    shown = Shown(tmp_path / "shown")
    with pytest.raises(StageFailed) as caught:
        run(plan, progress=shown, places=3)
    assert str(caught.value) == (
        "a.ipynb: a broke; see results/smoke/a.log; resume: papermill notebooks/run_all.ipynb -p profile smoke; "
        "also failed: c"
    )
    assert shown.states[-1] == {"a": "failed", "b": "done", "c": "failed", "d": "done", "paper": "to do"}
    assert (tmp_path / "b").is_file() and (tmp_path / "d").is_file() and shown.at_once() == 3


def test_a_failed_stage_begins_nothing_built_on_it(scripts: Callable[..., StagePlan], tmp_path: Path) -> None:
    plan = scripts(a="exit 1", b="touch b")
    first, *rest = plan.stages
    shown = Shown()
    with pytest.raises(StageFailed, match="a broke"):
        run(replace(plan, stages=(replace(first, kind="tidy"), *rest)), progress=shown, places=2)
    assert shown.states[-1] == {"a": "failed", "b": "to do", "paper": "to do"}
    assert not (tmp_path / "b").exists()


def publish(root: Path, notebook: str, text: str) -> None:
    """Publish one text as a notebook would that ``run_all`` executed earlier."""
    update(
        root / GENERATED, notebook, [("values", f"{notebook}.x", fact_entry(text) | {"notebook": notebook})]
    )


def publishing(notebook: str, text: str) -> str:
    """Return a script that publishes one text into the folder of a stage under way."""
    code = (
        "from pathlib import Path; from harness.publish.generated import fact_entry, update; "
        f"update(Path('results/smoke/published/{notebook}'), '{notebook}', "
        f"[('values', '{notebook}.y', fact_entry('{text}') | {{'notebook': '{notebook}'}})])"
    )
    return f'PYTHONPATH={ROOT} {sys.executable} -c "{code}"'


def texts(root: Path) -> dict[str, str]:
    return {key: entry["text"] for key, entry in read_values(root).items()}


def test_published_values_stay_until_a_good_end(scripts: Callable[..., StagePlan], tmp_path: Path) -> None:
    for name in ("a", "b", "outside"):
        publish(tmp_path, name, "old")
    plan = scripts(a=publishing("a", "new"), b=f"{publishing('b', 'new')}; exit 1")
    skipped = replace(stage("outside"), state="skipped")
    plan = replace(plan, stages=(replace(plan.stages[0], kind="tidy"), plan.stages[1], skipped))
    with pytest.raises(StageFailed, match="b broke"):
        run(plan, progress=Shown(), places=1)
    assert texts(tmp_path) == {"a.y": "new", "b.x": "old", "outside.x": "old"}

    plan = scripts(a="true", b=publishing("b", "new"))
    run(replace(plan, stages=(*plan.stages[:2], skipped)), progress=Shown(), places=1)
    assert texts(tmp_path) == {"a.y": "new", "b.y": "new"}


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="SIGINT"),
        pytest.param(signal.SIGTERM, id="SIGTERM", marks=only_in_ci("what SIGINT does, by SIGTERM")),
    ],
)
def test_a_signal_ends_all(tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "notebooks").mkdir()
    for name in "ab":
        source = f"{PRELUDE}tell('{name}')\ntime.sleep(600)"
        (tmp_path / f"notebooks/{name}.ipynb").write_text(notebook_of(source))
    code = (
        "import signal, sys; from pathlib import Path; from harness.pipeline import run;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # a test in the background has it ignored
        "from harness.tests.pipeline.test_execute import plan_of; run(plan_of(Path(sys.argv[1])), places=2)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    files = [tmp_path / name for name in "ab"]
    assert eventually(lambda: all(map(told, files)), WITHIN_S)
    kernels = [int(told(file)) for file in files]
    child.send_signal(number)
    _, said = child.communicate(timeout=WITHIN_S)
    assert child.returncode != 0
    assert eventually(lambda: all(map(ended, kernels)), WITHIN_S)
    if number == signal.SIGINT:
        assert "✗ a" in said and "✗ b" in said and said.count("stopped") == 2


def told(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
