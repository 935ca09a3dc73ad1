# SPDX-License-Identifier: Apache-2.0
"""Faults in real sessions: nothing finished is lost, nothing runs on, and the same command completes the plan."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.project import find_root
from harness.store import SessionFolder
from harness.tests.chaos.faults.attempt import attempt
from harness.tests.chaos.faults.holds import finished, lost
from harness.tests.chaos.faults.plan import BY_NAME, Scene
from harness.tests.chaos.faults.scenes import Stage, stage
from harness.tests.support.available import not_run, some_in_every_run
from harness.tests.support.machine.lacking import Lacking
from harness.tests.support.toy_sessions import make_session, trial_ids

ROOT = find_root(Path(__file__).parent)
#: In every run: cheap ones, of which each shows another promise.
FEW = ("session killed", "service killed", "power lost")


@pytest.fixture(scope="module")
def staged() -> Iterator[Callable[[Scene], Stage]]:
    """Lays out a scene when a fault needs it for the first time."""
    stages: dict[Scene, Stage] = {}
    with ExitStack() as stack:

        def get(scene: Scene) -> Stage:
            if scene not in stages:
                stages[scene] = stack.enter_context(stage(scene, ROOT))
            return stages[scene]

        yield get


@pytest.mark.parametrize("name", some_in_every_run(BY_NAME, FEW, "each named fault in a real session"))
def test_a_session_that_meets_a_fault_loses_nothing_and_goes_on(
    name: str, staged: Callable[[Scene], Stage]
) -> None:
    fault = BY_NAME[name]
    try:
        came = attempt(fault, staged(fault.scene))
    except Lacking as problem:
        not_run(str(problem))
    assert came.broken == (), came.stderr


@pytest.fixture
def session(tmp_path: Path) -> SessionFolder:
    return make_session(tmp_path)


def test_a_changed_byte_a_missing_file_and_another_plan_are_found(session: SessionFolder) -> None:
    before = finished(session)
    assert list(lost(session, before)) == [] and len(before.trials) == len(trial_ids(session))
    first, second, *_ = sorted(before.trials)
    (session.folder / first / "record.json").write_text("{}")
    shutil.rmtree(session.folder / second / "load")
    (session.folder / "session.json").write_text("{}")
    assert [what.partition(" ")[0] for what in lost(session, before)] == [
        "the",
        f"{first}/record.json:",
        *(f"{second}/{name}:" for name in before.trials[second] if name.startswith("load/")),
    ]
