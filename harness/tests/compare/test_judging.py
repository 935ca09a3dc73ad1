# SPDX-License-Identifier: Apache-2.0
"""Verdicts over runs: what is known to differ is found, with the interval that the statistics give; limits of a check."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from harness.analysis.stats.effects import effect_size_ci
from harness.errors import InputError
from harness.model import Verdict
from harness.report.compare.comparing import check_limit, compare_runs, limit_named
from harness.report.compare.result import METRICS, Comparison, Run

#: Standardised deviations of runs: small, and not the same twice.
SPREAD = (-1.1, 0.4, 1.3, -0.7, 0.1, 0.9, -0.4, -1.3)


def run(name: str, start: int, *, resolution_s: float = 1e-6, **values: float) -> Run:
    usual = {
        "throughput": 100.0, "mean": 0.01, "p50": 0.009, "p90": 0.02, "p99": 0.05, "p99.9": 0.09, "errors": 0.0,
    }  # fmt: skip
    return Run(
        name=name, sources=("jmeter",), n_requests=1000, n_errors=0, resolution_s=resolution_s, start_epoch_s=float(start),
        duration_s=10.0, loop="closed", users=5, labels={"x": 1000}, fingerprints=(name,),
        values={(None, metric): value for metric, value in (usual | values).items()},
    )  # fmt: skip


def arms(n: int = 5, *, sd: float = 0.01, **effects: float) -> Comparison:
    """B has the effects on its metrics; runs vary by ``sd`` around them."""
    base = {"throughput": 100.0, "mean": 0.01, "p50": 0.009, "p90": 0.02, "p99": 0.05, "p99.9": 0.09}
    made = []
    for arm, factor in enumerate(({}, effects)):
        made.append(tuple(
            run(f"{arm}{i}", 2 * i + (arm + i) % 2, **{
                metric: value * factor.get(metric, 1.0) * float(np.exp(sd * SPREAD[(i + 3 * arm + place) % 8]))
                for place, (metric, value) in enumerate(base.items())
            })
            for i in range(n)
        ))  # fmt: skip
    return compare_runs((made[0], made[1]))


def verdicts(found: Comparison) -> dict[str, Verdict | None]:
    return {row.metric: row.verdict for row in found.rows}


def test_the_interval_is_that_of_welch_over_runs_with_b_above() -> None:
    found = arms(p99=1.2)
    a, b = ([one.values[None, "p99"] for one in some] for some in found.arms)
    expected = effect_size_ci(b, a, paired=False, estimator="welch_log_t")
    row = found.row("p99")
    assert row is not None
    assert (row.ratio, row.low, row.high) == (expected.value, expected.low, expected.high)
    assert row.ratio is not None and row.ratio > 1.1


def test_all_four_verdicts() -> None:
    found = arms(8, p99=1.3, mean=1.03)
    assert verdicts(found)["p99"] is Verdict.DIFFERENT
    assert verdicts(found)["mean"] is Verdict.DIFFERENT_BUT_NEGLIGIBLE
    assert verdicts(found)["throughput"] is Verdict.EQUIVALENT
    assert verdicts(arms(5, sd=0.2))["p50"] is Verdict.INCONCLUSIVE
    assert {row.why != "" for row in found.rows} == {True}


@pytest.mark.parametrize("n", [2, 4])
def test_fewer_than_five_runs_have_intervals_but_no_verdict_but_inconclusive(n: int) -> None:
    found = arms(n, p99=2.0)
    row = found.row("p99")
    assert row is not None and row.low is not None and row.low > 1
    assert row.verdict is Verdict.INCONCLUSIVE and row.why == f"{n} runs in an arm, fewer than 5"
    assert {row.p_adjusted for row in found.rows} == {None}


def test_what_is_different_by_itself_only_is_taken_back_in_its_family() -> None:
    found = arms(5, sd=0.05, p99=1.1)
    row = found.row("p99")
    assert row is not None and row.low is not None and row.low > 1
    assert row.verdict is not Verdict.DIFFERENT and "different by itself, not among 6 rows" in row.why


def with_errors(a: Sequence[float], b: Sequence[float]) -> Comparison:
    made = [
        tuple(run(f"{arm}{i}", 2 * i + (arm + i) % 2, errors=share) for i, share in enumerate(some))
        for arm, some in enumerate((a, b))
    ]
    return compare_runs((made[0], made[1]))


def test_errors_are_compared_as_shares_and_none_is_none() -> None:
    none = [0.0] * 5
    some = [0.01, 0.012, 0.011, 0.009, 0.013]
    row = with_errors(none, none).row("errors")
    assert row is not None and row.ratio is None
    assert (row.verdict, row.why) == (Verdict.EQUIVALENT, "no request failed")
    row = with_errors(none, some).row("errors")
    assert row is not None and row.ratio is None and row.verdict is Verdict.DIFFERENT
    assert row.difference == pytest.approx(np.mean(some))
    assert row.difference_low is not None and row.difference_low > 0
    row = with_errors(some, [2 * share for share in some]).row("errors")
    assert row is not None and row.ratio == pytest.approx(2.0) and row.verdict is Verdict.DIFFERENT
    rare = [0.0001, 0.0, 0.0002, 0.0, 0.0001]
    row = with_errors(none, rare).row("errors")
    assert row is not None and row.verdict is Verdict.EQUIVALENT


def test_a_percentile_below_two_steps_of_the_clock_has_no_ratio() -> None:
    made = [
        tuple(
            run(f"{arm}{i}", 2 * i + (arm + i) % 2, resolution_s=1e-3, p50=0.001, p90=0.004 + 0.001 * (i % 2))
            for i in range(5)
        )
        for arm in (0, 1)
    ]
    found = compare_runs((made[0], made[1]))
    p50, p90 = found.row("p50"), found.row("p90")
    assert p50 is not None and p50.ratio is None and "clock of 1 ms" in p50.why
    assert p90 is not None and p90.ratio is not None and "the ratio may be off" in p90.why


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        ("p99 > 1.05", "exceeded"), ("p99 > 1.5", "kept"), ("p99>1.2", "not shown"), ("p99 < 1.5", "exceeded"),
        ("p99 < 1.05", "kept"), ("throughput < 0.9", "kept"), ("errors > 1", "kept"),
    ],
)  # fmt: skip
def test_a_limit_is_exceeded_where_the_whole_interval_lies_beyond_it(limit: str, outcome: str) -> None:
    assert check_limit(limit_named(limit), arms(p99=1.2)).outcome == outcome


def test_limits_where_there_is_no_ratio_and_what_is_no_limit() -> None:
    assert check_limit(limit_named("p99 > 1.05"), arms(1)).outcome == "cannot be told"
    none, some = [0.0] * 5, [0.01, 0.012, 0.011, 0.009, 0.013]
    assert check_limit(limit_named("errors > 1"), with_errors(none, some)).outcome == "exceeded"
    assert check_limit(limit_named("errors > 1"), with_errors(some, none)).outcome == "kept"
    for text in ("p99", "p98 > 1", "p99 > x", "p99 > -1", "p99 = 1", "", "p99 > inf"):
        with pytest.raises(InputError, match="--fail-if"):
            limit_named(text)
    plain = json.loads(json.dumps(arms().as_json(), allow_nan=False))
    assert set(plain) == {"arms", "order", "metrics", "traps", "warnings"} and plain["order"].count("A") == 5
    assert [row["metric"] for row in plain["metrics"]] == list(METRICS)
    assert {"metric", "label", "ratio", "low", "high", "verdict", "why"} <= set(plain["metrics"][0])


def test_a_limit_on_a_label_that_is_not_there_names_those_that_are() -> None:
    assert limit_named("p90 of GET /a b > 1.1").label == "GET /a b"
    with pytest.raises(InputError, match="no such label"):
        check_limit(limit_named("p90 of GET /a > 1.1"), arms())
