# SPDX-License-Identifier: Apache-2.0
"""Flight recordings printed with ``jfr print --json`` (JDK 17 to 25): stops, collections, compilers.

ZGC and Shenandoah lengthen requests without stopping the program: their allocation stalls
stand here and nowhere else in one shape. Times are wall-clock, in nanoseconds.
``jdk.GCPhasePause`` is the collector's own part of a pause, without the time to reach it.
``jdk.Compilation`` is a compiler's thread at work beside the program, and no pause.

Source: the event metadata of the JDK (``jfr metadata``) and recordings of JDK 25.

What ``jfr view contention-by-class`` prints (JDK 21 to 25) is read here, too: waits for monitors, counted by the class
of the lock.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic import Field

from harness.errors import InputError
from harness.formats.gc_events import Cause, Cycle, GcLog, PauseEvent
from harness.formats.row_layout import epoch_s
from harness.formats.source import SourceNotes, read_text_pieces
from harness.model import Frozen

_DURATION = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+(?:E-?\d+)?)S)?")
_PAUSES: dict[str, Cause] = {"jdk.GCPhasePause": "gc_pause", "jdk.ZAllocationStall": "allocation_stall"}
_COLLECTION, _COMPILATION = "jdk.GarbageCollection", "jdk.Compilation"
_READ = frozenset({*_PAUSES, _COLLECTION, _COMPILATION})
#: The file in a trial's folder.
CONTENTION = "contention.txt"
_TITLE = "Contention by Lock Class"
_NOTHING = "No events found"
_WAIT = r"([0-9][0-9,]{0,15}(?:\.[0-9]{1,9})?) (ns|us|μs|µs|ms|s|m|h)"
_ROW = re.compile(rf"^(?P<lock>\S.*?)\s+(?P<n>[0-9][0-9,]{{0,15}})\s+{_WAIT}\s+{_WAIT}\s+{_WAIT}\s*$")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "μs": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class FlightRecording(Frozen):
    """What a recording says about stops and collections."""

    log: GcLog
    n_by_type: dict[str, int] = Field(description="events of every type, those not used too")
    compilations: tuple[tuple[float, float], ...] = Field(
        default=(), description="when a compiler was at work: start and end, epoch seconds, by start"
    )


def read_jfr_json(path: Path) -> FlightRecording:
    """Read the output of ``jfr print --json``, encoded and compressed as result files may be.

    An event that cannot be read is counted and shown; one of a type not asked for is only counted. Raises InputError:
    the file cannot be opened, or is not such JSON (a half-written file is not).
    """
    text = b"".join(read_text_pieces(path, SourceNotes())).decode("utf-8", "replace")
    return parse_jfr_json(text, file=path)


def parse_jfr_json(text: str, *, file: Path | None = None) -> FlightRecording:
    """Parse what ``jfr print --json`` wrote; errors are those of :func:`read_jfr_json`."""
    problem, printed = "JSON without recording.events", "the output of jfr print --json"
    try:
        events = json.loads(text)["recording"]["events"]
    except (KeyError, TypeError):
        events = None
    except (RecursionError, ValueError) as error:  # cut, too deep, or a number of thousands of digits
        events, problem = None, f"not whole JSON: was it cut short? {str(error)[:80]}"
    if not isinstance(events, list):
        raise InputError(problem, file=file, allowed=printed)
    return _recording(events)


def _recording(events: list[Any]) -> FlightRecording:
    counted: Counter[str] = Counter()
    unknown: list[str] = []
    pauses: list[PauseEvent] = []
    cycles: list[Cycle] = []
    collections: set[int] = set()
    compilations: list[tuple[float, float]] = []
    stamps: list[float] = []
    for event in events:
        try:
            kind, values = str(event["type"]), event["values"]
            counted[kind] += 1
            if kind not in _READ:
                continue
            start = epoch_s(values["startTime"])
            end = start + (duration_s(values["duration"]) if values.get("duration") else 0.0)
            if not math.isfinite(end):
                raise ValueError("a duration without end")
            stamps += [start, end]
            if kind in _PAUSES:
                name, gc_id = values.get("name") or values.get("type") or kind, values.get("gcId")
                pauses.append(
                    PauseEvent(
                        start_s=start, end_s=end, cause=_PAUSES[kind], name=str(name), whole_stop=False,
                        gc_id=None if gc_id is None else int(gc_id),
                    )
                )  # fmt: skip
            elif kind == _COLLECTION:
                collections.add(int(values["gcId"]))
                cycles.append(Cycle(gc_id=int(values["gcId"]), start_s=start, end_s=end))
            else:
                compilations.append((start, end))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            unknown.append(f"{type(error).__name__} in {json.dumps(event)[:160]}")
    why_none = "the recording has no pause in it: was it printed with --events jdk.GCPhasePause,...?"
    return FlightRecording(
        log=GcLog(
            runtime="jvm", collector=None, clock="epoch", resolution_s=1e-6,
            start_s=min(stamps, default=None), end_s=max(stamps, default=None),
            events=tuple(sorted(pauses, key=lambda pause: pause.end_s)), cycles=tuple(cycles),
            n_collections=len(collections), n_unknown=len(unknown),
            unknown_examples=tuple(unknown[:3]), warnings=() if pauses else (why_none,),
        ),
        n_by_type=dict(sorted(counted.items())),
        compilations=tuple(sorted(compilations)),
    )  # fmt: skip


def duration_s(text: str) -> float:
    """Return an ISO 8601 duration, as ``java.time.Duration`` prints it, in seconds; raises ValueError: it is not
    one."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(f"not a duration: {text!r}")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


class Contention(Frozen):
    """The waits for all locks of one class."""

    lock: str = Field(description="the class")
    n: int = Field(ge=0)
    mean_s: float = Field(ge=0)


def parse_contention(text: str) -> tuple[Contention, ...]:
    """Return the classes of locks that threads waited for; empty: nobody waited; raises InputError: it is not that
    view, or a line of it cannot be read."""
    if _NOTHING in text:
        return ()
    if _TITLE not in text:
        raise InputError("no view of waits by class of lock", found=text.strip()[:60], allowed=_TITLE)
    results = []
    for line in filter(str.strip, text.partition("----")[2].splitlines()[1:]):
        if (match := _ROW.match(line)) is None:
            raise InputError(
                "a line that cannot be read",
                found=line.strip()[:80],
                allowed="class, count, mean, p90, longest",
            )
        mean_s = float(match[3].replace(",", "")) * _SECONDS[match[4]]
        results.append(
            Contention(lock=match["lock"].strip(), n=int(match["n"].replace(",", "")), mean_s=mean_s)
        )
    return tuple(results)
