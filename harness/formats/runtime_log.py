# SPDX-License-Identifier: Apache-2.0
"""The log of a service's runtime: a JVM's unified log, the trace of Go or a flight recording, whichever it is.

Which process wrote a line is decided here, for lines and for files. A log with wall-clock stamps is used whole: each
pause counts at its own time. Of one that counts from the start of its process only the last process is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from harness.errors import InputError
from harness.formats.gc_events import GcLog, GoLog, LogStamp, Trace, joined, parse_trace
from harness.formats.jfr_json import read_jfr_json
from harness.formats.jvm_log import WRITES, JvmLog, Line, parse_line, pause_of
from harness.formats.log_lines import LogLine, OtherLines, read_lines
from harness.formats.source import SourceNotes, read_head
from harness.model.formatting import counted, listed

Pause = tuple[int, str]
_RECORDING = re.compile(r'\s*\{\s*"recording"')
#: What is known of files that are none of these.
_STRANGERS = (
    (re.compile(r"FLR\0"), "a flight recording: print it with jfr print --json"),
    (re.compile(r"\s*<\?xml|<verbosegc|<exclusive-start|<gc-start"), "a verbose GC log of OpenJ9, in XML"),
    (
        re.compile(r"\bGC\(\d+\) |\[gc[],]|Safepoint \""),
        f"without time stamps, so no pause has a time: add the decorators time and uptime, such as {WRITES}",
    ),
    (
        re.compile(r"\[(?:Full )?GC\b|\[ParNew|CommandLine flags: |threads were stopped: "),
        f"a GC log of JDK 8 or older (-XX:+PrintGCDetails); JDK 9 and newer write one with {WRITES}",
    ),
)
_EMPTY = "the log is empty: nothing can be said about pauses, which is not the same as no pauses"
_NO_TRACE = "no gctrace line: either nothing was collected or GODEBUG=gctrace=1 was not set"
#: A start of the process that a user gives is right to within so much.
_START_WITHIN_S = 5.0
#: A JVM says which collector it uses before so much time has passed; a later stamp counts from the machine's start.
_SAYS_COLLECTOR_WITHIN_S = 60.0


def read_runtime_log(*named: Path, process_start_epoch_s: float | None = None, of_go: bool = False) -> GcLog:
    """Read one log: files that are named, with the rotated parts beside them.

    ``process_start_epoch_s``: places a log that counts from the start of its process; of a log with wall-clock stamps
    of several processes it selects the one that started then. ``of_go``: it is what a Go process wrote to stderr, and
    may have no trace in it. Raises InputError: a file is none of them, or which process is meant cannot be told.
    """
    for path in named:
        if _RECORDING.match(read_head(path, 4096)):
            if len(named) > 1:
                raise InputError(
                    "is a flight recording, which is read alone", file=path, found=f"{len(named)} files"
                )
            return read_jfr_json(path).log
    reader = _Reader(named)
    beginnings = {part: _beginning(part) for path in named for part in rotated_parts(path)}
    for path in sorted(beginnings, key=lambda part: (*beginnings[part][:2], part.name)):
        reader.read(path, beginnings[path][2])
    log = reader.result(named, process_start_epoch_s, of_go=of_go)
    return log if log.clock == "epoch" or process_start_epoch_s is None else log.placed(process_start_epoch_s)


def rotated_parts(path: Path) -> tuple[Path, ...]:
    """Return ``path`` and its siblings ``path.0``, ``path.1.gz``, ...: parts of it, or logs of earlier processes."""
    begin = f"{path.name.removesuffix('.gz')}."
    named = [part for part in path.parent.glob("*") if part.name.startswith(begin)]
    return (path, *sorted(part for part in named if re.fullmatch(r"\d+(\.gz)?", part.name[len(begin) :])))


def _beginning(path: Path) -> tuple[float, float, Pause | None]:
    """Return the first stamps of a file, and its first pause; infinity: it has none."""
    first: LogStamp | None = None
    for line in read_lines(path, SourceNotes(), OtherLines()):
        item = _parsed(line.text)
        first = first or item
        name = pause_of(item) if isinstance(item, Line) else "sweep termination"
        if first is not None and item is not None and item.gc_id is not None and name is not None:
            return first.epoch_s or 0.0, first.uptime_s or 0.0, (item.gc_id, name)
    return (math.inf, 0.0, None) if first is None else (first.epoch_s or 0.0, first.uptime_s or 0.0, None)


def _parsed(text: str) -> Line | Trace | None:
    return parse_trace(text) if text.startswith("gc ") else parse_line(text)


class _Reader:
    """Gives each line to the process that wrote it."""

    def __init__(self, named: Sequence[Path]) -> None:
        self._named = frozenset(named)
        self._by_source: dict[tuple[bool, str], list[JvmLog | GoLog]] = {}
        self._notes, self._others, self._garbled = SourceNotes(), OtherLines(), OtherLines()

    def read(self, path: Path, first: Pause | None) -> None:
        """Take the lines of one file, with its first pause; raises InputError: it cannot be opened."""
        for number, line in enumerate(read_lines(path, self._notes, self._others)):
            self._take(number, line, path, first)

    def _take(self, number: int, line: LogLine, path: Path, first: Pause | None) -> None:
        of_go, stamped = line.text.startswith("gc "), _parsed(line.text)
        if stamped is None:
            (self._garbled if of_go else self._others).pass_over(line.text)
            self._garbled.cut |= of_go and not line.complete
        if stamped is None or (isinstance(stamped, Line) and not stamped.of_collector):
            return
        known = self._by_source.setdefault((of_go, line.source), [])
        log = self._process(known, stamped, path, first)
        if log is None:
            log = (GoLog if of_go else JvmLog)(line.before, line.source, stamped.uptime_s is not None)
        if not known or known[-1] is not log:
            known[:] = [*(earlier for earlier in known if earlier is not log), log]
        log.places[path] = (log.places.get(path, (number, 0))[0], number)
        now = log.time_of(stamped)
        if now is not None:
            log.note(stamped, now)
        if now is None or not (log.take(stamped, now) or line.complete):  # type: ignore[arg-type]
            self._others.pass_over(line.text)

    def _process(
        self, known: Sequence[JvmLog | GoLog], line: LogStamp, path: Path, first: Pause | None
    ) -> JvmLog | GoLog | None:
        """Return which of the known processes, the latest last, wrote a line; ``None``: another one."""
        if known and path in known[-1].places and known[-1].goes_on_with(line):
            return known[-1]
        fits = [
            log for log in known
            if (log.same_start(line) if path in log.places else log.goes_on_in_file(line, first))
            and log.goes_on_with(line)
        ]  # fmt: skip
        if line.epoch_s is None:
            # The file that is named is the newest of its process; where two processes fit, neither is certain.
            fits = [log for log in fits if path in self._named or not log.places.keys() & self._named]
            fits = fits if len(fits) == 1 and not fits[0].was_silent_before(line) else []
        return fits[-1] if fits else None

    def result(self, named: Sequence[Path], process_start_epoch_s: float | None, *, of_go: bool) -> GcLog:
        """Return the log of the process that is meant, or of all where their lines have wall-clock stamps; raises
        InputError: there is no line of a runtime, or which process is meant cannot be told."""
        every = [log for known in self._by_source.values() for log in known]
        of_go = of_go or (not every and self._garbled.n > 0)
        if not every and self._others.n and not of_go:
            self._refuse(named[0])
        meant = every[-1] if every else GoLog() if of_go else JvmLog()
        for path in named:
            meant = max(
                (log for log in every if path in log.places),
                key=lambda log: (log.has_epoch, log.places[path][1]),
                default=meant,
            )
        used: list[JvmLog | GoLog] = [meant]
        if meant.has_epoch:
            used = [log for log in every if log.has_epoch]
            if process_start_epoch_s is not None:
                used = [log for log in used if _began_then(log, process_start_epoch_s)] or used
        else:
            _refuse_mixed(meant, every)
        log = joined([item.as_log() for item in used])
        unknown = self._others if isinstance(meant, JvmLog) else self._garbled
        notes = [*self._notes.notes, *_about_processes(used, every), *_about_pauses(log, is_empty=not every)]
        if unknown.cut:
            notes.append("the last line is half-written; it was left out")
        update = {"n_unknown": unknown.n, "unknown_examples": tuple(unknown.examples)}
        return log.model_copy(update={**update, "warnings": (*notes, *log.warnings)})

    def _refuse(self, path: Path) -> NoReturn:
        head = read_head(path)
        known = next((words for pattern, words in _STRANGERS if pattern.search(head)), None)
        raise InputError(
            f"is {known or 'no log of a JVM or of the collector of Go'}", file=path, place="line 1",
            found=next(iter(self._others.examples), "")[:80],
            allowed=f"a unified JVM log ({WRITES}), Go's trace (GODEBUG=gctrace=1) or the output of jfr print --json",
        )  # fmt: skip


def _about_pauses(log: GcLog, *, is_empty: bool) -> list[str]:
    if is_empty:
        return [_EMPTY if log.runtime == "jvm" else _NO_TRACE]
    if not log.events:
        return [f"the log has no pause in it; was it written with {WRITES}?"]
    if log.runtime == "jvm" and not any(event.whole_stop for event in log.events):
        return [
            "no safepoint lines: pauses leave out the time to reach the safepoint; add safepoint to -Xlog"
        ]
    return []


def _began_then(log: JvmLog | GoLog, process_start_epoch_s: float) -> bool:
    return log.began_epoch_s is not None and abs(log.began_epoch_s - process_start_epoch_s) <= _START_WITHIN_S


def _refuse_mixed(meant: JvmLog | GoLog, every: Sequence[JvmLog | GoLog]) -> None:
    """Times since the start of a process are of no use where it cannot be told whose they are; raises InputError: lines
    of another process stand between those of this one, or the times are the machine's."""
    if isinstance(meant, JvmLog) and meant.begins and (meant.first_s or 0.0) > _SAYS_COLLECTOR_WITHIN_S:
        raise InputError(
            "has stamps that count from the start of the machine (decorator timenanos), not of the process",
            file=next(iter(meant.places)), found=f"{meant.first_s:,.0f} s when the JVM began", allowed=WRITES,
        )  # fmt: skip
    mixed = [(next(iter(meant.places)), "collections that come twice")] if meant.is_mixed else []
    for second in every:
        for path, (first, last) in second.places.items():
            low, high = meant.places.get(path, (math.inf, -math.inf))
            by_turns = (first < high and low < last) or (first < low < math.inf and meant.starts_late)
            if second is not meant and by_turns:
                names = f"{second.before!r} and {meant.before!r}"
                mixed.append((path, names if second.source != meant.source else "times that go back"))
    if mixed:
        raise InputError(
            "holds the lines of several processes side by side, without wall-clock stamps", file=mixed[-1][0],
            found=mixed[-1][1], allowed="the log of the one that answered",
        )  # fmt: skip


def _about_processes(used: Sequence[JvmLog | GoLog], every: Sequence[JvmLog | GoLog]) -> list[str]:
    """Which processes there are, and which of them were left out."""
    left = [log for log in every if log not in used]
    notes = []
    if len(used) > 1:
        notes.append(f"it is of {len(used)} processes: each pause counts at its own time on the wall clock")
    if left:
        files = listed(sorted({path.name for log in left for path in log.places}))
        collections = counted(sum(len(log.ids) for log in left), "collection")
        which = "another process" if len(left) == 1 else f"{len(left)} other processes"
        notes.append(f"{collections} of {which} in {files} left out")
    return notes
