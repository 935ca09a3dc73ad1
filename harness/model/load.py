# SPDX-License-Identifier: Apache-2.0
"""Load profiles: how requests are offered.

An open loop offers arrivals at a rate whatever the answers do; a closed loop has
virtual users that wait for their answer before they ask again. The two are
different types on purpose: nothing here can turn users into a rate.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Frozen
from harness.model.load_tools import TOTALS_ONLY, GeneratorName

#: More threads than this no tool here can have.
MOST_USERS = 100_000
#: Generators on one host; each is a process with a memory of its own.
MOST_PROCESSES = 64
#: Of one open load.
MOST_PARTS = 100
#: Several generators divide a load, and none commands the others. Stored plans have this word.
Coordination = Literal["independent"]
#: What stays of single requests: a row each, or of all together answers per second and how often each latency was.
Rows = Literal["kept", "counted"]
#: How arrivals are spaced in time.
Spacing = Literal["constant", "poisson"]
#: What becomes of an arrival that is due while every connection waits for an answer: what the tool does with
#: it, or it waits, is sent as soon as one is free, and its latency counts from when it was due.
WhenBusy = Literal["tool", "wait"]

#: How old a connection may become; a new one takes its place. ``None``: connections are kept.
RenewEach = Annotated[float | None, Field(gt=0)]


class Stage(Frozen):
    """A stretch of a closed load at whose end there are ``users``; on the way there they come, or go, evenly."""

    users: int = Field(ge=0, le=MOST_USERS)
    duration_s: float = Field(gt=0)


class ClosedLoad(Frozen):
    """Virtual users that wait. Ends after ``loops`` requests per user, after ``duration_s``, or with its ``stages``.

    Of a flow ``loops`` are passes through all its steps; ``think_time_s`` stands between requests. Stages
    begin with one user, and ``users`` are the most that they come to. ``renew_s``: each connection is closed
    after the answer at which it is that old, in seconds.
    """

    model: Literal["closed"] = "closed"
    users: int = Field(ge=1, le=MOST_USERS)
    ramp_up_s: float = Field(default=0.0, ge=0)
    loops: int | None = Field(default=None, ge=1)
    duration_s: float | None = Field(default=None, gt=0)
    think_time_s: float = Field(default=0.0, ge=0)
    stages: tuple[Stage, ...] = ()
    renew_s: RenewEach = None

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        ends = (self.loops is not None, self.duration_s is not None, bool(self.stages))
        if sum(ends) != 1:
            raise ValueError("a closed load needs exactly one of loops, duration_s, stages")
        if self.stages and self.users != max(stage.users for stage in self.stages):
            raise ValueError(f"users must be the most of the stages, found {self.users}")
        if self.stages and self.ramp_up_s:
            raise ValueError("stages ramp by themselves: leave out ramp_up_s")
        return self

    @property
    def whole_s(self) -> float | None:
        """How long it lasts; ``None``: until every user has made its loops."""
        return sum(stage.duration_s for stage in self.stages) if self.stages else self.duration_s


class OpenLoad(Frozen):
    """Arrivals at ``rate_per_s`` for ``duration_s``, whether or not earlier ones were answered.

    Of a flow each arrival is one pass through all its steps, which wait for each other. ``duration_s`` is
    that of each of ``parts`` loads, which one generator offers one after another, ``pause_s`` apart.
    ``renew_s``: as of ``ClosedLoad``.
    """

    model: Literal["open"] = "open"
    rate_per_s: float = Field(gt=0)
    duration_s: float = Field(gt=0)
    arrivals: Spacing = "poisson"
    connections: int = Field(default=100, ge=1)
    busy: WhenBusy = "tool"
    parts: int = Field(default=1, ge=1, le=MOST_PARTS)
    pause_s: float = Field(default=0.0, ge=0)
    renew_s: RenewEach = None

    @model_validator(mode="after")
    def _parts_to_pause_between(self) -> Self:
        refuse_lone_pause(self.parts, self.pause_s)
        return self

    @property
    def begins_s(self) -> tuple[float, ...]:
        """When each part begins, in seconds after the first one."""
        return tuple(part * (self.duration_s + self.pause_s) for part in range(self.parts))

    @property
    def paused_s(self) -> float:
        """All pauses together."""
        return (self.parts - 1) * self.pause_s

    @property
    def whole_s(self) -> float:
        """From the first part's begin to the last one's end."""
        return self.parts * self.duration_s + self.paused_s

    @property
    def n_arrivals(self) -> int:
        """Whole arrivals of one part."""
        return int(self.rate_per_s * self.duration_s)


def refuse_lone_pause(parts: int, pause_s: float) -> None:
    """Raise ``ValueError`` for a pause that nothing follows."""
    if pause_s and parts == 1:
        raise ValueError("pause_s stands between parts, and there is one: set parts")


LoadProfile = Annotated[ClosedLoad | OpenLoad, Field(discriminator="model")]


class Load(Frozen):
    """A load profile and the generator that offers it."""

    generator: GeneratorName
    profile: LoadProfile
    processes: int = Field(
        default=1, ge=1, le=MOST_PROCESSES, description="generators on each load host that divide the load"
    )
    coordination: Coordination = Field(default="independent", description="of several generators: none")
    rows: Rows = Field(
        default="kept",
        description="of a tool that writes a row for each request: kept, or counted and dropped when the load is over",
    )

    @model_validator(mode="after")
    def _rows_to_count(self) -> Self:
        if self.rows == "counted" and (self.generator in TOTALS_ONLY or self.processes > 1):
            raise ValueError('rows = "counted" is of one generator that writes a row for each request')
        return self
