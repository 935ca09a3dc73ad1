# SPDX-License-Identifier: Apache-2.0
"""Where the wall time of the newest session went: measuring, and what stands around it. From its records alone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from harness.errors import InputError
from harness.store import Store
from harness.tests.benchmarks.ratio import Ratio

#: Start-up experiments measure while the service starts and while it is idle.
MEASURING = {"load": ("measurement",), "startup": ("start-up", "idle")}


def bench_overhead(root: Path) -> list[Ratio]:
    """Return seconds a trial of each phase, with their shares of the session, which worked without a break.

    Raises:
        InputError: there is no session, or it has no finished trial.
    """
    sessions = Store(root).sessions()
    if not sessions:
        raise InputError("no session in data/raw yet", allowed="measure one first: rematch measure smoke")
    session = max(sessions, key=lambda one: (not one.bundled, one.header.provenance.started_epoch_s))
    records = sorted(session.records(), key=lambda record: record.started.wall_epoch_s)
    if not records:
        raise InputError("has no finished trial", file=session.key, allowed="a session with records")
    spent: defaultdict[str, float] = defaultdict(float)
    for record in records:
        for phase in record.phases:
            spent[phase.name] += phase.end.monotonic_s - phase.start.monotonic_s
        spent["between phases: boundaries, logs, record"] += (
            record.ended.monotonic_s - record.started.monotonic_s
        )
    in_phases_s = sum(seconds for name, seconds in spent.items() if "between" not in name)
    between = "between phases: boundaries, logs, record"
    spent[between] = max(0.0, spent[between] - in_phases_s)
    wall_s = records[-1].ended.wall_epoch_s - records[0].started.wall_epoch_s
    spent["between trials: builds, headroom, packing"] = max(0.0, wall_s - sum(spent.values()))
    measuring_s = sum(spent[phase] for phase in MEASURING[session.header.experiment.kind])
    print(
        f"session {session.key}: {len(records)} trials in {wall_s:,.0f} s, {measuring_s / wall_s:.1%} of it measurement"
    )
    n = len(records)
    return [
        Ratio(name, [s / n], "s a trial", "the session", (wall_s / n,))
        for name, s in sorted(spent.items(), key=lambda item: -item[1])
    ]
