# SPDX-License-Identifier: Apache-2.0
"""What the requests of one file show by themselves: a ramp, a clock that jumped, an end that is missing."""

from __future__ import annotations

from harness.compare.run import Symptom
from harness.formats.run_parts import clock_jump
from harness.formats.sides import SideColumns
from harness.formats.table import RequestTable
from harness.report.loop import Kind
from harness.report.ramp import ramp_of

RAMP, CLOCK, CUT = "ramp_included", "clock_jump", "truncated_file"


def symptoms_of(table: RequestTable, *, sides: SideColumns | None, loop: Kind) -> list[Symptom]:
    """Return what one file shows; nothing of time where it has no time stamps.

    Args:
        sides: threads and users of its first rows; None: it does not name them.
    """
    found = []
    if table.unreadable.n_cut or any("ends early" in note or "is damaged" in note for note in table.notes):
        found.append(
            Symptom(trap=CUT, text="ends in the middle of a row: the tool was stopped, or the disk was full")
        )
    if not table.has_start_times or table.n_requests < 2:
        return found
    if (jump := clock_jump(table.start_epoch_s, table.latency_s)) is not None:
        found.append(Symptom(trap=CLOCK, text=jump))
    elif (ramp := ramp_of(table, sides=sides, loop=loop)) is not None:
        found.append(Symptom(trap=RAMP, text=f"{ramp.text}; {ramp.command} leaves it out"))
    return found
