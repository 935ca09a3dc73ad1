# SPDX-License-Identifier: Apache-2.0
"""Go's ``GODEBUG=gctrace=1`` lines (Go 1.18 to 1.26), among whatever else a service wrote to stderr.

Times are seconds since the runtime started, cut to whole milliseconds; lengths are cut to two digits.
So the log alone cannot place a pause better than to a millisecond (all of them are said too early,
never too late), and needs the start of the runtime to be placed at all.
Each collection stops the world twice, at sweep termination and at mark termination; between them it
marks beside the program, with a quarter of the CPUs and with help that it demands of whoever allocates.

Source: the comment on gctrace in Go's ``runtime/extern.go``; ``gcMarkTermination`` and ``fmtNSAsMS``
in ``runtime/mgc.go`` for what is cut off.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.formats.gc_events import Cycle, PauseEvent
from harness.formats.process_log import ProcessLog, Stamped

#: Lengths have a length: a plus may be part of a number, and there are many ways to divide a thousand of them.
_TRACE = re.compile(
    r"gc (?P<id>\d+) @(?P<at>[\d.]+)s (?P<share>\d+)%: "
    r"(?P<sweep>[\d.e+-]{1,24}?)\+(?P<mark>[\d.e+-]{1,24}?)\+(?P<term>[\d.e+-]{1,24}) ms clock, "
    r"[^,]* ms cpu, (?P<before>\d+)->(?P<peak>\d+)->(?P<live>\d+) MB, (?P<goal>\d+) MB goal,"
    r"(?: \d+ MB stacks, \d+ MB globals,)? (?P<procs>\d+) P(?P<forced> \(forced\))?"
)
_MIB = 1024**2
RESOLUTION_S = 1e-3


@dataclass(slots=True, kw_only=True)
class Trace(Stamped):
    """The numbers of one line: what the parts of a collection took, and how much longer all of them may have been."""

    parts_s: tuple[float, float, float]
    cut_s: float
    before_bytes: int
    live_bytes: int


def parse_trace(text: str) -> Trace | None:
    """Return the numbers of one line; ``None``: it is no trace, or one of them is none."""
    match = _TRACE.match(text)
    if match is None:
        return None
    parts = [match[part] for part in ("sweep", "mark", "term")]
    gc_id = int(match["id"])
    try:
        sweep_s, mark_s, term_s = (_finite(part) / 1e3 for part in parts)
        return Trace(
            uptime_s=_finite(match["at"]), gc_id=gc_id, begins=gc_id == 1, parts_s=(sweep_s, mark_s, term_s),
            cut_s=RESOLUTION_S + sum(map(_cut_s, parts)), before_bytes=int(match["before"]) * _MIB,
            live_bytes=int(match["live"]) * _MIB,
        )  # fmt: skip
    except ValueError:  # half a number, or digits without end
        return None


@dataclass(slots=True, eq=False)
class GoLog(ProcessLog):
    """The trace of one Go process so far."""

    runtime: ClassVar[Literal["jvm", "go"]] = "go"
    first_number: ClassVar[int] = 1

    collector: str | None = "Go"

    def take(self, line: Trace, now: float) -> bool:
        """Take a collection: its two pauses, and what it did between them."""
        sweep_s, mark_s, term_s = line.parts_s
        mark_end_s = now + sweep_s + mark_s
        self.last_s = mark_end_s + term_s
        self.cycles.append(Cycle(gc_id=line.gc_id, start_s=now, end_s=self.last_s, late_by_s=line.cut_s))
        self.events += [
            _pause("sweep termination", line.gc_id, now, sweep_s, line.before_bytes, None),
            _pause("mark termination", line.gc_id, mark_end_s, term_s, None, line.live_bytes),
        ]
        return True


def _finite(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError(f"not a length of time: {text!r}")
    return number


def _cut_s(milliseconds: str) -> float:
    """How much longer than printed a length may be: one of its last digit."""
    _, _, decimals = milliseconds.partition(".")
    return 1e-6 if float(milliseconds) == 0 or "e" in milliseconds else 1e-3 * 10.0 ** -len(decimals)


def _pause(
    name: str, gc_id: int | None, at_s: float, length_s: float, before: int | None, after: int | None
) -> PauseEvent:
    return PauseEvent(
        start_s=at_s, end_s=at_s + length_s, cause="gc_pause", name=name, gc_id=gc_id, heap_before_bytes=before,
        heap_after_bytes=after, whole_stop=False,
    )  # fmt: skip
