# SPDX-License-Identifier: Apache-2.0
"""One line of a unified JVM log (``-Xlog``): decorators taken off, stamps read.

Source: JEP 158 (unified logging).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.formats.log_lines import DATE, NUMBER
from harness.formats.process_log import Stamped
from harness.formats.values import epoch_s as epoch_of

#: What writes a log that can be read best.
WRITES = "-Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags"
#: The decorators in the order in which a JVM writes them: time, utctime, uptime, timemillis, uptimemillis, timenanos,
#: uptimenanos, then others, of which the tags are the last.
_STAMPS = (
    rf"(?:\[ *({DATE}) *\])?(?:\[ *{DATE} *\])?(?:\[ *({NUMBER})s *\])?"
    rf"(?:\[ *({NUMBER})ms *\])?(?:\[ *({NUMBER})ms *\])?(?:\[ *({NUMBER})ns *\])?(?:\[ *({NUMBER})ns *\])?"
)
_LINE, _MOMENT = re.compile(_STAMPS + r"((?:\[[^\]]*\])*)\s?(.*)", re.ASCII), re.compile(_STAMPS, re.ASCII)
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


@dataclass(slots=True, kw_only=True)
class Line(Stamped):
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
    *stamps, words, said = match.groups()
    epoch, uptime, exact = _moment(*stamps)
    if epoch is None and uptime is None:
        return None
    numbered = _GC_ID.match(said) if said.startswith("GC(") else None
    return Line(
        epoch_s=epoch, uptime_s=uptime, gc_id=int(numbered[1]) if numbered else None,
        begins=said.startswith("Using ") and USING.match(said) is not None, exact=exact,
        tags=words[words.rfind("[") + 1 : -1].strip(), text=said,
    )  # fmt: skip


def start_of(text: str) -> float | None:
    """Return when the process of a line began, by the two clocks of its stamps; ``None``: it has one of them."""
    match = _MOMENT.match(text)
    epoch, uptime, _ = _moment(*match.groups()) if match else (None, None, False)
    return None if epoch is None or uptime is None else epoch - uptime


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


def _number(text: str) -> float:
    """A number with the decimal sign of the JVM's locale."""
    return float(text.replace(",", "."))


def _epoch_s(text: str) -> float | None:
    """A date as epoch seconds; ``None``: digits in the form of a date, but none, such as the 41st hour."""
    try:
        return epoch_of(text)
    except ValueError:
        return None
