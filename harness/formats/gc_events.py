# SPDX-License-Identifier: Apache-2.0
"""What a runtime's log says about its pauses, in one shape for every runtime, gathered line after line of one process;
and the lines that Go writes under ``GODEBUG=gctrace=1`` (Go 1.18 to 1.26).

Go's times are seconds since the runtime started, cut to whole milliseconds; lengths are cut to two digits. So its log
alone cannot place a pause better than to a millisecond (all are said too early), and needs the start of the runtime.
Each collection stops the world twice, at sweep termination and at mark termination; between them it marks beside the
program, with a quarter of the CPUs and with help that it demands of whoever allocates.

Source: the comment on gctrace in Go's ``runtime/extern.go``; ``gcMarkTermination`` and ``fmtNSAsMS`` in
``runtime/mgc.go`` for what is cut off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field

from harness.model import Frozen

Cause = Literal["gc_pause", "other_safepoint", "allocation_stall"]


class PauseEvent(Frozen):
    """One span in which the runtime stopped the program, or one thread that asked for memory.

    Times are seconds on the log's clock (see ``GcLog.clock``).
    """

    start_s: float
    end_s: float
    cause: Cause
    name: str = Field(description="as the log names it: G1CollectForAllocation, Pause Young (Normal), ...")
    gc_id: int | None = None
    whole_stop: bool = Field(
        description="True: from the request to stop until threads run again (time to safepoint included); "
        "False: only the collector's own work"
    )

    @property
    def duration_s(self) -> float:
        """Length of the pause in seconds."""
        return self.end_s - self.start_s


class Cycle(Frozen):
    """One collection from its first step to its last: the program runs beside it, and may be slowed by it."""

    gc_id: int | None = None
    start_s: float
    end_s: float
    late_by_s: float = Field(
        default=0.0, description="how much later than said it may have been: what the log's rounding hides"
    )


class Life(NamedTuple):
    """When one process wrote into a log, in epoch seconds. ``name``: its source, or its files."""

    name: str
    start_s: float
    end_s: float


T = TypeVar("T", bound=Frozen)


class GcLog(Frozen):
    """Everything read from the log of one process, rotated parts joined; of several, if it has wall-clock stamps."""

    runtime: Literal["jvm", "go"]
    collector: str | None
    clock: Literal["epoch", "uptime", "process_start"] = Field(
        description="epoch: comparable with request times as they are; otherwise an anchor must be added"
    )
    resolution_s: float
    start_s: float | None = Field(description="first stamp on the log's clock; None: no stamped line")
    end_s: float | None
    events: tuple[PauseEvent, ...]
    cycles: tuple[Cycle, ...] = Field(
        default=(), description="collections that work beside the program; a collector may have none"
    )
    n_collections: int
    n_unknown: int = Field(description="lines that could not be read; shown, never fatal")
    unknown_examples: tuple[str, ...] = ()
    processes: tuple[Life, ...] = Field(default=(), description="of a log with wall-clock stamps")
    warnings: tuple[str, ...] = ()

    def placed(self, process_start_epoch_s: float) -> GcLog:
        """Return a log that counts from the start of its process on the wall clock: every time in it moves."""

        def moved(part: T) -> T:
            ends = {name: getattr(part, name) for name in ("start_s", "end_s")}
            return part.model_copy(
                update={name: at if at is None else at + process_start_epoch_s for name, at in ends.items()}
            )

        parts = {"events": tuple(map(moved, self.events)), "cycles": tuple(map(moved, self.cycles))}
        return moved(self).model_copy(update={"clock": "epoch", **parts})


def joined(logs: Sequence[GcLog]) -> GcLog:
    """Return logs on one clock as one, the earliest process first; one of them is itself."""
    if len(logs) == 1:
        return logs[0]
    ordered = sorted(logs, key=lambda log: log.start_s or 0.0)

    def every(name: str) -> tuple[Any, ...]:
        return tuple(item for log in ordered for item in getattr(log, name))

    return ordered[-1].model_copy(
        update={
            **{name: every(name) for name in ("cycles", "processes", "unknown_examples")},
            **{name: sum(getattr(log, name) for log in logs) for name in ("n_collections", "n_unknown")},
            "events": tuple(sorted(every("events"), key=lambda event: event.end_s)),
            "start_s": ordered[0].start_s,
            "end_s": max(log.end_s or 0.0 for log in logs),
            "warnings": tuple(dict.fromkeys(every("warnings"))),
        }
    )


#: The starts of one process, each as wall time less uptime of one line, differ by less.
_SAME_START_S = 1.0
#: Threads write their lines a little out of order.
_OUT_OF_ORDER_S = 1.0
#: The wall clock may be that much further from the monotonic one at another time before it is said.
_WANDERED_S = 0.005


@dataclass(slots=True, kw_only=True)
class LogStamp:
    """What a line says of when it was written and by which collection: enough to tell processes apart."""

    epoch_s: float | None = None
    uptime_s: float | None = None
    gc_id: int | None = None
    begins: bool = False  # the line is one that a process writes once, when it starts

    @property
    def start_s(self) -> float | None:
        """When the process began, by its own two clocks."""
        return None if self.epoch_s is None or self.uptime_s is None else self.epoch_s - self.uptime_s


@dataclass(slots=True, eq=False)
class ProcessLog:
    """The log of one process so far. Times are uptimes where its lines have them, else wall-clock times."""

    runtime: ClassVar[Literal["jvm", "go"]]
    first_number: ClassVar[int]

    before: str = ""
    source: str = ""
    on_uptime: bool = True
    #: In which files it stands: the first and the last of its lines there.
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    resolution_s: float = 1e-3
    has_epoch: bool = False
    starts_s: tuple[float, float, float] | None = None  # by the last line, the smallest, the largest
    begins: bool = False
    collector: str | None = None
    first_id: int | None = None
    last_id: int = -1
    ids: set[int] = field(default_factory=set)
    first_s: float | None = None
    last_s: float | None = None
    silence_s: float = 0.0
    n_dropped: int = 0
    is_mixed: bool = False  # its lines contradict each other: they are of several processes
    events: list[PauseEvent] = field(default_factory=list)
    #: Pauses of a JVM that wait for the safepoint they belong to.
    pending: list[PauseEvent] = field(default_factory=list)
    cycles: list[Cycle] = field(default_factory=list)

    def time_of(self, line: LogStamp) -> float | None:
        """Return a line's time on the log's clock; ``None``: the line does not have it."""
        return line.uptime_s if self.on_uptime else line.epoch_s

    def same_start(self, line: LogStamp) -> bool | None:
        """Return whether a line's process began when this one did; ``None``: one of them has a single clock."""
        start = line.start_s
        if start is None or self.starts_s is None:
            return None
        return abs(start - self.starts_s[0]) < _SAME_START_S

    def goes_on_with(self, line: LogStamp) -> bool:
        """Whether the next line of the same file may be of this process."""
        in_order = self.runtime == "jvm" or line.gc_id is None or line.gc_id > self.last_id
        if (line.begins and (self.begins or self.ids)) or not in_order:
            return False
        now, same = self.time_of(line), self.same_start(line)
        return now is not None and (now >= (self.last_s or 0.0) - _OUT_OF_ORDER_S if same is None else same)

    def goes_on_in_file(self, line: LogStamp, pause: tuple[int, str] | None) -> bool:
        """Whether the first line of another file may be of this process; names are no evidence, for a JVM gives those
        of rotated parts to the logs of earlier processes, too.

        ``pause``: the first in that file: number of its collection, and name.
        """
        if not self.goes_on_with(line) or self.same_start(line) or self.has_epoch:
            return self.goes_on_with(line)
        if pause is None or self.first_id is None:
            return False
        number, name = pause
        present = any(
            item.gc_id == number and item.name.endswith(name) for item in (*self.events, *self.pending)
        )
        return self.first_id <= number <= self.last_id + 1 and not present

    def was_silent_before(self, line: LogStamp) -> bool:
        """Whether it had been silent for longer than ever when a line was written that may be of it."""
        return (line.uptime_s or 0.0) - (self.last_s or 0.0) > max(1.0, 2 * self.silence_s)

    def note(self, line: LogStamp, now: float) -> None:
        """Take what a line says of its moment."""
        self.has_epoch |= line.epoch_s is not None
        self.begins |= line.begins
        last_s = now if self.last_s is None else self.last_s
        self.silence_s, self.last_s = max(self.silence_s, now - last_s), max(last_s, now)
        self.first_s = now if self.first_s is None else min(self.first_s, now)
        start = line.start_s
        if start is not None:
            _, low, high = self.starts_s or (start, start, start)
            self.starts_s = start, min(low, start), max(high, start)
        if line.gc_id is not None:
            self.first_id = line.gc_id if self.first_id is None else self.first_id
            self.last_id = max(self.last_id, line.gc_id)
            self.ids.add(line.gc_id)

    @property
    def starts_late(self) -> bool:
        """Whether its first collections are not there."""
        return self.first_id not in (None, self.first_number)

    @property
    def began_epoch_s(self) -> float | None:
        """When the process began; ``None``: its lines do not have both clocks."""
        # Stamps are cut off, so the largest is the nearest.
        return self.starts_s[2] if self.starts_s is not None and self.on_uptime else None

    def as_log(self) -> GcLog:
        """Return all that was gathered, on the wall clock where its lines have it."""
        clock: Literal["uptime", "process_start"] = "uptime" if self.runtime == "jvm" else "process_start"
        log = GcLog(
            runtime=self.runtime, collector=self.collector, clock=clock if self.on_uptime else "epoch",
            resolution_s=self.resolution_s, start_s=self.first_s, end_s=self.last_s, events=tuple(self.events),
            cycles=tuple(self.cycles), n_collections=len(self.ids), n_unknown=0, warnings=tuple(self._warnings()),
        )  # fmt: skip
        if self.began_epoch_s is not None:
            log = log.placed(self.began_epoch_s)
        if log.clock != "epoch" or log.start_s is None or log.end_s is None:
            return log
        name = self.source or " and ".join(path.name for path in self.places)
        return log.model_copy(update={"processes": (Life(name, log.start_s, log.end_s),)})

    def _warnings(self) -> list[str]:
        notes: list[str] = []
        if self.before.strip():
            notes.append(f"its lines begin with {self.before[:60]!r}, which was taken off")
        if self.starts_late:
            notes.append(
                f"the log starts late: its first collection is number {self.first_id}; earlier pauses are unknown"
            )
        if self.runtime == "go" and self.ids and self.last_id - min(self.ids) >= len(self.ids):
            notes.append("collection numbers have gaps: lines are missing")
        if self.n_dropped:
            notes.append(f"the JVM dropped {self.n_dropped} lines of its log: pauses may be missing")
        wandered_s = 0.0 if self.starts_s is None else self.starts_s[2] - self.starts_s[1]
        if wandered_s > _WANDERED_S:
            notes.append(f"wall and monotonic clock moved {wandered_s * 1e3:.0f} ms apart within the log")
        return notes


