# SPDX-License-Identifier: Apache-2.0
"""Pauses as a collector tells of them, paired with the safepoints that hold them.

A safepoint's line is stamped at its end and its ``Total`` includes the time to reach
the safepoint; ``Pause ... ms`` does not. So where safepoint lines stand, they are the
pauses, and ``Pause`` lines only say which of them were collections.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from harness.formats.gc_events import PauseEvent

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
