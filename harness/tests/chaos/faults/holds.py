# SPDX-License-Identifier: Apache-2.0
"""What must hold after a fault: each broken promise in one line."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import RematchError
from harness.model import Outcome, TrialRecord
from harness.store import SessionFolder
from harness.tests.chaos.faults.plan import Fault
from harness.tests.chaos.faults.scenes import Stage
from harness.tests.chaos.faults.sessions import Ended

#: How long what a session started may take to end after it, on a busy machine.
GONE_WITHIN_S = 30.0
_STOPS = {"SIGTERM": 143, "SIGHUP": 129}
#: The name of an exception tells a reader of the program something, and nobody else.
_EXCEPTION = re.compile(r"\b([A-Z]\w*(?:Error|Exception)): ")


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What was finished at one moment: the plan's bytes and, by trial, the hash of each file."""

    plan: str | None = None
    trials: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def finished(folder: SessionFolder, *, promised: bool = False) -> Kept:
    """Return what is finished now. ``promised``: only what a loss of power must not take either, because the session
    went on after it."""
    header = folder.folder / "session.json"
    trials = {path.parent.name: path.parent for path in folder.folder.glob("[0-9]*/record.json")}
    if promised:
        under_way = {path.name.removeprefix(".partial-") for path in folder.folder.glob(".partial-*")}
        over = any(event.get("event") == "finished" for event in folder.events())
        trials = {
            name: path for name, path in trials.items() if over or any(name < other for other in under_way)
        }
        if not (trials or under_way or over):
            return Kept()
    return Kept(
        plan=_hash(header) if header.is_file() else None,
        trials={name: _hashes(path) for name, path in trials.items()},
    )


def lost(folder: SessionFolder, before: Kept) -> Iterator[str]:
    """Yield what is not as it was."""
    if before.plan is not None and before.plan != _hash_or_none(folder.folder / "session.json"):
        yield "the plan is not what it was"
    for name, files in before.trials.items():
        now = _hashes(folder.folder / name)
        for file, known in files.items():
            if now.get(file) != known:
                yield f"{name}/{file}: {'missing' if file not in now else 'other bytes'}"


def said_badly(said: Ended, fault: Fault, folder: SessionFolder) -> Iterator[str]:
    """Yield what is wrong with the words of a session that met a fault."""
    lines = [line for line in said.stderr.splitlines() if line.strip()]
    if "Traceback" in said.stderr:
        last = lines[-1]
        yield f"a traceback: {last[:200]}"
        return
    signalled = fault.act == "signal" and fault.target == "session" and fault.signal in _STOPS
    if said.code < 0:
        name = signal.Signals(-said.code).name
        ours = fault.act == "power" or (fault.act == "signal" and fault.target == "session")
        if not ours or (name != "SIGKILL" and list(folder.folder.glob(".partial-*"))):
            yield f"ended by {name}" + ("" if not lines else f": {lines[-1][:200]}")
        return
    if said.code == 0:
        if lines:
            yield f"exit status 0, and on stderr: {lines[0][:200]}"
        return
    if said.code not in ((_STOPS[str(fault.signal)],) if signalled else (1, 2)):
        yield f"exit status {said.code}"
    if len(lines) != 1 or not lines[0].startswith("rematch: "):
        yield f"{len(lines)} lines in place of one: {' / '.join(lines)[:300]}"
    elif (found := _EXCEPTION.search(lines[0])) is not None:
        yield f"names {found[1]} in place of what is wrong: {lines[0][:300]}"


def incomplete(said: Ended, folder: SessionFolder) -> Iterator[str]:
    """Yield what is wrong with a session that was gone on with, without a fault."""
    if said.code != 0:
        yield f"resumed: exit status {said.code}: {said.stderr.strip()[-300:]}"
        return
    try:
        if json.loads(said.stdout).get("complete") is not True or not folder.complete:
            yield "resumed: not complete"
        yield from (f"resumed: {problem}" for problem in folder.verify())
        records = tuple(folder.records())
    except (RematchError, ValueError) as problem:
        yield f"resumed: {problem}"
        return
    if list(folder.folder.glob(".partial-*")):
        yield "resumed: a trial is half-written"
    for record in records:
        yield from unbalanced(record)


def unbalanced(record: TrialRecord) -> Iterator[str]:
    """Yield what a database lost."""
    if record.outcome == Outcome.INCONSISTENT:
        yield f"{record.planned.trial_id}: {record.reason}"
        return
    if not all(row.holds for row in record.invariants) or not all(row.holds for row in record.stored):
        yield f"{record.planned.trial_id}: a balance does not hold"
    if record.planned.configuration.workload == "bank" and record.load is not None and not record.invariants:
        yield f"{record.planned.trial_id}: no balance was looked at"


def taken_for_measured(folder: SessionFolder, fault: Fault, at_epoch_s: float) -> Iterator[str]:
    """Yield a trial that counts although a part of it was killed while its load ran."""
    killed = fault.act == "signal" and fault.signal == "SIGKILL"
    if not killed or fault.target in ("session", "agent"):
        return
    for record in folder.records():
        for phase in record.phases:
            inside = phase.start.wall_epoch_s + 0.05 < at_epoch_s < phase.end.wall_epoch_s - 0.3
            if phase.name == "measurement" and inside and record.outcome == Outcome.OK:
                yield f"{record.planned.trial_id}: ok, and its {fault.target} was killed under load"


def running_on(stage: Stage) -> Iterator[str]:
    """Yield what still runs of an ended session, after some patience."""
    until = time.monotonic() + GONE_WITHIN_S
    while (left := stage.left_running()) and time.monotonic() < until:
        time.sleep(0.02)
    yield from (f"still runs: {words[:200]}" for words in left)


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): _hash(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _hash_or_none(path: Path) -> str | None:
    return _hash(path) if path.is_file() else None
