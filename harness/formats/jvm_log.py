# SPDX-License-Identifier: Apache-2.0
"""Unified JVM logs (``-Xlog:gc*,safepoint``), JDK 11 to 25, every collector, any decorators.

Source: JEP 158 (unified logging) and logs captured from each collector.

Pauses are paired with the safepoints that contain them. A safepoint's line is stamped at its end and its
``Total`` includes the time to reach the safepoint; ``Pause ... ms`` does not. So where safepoint lines stand, they
are the pauses, and ``Pause`` lines only say which of them were collections.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import InputError
from harness.formats.gc_events import Cycle, GcLog, PauseEvent
from harness.formats.unified_log import Line, parse_line, read_lines

#: Names of VM operations that a collector asked for.
_GC_OPERATION = re.compile(r"^(G1|Gen|Serial|Parallel|Z[A-Z]|X[A-Z]|Shenandoah|CollectFor|GC_|Pause|CMS)")


@dataclass(slots=True)
class CollectorPause:
    """What one ``Pause`` line says, in bytes and seconds."""

    gc_id: int | None
    name: str
    before: int | None
    after: int | None
    duration_s: float
    end_s: float


@dataclass(slots=True)
class PausesPaired:
    """The events so far, and the pauses that wait for the safepoint they belong to."""

    pending: list[CollectorPause] = field(default_factory=list)
    events: list[PauseEvent] = field(default_factory=list)

    def safepoint(self, end_s: float, operation: str, total_s: float, *, slack_s: float) -> None:
        """Take a safepoint; it claims the pauses inside it.

        Args:
            slack_s: how much later than the pause itself its stamp may have been taken.
        """
        start_s = end_s - total_s
        self.flush(before_s=start_s - slack_s)
        inside, self.pending = self.pending, []
        pause = max(inside, key=lambda p: p.duration_s, default=None)
        is_gc = pause is not None or _GC_OPERATION.match(operation) is not None
        self.events.append(
            PauseEvent(
                start_s=start_s,
                end_s=end_s,
                cause="gc_pause" if is_gc else "other_safepoint",
                name=operation if pause is None else f"{operation}: {pause.name}",
                gc_id=pause.gc_id if pause else None,
                heap_before_bytes=pause.before if pause else None,
                heap_after_bytes=pause.after if pause else None,
                whole_stop=True,
            )
        )

    def flush(self, *, before_s: float | None) -> None:
        """Emit pauses that no safepoint line claims: a log without the safepoint tag."""
        kept: list[CollectorPause] = []
        for pause in self.pending:
            if before_s is not None and pause.end_s >= before_s:
                kept.append(pause)
                continue
            self.events.append(
                PauseEvent(
                    start_s=pause.end_s - pause.duration_s,
                    end_s=pause.end_s,
                    cause="gc_pause",
                    name=pause.name,
                    gc_id=pause.gc_id,
                    heap_before_bytes=pause.before,
                    heap_after_bytes=pause.after,
                    whole_stop=False,
                )
            )
        self.pending = kept


#: The parts of a line that are apart from each other are sought one after the other: an expression with both would
#: look through the rest of the line once for each beginning.
_SAFEPOINT = re.compile(r'Safepoint "([^"]+)",')
_TOTAL = re.compile(r"\bTotal: +(\d{1,18}) ns")
_OLD_SAFEPOINT = re.compile(
    r"Total time for which application threads were stopped: (\d{1,9}\.\d{1,9}) seconds"
)
_PAUSE = re.compile(
    r"(?:GC\((\d{1,12})\) )?(?:[YO]: )?(Pause .*?)"
    r"(?: (\d{1,12})([KMG])->(\d{1,12})([KMG])\((\d{1,12})([KMG])\))? (\d{1,12}[.,]\d+)ms$"
)
_STALL = "Allocation Stall ("
_STALLED = re.compile(r"\) (\d{1,12}[.,]\d+)ms")
_CYCLE = re.compile(
    r"GC\((\d{1,12})\) (?:[YO]: )?(?:Concurrent|Major Collection|Minor Collection|Garbage Collection)\b.* "
    r"(\d{1,12}[.,]\d+)(m?s)$"
)
_GC_ID = re.compile(r"GC\((\d{1,12})\)")
_USING = re.compile(r"Using (?!\d)(?:The )?(Serial|Parallel|G1|Z|Shenandoah|Concurrent Mark Sweep|Epsilon)")
_VERSION = re.compile(r"Version: (\S+)")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(slots=True)
class _Reading:
    """What has been gathered so far; times on the best clock the line offered."""

    has_epoch: bool = False
    has_uptime: bool = False
    offset_s: float | None = None
    offset_low_s: float | None = None
    collector: str | None = None
    version: str | None = None
    first_gc_id: int | None = None
    gc_ids: set[int] = field(default_factory=set)
    n_lines: int = 0
    n_unknown: int = 0
    unknown: list[str] = field(default_factory=list)
    first_s: float | None = None
    last_s: float | None = None
    pauses: PausesPaired = field(default_factory=PausesPaired)
    cycles: list[Cycle] = field(default_factory=list)
    truncated: bool = False


def read_jvm_log(*paths: Path) -> GcLog:
    """Read one process's log, in all its rotated parts (any order), gzipped or not.

    Raises:
        InputError: no path, a file that cannot be opened, or no line of it is a unified JVM log line.
    """
    if not paths:
        raise InputError("no log given", allowed="one or more files written by -Xlog")
    reading = _Reading()
    for text, complete in read_lines(paths):
        _take(reading, text, complete)
    reading.pauses.flush(before_s=None)
    if reading.n_lines and reading.first_s is None:
        raise InputError(
            "not a unified JVM log",
            file=paths[0],
            place="line 1",
            found=(reading.unknown or [""])[0][:80],
            allowed="lines such as [1.234s][info][gc] ..., as -Xlog:gc*,safepoint writes them with its decorators",
        )
    return _result(reading)


def _take(reading: _Reading, text: str, complete: bool) -> None:
    if not text.strip() and complete:
        return
    reading.n_lines += 1
    reading.truncated = not complete
    line = parse_line(text)
    if line is None:
        _unknown(reading, text)
        return
    now = line.uptime_s if line.uptime_s is not None else line.epoch_s
    assert now is not None  # parse_line returns no line without a stamp
    reading.has_epoch |= line.epoch_s is not None
    reading.has_uptime |= line.uptime_s is not None
    if line.epoch_s is not None and line.uptime_s is not None:
        offset = line.epoch_s - line.uptime_s
        reading.offset_s = offset if reading.offset_s is None else max(reading.offset_s, offset)
        reading.offset_low_s = offset if reading.offset_low_s is None else min(reading.offset_low_s, offset)
    reading.first_s = now if reading.first_s is None else min(reading.first_s, now)
    reading.last_s = now if reading.last_s is None else max(reading.last_s, now)
    _facts(reading, line.text)
    if not _event(reading, now, line) and not complete:
        _unknown(reading, text)


def _unknown(reading: _Reading, text: str) -> None:
    reading.n_unknown += 1
    if len(reading.unknown) < 3:
        reading.unknown.append(text[:200])


def _facts(reading: _Reading, text: str) -> None:
    if reading.collector is None and (using := _USING.match(text)):
        reading.collector = using.group(1)
    if reading.version is None and (version := _VERSION.match(text)):
        reading.version = version.group(1)
    if gc := _GC_ID.match(text):
        gc_id = int(gc.group(1))
        reading.first_gc_id = gc_id if reading.first_gc_id is None else reading.first_gc_id
        reading.gc_ids.add(gc_id)


def _event(reading: _Reading, now: float, line: Line) -> bool:
    if stopped := _stopped_ns(line.text):
        _safepoint(reading, now, stopped[0], int(stopped[1]) * 1e-9)
    elif found := _OLD_SAFEPOINT.search(line.text):
        _safepoint(reading, now, "safepoint", float(found.group(1)))
    elif stalled := _stalled_ms(line.text):
        duration = float(stalled.replace(",", ".")) / 1e3
        reading.pauses.events.append(
            PauseEvent(
                start_s=now - duration,
                end_s=now,
                cause="allocation_stall",
                name="Allocation Stall",
                whole_stop=False,
            )
        )
    elif "start" not in line.tags and (found := _PAUSE.match(line.text)):
        gc_id, name, before, before_unit, after, after_unit, _, _, ms = found.groups()
        reading.pauses.pending.append(
            CollectorPause(
                gc_id=int(gc_id) if gc_id else None,
                name=name,
                before=int(before) * _UNITS[before_unit] if before else None,
                after=int(after) * _UNITS[after_unit] if after else None,
                duration_s=float(ms.replace(",", ".")) / 1e3,
                end_s=now,
            )
        )
    elif found := _CYCLE.match(line.text):
        length = float(found.group(2).replace(",", ".")) * (1e-3 if found.group(3) == "ms" else 1.0)
        reading.cycles.append(Cycle(gc_id=int(found.group(1)), start_s=now - length, end_s=now))
    else:
        return False
    return True


def _stopped_ns(text: str) -> tuple[str, str] | None:
    """Return the first operation of a safepoint in a line, and how long it took."""
    named = _SAFEPOINT.search(text)
    total = named and _TOTAL.search(text, named.end())
    return (named[1], total[1]) if named and total else None


def _stalled_ms(text: str) -> str | None:
    """Return the last length of an allocation stall in a line."""
    _, stall, rest = text.partition(_STALL)
    return next(reversed(_STALLED.findall(rest)), None) if stall else None


def _safepoint(reading: _Reading, end_s: float, operation: str, total_s: float) -> None:
    # A stamp is taken a few microseconds after the pause it reports: allow the clock's resolution.
    slack_s = 2e-4 if reading.has_uptime else 2e-3
    reading.pauses.safepoint(end_s, operation, total_s, slack_s=slack_s)


def _result(reading: _Reading) -> GcLog:
    to_epoch = reading.offset_s if reading.has_epoch and reading.has_uptime else None
    clock = "epoch" if reading.has_epoch else "uptime"
    events: Iterable[PauseEvent] = sorted(reading.pauses.events, key=lambda event: event.end_s)
    shift = to_epoch or 0.0
    if shift:
        events = [
            event.model_copy(update={"start_s": event.start_s + shift, "end_s": event.end_s + shift})
            for event in events
        ]
    return GcLog(
        runtime="jvm",
        collector=reading.collector,
        version=reading.version,
        clock="epoch" if clock == "epoch" else "uptime",
        resolution_s=1e-6 if reading.has_uptime else 1e-3,
        start_s=None if reading.first_s is None else reading.first_s + shift,
        end_s=None if reading.last_s is None else reading.last_s + shift,
        events=tuple(events),
        cycles=tuple(
            cycle.model_copy(update={"start_s": cycle.start_s + shift, "end_s": cycle.end_s + shift})
            for cycle in reading.cycles
        ),
        n_collections=len(reading.gc_ids),
        n_lines=reading.n_lines,
        n_unknown=reading.n_unknown,
        unknown_examples=tuple(reading.unknown),
        truncated=reading.truncated,
        warnings=tuple(_warnings(reading)),
    )


def _warnings(reading: _Reading) -> Sequence[str]:
    said: list[str] = []
    if not reading.n_lines:
        said.append("the log is empty: nothing can be said about pauses, which is not the same as no pauses")
    elif not reading.pauses.events:
        said.append("the log has no pause in it; was it written with -Xlog:gc*,safepoint?")
    elif not any(event.whole_stop for event in reading.pauses.events):
        said.append(
            "no safepoint lines: pauses leave out the time to reach the safepoint; add safepoint to -Xlog"
        )
    if reading.first_gc_id not in (None, 0):
        said.append(
            f"the log starts late: its first collection is GC({reading.first_gc_id}); earlier pauses are unknown"
        )
    if reading.offset_s is not None and reading.offset_low_s is not None:
        wander = reading.offset_s - reading.offset_low_s
        if wander > 0.005:
            said.append(f"wall and monotonic clock moved {wander * 1e3:.0f} ms apart within the log")
    if reading.truncated:
        said.append("the last line is half-written; it was left out")
    return said
