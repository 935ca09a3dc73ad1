# SPDX-License-Identifier: Apache-2.0
"""Faults in real sessions: nothing finished is lost, nothing runs on, and the same command completes the plan."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeVar

import pytest

from harness.model import Outcome
from harness.store import SessionFolder, SessionWriter
from harness.tests.chaos.faults.holds import (
    Finished,
    badly_ended,
    finished,
    incomplete,
    lost,
    taken_for_measured,
)
from harness.tests.chaos.faults.kinds import FAULTS
from harness.tests.chaos.faults.power import lose_power, record_syncs
from harness.tests.chaos.faults.stage import LONGEST_S, Stage, stage
from harness.tests.support.available import some_in_every_run
from harness.tests.support.patience import patient
from harness.tests.support.toy_sessions import header, record, write_load

T = TypeVar("T")
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


class Worst(random.Random):
    """Every coin falls so that what was not synced is lost."""

    def random(self) -> float:
        return 0.99

    def choice(self, seq: Sequence[T]) -> T:  # type: ignore[override]  # narrower than the library's, as it is used
        return seq[0]


def test_a_finished_trial_and_its_plan_survive_the_worst_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below, syncs = tmp_path / "data" / "raw", tmp_path / "syncs"
    below.mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", os.fsync)  # what takes its place is taken away again
    record_syncs(below, syncs)
    head = header("smoke", 1)
    folder = SessionFolder(below / "toy" / head.session_id)
    writer = SessionWriter(folder, min_free_bytes=0)
    writer.write_header(head)
    first, second, *_ = head.plan.trials
    trial = writer.begin(first.trial_id)
    write_load(trial, 1.0, 1)
    written = writer.finish(trial, record(first, head, Outcome.OK))
    half = writer.begin(second.trial_id)
    write_load(half, 1.0, 2)
    writer.close()
    (below / "not synced").write_text("the control")
    lose_power(below, syncs, Worst())
    assert [path.name for path in below.iterdir()] == ["toy"]
    after = SessionFolder(below / "toy" / head.session_id)
    assert after.header == head
    assert after.finished() == {first.trial_id}
    assert after.record(first.trial_id) == written and after.verify() == ()
