# SPDX-License-Identifier: Apache-2.0
"""Trials of a cluster by their factors, every variant against the reference, and whether all requests were counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence

THROUGHPUT, TAIL, CPU, SERVED = "throughput_per_s", "latency_p99_s", "cpu_s_per_request", "last_pod_served_s"
LATENCY = "latency_mean_s"
#: experiment's word in a key -> its factors, with all their levels, in the order of keys
FACTORS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "rounds": {
            "access": ("inside", "outside", "ingress"),
            "pods": ("one", "two", "ten", "hundred", "renewed"),
        },
        "scale": {"pods": ("one", "three", "ten", "hundred", "boosted", "scaled", "autoscaled")},
        "limits": {"limit": ("half", "one", "two")},
    }
)


@dataclass(frozen=True, kw_only=True)
class Clustered:
    """One experiment that was measured in a cluster. ``word``: as in ``FACTORS``."""

    word: str
    evidence: Evidence

    @property
    def trials(self) -> pd.DataFrame:
        """All trials, excluded ones and duplicates too."""
        return self.evidence.trials

    def at(self, levels: Mapping[str, str]) -> pd.DataFrame:
        """Return the trials at these levels."""
        return self.evidence.cell(**levels)

    def compared(self, metric: str) -> Sequence[Comparison]:
        """Return every variant against the reference at each combination of levels; none where no trial has it."""
        if self.trials[metric].notna().sum() == 0:
            return ()
        return compare(self.trials, metric, reference=self.evidence.reference, by=list(FACTORS[self.word]))


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Requests that the pods themselves counted, held against the generator's number."""

    n_trials: int
    n_equal: int
    n_requests: int
    most_apart: int


def clustered(word: str, evidence: Evidence | None) -> Clustered | None:
    """Return an experiment's trials; ``None``: not measured.

    Raises:
        InputError: a session whose services were not in a cluster.
    """
    if evidence is None:
        return None
    evidence.require_cluster()
    return Clustered(word=word, evidence=evidence)


def counted(trials: pd.DataFrame) -> Counted | None:
    """Return whether pods and generator agree on the number of requests; ``None``: no pod counted them.

    Excluded trials are left out: a generator that ended early knows less than the pods.
    """
    told = trials[trials["pods_answered"].notna() & ~trials["excluded"].astype(bool)]
    if told.empty:
        return None
    apart = (told["pods_answered"] - told["n_requests"]).abs()
    return Counted(
        n_trials=len(told),
        n_equal=int((apart == 0).sum()),
        n_requests=int(told["n_requests"].sum()),
        most_apart=int(apart.max()),
    )


__all__ = [
    "CPU", "FACTORS", "LATENCY", "SERVED", "TAIL", "THROUGHPUT", "Clustered", "Counted", "clustered", "counted",
]  # fmt: skip
