# SPDX-License-Identifier: Apache-2.0
"""Capacity by the number of pods, and read the other way round: the least number of pods that carries a rate.

A trial has one capacity: the highest rate that kept its goals in the search after its load. So its intervals are over
trials, as those of every other metric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.summaries import summarised
from harness.errors import InputError
from harness.evidence import Evidence
from harness.model import CapacityGoals, Estimate

CAPACITY, PODS = "capacity_per_s", "pods"
#: level -> number of pods
SIZES: Mapping[str, int] = MappingProxyType({"one": 1, "two": 2, "three": 3, "ten": 10})
#: part of the key -> rate, as a share of what one pod of the reference carries
SHARES: Mapping[str, float] = MappingProxyType({"low": 0.8, "middle": 1.6, "high": 2.4})


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The least number of pods that carries a rate. ``least``: by the upper ends of the intervals of the capacities,
    ``most``: by their lower ends; ``None``: more than were measured. ``measured``: the most pods that were."""

    least: int | None
    most: int | None
    measured: int


@dataclass(frozen=True, kw_only=True)
class Searched:
    """Trials that searched for their capacity, excluded ones and duplicates too."""

    evidence: Evidence
    goals: CapacityGoals

    @property
    def trials(self) -> pd.DataFrame:
        """All trials, with their number of pods as the column ``n_pods``."""
        return self.evidence.trials

    def capacity(self, variant: str, pods: str) -> Estimate | None:
        """Return the mean capacity of a variant in so many pods, the reference's without its duplicates; ``None``: no
        trial found one."""
        mine = self.kept.query("variant == @variant and pods == @pods")
        return None if mine.empty else summarised(mine, CAPACITY)

    @property
    def kept(self) -> pd.DataFrame:
        """The trials that count and found a capacity, without the duplicates of the reference."""
        trials = self.trials
        out = trials["excluded"].astype(bool) | trials["duplicate"].astype(bool) | trials[CAPACITY].isna()
        return trials[~out]

    @property
    def leads(self) -> Sequence[Comparison]:
        """Every variant over the reference in as many pods."""
        if self.kept.empty:
            return ()
        return compare(self.trials, CAPACITY, reference=self.evidence.reference, by=[PODS])

    def growth(self, variant: str) -> Mapping[str, Comparison]:
        """Return pods -> a variant's capacity over its own in one pod."""
        mine = self.kept.query("variant == @variant")
        if "one" not in set(mine[PODS]) or mine[PODS].nunique() < 2:
            return {}
        sizes = mine.assign(variant=mine[PODS].astype(str))
        return {one.variant: one for one in compare(sizes, CAPACITY, reference="one")}

    def rate(self, share: float) -> float | None:
        """Return a share of what one pod of the reference carries, 1/s; ``None``: that was not measured."""
        one = self.capacity(self.evidence.reference, "one")
        return None if one is None or one.value is None else share * one.value

    def demand(self, variant: str, rate_per_s: float) -> Demand | None:
        """Return the least number of pods that carries a rate; ``None``: the variant has no capacity.

        A capacity without an interval stands for itself.
        """
        found = {size: self.capacity(variant, level) for level, size in SIZES.items()}
        ends = {
            size: (one.value if one.low is None else one.low, one.value if one.high is None else one.high)
            for size, one in found.items()
            if one is not None and one.value is not None
        }
        if not ends:
            return None
        enough = {end: [size for size, both in ends.items() if both[end] >= rate_per_s] for end in (0, 1)}
        return Demand(
            least=min(enough[1], default=None), most=min(enough[0], default=None), measured=max(ends)
        )


def searched(evidence: Evidence | None) -> Searched | None:
    """Return the trials of a session whose profile has a search; ``None``: not measured.

    Raises:
        InputError: its services were not in a cluster, or its profile searches for nothing.
    """
    if evidence is None:
        return None
    evidence.require_cluster()
    goals = evidence.header.experiment.profiles[evidence.header.plan.profile].search
    if goals is None:
        raise InputError("these trials searched for no capacity", place=evidence.experiment)
    return Searched(evidence=evidence, goals=goals)


__all__ = ["CAPACITY", "PODS", "SHARES", "SIZES", "Demand", "Searched", "searched"]
