# SPDX-License-Identifier: Apache-2.0
"""Loads that say how much of a machine's capacity they are, and the calibration that finds that capacity."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.base import Frozen
from harness.model.load import (
    MOST_PARTS,
    MOST_USERS,
    CapacityGoals,
    CapacitySearch,
    ClosedLoad,
    Load,
    OpenLoad,
    Rows,
    Spacing,
    WhenBusy,
    refuse_lone_pause,
    refuse_tool,
)
from harness.model.load_tools import BY_NAME, GeneratorName


class OpenShare(Frozen):
    """An open loop whose rate is a share of a measured capacity; all else as of ``OpenLoad``."""

    # written out again: a definition's hash knows the order of fields, and those of a common base would come first

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
        refuse_lone_pause(self.parts, self.pause_s)
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
    processes: Literal[1] = 1  # as of ``Load``
    coordination: Literal["independent"] = "independent"  # as of ``Load``
    rows: Rows = "kept"  # as of ``Load``
    # whose capacity it is a share of: the session's, or that of the variant which takes the load
    of: Literal["session", "variant"] = "session"

    def at(self, capacity_per_s: float) -> Load:
        """Return the load for a capacity in passes per second (of a plain mix a request is a pass)."""
        share = self.profile
        profile: ClosedLoad | OpenLoad
        if isinstance(share, OpenShare):
            profile = OpenLoad(
                rate_per_s=_rate_per_s(share.rate_share * capacity_per_s, self.generator),
                **share.model_dump(exclude={"rate_share"}),  # all other fields are those of a load
            )
        else:
            users = round(share.users_share * capacity_per_s * share.ramp_up_s)
            profile = ClosedLoad(
                users=min(max(users, 1), MOST_USERS), ramp_up_s=share.ramp_up_s, loops=share.loops
            )
        return Load(generator=self.generator, profile=profile, rows=self.rows)


def _rate_per_s(wanted_per_s: float, generator: GeneratorName) -> float:
    """Round a rate to what the tool can offer."""
    at_least = max(wanted_per_s, 1.0)
    return float(round(at_least)) if BY_NAME[generator].whole_rates else round(at_least, 1)


class CalibrationSpec(Frozen):
    """How a session finds the capacity its scaled loads are shares of.

    The reference variant's first configuration meets users who never pause, with the trials' own
    generator: what the two reach together on this machine, correct answers only. With ``of = "slowest"`` each
    variant's first configuration does (of those in ``among``), warmed up as trials are, by any generator; the least
    capacity is taken. With ``capacity = "search"`` that throughput is where a search begins: the capacity is the
    highest rate of arrivals that keeps ``goals``.
    """

    generator: GeneratorName
    # whose capacity: the reference's, or the least of all variants
    of: Literal["reference", "slowest"] = "reference"
    among: tuple[str, ...] = ()  # of = slowest: only these variants are asked; empty: all are
    users: int = Field(default=16, ge=1, le=MOST_USERS)
    duration_s: float = Field(default=4.0, gt=0)
    warm_up_requests: int = Field(default=500, ge=0)
    # what those users reach; or the highest rate of arrivals that keeps the goals, in the same process
    capacity: Literal["saturation", "search"] = "saturation"
    # what a rate has to keep in a search; goals that are left out stand in the definition's hash with their values
    goals: CapacityGoals | None = Field(
        default_factory=lambda given: CapacityGoals() if given.get("capacity") == "search" else None
    )

    @model_validator(mode="after")
    def _goals_of_a_search(self) -> Self:
        if (self.capacity == "search") != (self.goals is not None):
            raise ValueError("goals are those of capacity = 'search'")
        if self.goals is not None:
            refuse_tool(self.goals.generator or self.generator)
        return self

    @property
    def load(self) -> Load:
        return Load(
            generator=self.generator, profile=ClosedLoad(users=self.users, duration_s=self.duration_s)
        )


class Calibration(Frozen):
    """The capacity that was measured, once, before the first trial of a session."""

    order: CalibrationSpec
    variant: str
    configuration: str  # key of the configuration that was saturated
    mix: str
    n_steps: int = Field(ge=1)  # requests of one pass
    capacity_per_s: float = Field(gt=0)  # right passes per second; of a plain mix right requests
    n_requests: int
    n_errors: int
    duration_s: float
    measured_epoch_s: float
    # variant -> its capacity, where all were measured
    capacities_per_s: dict[str, float] = Field(default_factory=dict)
    # variant -> the search for its capacity with all trials, where one was made
    searches: dict[str, CapacitySearch] = Field(default_factory=dict)
