# SPDX-License-Identifier: Apache-2.0
"""Simulations of methods that no number of the paper rests on: repeated loads, and equivalence."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.model import LOAD_TOOLS, WarmUpSpec
from harness.tests.analysis.stats.test_sample_size import holds
from harness.verify.simulated.comparisons import covered, paired_p

TRUTH, LOAD_S, SIMS = float(np.log(1.03)), 25.0, 400
SPEC = WarmUpSpec(
    generator=next(tool.name for tool in LOAD_TOOLS if tool.saturates), compile_share=0.05, repeats=2
)


def loads(rng: np.random.Generator, k: int, often: float) -> tuple[Floats, Floats, Floats]:
    """Return logs of each load of a service, what was compiled in it, and logs of the reference, which compiles nothing."""
    n_loads = 1 + SPEC.repeats
    begins_s = rng.exponential(LOAD_S / -np.log1p(-often), (SIMS, k, 1))
    from_s = LOAD_S * np.arange(n_loads)
    ends_s = begins_s + rng.uniform(1.3, 3.7, (SIMS, k, 1))
    compile_s = np.clip(np.minimum(ends_s, from_s + LOAD_S) - np.maximum(begins_s, from_s), 0.0, None)
    logs = TRUTH + rng.normal(0.0, 0.007, (SIMS, k, 1)) + rng.normal(0.0, 0.01, (SIMS, k, n_loads))
    return logs + np.log1p(-compile_s / LOAD_S), compile_s, rng.normal(0.0, 0.0122, (SIMS, k))


@pytest.mark.parametrize(("often", "k"), [(0.1, 10), (0.4, 20)])
def test_loads_that_are_offered_again_leave_the_ratio_as_it_is(often: float, k: int) -> None:
    logs, compile_s, reference = loads(np.random.default_rng(1), k, often)
    again = np.vectorize(SPEC.compiled_too_long)(compile_s, LOAD_S)
    again[:, :, -1] = False
    counted = np.take_along_axis(logs, np.argmin(again, axis=2)[:, :, np.newaxis], axis=2)[:, :, 0]
    coverage = covered(intervals.student(counted - reference, 0.95), TRUTH)
    assert holds(coverage, at_least=0.93, at_most=0.97, n=SIMS)
    assert abs((counted - reference).mean() - TRUTH) <= 0.002
    if k == 20:  # controls
        for chosen in (
            logs[:, :, 0],
            logs.max(axis=2),
        ):  # every first load counts; that with the most answers
            assert covered(intervals.student(chosen - reference, 0.95), TRUTH) <= 0.7


MARGIN = 0.05


@pytest.mark.parametrize("ratio", [1 + MARGIN, 1 / (1 + MARGIN), 1.0])
def test_equivalence_is_seldom_claimed_at_the_margin_and_mostly_where_nothing_differs(ratio: float) -> None:
    rng, shape = np.random.default_rng(1), (1000, 10)
    bounds = intervals.student(np.log(ratio) + rng.normal(0.0, 0.03 * 2**0.5, shape), 0.90)
    claimed = float(np.mean(np.maximum(-bounds.low, bounds.high) <= np.log1p(MARGIN)))
    if ratio == 1.0:
        assert holds(claimed, at_least=0.8, n=1000)
    else:
        assert holds(claimed, at_most=0.06, n=1000)
        noisy = paired_p(np.log(ratio) + rng.normal(0.0, 0.10, shape))
        assert np.mean(noisy > 0.05) >= 0.5, "a failed test is no equality"
