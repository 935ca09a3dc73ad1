# SPDX-License-Identifier: Apache-2.0
"""What the load generators of one trial left, read and put together: one report, and a record of each process."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from harness.errors import RematchError, TrialFailure
from harness.loadgen.base import LoadGenerator
from harness.loadgen.parallel import merge_summaries
from harness.model import AnswerCount, GeneratorRecord, HostClock, LoadSummary
from harness.runner.context import Notes
from harness.runner.load_process import LoadProcess


def read_together(engines: Sequence[LoadProcess], generator: LoadGenerator, notes: Notes) -> LoadSummary:
    """Read what every generator left; of several, keep in each record its own part and how its clock was off.

    Raises:
        TrialFailure: one left nothing to read.
    """
    if len(engines) == 1:
        return generator.read(engines[0].ours)
    for engine in engines:
        try:
            part = generator.read(engine.ours)
        except TrialFailure as failure:
            raise TrialFailure(failure.outcome, f"{engine.name}: {failure.reason}") from failure
        shift_s = _offset_s(engines[0], notes.clocks) - _offset_s(engine, notes.clocks)
        engine.record = engine.record.model_copy(update={"load": part, "clock_shift_s": shift_s})
    parts = [engine.record.load for engine in engines if engine.record.load is not None]
    return merge_summaries(parts, [engine.record.clock_shift_s for engine in engines])


def answered_so_far(engines: Sequence[LoadProcess], generator: LoadGenerator) -> dict[str, AnswerCount]:
    """Count what a load left that came to no end: what was answered until then was promised, too."""
    parts: list[LoadSummary] = []
    for engine in engines:
        with contextlib.suppress(RematchError):
            parts.append(generator.read(engine.ours))
    return merge_summaries(parts, [0.0] * len(parts)).answers if parts else {}


def keep_records(engines: Sequence[LoadProcess], notes: Notes) -> None:
    """Write down each process, and all of them together as if they were one generator."""
    if not engines:
        return
    records = tuple(engine.record for engine in engines)
    notes.generators = records
    notes.generator = records[0] if len(records) == 1 else _together(records)


def _together(records: Sequence[GeneratorRecord]) -> GeneratorRecord:
    """CPU time is the sum; the exit code is the first that is not zero."""
    used = [record.cpu_s for record in records]
    codes = [record.exit_code for record in records]
    known = [seconds for seconds in used if seconds is not None]
    return records[0].model_copy(
        update={
            "cpu_s": sum(known) if len(known) == len(used) else None,
            "exit_code": None if None in codes else next((code for code in codes if code), 0),
            "cpu_affinity": tuple(sorted({cpu for record in records for cpu in record.cpu_affinity})),
            "host": None,
            "folder": "load",
            "load": None,
            "clock_shift_s": 0.0,
        }
    )


def _offset_s(engine: LoadProcess, clocks: Sequence[HostClock]) -> float:
    """How far its host's wall clock was ahead of ours, before and after the load on average."""
    mine = [
        clock.wall_offset_s
        for clock in clocks
        if clock.host == engine.place.host.name and clock.role != "service"
    ]
    return sum(mine) / len(mine) if mine else 0.0


__all__ = ["answered_so_far", "keep_records", "read_together"]
