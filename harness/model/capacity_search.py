# SPDX-License-Identifier: Apache-2.0
"""A capacity that is searched for: what a rate has to keep, and the trials that were made to find the highest one."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from harness.model.base import Frozen
from harness.model.load import Spacing
from harness.model.load_tools import BY_NAME, GeneratorName


class CapacityGoals(Frozen):
    """What a rate has to keep to be within the capacity, and how much load may be spent to find that out.

    The attributes are those of a search goal of RFC 9971 (Multiple Loss Ratio Search), with answers that come too
    late beside those that do not come. A trial is good when both shares are kept. A rate is within the capacity when
    the bad trials make up no more than ``exceed_ratio`` of ``trials_s`` seconds of load.
    """

    generator: GeneratorName | None = Field(
        default=None,
        description="the tool of the trials: an open loop, a row per request; None: the calibration's",
    )
    arrivals: Spacing = "constant"
    connections: int = Field(default=100, ge=1)
    loss_ratio: float = Field(
        default=0.005,
        gt=0,
        lt=1,
        description="most of the arrivals that may be answered wrongly or not at all",
    )
    late_after_s: float = Field(default=0.1, gt=0, description="an answer that took longer is late")
    late_ratio: float = Field(default=0.01, gt=0, lt=1, description="most of the requests that may be late")
    exceed_ratio: float = Field(
        default=0.5, ge=0, lt=1, description="most of the load time at a rate that may be of bad trials"
    )
    first_trial_s: float = Field(default=1.0, gt=0, description="length of the first, coarse trials")
    trial_s: float = Field(default=4.0, gt=0, description="length of the trials that decide")
    trials_s: float = Field(default=28.0, gt=0, description="load time that decides on a rate")
    width: float = Field(default=0.01, gt=0, lt=1, description="the capacity is known to within this share")
    from_share: float = Field(
        default=0.4, gt=0, description="lowest rate, as a share of what users without a pause reached"
    )
    to_share: float = Field(default=1.2, gt=0, le=10, description="highest rate, as such a share")
    at_most_s: float = Field(default=1800.0, gt=0, description="the search fails when it takes longer")

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

    rate_per_s: float = Field(gt=0, description="passes per second; of a plain mix requests")
    duration_s: float = Field(gt=0)
    n_arrivals: int = Field(ge=0)
    right_per_s: float = Field(ge=0, description="right answers per second until the last one, in passes")
    lost_share: float = Field(ge=0, le=1, description="of arrivals: wrong, unanswered, or never sent")
    late_share: float = Field(ge=0, le=1, description="of requests: answered, and later than the goal allows")
    good: bool = Field(description="both shares are kept")


class CapacitySearch(Frozen):
    """A search that ended, with every trial in its order."""

    goals: CapacityGoals
    trials: tuple[SearchTrial, ...]
    lower_per_s: float = Field(
        gt=0, description="highest rate below all that are too high that keeps the goals"
    )
    upper_per_s: float | None = Field(
        description="lowest rate that is too high; None: the highest rate that was asked for keeps the goals"
    )

    @property
    def load_s(self) -> float:
        """The load time of all trials together, in seconds."""
        return sum(one.duration_s for one in self.trials)
