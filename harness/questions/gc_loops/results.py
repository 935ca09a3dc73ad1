# SPDX-License-Identifier: Apache-2.0
"""What the paper says of the two kinds of loop: latency under the open one over the closed one."""

from __future__ import annotations

from collections.abc import Mapping

from harness.evidence import Evidence
from harness.publish.results import NO_COMPARISON, Tree, for_each

_METRICS = {"p99": "latency_p99_s", "mean": "latency_mean_s"}


def results(evidence: Evidence | None, variants: Mapping[str, str]) -> Tree:
    """Return ``{p99,mean}.<variant>``, open over closed block by block, for every variant of the definition."""

    def over_closed(metric: str) -> Tree:
        measured = {} if evidence is None else {
            name: evidence.effect_of("loop", metric, variant=name, base="closed") for name in variants
        }  # fmt: skip
        return for_each(variants, measured, NO_COMPARISON)

    return {"name": variants, **{word: over_closed(metric) for word, metric in _METRICS.items()}}
