# SPDX-License-Identifier: Apache-2.0
"""The parts of a load, what was answered rightly, the rate that was kept up, and the search for a capacity."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.analysis.load.capacity_search import Measure, judged, loss_to_report, search_capacity
from harness.analysis.load.load_response import failed_share, parts_of, right_share, serve_s, sustained_per_s
from harness.errors import CalibrationFailed
from harness.model import CalibrationSpec, CapacityGoals, ClosedLoad, LoadSummary, OpenLoad, SearchTrial


def requests(start: np.ndarray, latency: np.ndarray, ok: np.ndarray | None = None) -> pd.DataFrame:
    right = np.ones(start.size, dtype=bool) if ok is None else ok
    return pd.DataFrame({"start_epoch_s": start, "latency_s": latency, "ok": right})


@given(st.integers(1, 7), st.integers(2, 400), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_every_request_is_in_one_part_and_no_error_is_lost(n_parts: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = 1e9 + rng.uniform(0, 8, n)
    ok = rng.random(n) > 0.2
    parts = parts_of(requests(start, rng.uniform(0.001, 0.1, n), ok), duration_s=8, n_parts=n_parts)
    assert list(parts["part"]) == [str(i + 1) for i in range(n_parts)]
    assert parts["n_requests"].sum() == n
    assert parts["n_errors"].sum() == (~ok).sum()
    assert (parts["throughput_per_s"] * 8 / n_parts).sum() == pytest.approx(ok.sum())


def test_the_processor_time_of_a_part_is_that_of_its_own_window() -> None:
    start, at = np.arange(0, 8, 0.01), np.arange(-1, 9, 0.05)
    cpu = np.interp(at, [0, 2, 8], [0, 3, 6])  # a core and a half, then half a one
    samples = pd.DataFrame({"monotonic_s": at, "role": "service", "cpu_s": cpu, "rss_bytes": 1e8})
    all_of_it = requests(1e9 + start, np.full(start.size, 0.002))
    parts = parts_of(all_of_it, duration_s=8, samples=samples, epoch_to_monotonic_s=-1e9)
    assert parts["service_cores"].round(2).tolist() == [1.5, 0.5, 0.5, 0.5]


@given(st.floats(-0.4, 0.4), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_a_schedule_with_pauses_is_cut_where_parts_were_due_however_late(late_s: float, seed: int) -> None:
    """What counts from the first request may be early in later parts; a slow generator may reach into the pause."""
    begins = (0.0, 3.0, 6.0)
    jitter = np.random.default_rng(seed).uniform(0, 0.05, 60)
    start = np.concatenate([begin + np.linspace(0, 2, 20, endpoint=False) for begin in begins]) + jitter
    start[20:] += late_s
    latency = np.where(np.arange(60) < 20, 4.0, 0.002)  # all of the first part is answered in later ones
    parts = parts_of(requests(1e9 + start, latency), duration_s=2, begins_s=begins, n_parts=3)
    assert parts["n_requests"].tolist() == [20, 20, 20]
    assert parts["latency_mean_s"].round(6).tolist() == [4.0, 0.002, 0.002]
    assert parts["throughput_per_s"].round(6).tolist() == [10.0, 10.0, 10.0]


def row(**counts: float | None) -> pd.DataFrame:
    names = ("n_requests", "n_errors", "n_dropped", "n_flows", "n_flows_right")
    return pd.DataFrame([{name: counts.get(name) for name in names}])


FLOW = {"n_requests": 4946, "n_errors": 505, "n_flows": 988, "n_flows_right": 483}


@pytest.mark.parametrize(
    ("counts", "failed", "right"),
    [
        ({"n_requests": 19, "n_errors": 6, "n_dropped": 21}, 27 / 40, 13 / 40),  # 40 arrivals, 21 never sent
        (FLOW, 505 / 988, 483 / 988),  # passes
        (FLOW | {"n_dropped": 12}, 0.517, 0.483),
        ({"n_requests": 0, "n_errors": 0}, np.nan, np.nan),
    ],
)
def test_what_was_never_sent_has_failed(counts: dict[str, int], failed: float, right: float) -> None:
    assert failed_share(row(**counts)).tolist() == pytest.approx([failed], nan_ok=True)
    assert right_share(row(**counts)).tolist() == pytest.approx([right], nan_ok=True)


ONCE = ClosedLoad(users=400, ramp_up_s=4.0, loops=1)


def load(**changes: object) -> LoadSummary:
    facts: dict[str, object] = {
        "n_requests": 2800, "n_errors": 0, "start_epoch_s": 0.0, "duration_s": 6.0, "offered_per_s": None,
        "achieved_per_s": 2800 / 6, "latency_mean_s": 0.01, "resolution_s": 0.001, "has_requests": True,
        "n_flows": 400, "n_flows_right": 400,
    }  # fmt: skip
    return LoadSummary.model_validate(facts | changes)


def test_a_service_that_falls_behind_keeps_up_its_own_rate_and_wrong_answers_are_none() -> None:
    start = np.arange(0, 4, 0.01)
    done = np.arange(1, start.size + 1) / 25.0  # a quarter of what comes
    right = np.ones(start.size, dtype=bool)
    assert sustained_per_s(start, done - start, right, 4.0) == pytest.approx(25, rel=0.02)
    assert sustained_per_s(start, done - start, ~right, 4.0) == 0


def test_time_to_serve_is_that_of_work_that_was_all_done() -> None:
    assert serve_s(ONCE, load()) == 6
    assert serve_s(ONCE, load(n_flows=None, n_flows_right=None)) == 6
    for lost in ({"n_errors": 1}, {"n_flows_right": 399}, {"n_dropped": 1}):
        assert serve_s(ONCE, load(**lost)) is None
    assert serve_s(ClosedLoad(users=9, duration_s=5), load()) is None
    assert serve_s(OpenLoad(rate_per_s=9, duration_s=5), load()) is None


GOALS = CapacityGoals()


def trial(
    rate_per_s: float, duration_s: float, *, late: float, right_per_s: float | None = None
) -> SearchTrial:
    return judged(
        GOALS, rate_per_s=rate_per_s, duration_s=duration_s, n_arrivals=int(rate_per_s * duration_s),
        right_per_s=rate_per_s if right_per_s is None else right_per_s, lost_share=0.0, late_share=late,
    )  # fmt: skip


def service(capacity_per_s: float) -> Measure:
    """A service that is late above a rate."""

    def measure(rate_per_s: float, duration_s: float) -> SearchTrial:
        late = 0.3 if rate_per_s > capacity_per_s else 0.0
        return trial(rate_per_s, duration_s, late=late, right_per_s=min(rate_per_s, 1.05 * capacity_per_s))

    return measure


@pytest.mark.parametrize("capacity_per_s", [42.0, 950.0, 31_000.0])
def test_the_highest_rate_that_keeps_its_goals_is_found_to_within_its_width(capacity_per_s: float) -> None:
    found = search_capacity(
        service(capacity_per_s), GOALS, lowest_per_s=0.4 * capacity_per_s, highest_per_s=1.3 * capacity_per_s
    )
    assert found.upper_per_s is not None
    assert found.lower_per_s <= capacity_per_s < found.upper_per_s
    assert found.upper_per_s / found.lower_per_s - 1 <= 1.1 * GOALS.width


def test_a_range_that_keeps_its_goals_has_no_upper_bound_and_one_that_misses_them_no_capacity() -> None:
    found = search_capacity(service(5000.0), GOALS, lowest_per_s=400.0, highest_per_s=1200.0)
    assert found.upper_per_s is None and found.lower_per_s == pytest.approx(1200.0)
    with pytest.raises(CalibrationFailed, match=r"400/s already misses the goals .*30.00% late"):
        search_capacity(service(100.0), GOALS, lowest_per_s=400.0, highest_per_s=1200.0)


def test_a_report_is_good_where_its_trial_is_and_leads_to_the_rate_that_was_answered() -> None:
    good = trial(100.0, 4.0, late=GOALS.late_ratio / 2)
    assert loss_to_report(good, GOALS) == pytest.approx(GOALS.loss_ratio / 2)
    late = trial(100.0, 4.0, late=0.5)
    assert loss_to_report(late, GOALS) > GOALS.loss_ratio and not late.good
    flooded = trial(100.0, 4.0, late=1.0, right_per_s=60.0)
    assert loss_to_report(flooded, GOALS) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"capacity": "search", "generator": "wrk"}, "wrk sends on a connection only after its answer"),
        ({"capacity": "search", "generator": "wrk", "goals": {"generator": "wrk2"}}, "no row per request"),
        ({"generator": "k6", "goals": {}}, "goals are those of capacity"),
        ({"capacity": "search", "generator": "k6", "goals": {"trial_s": 30.0}}, "at most trials_s"),
        ({"capacity": "search", "generator": "k6", "goals": {"from_share": 2.0}}, "below to_share"),
        ({"capacity": "search", "generator": "k6", "goals": {"loss_ratio": 0.0}}, "greater than 0"),
    ],
)  # fmt: skip
def test_a_definition_that_cannot_be_searched_is_refused(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        CalibrationSpec.model_validate(given)
