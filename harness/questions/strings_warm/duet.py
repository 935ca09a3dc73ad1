# SPDX-License-Identifier: Apache-2.0
"""Warm services loaded at the same time as the reference, on halves of the machine that are exchanged."""

from __future__ import annotations

from collections.abc import Mapping

from harness.analysis.stats.comparisons import compare
from harness.evidence import Evidence
from harness.publish.duets import beside_itself
from harness.publish.results import Tree
from harness.publish.warm_results import compared

METRICS = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request"}


def duet_results(evidence: Evidence | None, variants: Mapping[str, str], *, reference: str) -> Tree:
    """Return ``duet.{throughput,cpu}.<variant>``, the comparison with the partner of each trial, and
    ``duet.equal.{throughput,cpu}.{ratio,finds}`` of the reference beside itself; measured or not."""
    others = [name for name in variants if name != reference]
    return {
        "duet": {
            **{
                branch: compared(
                    others,
                    () if evidence is None else tuple(compare(evidence.trials, metric, reference=reference)),
                )
                for branch, metric in METRICS.items()
            },
            "equal": {branch: beside_itself(evidence, metric) for branch, metric in METRICS.items()},
        }
    }
