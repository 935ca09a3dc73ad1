# SPDX-License-Identifier: Apache-2.0
"""What a runtime's log says about its pauses, in one shape for every runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import Field

from harness.model import Frozen

Cause = Literal["gc_pause", "other_safepoint", "allocation_stall"]


class PauseEvent(Frozen):
    """One span in which the runtime stopped the program, or one thread that asked for memory.

    Times are seconds on the log's clock (see ``GcLog.clock``).
    """

    start_s: float
    end_s: float
    cause: Cause
    name: str = Field(description="as the log names it: G1CollectForAllocation, Pause Young (Normal), ...")
    gc_id: int | None = None
    heap_before_bytes: int | None = None
    heap_after_bytes: int | None = None
    whole_stop: bool = Field(
        description="True: from the request to stop until threads run again (time to safepoint included); "
        "False: only the collector's own work"
    )

    @property
    def duration_s(self) -> float:
        """Length of the pause in seconds."""
        return self.end_s - self.start_s


class Cycle(Frozen):
    """One collection from its first step to its last: the program runs beside it, and may be slowed by it."""

    gc_id: int | None = None
    start_s: float
    end_s: float
    late_by_s: float = Field(
        default=0.0, description="how much later than said it may have been: what the log's rounding hides"
    )


class Life(NamedTuple):
    """When one process wrote into a log, in epoch seconds. ``name``: its source, or its files."""

    name: str
    start_s: float
    end_s: float


T = TypeVar("T", PauseEvent, Cycle)


class GcLog(Frozen):
    """Everything read from the log of one process, rotated parts joined; of several, if it has wall-clock stamps."""

    runtime: Literal["jvm", "go"]
    collector: str | None
    clock: Literal["epoch", "uptime", "process_start"] = Field(
        description="epoch: comparable with request times as they are; otherwise an anchor must be added"
    )
    resolution_s: float
    start_s: float | None = Field(description="first stamp on the log's clock; None: no stamped line")
    end_s: float | None
    events: tuple[PauseEvent, ...]
    cycles: tuple[Cycle, ...] = Field(
        default=(), description="collections that work beside the program; a collector may have none"
    )
    n_collections: int
    n_unknown: int = Field(description="lines that could not be read; shown, never fatal")
    unknown_examples: tuple[str, ...] = ()
    truncated: bool = Field(default=False, description="the last line is half-written")
    processes: tuple[Life, ...] = Field(default=(), description="of a log with wall-clock stamps")
    warnings: tuple[str, ...] = ()

    def placed(self, process_start_epoch_s: float) -> GcLog:
        """Return a log that counts from the start of its process on the wall clock: every time in it moves."""

        def moved(part: T) -> T:
            start_s, end_s = part.start_s + process_start_epoch_s, part.end_s + process_start_epoch_s
            return part.model_copy(update={"start_s": start_s, "end_s": end_s})

        ends = {name: getattr(self, name) for name in ("start_s", "end_s")}
        return self.model_copy(
            update={
                **{name: at if at is None else at + process_start_epoch_s for name, at in ends.items()},
                "clock": "epoch",
                "events": tuple(map(moved, self.events)),
                "cycles": tuple(map(moved, self.cycles)),
            }
        )


def joined(logs: Sequence[GcLog]) -> GcLog:
    """Return logs on one clock as one, the earliest process first; one of them is itself."""
    if len(logs) == 1:
        return logs[0]
    ordered = sorted(logs, key=lambda log: log.start_s or 0.0)

    def every(name: str) -> tuple[Any, ...]:
        return tuple(item for log in ordered for item in getattr(log, name))

    return ordered[-1].model_copy(
        update={
            **{name: every(name) for name in ("cycles", "processes", "unknown_examples")},
            **{name: sum(getattr(log, name) for log in logs) for name in ("n_collections", "n_unknown")},
            "events": tuple(sorted(every("events"), key=lambda event: event.end_s)),
            "start_s": ordered[0].start_s,
            "end_s": max(log.end_s or 0.0 for log in logs),
            "warnings": tuple(dict.fromkeys(every("warnings"))),
        }
    )
