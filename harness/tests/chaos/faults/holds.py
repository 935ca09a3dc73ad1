# SPDX-License-Identifier: Apache-2.0
"""What must hold after a fault: each broken promise in one line."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import RematchError
from harness.model import Outcome, TrialRecord
from harness.store import SessionFolder
from harness.tests.chaos.faults.kinds import Fault
from harness.tests.chaos.faults.stage import Session

#: The name of an exception tells a reader of the program something, and nobody else.
_EXCEPTION = re.compile(r"\b([A-Z]\w*(?:Error|Exception)): ")


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What was finished at one moment: the plan's hash and, by trial, the hash of each file."""

    plan: str | None
    trials: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def finished(folder: SessionFolder) -> Finished:
    """Return what is finished now."""
    header = folder.folder / "session.json"
    return Finished(
        plan=_hash(header) if header.is_file() else None,
        trials={path.parent.name: _hashes(path.parent) for path in folder.folder.glob("[0-9]*/record.json")},
    )


def lost(folder: SessionFolder, before: Finished) -> Iterator[str]:
    """Yield what is not as it was."""
    now = finished(folder)
    if before.plan is not None and before.plan != now.plan:
        yield "the plan is not what it was"
    for name, files in before.trials.items():
        there = _hashes(folder.folder / name)
        for file, known in files.items():
            if there.get(file) != known:
                yield f"{name}/{file}: {'missing' if file not in there else 'other bytes'}"


def badly_ended(session: Session, fault: Fault) -> Iterator[str]:
    """Yield what is wrong with the end, and the words, of a session that met a fault."""
    lines = [line for line in session.stderr.splitlines() if line.strip()]
    if session.code not in fault.ends:
        yield f"exit status {session.code}"
    if "Traceback" in session.stderr:
        yield f"a traceback: {lines[-1][:200]}"
    elif session.code == 0 and lines:
        yield f"exit status 0, and on stderr: {lines[0][:200]}"
    elif (session.code or 0) > 0 and (len(lines) != 1 or not lines[0].startswith("rematch: ")):
        yield f"{len(lines)} lines in place of one: {' / '.join(lines)[:300]}"
    elif (session.code or 0) > 0 and (named := _EXCEPTION.search(lines[0])) is not None:
        yield f"names {named[1]} in place of what is wrong: {lines[0][:300]}"


def incomplete(session: Session, folder: SessionFolder) -> Iterator[str]:
    """Yield what is wrong with a session that was gone on with, without a fault."""
    if session.code != 0:
        yield f"resumed: exit status {session.code}: {session.stderr.strip()[-300:]}"
        return
    try:
        if json.loads(session.stdout).get("complete") is not True or not folder.complete:
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
    for record in folder.records() if fault.kills else ():
        for phase in record.phases:
            inside = phase.start.wall_epoch_s + 0.05 < at_epoch_s < phase.end.wall_epoch_s - 0.3
            if phase.name == "measurement" and inside and record.outcome == Outcome.OK:
                yield f"{record.planned.trial_id}: ok, and its {fault.kills} was killed under load"


def _hashes(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): _hash(p) for p in sorted(folder.rglob("*")) if p.is_file()}


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
