# SPDX-License-Identifier: Apache-2.0
"""Faults in real sessions: nothing finished is lost, nothing runs on, and the same command completes the plan."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from harness.store import SessionFolder
from harness.tests.chaos.faults.holds import (
    Finished,
    badly_ended,
    finished,
    incomplete,
    lost,
    taken_for_measured,
)
from harness.tests.chaos.faults.kinds import FAULTS
from harness.tests.chaos.faults.stage import LONGEST_S, Stage, stage
from harness.tests.support.available import some_in_every_run
from harness.tests.support.patience import patient
from harness.tests.support.toy_sessions import make_session, trial_ids

#: In every run: cheap ones, of which each shows another promise.
FEW = ("session killed", "service killed", "power lost")


@pytest.fixture(scope="module")
def staged() -> Iterator[Callable[[str], Stage]]:
    """Lays out a scene when a fault needs it for the first time."""
    stages: dict[str, Stage] = {}
    with ExitStack() as stack:

        def get(scene: str) -> Stage:
            if scene not in stages:
                stages[scene] = stack.enter_context(stage(scene))
            return stages[scene]

        yield get


@pytest.mark.parametrize("name", some_in_every_run(FAULTS, FEW, "each named fault in a real session"))
def test_a_session_that_meets_a_fault_loses_nothing_and_goes_on(
    name: str, staged: Callable[[str], Stage]
) -> None:
    fault = FAULTS[name]
    here = staged(fault.scene)
    marks: list[tuple[Finished, float]] = []
    with ExitStack() as stack:
        stack.callback(here.forget)
        steps = stack.enter_context(
            closing(fault.steps(here, lambda: marks.append((finished(here.folder), time.time()))))
        )
        session = here.start(**(next(steps) or {}))
        stack.callback(session.kill)
        steps.send(session)
        assert session.ended(patient(LONGEST_S)), "still runs"
        ((before, struck_epoch_s),) = marks
        # an agent waits for its controller, for as long as its grace lasts
        broken = [] if fault.scene == "remote" else here.left_running()
        broken += badly_ended(session, fault)
        words = session.stderr
        next(steps, None)
        broken += lost(here.folder, before)
        again = here.start()
        stack.callback(again.kill)
        assert again.ended(patient(LONGEST_S)), "resumed: still runs"
        broken += incomplete(again, here.folder)
        broken += lost(here.folder, before)
        broken += [] if broken else taken_for_measured(here.folder, fault, struck_epoch_s)
        broken += here.left_running()
    assert broken == [], words


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
