# SPDX-License-Identifier: Apache-2.0
"""What a runtime's log says about its pauses, in one shape for every runtime."""

from __future__ import annotations

from typing import Literal, TypeVar

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


T = TypeVar("T", PauseEvent, Cycle)


class GcLog(Frozen):
    """Everything read from the log of one process, rotated parts joined."""

    runtime: Literal["jvm", "go"]
    collector: str | None
    version: str | None
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
    n_lines: int
    n_unknown: int = Field(description="lines that could not be read; shown, never fatal")
    unknown_examples: tuple[str, ...] = ()
    truncated: bool = Field(default=False, description="the last line is half-written")
    warnings: tuple[str, ...] = ()

    def placed(self, process_start_epoch_s: float) -> GcLog:
        """Return a log that counts from the start of its process on the wall clock: every time in it moves."""

        def later(at_s: float | None) -> float | None:
            return None if at_s is None else at_s + process_start_epoch_s

        def moved(part: T) -> T:
            return part.model_copy(update={"start_s": later(part.start_s), "end_s": later(part.end_s)})

        return self.model_copy(
            update={
                "clock": "epoch",
                "start_s": later(self.start_s),
                "end_s": later(self.end_s),
                "events": tuple(moved(event) for event in self.events),
                "cycles": tuple(moved(cycle) for cycle in self.cycles),
            }
        )
