# SPDX-License-Identifier: Apache-2.0
"""Faults in real sessions: nothing finished is lost, nothing runs on, and the same command completes the plan."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import RematchError
from harness.model import Outcome, TrialRecord
from harness.store import SessionFolder, SessionWriter
from harness.tests.chaos.altered import lose_power, record_syncs
from harness.tests.chaos.stage import LONGEST_S, Stage, stage
from harness.tests.support.available import patient, some_in_every_run
from harness.tests.support.small_disk import remount, small_disk
from harness.tests.support.toy_sessions import header, record, write_load

Steps = Generator[None]
#: What a disk of 72 MiB, more than the store asks for before each trial, has left when another program has filled it.
LEFT_BYTES = 32 << 10
#: The name of an exception tells a reader of the program something, and nobody else.
EXCEPTION = re.compile(r"\b([A-Z]\w*(?:Error|Exception)): ")


def signalled(number: signal.Signals) -> Callable[[Stage], Steps]:
    """A signal to the session while its second trial is under load."""

    def fault(here: Stage) -> Steps:
        here.start()
        here.under_load()
        here.mark()
        here.process.send_signal(number)
        yield

    return fault


def killed(role: str) -> Callable[[Stage], Steps]:
    """SIGKILL to the process of a role in the middle of the first load."""

    def fault(here: Stage) -> Steps:
        here.start()
        here.under_load(0)
        time.sleep(0.3)
        process = here.running(role)
        assert process is not None, f"no {role} runs"
        here.mark()
        process.kill()
        yield

    return fault


def disk_full(here: Stage) -> Steps:
    """Another program fills the disk of the data."""
    with small_disk(here.root / "data", "72m") as disk:
        here.start()
        here.under_load()
        here.mark()
        with (disk / "filler").open("wb") as stream, suppress(OSError):
            while (free := shutil.disk_usage(disk).free - LEFT_BYTES) > 0:
                stream.write(bytes(min(free, 1 << 20)))
                stream.flush()
        yield
        (disk / "filler").unlink()
        yield  # the same command is given while the disk is there


def data_read_only(here: Stage) -> Steps:
    """A session is killed, and may not write when it is to go on."""
    with small_disk(here.root / "data", "200m") as disk:
        here.start()
        here.under_load()
        here.process.kill()
        here.ended(LONGEST_S)
        here.left_running()
        remount(disk, "ro")
        here.mark()
        here.start()
        yield
        remount(disk, "rw")
        yield


def few_open_files(here: Stage) -> Steps:
    """The session may open 41 files."""
    here.mark()
    here.start(open_files={"limit": 41})
    yield


def power_lost(here: Stage) -> Steps:
    """The session is killed, and of what it wrote only what was synced is certain to be there."""
    below, syncs = here.root / "data" / "raw", here.root.parent / "syncs"
    below.mkdir(parents=True, exist_ok=True)
    here.start(record_syncs={"below": str(below), "record": str(syncs)})
    here.under_load()
    here.mark()
    here.process.kill()
    yield
    here.left_running()
    lose_power(below, syncs, names=True, torn=0.5)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. ``ends``: how its session may end. ``kills``: whose trial does not count when it met it under load."""

    steps: Callable[[Stage], Steps]
    scene: str = "strings"
    ends: tuple[int, ...] = (0, 1, 2)
    kills: str = ""


FAULTS = {
    "session killed": Fault(steps=signalled(signal.SIGKILL), ends=(-signal.SIGKILL,)),
    "session stopped": Fault(steps=signalled(signal.SIGTERM), ends=(128 + signal.SIGTERM,)),
    "service killed": Fault(steps=killed("service"), kills="service"),
    "generator killed": Fault(steps=killed("generator"), kills="generator"),
    "database killed": Fault(steps=killed("database"), kills="database", scene="bank"),
    "upstream killed": Fault(steps=killed("upstream"), kills="upstream", scene="clients"),
    "disk full": Fault(steps=disk_full),
    "data read-only": Fault(steps=data_read_only),
    "few open files": Fault(steps=few_open_files),
    "power lost": Fault(steps=power_lost, ends=(-signal.SIGKILL,)),
}
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
def test_a_session_goes_on_after_a_fault_and_loses_nothing(name: str, staged: Callable[[str], Stage]) -> None:
    fault = FAULTS[name]
    here = staged(fault.scene)
    with ExitStack() as stack:
        steps = stack.enter_context(closing(fault.steps(here)))
        stack.callback(here.clear)
        next(steps)
        assert here.ended(patient(LONGEST_S)), "still runs"
        broken = [*here.left_running(), *badly_ended(here, fault)]
        words = here.text("stderr")
        next(steps, None)
        broken += lost(here)
        here.start()
        assert here.ended(patient(LONGEST_S)), "resumed: still runs"
        broken += [*incomplete(here), *lost(here)]
        broken += [] if broken else taken_for_measured(here, fault)
        broken += here.left_running()
    assert broken == [], words