#: Lengths have a length: a plus may be part of a number, and there are many ways to divide a thousand of them.
_TRACE = re.compile(
    r"gc (?P<id>\d+) @(?P<at>[\d.]+)s \d+%: "
    r"(?P<sweep>[\d.e+-]{1,24}?)\+(?P<mark>[\d.e+-]{1,24}?)\+(?P<term>[\d.e+-]{1,24}) ms clock, "
    r"[^,]* ms cpu, \d+->\d+->\d+ MB, \d+ MB goal,(?: \d+ MB stacks, \d+ MB globals,)? \d+ P(?: \(forced\))?"
)
RESOLUTION_S = 1e-3


@dataclass(slots=True, kw_only=True)
class Trace(LogStamp):
    """The numbers of one line: what the parts of a collection took, and how much longer all of them may have been."""

    parts_s: tuple[float, float, float]
    cut_s: float


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
            cut_s=RESOLUTION_S + sum(map(_cut_s, parts)),
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
        pauses = {"sweep termination": (now, sweep_s), "mark termination": (mark_end_s, term_s)}
        for name, (at_s, length_s) in pauses.items():
            self.events.append(
                PauseEvent(
                    start_s=at_s, end_s=at_s + length_s, cause="gc_pause", name=name, gc_id=line.gc_id,
                    whole_stop=False,
                )
            )  # fmt: skip
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
