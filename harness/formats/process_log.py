# SPDX-License-Identifier: Apache-2.0
"""What one process wrote into a log, gathered line after line, and whether another line is of the same process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from harness.formats.gc_events import Cycle, GcLog, Life, PauseEvent

#: The starts of one process, each as wall time less uptime of one line, differ by less.
_SAME_START_S = 1.0
#: Threads write their lines a little out of order.
_OUT_OF_ORDER_S = 1.0
#: The wall clock may be that much further from the monotonic one at another time before it is said.
_WANDERED_S = 0.005


@dataclass(slots=True, kw_only=True)
class Stamped:
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

    def time_of(self, line: Stamped) -> float | None:
        """Return a line's time on the log's clock; ``None``: the line does not have it."""
        return line.uptime_s if self.on_uptime else line.epoch_s

    def same_start(self, line: Stamped) -> bool | None:
        """Return whether a line's process began when this one did; ``None``: one of them has a single clock."""
        start = line.start_s
        if start is None or self.starts_s is None:
            return None
        return abs(start - self.starts_s[0]) < _SAME_START_S

    def goes_on_with(self, line: Stamped) -> bool:
        """Whether the next line of the same file may be of this process."""
        in_order = self.runtime == "jvm" or line.gc_id is None or line.gc_id > self.last_id
        if (line.begins and (self.begins or self.ids)) or not in_order:
            return False
        now, same = self.time_of(line), self.same_start(line)
        return now is not None and (now >= (self.last_s or 0.0) - _OUT_OF_ORDER_S if same is None else same)

    def goes_on_in_file(self, line: Stamped, pause: tuple[int, str] | None) -> bool:
        """Whether the first line of another file may be of this process; names are no evidence, for a JVM gives those
        of rotated parts to the logs of earlier processes, too.

        Args:
            pause: the first in that file: number of its collection, and name.
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

    def was_silent_before(self, line: Stamped) -> bool:
        """Whether it had been silent for longer than ever when a line was written that may be of it."""
        return (line.uptime_s or 0.0) - (self.last_s or 0.0) > max(1.0, 2 * self.silence_s)

    def note(self, line: Stamped, now: float) -> None:
        """Take what a line says of its moment."""
        self.has_epoch |= line.epoch_s is not None
        self.begins |= line.begins
        if self.first_s is None or self.last_s is None:
            self.first_s = self.last_s = now
        elif now > self.last_s:
            self.silence_s, self.last_s = max(self.silence_s, now - self.last_s), now
        elif now < self.first_s:
            self.first_s = now
        start = line.start_s
        if start is not None:
            _, low, high = self.starts_s or (start, start, start)
            self.starts_s = start, min(low, start), max(high, start)
        if line.gc_id is not None:
            self.first_id = line.gc_id if self.first_id is None else self.first_id
            if line.gc_id not in self.ids:
                self.last_id = max(self.last_id, line.gc_id)
                self.ids.add(line.gc_id)

    @property
    def starts_late(self) -> bool:
        """Whether its first collections are not there."""
        return self.first_id not in (None, self.first_number)

    @property
    def began_epoch_s(self) -> float | None:
        """When the process began; ``None``: its lines do not have both clocks."""
        return (
            self.starts_s[2] if self.starts_s is not None and self.on_uptime else None
        )  # stamps are cut off

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
