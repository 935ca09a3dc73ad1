# SPDX-License-Identifier: Apache-2.0
"""A session: every trial once, however often it was stopped, and no process left behind."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InputError, OrphanError, StoreError
from harness.measure.session import PlainProgress, ProgressState, Silent, measure, with_blocks
from harness.measure.session.signals import RUNNING, RunningProcesses
from harness.model import TrialRecord
from harness.store import SessionFolder
from harness.tests.support import sessions
from harness.tests.support.instances import eventually
from harness.tests.support.small_disk import small_disk

MEASURE = ("measure", "tiny", "--profile", "smoke")


def fingerprints(folder: SessionFolder) -> dict[str, bytes]:
    """Return trial -> its record as it stands on disk."""
    return {path.parent.name: path.read_bytes() for path in sorted(folder.folder.glob("[0-9]*/record.json"))}


def wait_for_work(root: Path, process: subprocess.Popen[str], starts: int = 1, seed: int = 1) -> None:
    """Until a trial of this start, the session's ``starts``-th, is under way."""
    folder = sessions.tiny_folder(root, seed)

    def at_work() -> bool:
        begun = sum(event["event"] in ("started", "resumed") for event in folder.events())
        return begun == starts and bool(list(folder.folder.glob(".partial-*")))

    assert eventually(lambda: process.poll() is not None or at_work(), within_s=60)


class Telling(Silent):
    """Hands every state to a function."""

    def __init__(self, told: Callable[[ProgressState], None]) -> None:
        self.step = told  # type: ignore[assignment]

    def trial_done(self, state: ProgressState, record: TrialRecord) -> None:
        self.step(state)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one session that is complete; its progress counted to the end and had an estimate."""
    root, states = sessions.make_session_project(tmp_path_factory.mktemp("finished")), list[ProgressState]()
    sessions.measure_tiny(root, progress=Telling(states.append))
    assert [state.done for state in states] == sorted(state.done for state in states)
    assert states[-1].done == states[-1].total == 3 and states[-1].left_s == 0.0
    return root


@pytest.fixture
def root(finished: Path, tmp_path: Path) -> Path:
    """A copy of the project with its session."""
    return Path(shutil.copytree(finished, tmp_path / "project", symlinks=True))


@pytest.fixture(scope="module")
def two_blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of one block, with a session that was asked for two."""
    root = sessions.calm_alone(sessions.make_session_project(tmp_path_factory.mktemp("two-blocks")))
    measure_blocks(root, 2)
    return root


def without_last_trial(root: Path) -> None:
    """Leave the session of a project as if it had been killed in its last trial."""
    folder = sessions.tiny_folder(root)
    last = folder.header.plan.trials[-1].trial_id
    (folder.folder / last).rename(folder.folder / ".partial-again")


@pytest.mark.parametrize(
    ("number", "exit_code", "seed"),
    [(signal.SIGINT, 130, 2), (signal.SIGTERM, 143, 1), (signal.SIGHUP, 129, 1)],
)
def test_a_signal_keeps_the_rest(tmp_path: Path, number: signal.Signals, exit_code: int, seed: int) -> None:
    root = sessions.make_session_project(tmp_path, other="slow_s = 0.1")
    if seed == 2:  # a new session beside one that is there
        sessions.tiny_folder(root).folder.mkdir(parents=True)
    process = sessions.command_line(root, *MEASURE, *(["--new"] if seed == 2 else []))
    wait_for_work(root, process, seed=seed)
    process.send_signal(number)
    code, _, err = sessions.said(process)
    assert code == exit_code, err
    assert f"resume with: rematch measure tiny --profile smoke --host local --seed {seed}" in err
    assert "Traceback" not in err
    assert not sessions.running_below(root)
    before = fingerprints(sessions.tiny_folder(root, seed))
    assert sessions.tiny_folder(root, seed).events()[-1]["event"] == "interrupted"
    folder = sessions.measure_tiny(root, seed=seed)
    assert folder.complete
    assert {trial: fingerprints(folder)[trial] for trial in before} == before


def test_the_same_command_measures_nothing_twice(root: Path) -> None:
    before = fingerprints(sessions.tiny_folder(root))
    assert fingerprints(sessions.measure_tiny(root)) == before
    events = [event["event"] for event in sessions.tiny_folder(root).events()]
    assert events == ["started", "headroom unknown", "finished", "resumed", "finished"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("loops = 5", "loops = 6", r"another definition: 0001-[\w-]+: load was.*loops=5.*--new"),
        ("blocks = 1", "blocks = 2", "3 trials then, 6 now"),
    ],
)
def test_another_definition_is_refused_by_what_differs(root: Path, before: str, after: str, why: str) -> None:
    path = root / "harness/experiments/tiny.toml"
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(InputError, match=why):
        sessions.measure_tiny(root)


