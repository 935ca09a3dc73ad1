# SPDX-License-Identifier: Apache-2.0
"""Load profiles: how requests are offered.

An open loop offers arrivals at a rate whatever the answers do; a closed loop has
virtual users that wait for their answer before they ask again. The two are
different types on purpose: nothing here can turn users into a rate.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from harness.model.base import Frozen
from harness.model.load_tools import BY_NAME, TOTALS_ONLY, GeneratorName

#: More threads than this no tool here can have.
MOST_USERS = 100_000
#: Of one open load.
MOST_PARTS = 100
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
    # one generator; more is offered by a tool with threads (wrk, oha, k6). Stored plans have both words
    processes: Literal[1] = 1
    coordination: Literal["independent"] = "independent"
    # of a tool that writes a row for each request: kept, or counted and dropped when the load is over
    rows: Rows = "kept"

    @model_validator(mode="after")
    def _rows_to_count(self) -> Self:
        if self.rows == "counted" and self.generator in TOTALS_ONLY:
            raise ValueError('rows = "counted" is of a generator that writes a row for each request')
        return self


class CapacityGoals(Frozen):
    """What a rate has to keep to be within the capacity, and how much load may be spent to find that out.

    The attributes are those of a search goal of RFC 9971 (Multiple Loss Ratio Search), with answers that come too
    late beside those that do not come. A trial is good when both shares are kept. A rate is within the capacity when
    the bad trials make up no more than ``exceed_ratio`` of ``trials_s`` seconds of load.
    """

    # the tool of the trials: an open loop, a row per request; None: the calibration's
    generator: GeneratorName | None = None
    arrivals: Spacing = "constant"
    connections: int = Field(default=100, ge=1)
    # most of the arrivals that may be answered wrongly or not at all
    loss_ratio: float = Field(default=0.005, gt=0, lt=1)
    late_after_s: float = Field(default=0.1, gt=0)  # an answer that took longer is late
    late_ratio: float = Field(default=0.01, gt=0, lt=1)  # most of the requests that may be late
    # most of the load time at a rate that may be of bad trials
    exceed_ratio: float = Field(default=0.5, ge=0, lt=1)
    first_trial_s: float = Field(default=1.0, gt=0)  # length of the first, coarse trials
    trial_s: float = Field(default=4.0, gt=0)  # length of the trials that decide
    trials_s: float = Field(default=28.0, gt=0)  # load time that decides on a rate
    width: float = Field(default=0.01, gt=0, lt=1)  # the capacity is known to within this share
    # lowest rate, as a share of what users without a pause reached
    from_share: float = Field(default=0.4, gt=0)
    to_share: float = Field(default=1.2, gt=0, le=10)  # highest rate, as such a share
    at_most_s: float = Field(default=1800.0, gt=0)  # the search fails when it takes longer

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.first_trial_s <= self.trial_s <= self.trials_s:
            raise ValueError("first_trial_s is at most trial_s, which is at most trials_s")
        if self.from_share >= self.to_share:
            raise ValueError("from_share is below to_share")
        if self.generator is not None:
            refuse_tool(self.generator)
        return self

    def excess(self, lost_share: float, late_share: float) -> float:
        """Return how many times what is allowed a trial had, of the goal that it missed by more; up to 1 is good."""
        return max(lost_share / self.loss_ratio, late_share / self.late_ratio)


def refuse_tool(name: GeneratorName) -> None:
    """Refuse a tool that cannot tell which answers were late, or has no open loop.

    Raises:
        ValueError: which of the two.
    """
    tool = BY_NAME[name]
    if tool.only_loop is not None and tool.only_loop[0] == "closed":
        raise ValueError(f"a capacity is searched for in an open loop: {tool.only_loop[1]}")
    if not tool.has_rows:
        raise ValueError(f"{tool.title} writes no row per request, so it cannot tell how many were late")


class SearchTrial(Frozen):
    """One trial of a search: a rate, offered for so long, and what became of it."""

    rate_per_s: float = Field(gt=0)  # passes per second; of a plain mix requests
    duration_s: float = Field(gt=0)
    n_arrivals: int = Field(ge=0)
    right_per_s: float = Field(ge=0)  # right answers per second until the last one, in passes
    lost_share: float = Field(ge=0, le=1)  # of arrivals: wrong, unanswered, or never sent
    late_share: float = Field(ge=0, le=1)  # of requests: answered, and later than the goal allows
    good: bool  # both shares are kept


class CapacitySearch(Frozen):
    """A search that ended, with every trial in its order."""

    goals: CapacityGoals
    trials: tuple[SearchTrial, ...]
    lower_per_s: float = Field(gt=0)  # highest rate below all that are too high that keeps the goals
    # lowest rate that is too high; None: the highest rate that was asked for keeps the goals
    upper_per_s: float | None

    @property
    def load_s(self) -> float:
        """The load time of all trials together, in seconds."""
        return sum(item.duration_s for item in self.trials)


#: What is taken out of an answer: a name of one's own, and where in the answer's JSON it stands (RFC 6901).
#: In a pointer a part of digits only is a place in a list, never the key of an object.
CaptureName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Pointer = Annotated[str, Field(pattern=r"^(/([^/~]|~[01])*)*$")]
Captures = dict[CaptureName, Pointer]


class Expectation(Frozen):
    """The right answer.

    ``body``: exact bytes as text; ``json_value``: compared as JSON; ``one_of``: any of these JSON
    values is right; none of them: status and headers only.
    """

    status: int
    body: str | None = None
    json_value: JsonValue = Field(default=None, alias="json")
    one_of: tuple[JsonValue, ...] | None = Field(default=None, min_length=1)
    headers: dict[str, str] = Field(default_factory=dict)
    volatile: tuple[Pointer, ...] = ()  # of a case: places in its JSON that must be there, with any value

    @property
    def is_json(self) -> bool:
        """Whether the body is compared as a JSON value."""
        return self.one_of is not None or (self.body is None and self.json_value is not None)

    @model_validator(mode="after")
    def _one_answer_or_several(self) -> Self:
        if self.volatile and self.json_value is None:
            raise ValueError("volatile names places in json, and there is none")
        if self.one_of is not None and (self.body is not None or self.json_value is not None):
            raise ValueError("one_of stands alone: without body and json")
        return self


class Request(Frozen):
    """One request of a workload's mix, as ``contract/requests.jsonl`` has it.

    A mix whose requests carry ``step`` is a flow: every user goes through the steps in order, and
    what ``capture`` takes out of one answer is ``${name}`` in the steps after it.
    """

    mix: str
    name: str
    weight: int = Field(default=1, ge=1)
    step: int | None = Field(default=None, ge=1)
    readiness: bool = False  # the one to ask until the service is up
    method: str
    path: str
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None
    capture: Captures = Field(default_factory=dict)  # name -> JSON pointer into the answer
    expect: Expectation

    @model_validator(mode="after")
    def _compared_as_text(self) -> Self:
        if self.expect.volatile:
            raise ValueError("volatile belongs in a case: load generators compare whole texts")
        return self
