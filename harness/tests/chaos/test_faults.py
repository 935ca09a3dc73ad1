# SPDX-License-Identifier: Apache-2.0
"""Faults in real sessions: nothing finished is lost, nothing runs on, and the same command completes the plan."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agent.processes import read_stat
from harness.model import InvariantReading, Outcome
from harness.project import find_root
from harness.store import SessionFolder
from harness.tests.chaos.faults.attempt import attempt
from harness.tests.chaos.faults.holds import Kept, finished, incomplete, lost, said_badly, unbalanced
from harness.tests.chaos.faults.plan import BY_NAME, Fault, Scene
from harness.tests.chaos.faults.scenes import Stage, stage
from harness.tests.chaos.faults.sessions import Ended, Process, belonging_to
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


def test_a_loss_of_power_may_take_the_last_trial_until_the_session_went_on(session: SessionFolder) -> None:
    *others, before_last, last = trial_ids(session)
    assert finished(session, promised=True) == Kept()
    (session.folder / last).rename(session.folder / f".partial-{last}")
    assert finished(session, promised=True).trials.keys() == {*others, before_last}
    (session.folder / before_last).rename(session.folder / f".partial-{before_last}")
    (session.folder / f".partial-{last}").rename(session.folder / last)
    assert finished(session, promised=True).trials.keys() == set(others)
    (session.folder / "events.jsonl").write_text('{"event": "finished"}\n')
    assert finished(session, promised=True).trials.keys() == {*others, last}


KILLED, TERM, DISK = BY_NAME["session killed"], BY_NAME["session stopped"], BY_NAME["disk full"]


@pytest.mark.parametrize(
    ("code", "stderr", "fault", "wrong"),
    [
        (0, "", DISK, None),
        (2, "rematch: no space left\n", DISK, None),
        (143, "rematch: stopped by SIGTERM; resume with: rematch measure x\n", TERM, None),
        (-signal.SIGKILL, "", KILLED, None),
        (1, "Traceback (most recent call last):\n  x\nOSError: y\n", DISK, "a traceback: OSError: y"),
        (0, "a warning\n", DISK, "exit status 0, and on stderr: a warning"),
        (2, "", DISK, "0 lines in place of one: "),
        (2, "rematch: a\nrematch: b\n", DISK, "2 lines in place of one: rematch: a / rematch: b"),
        (2, "rematch: far: KeyError: 7\n", DISK, "names KeyError in place of what is wrong: rematch: far: KeyError: 7"),
        (130, "rematch: stopped\n", DISK, "exit status 130"),
        (2, "rematch: x\n", TERM, "exit status 2"),
        (-signal.SIGKILL, "", DISK, "ended by SIGKILL"),
        (-signal.SIGSEGV, "x\n", KILLED, "ended by SIGSEGV: x"),
    ],
    ids=[
        "nothing to say", "one line", "stopped", "killed", "traceback", "a word too many", "silent", "two lines", "an exception",
        "another status", "not as stopped", "killed by somebody", "crashed",
    ],
)  # fmt: skip
def test_a_session_says_one_line_or_it_is_found(
    session: SessionFolder, code: int, stderr: str, fault: Fault, wrong: str | None
) -> None:
    if code == -signal.SIGSEGV:
        (session.folder / ".partial-x").mkdir()
    assert list(said_badly(Ended(code=code, stdout="", stderr=stderr), fault, session)) == (
        [] if wrong is None else [wrong]
    )


def test_a_session_that_does_not_complete_is_found(session: SessionFolder) -> None:
    done = Ended(code=0, stdout='{"complete": true}', stderr="")
    assert list(incomplete(done, session)) == []
    assert list(incomplete(replace(done, code=2, stderr="rematch: x"), session)) == [
        "resumed: exit status 2: rematch: x"
    ]
    shutil.rmtree(session.folder / trial_ids(session)[0])
    assert list(incomplete(done, session)) == ["resumed: not complete"]


def test_lost_money_is_found(session: SessionFolder) -> None:
    record = next(session.records())
    assert list(unbalanced(record)) == []
    gone = InvariantReading(name="sum", found=1, expected=2)
    found = record.model_copy(update={"invariants": (gone,)})
    assert list(unbalanced(found)) == [f"{record.planned.trial_id}: a balance does not hold"]
    found = record.model_copy(update={"outcome": Outcome.INCONSISTENT, "reason": "money"})
    assert list(unbalanced(found)) == [f"{record.planned.trial_id}: money"]


def test_a_process_that_runs_on_is_found_by_its_words_its_folder_or_its_environment(tmp_path: Path) -> None:
    sleep = [sys.executable, "-I", "-c", "import time; time.sleep(600)"]
    plain = {name: value for name, value in os.environ.items() if str(tmp_path) not in value}
    started = [
        subprocess.Popen([*sleep, str(tmp_path)], env=plain),
        subprocess.Popen(sleep, cwd=tmp_path, env=plain),
        subprocess.Popen(sleep, env={**plain, "TMPDIR": str(tmp_path / "tmp")}),
    ]
    stranger = subprocess.Popen(sleep, env=plain)
    try:
        found = {one.pid for one, _ in belonging_to(tmp_path)}
        assert found == {one.pid for one in started}
    finally:
        for one in (*started, stranger):
            one.kill()
            one.wait()
    assert belonging_to(tmp_path) == ()


def test_a_signal_goes_to_the_very_process_or_to_nobody() -> None:
    own = read_stat(os.getpid())
    assert own is not None
    assert Process(os.getpid(), own.start_ticks).runs
    assert not Process(os.getpid(), own.start_ticks + 1).send(signal.SIGKILL)


def test_nothing_is_promised_of_a_session_that_had_not_begun(tmp_path: Path) -> None:
    assert finished(SessionFolder(tmp_path / "x" / "y"), promised=True) == Kept()
    assert finished(SessionFolder(tmp_path / "x" / "y")) == Kept()
