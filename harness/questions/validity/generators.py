# SPDX-License-Identifier: Apache-2.0
"""The load generators on one service, against each other."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.stats.comparisons import Comparison, compare
from harness.evidence import Evidence
from harness.formats.wrk_histogram import UNDONE

GENERATOR = "factor_generator"
#: The generators that others are compared with: under users, and at a rate.
BASES = ("wrk", "k6-open")
#: The generators beside the bases that ``headroom`` measures.
CALIBRATED = (
    *("jmeter", "locust", "k6", "oha"),
    *("jmeter-open", "locust-open", "oha-open", "vegeta-open", "wrk2-open"),
)


def compare_generators(
    evidence: Evidence | None, metric: str, *, bases: Sequence[str] = BASES
) -> tuple[Comparison, ...]:
    """Compare the load generators on one service, block by block: each against that of ``bases`` which offers the
    same kind of load. Where a base was not measured its kind is left out; so is a latency of wrk's that counts
    requests which were never sent."""
    if evidence is None:
        return ()
    mine = evidence.trials[~evidence.trials["duplicate"].astype(bool)]
    if metric.startswith("latency_"):
        mine = mine[(mine["generator"] != "wrk") | (mine["latency_method"] == UNDONE)]
    found: list[Comparison] = []
    for base in bases:
        kinds = set(mine.loc[mine[GENERATOR] == base, "load_model"])
        same = mine[mine["load_model"].isin(kinds)]
        if not same.empty and same[metric].notna().any():
            found += compare(same.assign(variant=same[GENERATOR]), metric, reference=base, gated=False)
    return tuple(found)
