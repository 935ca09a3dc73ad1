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

#: More threads than this no tool here can have.
MOST_USERS = 100_000
#: Generators on one host; each is a process with a memory of its own.
MOST_PROCESSES = 64
#: Of one open load.
MOST_PARTS = 100
GeneratorName = Literal["jmeter", "locust", "wrk", "wrk2", "k6", "oha", "vegeta"]
#: Who tells several generators what to do: nobody, or the tool's own distribution (a master, a controller).
Coordination = Literal["independent", "tool"]
#: How arrivals are spaced in time.
Spacing = Literal["constant", "poisson"]
#: What becomes of an arrival that is due while every connection waits for an answer: what the tool does with
#: it, or it waits, is sent as soon as one is free, and its latency counts from when it was due.
WhenBusy = Literal["tool", "wait"]


class Stage(Frozen):
    """A stretch of a closed load at whose end there are ``users``; on the way there they come, or go, evenly."""

    users: int = Field(ge=0, le=MOST_USERS)
    duration_s: float = Field(gt=0)


class ClosedLoad(Frozen):
    """Virtual users that wait. Ends after ``loops`` requests per user, after ``duration_s``, or with its ``stages``.

    Of a flow ``loops`` are passes through all its steps; ``think_time_s`` stands between requests. Stages
    begin with one user, and ``users`` are the most that they come to.
    """

    model: Literal["closed"] = "closed"
    users: int = Field(ge=1, le=MOST_USERS)
    ramp_up_s: float = Field(default=0.0, ge=0)
    loops: int | None = Field(default=None, ge=1)
    duration_s: float | None = Field(default=None, gt=0)
    think_time_s: float = Field(default=0.0, ge=0)
    stages: tuple[Stage, ...] = ()

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
    """

    model: Literal["open"] = "open"
    rate_per_s: float = Field(gt=0)
    duration_s: float = Field(gt=0)
    arrivals: Spacing = "poisson"
    connections: int = Field(default=100, ge=1)
    busy: WhenBusy = "tool"
    parts: int = Field(default=1, ge=1, le=MOST_PARTS)
    pause_s: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def _parts_to_pause_between(self) -> Self:
        _refuse_lone_pause(self.parts, self.pause_s)
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


def _refuse_lone_pause(parts: int, pause_s: float) -> None:
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
    coordination: Coordination = Field(
        default="independent",
        description="of several generators: each an engine of its own, or commanded by one process of the tool",
    )


class OpenShare(Frozen):
    """An open loop whose rate is a share of a measured capacity; all else as of ``OpenLoad``."""

    model: Literal["open"] = "open"
    rate_share: float = Field(gt=0, le=10)
    duration_s: float = Field(gt=0)
    arrivals: Spacing = "poisson"
    connections: int = Field(default=100, ge=1)
    busy: WhenBusy = "tool"
    parts: int = Field(default=1, ge=1, le=MOST_PARTS)
    pause_s: float = Field(default=0.0, ge=0)

    @model_validator(mode="after")
    def _parts_to_pause_between(self) -> Self:
        _refuse_lone_pause(self.parts, self.pause_s)
        return self


class ClosedShare(Frozen):
    """Users who start one after another, ``users_share`` of a measured capacity of them a second.

    Only for users that come once and go: while they start they are arrivals, and a share of a capacity
    has a meaning for arrivals alone.
    """

    model: Literal["closed"] = "closed"
    users_share: float = Field(gt=0, le=10)
    ramp_up_s: float = Field(gt=0)
    loops: Literal[1] = 1


class ScaledLoad(Frozen):
    """A load that says how much of this machine's capacity it is; a calibration makes a ``Load`` of it."""

    generator: GeneratorName
    profile: Annotated[OpenShare | ClosedShare, Field(discriminator="model")]
    processes: int = Field(default=1, ge=1, le=MOST_PROCESSES, description="as of ``Load``")
    coordination: Coordination = Field(default="independent", description="as of ``Load``")

    def at(self, capacity_per_s: float) -> Load:
        """Return the load for a capacity in passes per second (of a plain mix a request is a pass)."""
        share = self.profile
        profile: ClosedLoad | OpenLoad
        if isinstance(share, OpenShare):
            profile = OpenLoad(
                rate_per_s=round(max(share.rate_share * capacity_per_s, 1.0), 1),
                **share.model_dump(exclude={"rate_share"}),  # all other fields are those of a load
            )
        else:
            users = round(share.users_share * capacity_per_s * share.ramp_up_s)
            profile = ClosedLoad(
                users=min(max(users, 1), MOST_USERS), ramp_up_s=share.ramp_up_s, loops=share.loops
            )
        return Load(
            generator=self.generator,
            profile=profile,
            processes=self.processes,
            coordination=self.coordination,
        )


