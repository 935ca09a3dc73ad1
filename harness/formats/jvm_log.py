# SPDX-License-Identifier: Apache-2.0
"""Unified JVM logs (``-Xlog:gc*,safepoint``): decorators and stamps of a line, and what lines say of pauses.

Source: JEP 158 (unified logging) and logs captured from each collector of JDK 11 to 25.

Pauses are paired with the safepoints that contain them. A safepoint's line is stamped at its end and its
``Total`` includes the time to reach the safepoint; ``Pause ... ms`` does not. So where safepoint lines stand, they
are the pauses, and ``Pause`` lines only say which of them were collections.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from harness.formats.gc_events import Cause, Cycle, GcLog, LogStamp, PauseEvent, ProcessLog
from harness.formats.log_lines import DATE, NUMBER
from harness.formats.row_layout import epoch_s as epoch_of

#: What writes a log that can be read best.
WRITES = "-Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags"
#: The decorators in the order in which a JVM writes them: time, utctime, uptime, timemillis, uptimemillis, timenanos,
#: uptimenanos, then others, of which the tags are the last.
_STAMPS = (
    rf"(?:\[ *({DATE}) *\])?(?:\[ *{DATE} *\])?(?:\[ *({NUMBER})s *\])?"
    rf"(?:\[ *({NUMBER})ms *\])?(?:\[ *({NUMBER})ms *\])?(?:\[ *({NUMBER})ns *\])?(?:\[ *({NUMBER})ns *\])?"
)
_LINE = re.compile(_STAMPS + r"((?:\[[^\]]*\])*)\s?(.*)", re.ASCII)
_GC_ID = re.compile(r"GC\((\d{1,12})\)")
#: What a JVM writes once, when it starts.
USING = re.compile(r"Using (?!\d)(?:The )?(Serial|Parallel|G1|Z|Shenandoah|Concurrent Mark Sweep|Epsilon)")
#: How texts begin that only a collector or a safepoint writes, for lines without tags.
_OF_COLLECTOR = re.compile(
    r"GC\(\d|Using |Safepoint \"|(?:Entering|Leaving) safepoint|Total time for which|Allocation Stall \("
    r"|\s*\d+ messages dropped due to async logging"
)
#: A number above this many seconds is a date, not an uptime (30 years).
_EPOCH_FROM_S = 1e9
#: No date lies behind the year 9999.
_EPOCH_TO_S = 2.5e11
#: Stamps of one moment in two units are no further apart.
_SAME_MOMENT_S = 2e-3
#: Names of VM operations that a collector asked for.
_GC_OPERATION = re.compile(
    r"^(G1|Gen|Serial|Parallel|Z[A-Z]|X[A-Z]|Shenandoah|CollectFor|GC_|Pause|CMS|CGC_)"
)


@dataclass(slots=True, kw_only=True)
class Line(LogStamp):
    """One line without its decorators; it has at least one stamp. ``exact``: its uptime is in nanoseconds."""

    exact: bool
    tags: str
    text: str

    @property
    def of_collector(self) -> bool:
        """Whether a collector or a safepoint wrote it."""
        return self.tags.startswith(("gc", "safepoint")) or _OF_COLLECTOR.match(self.text) is not None


def parse_line(text: str) -> Line | None:
    """Return the line without its decorators; ``None``: it does not begin with a stamp that is one."""
    match = _LINE.match(text)
    if match is None:
        return None
    *stamps, words, sentence = match.groups()
    epoch, uptime, exact = _moment(*stamps)
    if epoch is None and uptime is None:
        return None
    numbered = _GC_ID.match(sentence) if sentence.startswith("GC(") else None
    return Line(
        epoch_s=epoch, uptime_s=uptime, gc_id=int(numbered[1]) if numbered else None,
        begins=sentence.startswith("Using ") and USING.match(sentence) is not None, exact=exact,
        tags=words[words.rfind("[") + 1 : -1].strip(), text=sentence,
    )  # fmt: skip


def _moment(*stamps: str | None) -> tuple[float | None, float | None, bool]:
    """Wall time and uptime of stamps, in seconds, and whether the uptime is in nanoseconds."""
    date, seconds, millis, more_millis, nanos, more_nanos = stamps
    epoch = None if date is None else _epoch_s(date)
    uptime: float | None = None
    if seconds is not None and (at := _number(seconds)) <= _EPOCH_FROM_S:
        uptime = at
    for number in (millis, more_millis) if millis is not None else ():
        if number is not None and (at := _number(number) * 1e-3) <= _EPOCH_FROM_S:
            uptime = at if uptime is None else uptime
        elif number is not None and at < _EPOCH_TO_S:
            epoch = at
    # Of two stamps in nanoseconds the second is the uptime; the first counts from the start of the machine.
    for number in (more_nanos, nanos) if nanos is not None else ():
        if number is not None:
            at = _number(number) * 1e-9
            if uptime is None or abs(at - uptime) <= _SAME_MOMENT_S:
                return epoch, at, True
    return epoch, uptime, False


def _epoch_s(text: str) -> float | None:
    """A date as epoch seconds; ``None``: digits in the form of a date, but none, such as the 41st hour."""
    try:
        return epoch_of(text)
    except ValueError:
        return None


@dataclass(slots=True, eq=False)
class JvmLog(ProcessLog):
    """The log of one JVM so far."""

    runtime: ClassVar[Literal["jvm", "go"]] = "jvm"
    first_number: ClassVar[int] = 0

    operation: str = "safepoint"
    #: When the one pause of a collection that stops the program from end to end was over, by its number.
    ends_s: dict[int, float] = field(default_factory=dict)

    def take(self, line: Line, now: float) -> bool:
        """Take what a line says; whether it is of an event."""
        text = line.text
        if self.collector is None and (using := USING.match(text)):
            self.collector = using[1]
        self.resolution_s = 1e-6 if line.exact else 1e-3
        # Most lines are of no event: a word that is not there costs less than an expression that does not match.
        if (
            'Safepoint "' in text
            and (named := _SAFEPOINT.search(text))
            and (total := _TOTAL.search(text, named.end()))
        ):
            self._safepoint(now, named[1], int(total[1]) * 1e-9)
        elif entered := _ENTERED.match(text):
            self.operation = entered[1]
        elif match := _OLD_SAFEPOINT.search(text):
            self._safepoint(now, self.operation, _number(match[1]))
            self.operation = "safepoint"
        elif _STALL in text and (lengths := _STALLED.findall(text.partition(_STALL)[2])):
            length_s = _number(lengths[-1]) / 1e3
            self.events.append(_event("Allocation Stall", "allocation_stall", now, length_s))
        elif "Pause " in text and "start" not in line.tags and (match := _PAUSE.match(text)):
            gc_id = int(match[1]) if match[1] else None
            pause = _event(match[2], "gc_pause", now, _number(match[3]) / 1e3, gc_id=gc_id)
            self._note_end(pause)
            if self.pending and self._is_part(self.pending[-1], pause):
                self.pending.pop()
            if self.events and self._is_within(self.events[-1], pause):
                stop = self.events.pop()
                self.pending.append(pause)
                self._safepoint(stop.end_s, stop.name, stop.duration_s)
            else:
                self.pending.append(pause)
        elif text.endswith("s") and (match := _CYCLE.match(text)):
            length_s = _number(match[2]) * (1e-3 if match[3] == "ms" else 1.0)
            self.cycles.append(Cycle(gc_id=int(match[1]), start_s=now - length_s, end_s=now))
        elif text.endswith(_DROPPED) and (number := text.removesuffix(_DROPPED).strip()).isdigit():
            self.n_dropped += int(number)
        else:
            return False
        return True

    def _note_end(self, pause: PauseEvent) -> None:
        """Take when a collection's only pause was over: of two collections of one number it tells."""
        if pause.gc_id is not None and pause.name.startswith(_WHOLE):
            first_s = self.ends_s.setdefault(pause.gc_id, pause.end_s)
            self.is_mixed |= abs(first_s - pause.end_s) > _OF_ONE_LINE_S

    def as_log(self) -> GcLog:
        """Return all that was gathered."""
        self.events, self.pending = sorted([*self.events, *self.pending], key=lambda event: event.end_s), []
        return ProcessLog.as_log(self)

    @property
    def slack_s(self) -> float:
        """How much later than the moment that it reports a stamp may have been taken."""
        return 2e-4 if self.resolution_s < 1e-3 else 2e-3

    def _is_part(self, full: PauseEvent, young: PauseEvent) -> bool:
        """Whether a young collection became this full one: then its pause is told first, and is within the other."""
        return (
            full.name.startswith("Pause Full")
            and young.name.startswith("Pause Young")
            and (full.gc_id or 0) > (young.gc_id or 0)
            and full.start_s >= young.start_s - self.resolution_s
        )

    def _is_within(self, stop: PauseEvent, pause: PauseEvent) -> bool:
        """Whether a pause is told behind the safepoint that contains it: its lines were sorted by their stamps."""
        return (
            stop.whole_stop
            and stop.cause == "gc_pause"
            and stop.gc_id is None
            and stop.start_s - self.slack_s <= pause.start_s
            and pause.end_s <= stop.end_s + self.slack_s
        )

    def _safepoint(self, end_s: float, operation: str, total_s: float) -> None:
        """Take a safepoint; it claims the pauses inside it."""
        inside_from_s = end_s - total_s - self.slack_s
        inside = [pause for pause in self.pending if pause.end_s >= inside_from_s]
        self.events += [pause for pause in self.pending if pause.end_s < inside_from_s]
        self.pending = []
        pause = max(inside, key=lambda item: item.duration_s, default=None)
        cause: Cause = "gc_pause" if pause or _GC_OPERATION.match(operation) else "other_safepoint"
        name = operation if pause is None else f"{operation}: {pause.name}"
        gc_id = None if pause is None else pause.gc_id
        self.events.append(_event(name, cause, end_s, total_s, gc_id=gc_id, whole_stop=True))


