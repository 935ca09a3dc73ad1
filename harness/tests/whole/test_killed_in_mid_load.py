# SPDX-License-Identifier: Apache-2.0
"""Kill -9 of the service, its database, its upstream API or the load generator, at random moments of real trials.

Whatever is killed: every planned trial has a record, what was measured is whole, nothing lives on, and no money is
lost. ``REMATCH_LONG_TESTS=1 REMATCH_KILLS=20 python -m pytest harness/tests/whole/test_killed_in_mid_load.py`` kills more often.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.agent.processes import read_stat
from harness.model import Outcome
from harness.tests.support.available import only_when_long
from harness.tests.support.instances import eventually
from harness.tests.support.postgres import reachable_folder
from harness.tests.support.real_projects import POOL, load, measured, project_of
from harness.tests.support.sessions import read_json, running_below

pytestmark = only_when_long()

N_KILLS = int(os.environ.get("REMATCH_KILLS", "3"))
#: Reproducible: which one dies, and when.
SEED = 20
#: The tool has written rows, and not only their heading.
ANSWERED_BYTES = 400
USERS = load("locust", "users = 8, duration_s = 3")


class Killer:
    """Once in each trial, a random moment after the first answer, one of ``roles`` is killed."""

    def __init__(self, root: Path, roles: tuple[str, ...]) -> None:
        self.killed: Counter[str] = Counter()
        self._root, self._roles, self._random = root, roles, random.Random(SEED)
        self._stop = threading.Event()
        self._seen: set[str] = set()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._stop.wait(0.02):
            # not what it is packed into when the trial is over: that kill would meet the next one
            for rows in (self._root / "data/raw").glob("*/*/.partial-*/load/samples.csv"):
                with contextlib.suppress(OSError):  # packed and gone meanwhile
                    if rows.as_posix() in self._seen or rows.stat().st_size <= ANSWERED_BYTES:
                        continue
                    self._seen.add(rows.as_posix())
                    role = self._roles[len(self._seen) % len(self._roles)]
                    time.sleep(self._random.uniform(0, 1.2))
                    self._kill(role)

    def _kill(self, role: str) -> None:
        for note in (self._root / ".cache/running").glob("*.json"):
            with contextlib.suppress(OSError, ValueError):
                said = read_json(note)
                others = said["role"] in ("database", "upstream")
                is_it = said["role"] == role or (
                    role == "generator" and said["role"].startswith("load generator")
                ) or (role == "service" and not others and not said["role"].startswith("load generator"))  # fmt: skip
                if is_it and read_stat(said["pid"]) is not None:
                    os.kill(said["pid"], signal.SIGKILL)
                    self.killed[role] += 1


@pytest.fixture
def base() -> Iterator[Path]:
    """The database's own user has to reach what lies in it."""
    with reachable_folder() as folder:
        yield folder


@pytest.mark.parametrize(
    ("workload", "mix", "variants", "backing", "roles"),
    [
        (
            "bank",
            "rematch",
            {"go-gorilla": POOL, "java-spring": POOL},
            "",
            ("service", "database", "generator"),
        ),
        (
            "clients",
            "hello",
            {"go-nethttp": 'face = "matched"'},
            '[backing]\nmax_connections = 33\nseed = "movies"',
            ("upstream", "generator"),
        ),
    ],
    ids=["bank", "clients"],
)
def test_whatever_is_killed_no_process_no_record_and_no_money_is_lost(
    workload: str, mix: str, variants: dict[str, str], backing: str, roles: tuple[str, ...], base: Path
) -> None:
    blocks = -(-N_KILLS // (len(variants) + 1))  # of each variant a trial, and one more of the reference
    root = project_of(
        base, workload, variants, mix=mix, backing=backing, loads={"users": USERS}, blocks=blocks
    )
    with Killer(root, roles) as killer:
        folder = measured(root)
    records = tuple(folder.records())
    assert folder.complete and folder.verify() == ()
    assert [record.planned.trial_id for record in records] == [
        trial.trial_id for trial in folder.header.plan.trials
    ]
    story = [(record.planned.trial_id, record.outcome.value, record.reason) for record in records]
    assert sum(killer.killed.values()) == len(records), f"one kill a trial: {killer.killed}, {story}"
    for record in records:
        # each for its reason, never inconsistent, and never taken for a measurement; a service that was killed and
        # not by the harness is taken for one that the kernel ended for want of memory
        assert record.outcome in (Outcome.FAILED, Outcome.OUT_OF_MEMORY), (record.outcome, record.reason)
        assert record.reason
        if workload == "bank":
            assert record.invariants and all(row.holds for row in record.invariants)
            assert {row.request for row in record.stored} == {"create", "transfer"}, story
            assert all(row.holds for row in record.stored), record.stored
    assert eventually(lambda: not running_below(root), within_s=20)
    assert not list((root / ".cache/running").glob("*.json"))
    assert not list((root / ".cache").glob("backing/clusters/*"))
