# SPDX-License-Identifier: Apache-2.0
"""One variant's row of the table of pauses: what is known of them, and of the tail that they explain."""

from __future__ import annotations

from pydantic import Field

from harness.model import Estimate, Frozen


class AttributionRow(Frozen):
    """One variant at one combination of levels. Every estimate is over trials; value ``None``: see its warnings."""

    variant: str
    label: str
    levels: dict[str, str]
    collector: str | None
    quantile: str
    n_trials: int
    n_refused: int = Field(description="trials whose pauses could not be aligned with their requests")
    why_refused: str | None
    memory: str | None = Field(description="what bounded it, in words; of several sessions the last one's")
    rss_bytes: Estimate = Field(description="the service's resident memory when the load was over")
    latency_s: Estimate = Field(description="the quantile as measured")
    pauses_per_s: Estimate
    paused_share: Estimate = Field(description="of the time under load")
    longest_pause_s: Estimate
    median_pause_s: Estimate = Field(
        description="half of a trial's pauses were longer; of trials that had any"
    )
    collections: Estimate = Field(description="how many began in a trial under load")
    detectability_s: Estimate = Field(description="a shorter pause leaves no trace in the latencies alone")
    share: Estimate = Field(
        description="of the quantile of all trials' requests together, that would vanish with the service's pauses "
        "and their queue drain"
    )
    share_lower: Estimate = Field(description="the same, only the pauses' own time")
    share_upper: Estimate = Field(description="the same, everything in a queue drain at the median")
    most_share: Estimate = Field(
        description="what pauses can have taken themselves, wherever they fell: no clock needed"
    )
    service_tail: Estimate = Field(
        description="of the time beyond the median in the tail: the service's pauses"
    )
    generator_tail: Estimate = Field(description="the same: the load generator's own pauses")
    connect_tail: Estimate = Field(description="the same: connecting, beyond what is ordinary for it")
    unexplained_tail: Estimate
    throttle_most: Estimate = Field(
        description="of the same time: the most that a quota that ran out can have taken, out of what is unexplained"
    )
    jit_most: Estimate = Field(description="the same: compilers at work")
    run_queue_most: Estimate = Field(
        description="the same: waiting for a CPU, by the kernel's pressure and steal"
    )
    cycles_per_s: Estimate = Field(description="how often the collector worked beside the program")
    cycle_excess: Estimate = Field(
        description="of the requests beyond the quantile: those that come with a collection at work beside the program"
    )
