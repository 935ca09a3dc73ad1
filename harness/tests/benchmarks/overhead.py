# SPDX-License-Identifier: Apache-2.0
"""Where a session's wall time went: measuring, and what stands around it. From its records alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.errors import InputError
from harness.model import TrialRecord
from harness.provenance import describe_place
from harness.store import SessionFolder, Store
from harness.tests.benchmarks.result import BenchResult, BenchRow

LIMIT = 0.6
#: Start-up experiments measure while the service starts and while it is idle.
MEASURING = {"load": ("measurement",), "startup": ("start-up", "idle")}
_BEGINS, _ENDS = ("started", "resumed"), ("finished", "interrupted", "stopped")


def bench_overhead(root: Path, *, key: str | None = None) -> BenchResult:
    """Take a session's time apart.

    Args:
        key: ``experiment/session`` (``bundled/`` before it for one that came along); ``None``: the newest.

    Raises:
        InputError: there is no such session, or none at all, or it has no finished trial.
    """
    folder = find_session(Store(root), key)
    records = tuple(folder.records())
    if not records:
        raise InputError("has no finished trial", file=folder.key, allowed="a session with records")
    kind, profile = folder.header.experiment.kind, folder.header.plan.profile
    spent = time_by_phase(records)
    wall_s = wall_time_s(folder.events(), records)
    spent["between trials: builds, headroom, packing"] = max(0.0, wall_s - sum(spent.values()))
    measuring_s = sum(spent.get(name, 0.0) for name in MEASURING[kind])
    share = measuring_s / wall_s
    rows = [
        BenchRow(
            name="share of the wall time that is measurement", value=share * 100, unit="%",
            target=f">= {LIMIT * 100:g} % in profile full",
            holds=share >= LIMIT if profile == "full" else None,
            said="" if profile == "full" else f"profile {profile}: the target is for full",
        )
    ]  # fmt: skip
    rows += [
        BenchRow(
            name=name, value=seconds / len(records), unit="s a trial", ratio=seconds / wall_s,
            said="ratio: share of the wall time",
        )
        for name, seconds in sorted(spent.items(), key=lambda item: -item[1])
    ]  # fmt: skip
    return BenchResult(
        name="overhead",
        question="How much of a session is measurement, and what does each phase cost?",
        rows=tuple(rows),
        notes=(f"session {folder.key}: {len(records)} trials in {wall_s:,.0f} s",),
        place=describe_place(root),
    )


def find_session(store: Store, key: str | None) -> SessionFolder:
    """Return the session of a key, or the newest measured here, or else the newest that came along.

    Raises:
        InputError: there is none.
    """
    sessions = store.sessions()
    if key is not None:
        for session in sessions:
            if session.key == key:
                return session
        raise InputError(
            "no such session in data/raw", place="--session", found=key,
            allowed=", ".join(session.key for session in sessions) or "none yet: measure one first",
        )  # fmt: skip
    if not sessions:
        raise InputError(
            "no session in data/raw yet",
            allowed="measure one first: python -m harness measure smoke --profile smoke",
        )
    return max(sessions, key=lambda session: (not session.bundled, session.header.provenance.started_epoch_s))


def time_by_phase(records: Iterable[TrialRecord]) -> dict[str, float]:
    """Return phase -> seconds over all trials, with what lies between the phases of a trial."""
    spent: dict[str, float] = {}
    between = 0.0
    for record in records:
        between += record.ended.monotonic_s - record.started.monotonic_s
        for phase in record.phases:
            lasted_s = phase.end.monotonic_s - phase.start.monotonic_s
            spent[phase.name] = spent.get(phase.name, 0.0) + lasted_s
            between -= lasted_s
    spent["between phases: boundaries, logs, record"] = max(0.0, between)
    return spent


def wall_time_s(events: Sequence[dict[str, object]], records: Sequence[TrialRecord]) -> float:
    """Return the seconds in which the session was at work, pauses between its starts left out.

    A start that was killed left no end: its last finished trial ends it.
    """
    total_s = 0.0
    begin: float | None = None
    for event in events:
        at, what = float(str(event["at_epoch_s"])), event["event"]
        if what in _BEGINS:
            if begin is not None:
                total_s += _last_end(records, begin, at) - begin
            begin = at
        elif what in _ENDS and begin is not None:
            total_s += at - begin
            begin = None
    if begin is not None:
        total_s += _last_end(records, begin, float("inf")) - begin
    # A session without events (they may be lost, records are not) lasted at least as long as its trials.
    return max(total_s, sum(one.ended.monotonic_s - one.started.monotonic_s for one in records))


def _last_end(records: Sequence[TrialRecord], begin: float, until: float) -> float:
    ends = [one.ended.wall_epoch_s for one in records if begin <= one.ended.wall_epoch_s <= until]
    return max(ends, default=begin)
