# SPDX-License-Identifier: Apache-2.0
"""A loss of power takes what was not synced, and a session syncs what it says is finished."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
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


@pytest.fixture
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose syncs are recorded in ``syncs`` beside it."""
    folder = tmp_path / "data" / "raw"
    folder.mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", os.fsync)  # what takes its place is taken away again
    record_syncs(folder, tmp_path / "syncs")
    yield folder


def lose(below: Path, seed: int | None = None) -> None:
    lose_power(below, below.parent.parent / "syncs", Worst() if seed is None else random.Random(seed))


def synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def test_a_name_and_a_content_are_kept_by_a_sync_of_each(below: Path) -> None:
    (below / "both").write_text("content")
    (below / "name").write_text("content")
    synced(below / "both")
    synced(below)
    (below / "content").write_text("content")
    synced(below / "content")
    (below / "both").write_text("later")
    (below / "neither").write_text("content")
    lose(below)
    assert {path.name: path.read_text() for path in below.iterdir()} == {"both": "content", "name": ""}


@pytest.mark.parametrize("seed", range(3))
def test_what_was_not_synced_is_lost_or_kept_whole_or_in_part(below: Path, seed: int) -> None:
    for n in range(40):
        (below / f"{n}").write_text("synced")
        synced(below / f"{n}")
    synced(below)
    for n in range(40):
        with (below / f"{n}").open("a") as stream:
            stream.write(" and more")
    lose(below, seed)
    found = {path.read_text() for path in below.iterdir()}
    assert len(list(below.iterdir())) == 40
    assert {"synced", "synced and more"} < found and all("synced and more".startswith(text) for text in found)


def test_a_finished_trial_and_its_plan_survive_the_worst_loss(below: Path) -> None:
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
    lose(below)
    after = SessionFolder(below / "toy" / head.session_id)
    assert after.header == head
    assert after.finished() == {first.trial_id}
    assert after.record(first.trial_id) == written and after.verify() == ()
