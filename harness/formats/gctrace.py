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

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path

from harness.errors import InputError
from harness.formats.gc_events import Cycle, GcLog, PauseEvent
from harness.formats.source import unpacked

#: Lengths have a length: a plus may be part of a number, and there are many ways to divide a thousand of them.
_TRACE = re.compile(
    r"gc (?P<id>\d+) @(?P<at>[\d.]+)s (?P<share>\d+)%: "
    r"(?P<sweep>[\d.e+-]{1,24}?)\+(?P<mark>[\d.e+-]{1,24}?)\+(?P<term>[\d.e+-]{1,24}) ms clock, "
    r"[^,]* ms cpu, (?P<before>\d+)->(?P<peak>\d+)->(?P<live>\d+) MB, (?P<goal>\d+) MB goal,"
    r"(?: \d+ MB stacks, \d+ MB globals,)? (?P<procs>\d+) P(?P<forced> \(forced\))?"
)
_BEGINS_WITH = "gc "
_STARTS_LIKE_ONE = re.compile(r"gc \d+ @")
_MIB = 1024**2
RESOLUTION_S = 1e-3


def read_gctrace(path: Path) -> GcLog:
    """Read the gctrace lines of ``path`` (gzipped or not); other lines are the service's own and are passed over.

    A line that begins like a trace and cannot be read is counted as unknown.

    Raises:
        InputError: the file cannot be opened.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
    text, whole = unpacked(data) if path.suffix == ".gz" else (data, True)
    log = parse_gctrace(text.decode("utf-8", "replace"))
    cut = "the compressed file is cut off or damaged: what came before is used"
    return log if whole else log.model_copy(update={"truncated": True, "warnings": (*log.warnings, cut)})


def parse_gctrace(text: str) -> GcLog:
    """Parse what a Go process wrote to stderr under ``GODEBUG=gctrace=1``."""
    events: list[PauseEvent] = []
    cycles: list[Cycle] = []
    unknown: list[str] = []
    ids: list[int] = []
    n_lines = 0
    last_s: float | None = None
    first_s: float | None = None
    for line in _beginning_with(_BEGINS_WITH, text):
        if not _STARTS_LIKE_ONE.match(line):
            continue
        n_lines += 1
        found = _TRACE.match(line)
        if found is None:
            unknown.append(line[:200])
            continue
        try:
            one = _Collection(found)
        except ValueError:  # half a number, or digits without end
            unknown.append(line[:200])
            continue
        ids.append(one.gc_id)
        first_s = one.at_s if first_s is None else first_s
        last_s = one.end_s
        cycles.append(Cycle(gc_id=one.gc_id, start_s=one.at_s, end_s=last_s, late_by_s=one.cut_s))
        mark_end_s = one.at_s + one.sweep_s + one.mark_s
        events.append(_pause("sweep termination", one.gc_id, one.at_s, one.sweep_s, one.before_bytes, None))
        events.append(_pause("mark termination", one.gc_id, mark_end_s, one.term_s, None, one.live_bytes))
    last = text[text.rfind("\n") + 1 :]
    truncated = bool(unknown) and last[:200] == unknown[-1]
    return GcLog(
        runtime="go",
        collector="Go",
        version=None,
        clock="process_start",
        resolution_s=RESOLUTION_S,
        start_s=first_s,
        end_s=last_s,
        events=tuple(events),
        cycles=tuple(cycles),
        n_collections=len(ids),
        n_lines=n_lines,
        n_unknown=len(unknown),
        unknown_examples=tuple(unknown[:3]),
        truncated=truncated,
        warnings=tuple(_warnings(ids, truncated)),
    )


def _beginning_with(word: str, text: str) -> Iterator[str]:
    """Yield the lines that begin with a word; the others, millions of them perhaps, are passed over all at once."""
    if text.startswith(word):
        yield text.partition("\n")[0]
    at = text.find(f"\n{word}")
    while at >= 0:
        end = text.find("\n", at + 1)
        yield text[at + 1 : end if end >= 0 else len(text)]
        at = text.find(f"\n{word}", end) if end >= 0 else -1


class _Collection:
    """The numbers of one line."""

    def __init__(self, found: re.Match[str]) -> None:
        """Read them.

        Raises:
            ValueError: one is no number, or no finite one.
        """
        self.gc_id, self.at_s = int(found["id"]), _finite(found["at"])
        parts = [found[part] for part in ("sweep", "mark", "term")]
        self.sweep_s, self.mark_s, self.term_s = (_finite(part) / 1e3 for part in parts)
        self.cut_s = RESOLUTION_S + sum(_cut_s(part) for part in parts)
        self.before_bytes, self.live_bytes = int(found["before"]) * _MIB, int(found["live"]) * _MIB

    @property
    def end_s(self) -> float:
        """When the last part ends."""
        return self.at_s + self.sweep_s + self.mark_s + self.term_s


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
    name: str, gc_id: int, at_s: float, length_s: float, before: int | None, after: int | None
) -> PauseEvent:
    return PauseEvent(
        start_s=at_s,
        end_s=at_s + length_s,
        cause="gc_pause",
        name=name,
        gc_id=gc_id,
        heap_before_bytes=before,
        heap_after_bytes=after,
        whole_stop=False,
    )


def _warnings(ids: list[int], truncated: bool) -> list[str]:
    said: list[str] = []
    if not ids:
        said.append("no gctrace line: either nothing was collected or GODEBUG=gctrace=1 was not set")
    elif ids[0] != 1:
        said.append(f"the log starts late: its first collection is gc {ids[0]}; earlier pauses are unknown")
    if ids and any(later != earlier + 1 for earlier, later in itertools.pairwise(ids)):
        said.append(
            "collection numbers have gaps or repeat: lines are missing, or two processes wrote into one log"
        )
    if truncated:
        said.append("the last line is half-written; it was left out")
    return said