class CalibrationOrder(Frozen):
    """How a session finds the capacity its scaled loads are shares of.

    The reference variant's first configuration meets users who never pause, with the trials' own
    generator: what the two reach together on this machine, correct answers only.
    """

    generator: GeneratorName
    users: int = Field(default=16, ge=1, le=MOST_USERS)
    duration_s: float = Field(default=4.0, gt=0)
    warm_up_requests: int = Field(default=500, ge=0)

    @property
    def load(self) -> Load:
        return Load(
            generator=self.generator, profile=ClosedLoad(users=self.users, duration_s=self.duration_s)
        )


class Calibration(Frozen):
    """The capacity that was measured, once, before the first trial of a session."""

    order: CalibrationOrder
    variant: str
    configuration: str = Field(description="key of the configuration that was saturated")
    mix: str
    n_steps: int = Field(ge=1, description="requests of one pass")
    capacity_per_s: float = Field(gt=0, description="right passes per second; of a plain mix right requests")
    n_requests: int
    n_errors: int
    duration_s: float
    measured_epoch_s: float


class AnswerCount(Frozen):
    """How often a request of a mix was sent, and how often it was answered rightly."""

    n_requests: int = Field(ge=0)
    n_right: int = Field(ge=0)


class LoadSummary(Frozen):
    """What one load generator reported of one measurement. ``None``: the tool does not tell.

    Everything counts requests but what is named after flows and ``n_dropped``, which counts
    arrivals. A pass through a flow ends at its first wrong answer: the steps after it are not
    sent, so they are neither requests nor errors here.
    """

    n_requests: int = Field(ge=0)
    n_errors: int = Field(ge=0)
    start_epoch_s: float | None
    duration_s: float = Field(ge=0)
    offered_per_s: float | None = Field(
        description="requests per second (of a flow: arrivals per second times steps); None in a closed loop"
    )
    achieved_per_s: float = Field(
        ge=0, description="answers per second, errors included; pauses between parts are left out"
    )
    latency_mean_s: float | None
    latency_quantiles_s: dict[str, float] = Field(
        default_factory=dict, description="only what the tool printed itself, keys like p99"
    )
    n_latencies: int | None = Field(
        default=None,
        ge=0,
        description="how many requests mean and quantiles are of; None: all, or the rows tell",
    )
    resolution_s: float = Field(gt=0, description="the tool's smallest step of latency")
    has_requests: bool = Field(description="one row per request can be read from the tool's output")
    n_dropped: int | None = Field(default=None, description="arrivals the generator never sent")
    n_flows: int | None = Field(default=None, ge=0, description="passes begun; None: not a flow")
    n_flows_right: int | None = Field(
        default=None, ge=0, description="passes whose last step was answered rightly; None: not a flow"
    )
    bodies_checked: bool | None = Field(
        default=None, description="the tool held every answer's body against the right one; None: not noted"
    )
    unreadable_lines: int = 0
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    answers: dict[str, AnswerCount] = Field(
        default_factory=dict, description="by the request's name in the mix; empty: the tool does not tell"
    )
