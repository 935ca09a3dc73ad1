# SPDX-License-Identifier: Apache-2.0
"""What a session of duets says of the reference beside itself."""

from __future__ import annotations

from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.detectable import power_curve
from harness.evidence import Evidence
from harness.publish.results import Absent, Tree

#: Blocks that the smallest ratio of a duet is told for.
BLOCKS = 10


def beside_itself(evidence: Evidence | None, metric: str) -> Tree:
    """Return ``ratio``, of the reference to itself in the same pair, and ``finds``, the smallest ratio that
    ``BLOCKS`` blocks find in 80 % of sessions; absent of what was not measured."""
    curves = () if evidence is None else power_curve(
        evidence.trials, metric, reference=evidence.reference, blocks=(BLOCKS,)
    )  # fmt: skip
    twice = next((one for one in curves if one.twice), None)
    if evidence is None or twice is None:
        return {"ratio": Absent(), "finds": Absent()}
    return {"ratio": aa_noise(evidence.trials, metric).ratio, "finds": twice.smallest[0].ratio}


__all__ = ["BLOCKS", "beside_itself"]
