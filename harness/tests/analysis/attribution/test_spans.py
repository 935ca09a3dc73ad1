# SPDX-License-Identifier: Apache-2.0
"""Which requests were under way in a span, and that groups of them are judged as if each were alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from harness.analysis.attribution.slow_periods import Ordinary
from harness.analysis.attribution.spans import under_way_in


@pytest.mark.parametrize("step", [1.0, 1e-6], ids=["equal times", "no equal times"])
def test_a_request_is_under_way_in_a_span_that_it_touches(step: float) -> None:
    rng = np.random.default_rng(1)
    for n_requests, n_spans in ((200, 20), (200, 0), (0, 5), (1, 1)):
        start = np.sort(np.round(rng.uniform(0, 100, n_requests) / step) * step)
        end = start + np.round(rng.exponential(3, n_requests) / step) * step
        edges = np.sort(np.round(rng.uniform(0, 100, 2 * n_spans) / step) * step)
        low, high = edges[::2], edges[1::2]
        found = under_way_in(start, end, low, high)
        touches = (start[:, None] <= high) & (end[:, None] >= low)
        assert found.tolist() == touches.any(axis=1).tolist()


def test_groups_of_requests_are_judged_as_if_each_were_alone() -> None:
    rng = np.random.default_rng(2)
    ordinary = Ordinary(rng.lognormal(0, 0.3, 5_000))
    sizes = np.array([1, 7, 2, 40, 1])
    edges = np.append(0, np.cumsum(sizes))
    n = int(edges[-1])
    needed = rng.uniform(1, 4, n)
    reached = np.where(rng.uniform(size=n) < 0.5, rng.uniform(0, 1, n), -1.0)
    before, lift = rng.uniform(0.5, 2, n), rng.uniform(1, 2, n)
    distance = rng.integers(1, 5, n)
    together = ordinary.log_unlucky(needed, reached, before, distance, lift, edges=edges)
    for i, (begin, end) in enumerate(pairwise(edges.tolist())):
        one = slice(begin, end)
        alone = ordinary.log_unlucky(
            needed[one], reached[one], before[one], distance[one], lift[one], edges=np.array([0, end - begin])
        )
        assert together[i] == alone[0] < 0