def lost(here: Stage) -> list[str]:
    """Return which of what was finished before the blow is not as it was."""
    now = here.finished()
    return [f"{name}: missing, or other bytes" for name, sha in here.before.items() if now.get(name) != sha]


def badly_ended(here: Stage, fault: Fault) -> Iterator[str]:
    """Yield what is wrong with the end, and the words, of a session that met a fault."""
    stderr, code = here.text("stderr"), here.process.returncode
    lines = [line for line in stderr.splitlines() if line.strip()]
    if code not in fault.ends:
        yield f"exit status {code}"
    if "Traceback" in stderr or (code == 0 and lines):
        yield f"exit status {code}, and on stderr: {lines[-1][:200]}"
    elif code > 0 and (len(lines) != 1 or not lines[0].startswith("rematch: ")):
        yield f"{len(lines)} lines in place of one: {' / '.join(lines)[:300]}"
    elif code > 0 and EXCEPTION.search(lines[0]):
        yield f"names an exception in place of what is wrong: {lines[0][:300]}"


def incomplete(here: Stage) -> Iterator[str]:
    """Yield what is wrong with a session that was gone on with, without a fault."""
    folder = here.folder
    if here.process.returncode != 0:
        yield f"resumed: exit status {here.process.returncode}: {here.text('stderr').strip()[-300:]}"
        return
    try:
        if json.loads(here.text("stdout")).get("complete") is not True or not folder.complete:
            yield "resumed: not complete"
        yield from (f"resumed: {problem}" for problem in folder.verify())
        for trial in folder.records():
            yield from unbalanced(trial)
    except (RematchError, ValueError) as problem:
        yield f"resumed: {problem}"
    if list(folder.folder.glob(".partial-*")):
        yield "resumed: a trial is half-written"


def unbalanced(trial: TrialRecord) -> Iterator[str]:
    """Yield what a database lost."""
    balanced = all(row.holds for row in trial.invariants) and all(row.holds for row in trial.stored)
    if trial.outcome == Outcome.INCONSISTENT or not balanced:
        yield f"{trial.planned.trial_id}: a balance does not hold: {trial.reason}"
    elif trial.planned.configuration.workload == "bank" and trial.load is not None and not trial.invariants:
        yield f"{trial.planned.trial_id}: no balance was looked at"


def taken_for_measured(here: Stage, fault: Fault) -> Iterator[str]:
    """Yield a trial that counts although a part of it was killed while its load ran."""
    for trial in here.folder.records() if fault.kills else ():
        for phase in trial.phases:
            begin, end = phase.start.wall_epoch_s + 0.05, phase.end.wall_epoch_s - 0.3
            inside = phase.name == "measurement" and begin < here.struck_epoch_s < end
            if inside and trial.outcome == Outcome.OK:
                yield f"{trial.planned.trial_id}: ok, and its {fault.kills} was killed under load"


@pytest.mark.parametrize(("names", "torn"), [(False, 0.0), (True, 0.0), (True, 0.5)])
def test_a_finished_trial_and_its_plan_survive_the_worst_loss(
    names: bool, torn: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below, syncs = tmp_path / "data" / "raw", tmp_path / "syncs"
    below.mkdir(parents=True)
    monkeypatch.setattr(os, "fsync", os.fsync)  # what takes its place is taken away again
    record_syncs(str(below), str(syncs))
    head = header("smoke", 1)
    folder = SessionFolder(below / "toy" / head.session_id)
    writer = SessionWriter(folder, min_free_bytes=0)
    writer.write_header(head)
    first, second, *_ = head.plan.trials
    trial = writer.begin(first.trial_id)
    write_load(trial, 1.0, 1)
    written = writer.finish(trial, record(first, head, Outcome.OK))
    write_load(writer.begin(second.trial_id), 1.0, 2)
    writer.close()
    control = below / "not synced"
    control.write_text("the control")
    lose_power(below, syncs, names=names, torn=torn)
    assert control.exists() == names
    assert not names or control.read_text() == "the control"[: round(11 * torn)]
    after = SessionFolder(below / "toy" / head.session_id)
    assert after.header == head
    assert after.finished() == {first.trial_id}
    assert after.record(first.trial_id) == written and after.verify() == ()
