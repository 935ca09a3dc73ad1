# SPDX-License-Identifier: Apache-2.0
"""One release with the pollers of an older one: how much of what the release changed is the pollers'?"""

from __future__ import annotations

from collections.abc import Mapping

from harness.evidence.warm import Warm
from harness.publish.results import Tree
from harness.publish.warm_results import compared

METRICS = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request"}


def poller_results(warm: Warm | None, variants: Mapping[str, str], *, reference: str) -> Tree:
    """Return ``{throughput,cpu}.<variant>`` over the reference, the newer release as it is, measured or not; and
    ``name.<variant>``."""
    others = [name for name in variants if name != reference]
    return {
        "name": variants,
        **{
            branch: compared(others, () if warm is None else warm.compared(metric))
            for branch, metric in METRICS.items()
        },
    }