def measure_blocks(root: Path, blocks: int | None, *, new: bool = False) -> SessionFolder:
    assembly, prepared = sessions.tiny_session(root)
    prepared = prepared if blocks is None else with_blocks(prepared, blocks)
    return measure(assembly, prepared, limits=sessions.LIMITS, new=new)


def test_a_session_goes_on_with_the_number_of_blocks_asked_for(two_blocks: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(two_blocks, tmp_path / "project", symlinks=True))
    _, prepared = sessions.tiny_session(root)
    folder = sessions.tiny_folder(root)
    header = folder.header
    assert header.plan.n_blocks == header.blocks_asked == 2
    assert header.notes["blocks"] == {"asked": 2, "profile": 1}
    assert header.experiment.profiles["smoke"].blocks == 1, "the definition is as it was written"
    assert header.plan.trials[: len(prepared.plan.trials)] == prepared.plan.trials
    before = [record.planned.trial_id for record in folder.records()]
    assert len(before) == len(header.plan.trials)
    for again in (2, None):
        records = measure_blocks(root, again).records()
        assert [record.planned.trial_id for record in records] == before
    with pytest.raises(InputError, match=r"another number of blocks; found 3; allowed: 2, another --seed"):
        measure_blocks(root, 3)
    fresh = measure_blocks(root, 2, new=True)
    assert fresh.key != folder.key and fresh.header.plan.n_blocks == 2


def test_changed_source_is_refused_while_trials_are_left(root: Path) -> None:
    without_last_trial(root)
    service = root / "services/strings/misbehaving/service.py"
    service.write_text(service.read_text() + "\n# changed\n")
    with pytest.raises(InputError, match="source of misbehaving changed"):
        sessions.measure_tiny(root)


def test_a_session_refuses_to_measure_beside_an_orphan_and_names_it(tmp_path: Path) -> None:
    root = sessions.calm_alone(sessions.make_session_project(tmp_path))
    orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        RunningProcesses(root, "tiny/smoke-local-9").note(pid=orphan.pid, role="calm", port=4711)
        rewrite_note(root, orphan.pid, owner_start_ticks=1)
        with pytest.raises(OrphanError, match=f"process {orphan.pid} on port 4711.*kill {orphan.pid}"):
            sessions.measure_tiny(root)
        assert not sessions.tiny_folder(root).folder.exists()
    finally:
        orphan.kill()
        orphan.wait()
    assert sessions.measure_tiny(root).complete


def test_beside_a_session_that_still_measures_it_says_wait(tmp_path: Path) -> None:
    root = sessions.make_session_project(tmp_path)
    RunningProcesses(root, "tiny/smoke-local-9").note(pid=os.getpid(), role="calm")
    with pytest.raises(OrphanError, match="still measuring; wait"):
        sessions.measure_tiny(root)


def test_a_recycled_pid_is_no_orphan(tmp_path: Path) -> None:
    ledger = RunningProcesses(tmp_path, "a/b")
    ledger.note(pid=os.getpid(), role="calm")
    path = rewrite_note(tmp_path, os.getpid(), start_ticks=1)
    ledger.refuse_orphans()
    assert not path.exists()


def rewrite_note(root: Path, pid: int, **changes: int) -> Path:
    """Change what is noted of a process, as if another had been meant."""
    path = root / RUNNING / f"{pid}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def test_a_variant_that_cannot_run_is_said_and_recorded_and_the_rest_is_measured(tmp_path: Path) -> None:
    root = sessions.make_session_project(tmp_path)
    path = root / "harness/experiments/tiny.toml"
    path.write_text(path.read_text().replace("settings = {  }", "runtime = { gogc = 50 }"))
    folder = sessions.measure_tiny(root)
    assert folder.complete
    assert [gone.variant for gone in folder.header.unavailable] == ["other"]
    assert {record.planned.configuration.variant_name for record in folder.records()} == {"calm"}


def test_a_terminal_that_is_gone_does_not_end_a_session(root: Path) -> None:
    without_last_trial(root)
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as gone:
        folder = sessions.measure_tiny(root, progress=PlainProgress(gone))
        assert folder.complete
        with contextlib.suppress(BrokenPipeError):
            gone.close()


def test_a_full_disk_stops_the_session_and_space_lets_it_go_on(tmp_path: Path) -> None:
    root = sessions.calm_alone(sessions.make_session_project(tmp_path))
    with small_disk(root / "data", "72m") as disk:
        kept: list[TrialRecord] = []
        filler = disk / "filler"

        def fill(state: ProgressState) -> None:
            if state.done == 1 and not kept:
                kept.extend(sessions.tiny_folder(root).records())
                filler.write_bytes(b"x" * (20 << 20))

        with pytest.raises(StoreError, match=r"no space left.*finished trials are kept"):
            sessions.measure_tiny(root, progress=Telling(fill))
        assert tuple(sessions.tiny_folder(root).records()) == tuple(kept)
        filler.unlink()
        folder = sessions.measure_tiny(root)
        assert folder.complete and folder.verify() == ()
        assert next(folder.records()) == kept[0]
