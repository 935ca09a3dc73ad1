# SPDX-License-Identifier: Apache-2.0
"""A loss of power takes what was not synced, and a session syncs what it says is finished."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from harness.model import Outcome
from harness.store import SessionFolder, SessionWriter
from harness.tests.chaos.faults.power import lose_power, record_syncs
from harness.tests.support.toy_sessions import header, record, write_load

T = TypeVar("T")


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