#: The parts of a line that are apart from each other are sought one after the other: an expression with both would
#: look through the rest of the line once for each beginning.
_SAFEPOINT = re.compile(r'Safepoint "([^"]+)",')
_TOTAL = re.compile(r"\bTotal: +(\d{1,18}) ns")
#: JDK 11 and 12 name the operation and tell the time in two lines.
_ENTERED = re.compile(r"Entering safepoint region: (\S+)")
_OLD_SAFEPOINT = re.compile(
    r"Total time for which application threads were stopped: (\d{1,9}[.,]\d{1,9}) seconds"
)
_PAUSE = re.compile(
    r"(?:GC\((\d{1,12})\) )?(?:[YyO]: )?(Pause .*?)"
    r"(?: \d{1,12}[KMG]->\d{1,12}[KMG]\(\d{1,12}[KMG]\))? (\d{1,12}[.,]\d+)ms$"
)
#: Pauses of which a collection has one, and the stamps of one line, written twice, differ by less.
_WHOLE, _OF_ONE_LINE_S = ("Pause Young", "Pause Full"), 1.0
_DROPPED = " messages dropped due to async logging"
_STALL = "Allocation Stall ("
_STALLED = re.compile(r"\) (\d{1,12}[.,]\d+)ms")
_CYCLE = re.compile(
    r"GC\((\d{1,12})\) (?:[YyO]: )?(?:Concurrent|Major Collection|Minor Collection|Garbage Collection)\b.* "
    r"(\d{1,12}[.,]\d+)(m?s)$"
)


def pause_of(line: Line) -> str | None:
    """Return the name of the pause that a line reports; ``None``: it reports none."""
    result = _PAUSE.match(line.text) if "start" not in line.tags else None
    return result and result[2]


def _number(text: str) -> float:
    """A number as printed, with the decimal sign of the JVM's locale."""
    return float(text.replace(",", "."))


def _event(
    name: str,
    cause: Cause,
    end_s: float,
    length_s: float,
    *,
    gc_id: int | None = None,
    whole_stop: bool = False,
) -> PauseEvent:
    start_s = end_s - length_s
    return PauseEvent(
        start_s=start_s, end_s=end_s, cause=cause, name=name, gc_id=gc_id, whole_stop=whole_stop
    )
