# SPDX-License-Identifier: Apache-2.0
"""Simulations of methods that no number of the paper rests on: repeated loads, compared files.

Each has the control that must fail in the same simulation.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.compare.comparing import compare_runs
from harness.compare.reading import request_values
from harness.compare.result import Comparison, Key, Run
from harness.model import LOAD_TOOLS, Verdict, WarmUpSpec
from harness.tests.analysis.stats.test_known_truths import holds
from harness.verify.simulated.comparisons import ar_series, covered

# --- a load is offered again while a JVM compiled in it: the ratio stays right

TRUTH, LOAD_S, SIMS = float(np.log(1.03)), 25.0, 400
SPEC = WarmUpSpec(
    generator=next(tool.name for tool in LOAD_TOOLS if tool.saturates), compile_share=0.05, repeats=2
)


def loads(rng: np.random.Generator, k: int, often: float) -> tuple[Floats, Floats, Floats]:
    """Return logs of each load of a service, what was compiled in it, and logs of the reference, which compiles nothing.

    ``often``: share of the processes that begin their last compilation in a load; it is on the CPU of the requests.
    """
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


# --- files of equal arms, and of arms that differ

CALLED = (Verdict.DIFFERENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)


def compared(rng: np.random.Generator, k: int, effect: float = 0.0) -> tuple[Comparison, Floats]:
    """Return a comparison of lognormal runs with levels of their own, and all log latencies, shape (2, k, requests)."""
    logs = 0.5 * ar_series(rng, (2, k, 1000), 0.5) + rng.normal(0.0, 0.03, (2, k, 1))
    logs[1] += effect
    places = rng.permutation(2 * k).reshape(2, k)
    arms = ([run(f"{arm}{i}", logs[arm, i], float(places[arm, i]), rng) for i in range(k)] for arm in (0, 1))
    first, second = (tuple(arm) for arm in arms)
    return compare_runs((first, second)), logs


def run(name: str, logs: Floats, place: float, rng: np.random.Generator) -> Run:
    latency, ok, even = 0.01 * np.exp(logs), rng.random(len(logs)) >= 0.005, np.arange(len(logs)) % 2 == 0
    duration_s = 60.0 * float(latency.mean()) / 0.011 * float(np.exp(rng.normal(0.0, 0.01)))
    values: dict[Key, float] = {}
    reasons: dict[Key, str] = {}
    for label, own in ((None, np.ones_like(even)), ("even", even), ("odd", ~even)):
        metrics, missing = request_values(latency[own & ok], int((own & ~ok).sum()), duration_s)
        values |= {(label, metric): value for metric, value in metrics.items()}
        reasons |= {(label, metric): why for metric, why in missing.items()}
    return Run(
        name=name, sources=(LOAD_TOOLS[0].name,), n_requests=len(logs), n_errors=int((~ok).sum()), resolution_s=1e-6,
        values=values, reasons=reasons, start_epoch_s=100.0 * place, duration_s=duration_s,
        rate_per_s=len(logs) / duration_s, loop="closed", users=10, labels={"even": int(even.sum()), "odd": int((~even).sum())},
        fingerprints=(name,),
    )  # fmt: skip


def test_files_of_equal_arms_are_seldom_called_different_and_a_difference_is_called_the_right_way() -> None:
    rng, n = np.random.default_rng(1), 40
    called = of_requests = 0
    for _ in range(n):
        comparison, logs = compared(rng, 5)
        called += any(row.verdict in CALLED for row in comparison.rows)
        of_requests += stats.ttest_ind(logs[1].ravel(), logs[0].ravel(), equal_var=False).pvalue <= 0.05
    assert holds(called / n, at_most=0.06, n=n)
    assert holds(of_requests / n, at_least=0.3, n=n), "the interval over requests leaves out equality"
    rows = [compared(rng, 10, float(np.log(1.1)))[0].row("mean") for _ in range(12)]
    assert all(row is not None and row.verdict is Verdict.DIFFERENT and (row.ratio or 0) > 1 for row in rows)
