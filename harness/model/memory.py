# SPDX-License-Identifier: Apache-2.0
"""What was measured of memory before a session's first trial: least heaps, and limits that match what others hold."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.model.base import Frozen
from harness.model.load import Load
from harness.model.load_tools import GeneratorName


class HeapProbe(Frozen):
    """One fresh process with one heap, or of Go one limit: whether it did its work in it.

    ``asked_by``: the load generator whose load it had; ``None``: it was asked from within the harness, as all were
    in sessions in which no generator took part in the search.
    """

    heap_mib: int = Field(ge=1, description="-Xmx, or GOMEMLIMIT")
    worked: bool
    reason: str | None = Field(default=None, description="why not")
    fell_behind: bool = Field(
        default=False, description="its memory did not end, it was too slow: which the machine may have been"
    )
    took_s: float
    asked_by: GeneratorName | None = None


class LeastHeap(Frozen):
    """The least heap that one program with one collector was seen to do its work in, by all who asked.

    Of a Go program the least limit that it kept to.
    """

    implementation: str
    collector: str | None = Field(description="as in runtime.gc; None: the runtime's own choice")
    setting: Literal["heap_max", "gomemlimit"] = "heap_max"
    variants: tuple[str, ...] = Field(description="whose heaps or limits are multiples of it")
    least_mib: int = Field(ge=1)
    step_mib: int = Field(ge=1, description="the next smaller heap that was tried is not farther below")
    steady: bool = Field(description="of who asks: no smaller heap worked, and no larger one failed")
    probes: tuple[HeapProbe, ...] = Field(description="in the order they were made")


class HeldMemory(Frozen):
    """What a Java variant holds, resident, at the end of a load."""

    variant: str
    heap_max: str | None = Field(description="as it ran")
    rss_bytes: int = Field(gt=0)


class LimitProbe(Frozen):
    """One fresh Go process with one limit: what it held at the end of the same load."""

    limit_mib: int = Field(ge=1, description="GOMEMLIMIT")
    rss_bytes: int = Field(gt=0)


class MatchedLimit(Frozen):
    """The limit at which a Go variant came closest to what a Java variant holds."""

    variant: str
    memory_of: str
    wanted_bytes: int = Field(gt=0)
    limit_mib: int = Field(ge=1)
    probes: tuple[LimitProbe, ...] = Field(min_length=1)


class MemoryFit(Frozen):
    """Everything of it, once, before the first trial of a session.

    ``asked`` and ``resolved`` have the same variants: what the definition says, and what ran.
    """

    asked: dict[str, str]
    resolved: dict[str, dict[str, str]] = Field(description="variant -> runtime settings in their place")
    mix: str
    rate_per_s: float = Field(gt=0, description="of the requests that probes were asked")
    n_requests: int = Field(ge=1, description="a heap probe had to answer, each over a connection of its own")
    cold_requests: int = Field(ge=0, description="before these, with more time")
    at_once: int = Field(ge=0, description="came at one moment, several times, between the two")
    most_late_s: float = Field(gt=0, description="a probe that falls behind its rate by more did not work")
    hold_s: float = Field(gt=0, description="how long a program is asked before its memory is read")
    warm_up_requests: int = Field(ge=0, description="before that")
    tried: Load | None = Field(
        default=None,
        description="the load under which least heaps had to hold in the end; None: they were not tried under any",
    )
    least: tuple[LeastHeap, ...] = ()
    held: tuple[HeldMemory, ...] = ()
    limits: tuple[MatchedLimit, ...] = ()
    sources: dict[str, str] = Field(description="as in builds.json -> sha256 of the source that was built")
    measured_epoch_s: float
    took_s: float

    def asks_the_same(self, asked: dict[str, str]) -> bool:
        """Whether it is an answer to what a definition asks."""
        return self.asked == asked
