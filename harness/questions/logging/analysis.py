# SPDX-License-Identifier: Apache-2.0
"""Programs that log against the same programs that do not, by sink, and the lines that did not arrive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.pairing import inputs_of
from harness.evidence import Evidence

#: The factor, and its levels in the definition's order.
SINK = "sink"
SINKS = ("null", "file", "pipe")
#: The variants without a log, one of each implementation.
SILENT = ("go-nethttp", "go-kit", "java-helidon")
CPU, THROUGHPUT = "cpu_s_per_request", "throughput_per_s"


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Lines of one variant in one sink, over the whole lives of its processes."""

    n_trials: int
    n_requests: int
    n_lost: int
    least_share: float
    most_share: float
    inputs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Logged:
    """The trials of the experiment, taken apart.

    ``silent``: implementation -> its variant without a log. ``cost``: metric -> sink -> variant -> the comparison with
    the same implementation without a log in the same sink's cell. ``lost``: sink -> variant -> its lines, where they
    were counted.
    """

    evidence: Evidence
    trials: pd.DataFrame
    silent: Mapping[str, str]
    cost: Mapping[str, Mapping[str, Mapping[str, Comparison]]]
    lost: Mapping[str, Mapping[str, Lost]]

    @property
    def sinks(self) -> tuple[str, ...]:
        """Sinks that were measured."""
        there = set(self.trials[SINK])
        return tuple(sink for sink in SINKS if sink in there)


def logged_services(evidence: Evidence | None) -> Logged | None:
    """Return what the experiment says; ``None``: it was not measured."""
    if evidence is None or evidence.trials.empty:
        return None
    trials = evidence.trials
    silent = {evidence.header.experiment.variants[name].implementation: name for name in SILENT}
    return Logged(
        evidence=evidence,
        trials=trials,
        silent=silent,
        cost={metric: costs(trials, metric, silent) for metric in (CPU, THROUGHPUT)},
        lost={sink: _lost(trials[trials[SINK] == sink]) for sink in SINKS},
    )


def costs(trials: pd.DataFrame, metric: str, silent: Mapping[str, str]) -> dict[str, dict[str, Comparison]]:
    """Return sink -> variant -> with a log over without, of one implementation, block by block.

    Args:
        silent: implementation -> its variant without a log.
    """
    found: dict[str, dict[str, Comparison]] = {sink: {} for sink in SINKS}
    for sink in SINKS:
        for implementation, reference in silent.items():
            mine = trials[(trials[SINK] == sink) & (trials["implementation"] == implementation)]
            kept = mine[~mine["excluded"].astype(bool)]
            if kept[metric].isna().all() or reference not in set(kept["variant"]):
                continue
            found[sink] |= {one.variant: one for one in compare(mine, metric, reference=reference)}
    return found


def _lost(trials: pd.DataFrame) -> dict[str, Lost]:
    counted = trials[~trials["excluded"].astype(bool) & trials["log_lines_lost"].notna()]
    counted = counted[counted["log_requests"] > 0]
    found = {}
    for name, mine in counted.groupby("variant", sort=False):
        shares = mine["log_lines_lost"] / mine["log_requests"]
        found[str(name)] = Lost(
            n_trials=len(mine),
            n_requests=int(mine["log_requests"].sum()),
            n_lost=int(mine["log_lines_lost"].sum()),
            least_share=float(shares.min()),
            most_share=float(shares.max()),
            inputs=inputs_of(mine),
        )
    return found


__all__ = ["CPU", "SILENT", "SINK", "SINKS", "THROUGHPUT", "Logged", "Lost", "costs", "logged_services"]
