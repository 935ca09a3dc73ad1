# SPDX-License-Identifier: Apache-2.0
"""Unified JVM logs (``-Xlog:gc*,safepoint``), JDK 11 to 25, every collector, any decorators.

A safepoint's line is stamped at its end and its ``Total`` includes the time to reach
the safepoint; ``Pause ... ms`` does not. So where safepoint lines stand, they are the
pauses, and ``Pause`` lines only say which of them were collections.

Source: JEP 158 (unified logging) and logs captured from each collector.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from harness.errors import InputError
from harness.formats.gc_events import Cycle, GcLog, PauseEvent

_DECORATORS = re.compile(r"((?:\[[^\]]*\])+)\s?(.*)")
_STAMP = re.compile(r"(\d+(?:\.\d+)?)(ns|ms|s)")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+[+-]\d{4}")
_SAFEPOINT = re.compile(r'Safepoint "([^"]+)",.*?\bTotal: +(\d+) ns')
_OLD_SAFEPOINT = re.compile(r"Total time for which application threads were stopped: ([\d.]+) seconds")
_PAUSE = re.compile(
    r"(?:GC\((\d+)\) )?(?:[YO]: )?(Pause .*?)(?: (\d+)([KMG])->(\d+)([KMG])\((\d+)([KMG])\))? (\d+[.,]\d+)ms$"
)
_STALL = re.compile(r"Allocation Stall \((.*)\) (\d+[.,]\d+)ms")
_CYCLE = re.compile(
    r"GC\((\d+)\) (?:[YO]: )?(?:Concurrent|Major Collection|Minor Collection|Garbage Collection)\b.* (\d+[.,]\d+)(m?s)$"
)
_GC_ID = re.compile(r"GC\((\d+)\)")
_USING = re.compile(r"Using (?!\d)(?:The )?(Serial|Parallel|G1|Z|Shenandoah|Concurrent Mark Sweep|Epsilon)")
_VERSION = re.compile(r"Version: (\S+)")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}
#: Names of VM operations that a collector asked for.
_GC_OPERATION = re.compile(r"^(G1|Gen|Serial|Parallel|Z[A-Z]|X[A-Z]|Shenandoah|CollectFor|GC_|Pause|CMS)")
#: A number above this many seconds is a date, not an uptime (30 years).
_EPOCH_FROM_S = 1e9


@dataclass(slots=True)
class _Line:
    epoch_s: float | None
    uptime_s: float | None
    tags: str
    text: str


@dataclass(slots=True)
class _Pause:
    gc_id: int | None
    name: str
    before: int | None
    after: int | None
    duration_s: float
    end_s: float


@dataclass(slots=True)
class _Reading:
    """What has been gathered so far; times on the best clock the line offered."""

    has_epoch: bool = False
    has_uptime: bool = False
    resolution_s: float = 1.0
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
    pending: list[_Pause] = field(default_factory=list)
    events: list[PauseEvent] = field(default_factory=list)
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
    for path in sorted(paths, key=_first_stamp):
        for text, complete in _lines(path):
            _take(reading, text, complete)
    _flush(reading, before_s=None)
    if reading.n_lines and reading.first_s is None:
        raise InputError(
            "not a unified JVM log",
            file=paths[0],
            place="line 1",
            found=(reading.unknown or [""])[0][:80],
            allowed="lines such as [1.234s][info][gc] ..., as -Xlog:gc*,safepoint writes them with its decorators",
        )
    return _result(reading)


def rotated_parts(path: Path) -> tuple[Path, ...]:
    """Return ``path`` and its rotated siblings ``path.0``, ``path.1``, ... that exist."""
    siblings = [part for part in path.parent.glob(path.name + ".*") if re.fullmatch(r"\d+", part.suffix[1:])]
    return (path, *sorted(siblings))


def _lines(path: Path) -> Iterator[tuple[str, bool]]:
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as stream:
            for line in stream:
                yield line.decode("utf-8", "replace").rstrip("\r\n"), line.endswith(b"\n")
    except EOFError:
        yield "", False
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error


def _first_stamp(path: Path) -> tuple[float, str]:
    for text, _ in _lines(path):
        line = _parse(text)
        if line is not None:
            return (line.uptime_s if line.uptime_s is not None else line.epoch_s or 0.0, path.name)
    return (float("inf"), path.name)


def _parse(text: str) -> _Line | None:
    match = _DECORATORS.fullmatch(text)
    if match is None:
        return None
    epoch: float | None = None
    uptime: float | None = None
    tags = ""
    for decorator in match.group(1)[1:-1].split("]["):
        value = decorator.strip()
        stamp = _STAMP.fullmatch(value)
        if stamp:
            seconds = float(stamp.group(1)) * {"ns": 1e-9, "ms": 1e-3, "s": 1.0}[stamp.group(2)]
            if stamp.group(2) == "ms" and seconds > _EPOCH_FROM_S:
                epoch = seconds
            elif seconds <= _EPOCH_FROM_S:
                uptime = seconds if uptime is None or stamp.group(2) == "ns" else uptime
        elif _ISO.fullmatch(value):
            epoch = datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() if epoch is None else epoch
        else:
            tags = value
    if epoch is None and uptime is None:
        return None
    return _Line(epoch, uptime, tags, match.group(2))


def _take(reading: _Reading, text: str, complete: bool) -> None:
    if not text.strip() and complete:
        return
    reading.n_lines += 1
    reading.truncated = not complete
    line = _parse(text)
    if line is None:
        _unknown(reading, text)
        return
    now = line.uptime_s if line.uptime_s is not None else line.epoch_s
    assert now is not None  # _parse returns no line without a stamp
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


def _event(reading: _Reading, now: float, line: _Line) -> bool:
    if found := _SAFEPOINT.search(line.text):
        _safepoint(reading, now, found.group(1), int(found.group(2)) * 1e-9)
    elif found := _OLD_SAFEPOINT.search(line.text):
        _safepoint(reading, now, "safepoint", float(found.group(1)))
    elif found := _STALL.search(line.text):
        duration = float(found.group(2).replace(",", ".")) / 1e3
        reading.events.append(
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
        reading.pending.append(
            _Pause(
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


def _safepoint(reading: _Reading, end_s: float, operation: str, total_s: float) -> None:
    start_s = end_s - total_s
    # A stamp is taken a few microseconds after the pause it reports: allow the clock's resolution.
    slack = 2e-3 if not reading.has_uptime else 2e-4
    _flush(reading, before_s=start_s - slack)
    inside, reading.pending = reading.pending, []
    pause = max(inside, key=lambda p: p.duration_s, default=None)
    is_gc = pause is not None or _GC_OPERATION.match(operation) is not None
    reading.events.append(
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


def _flush(reading: _Reading, *, before_s: float | None) -> None:
    """Emit pauses that no safepoint line claims: a log without the safepoint tag."""
    kept: list[_Pause] = []
    for pause in reading.pending:
        if before_s is not None and pause.end_s >= before_s:
            kept.append(pause)
            continue
        reading.events.append(
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
    reading.pending = kept


def _result(reading: _Reading) -> GcLog:
    to_epoch = reading.offset_s if reading.has_epoch and reading.has_uptime else None
    clock = "epoch" if reading.has_epoch else "uptime"
    events: Iterable[PauseEvent] = sorted(reading.events, key=lambda event: event.end_s)
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
    elif not reading.events:
        said.append("the log has no pause in it; was it written with -Xlog:gc*,safepoint?")
    elif not any(event.whole_stop for event in reading.events):
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
