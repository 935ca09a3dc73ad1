# SPDX-License-Identifier: Apache-2.0
"""What load generators report of one measurement."""

from __future__ import annotations

from pydantic import Field

from harness.model.base import Frozen

#: Of the requests, held up by the generator itself: half of the hundredth that lies beyond a 99th percentile. Other
#: programs on the generator's CPU hold up a fifth and more (``docs/generators.md``).
LATE_SHARE = 0.005


def sent_late(late_share: float | None) -> bool:
    """Return whether a generator held up more requests than latencies of microseconds allow; ``None``: not known."""
    return late_share is not None and late_share > LATE_SHARE


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
        default_factory=dict,
        description="what the tool printed itself, or its rows came to where they were counted; "
        "keys like p99",
    )
    n_latencies: int | None = Field(
        default=None,
        ge=0,
        description="how many requests mean and quantiles are of; None: all, or the rows tell",
    )
    latency_method: str | None = Field(
        default=None,
        description="of a tool that reports others than its requests': where these come from; None: rows, or print",
    )
    resolution_s: float = Field(gt=0, description="the tool's smallest step of latency")
    has_requests: bool = Field(description="one row per request can be read from the tool's output")
    n_dropped: int | None = Field(default=None, description="arrivals the generator never sent")
    n_flows: int | None = Field(default=None, ge=0, description="passes begun; None: not a flow")
    n_flows_right: int | None = Field(
        default=None, ge=0, description="passes whose last step was answered rightly; None: not a flow"
    )
    late_share: float | None = Field(
        default=None,
        description="of the requests, those that the generator itself held up for longer than 50 us once they were due "
        "and their connection free; None: it does not know",
    )
    bodies_checked: bool | None = Field(
        default=None, description="the tool held every answer's body against the right one; None: not noted"
    )
    unreadable_lines: int = 0
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    answers: dict[str, AnswerCount] = Field(
        default_factory=dict, description="by the request's name in the mix; empty: the tool does not tell"
    )

    def quantile_s(self, q: float) -> float | None:
        """Return the quantile that the tool printed, ``q`` from 0 to 1; ``None``: it printed no such one."""
        return self.latency_quantiles_s.get(f"p{q * 100:g}")
