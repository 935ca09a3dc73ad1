# SPDX-License-Identifier: Apache-2.0
"""One line of a unified JVM log (``-Xlog``): decorators taken off, stamps read.

Source: JEP 158 (unified logging).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.formats.instants import epoch_s as epoch_of
from harness.formats.log_lines import STAMP
from harness.formats.process_log import Stamped

#: What writes a log that can be read best.
WRITES = "-Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags"
_DECORATORS = re.compile(r"((?:\[[^\]]*\])+)\s?(.*)")
_STAMP = re.compile(STAMP, re.ASCII)
_GC_ID = re.compile(r"GC\((\d{1,12})\)")
#: What a JVM writes once, when it starts.
USING = re.compile(r"Using (?!\d)(?:The )?(Serial|Parallel|G1|Z|Shenandoah|Concurrent Mark Sweep|Epsilon)")
#: How texts begin that only a collector or a safepoint writes, for lines without tags.
_OF_COLLECTOR = re.compile(
    r"GC\(\d|Using |Safepoint \"|(?:Entering|Leaving) safepoint|Total time for which|Allocation Stall \("
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
    """Return the line without its decorators; ``None``: it has none, or no stamp among them."""
    match = _DECORATORS.match(text)
    if match is None:
        return None
    epoch: float | None = None
    uptime: float | None = None
    nanoseconds: list[float] = []
    tags = ""
    for decorator in match[1][1:-1].split("]["):
        value = decorator.strip()
        if not _STAMP.fullmatch(value):
            tags = value
        elif not value.endswith("s"):
            epoch = _epoch_s(value) if epoch is None else epoch
        elif value.endswith("ns"):
            nanoseconds.append(float(value[:-2].replace(",", ".")) * 1e-9)
        else:
            seconds = float(value.rstrip("ms").replace(",", ".")) * (1e-3 if value.endswith("ms") else 1.0)
            if seconds <= _EPOCH_FROM_S:
                uptime = seconds if uptime is None else uptime
            elif value.endswith("ms") and seconds < _EPOCH_TO_S:
                epoch = seconds
    # Of two stamps in nanoseconds the second is the uptime; the first counts from the start of the machine.
    close = [at for at in nanoseconds if uptime is None or abs(at - uptime) <= _SAME_MOMENT_S]
    uptime = close[-1] if close else uptime
    if epoch is None and uptime is None:
        return None
    numbered = _GC_ID.match(match[2])
    return Line(
        epoch_s=epoch, uptime_s=uptime, gc_id=int(numbered[1]) if numbered else None,
        begins=USING.match(match[2]) is not None, exact=bool(close), tags=tags, text=match[2],
    )  # fmt: skip


def _epoch_s(text: str) -> float | None:
    """A date as epoch seconds; ``None``: digits in the form of a date, but none, such as the 41st hour."""
    try:
        return epoch_of(text)
    except ValueError:
        return None
