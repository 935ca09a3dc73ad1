# SPDX-License-Identifier: Apache-2.0
"""The knee of a load curve, and the parts of a long load: found where they are, not found where they are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.load.load_response import parts_of
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.scaling import MIN_LOADS, knee, saturation
from harness.errors import InputError

LOADS = np.repeat([50.0, 80.0, 110.0, 140.0, 170.0, 200.0, 230.0], 6)


def bent(at: float, noise: float, seed: int = 0) -> Floats:
    """Latency that doubles every 20 requests per second beyond the knee."""
    rng = np.random.default_rng(seed)
    log = np.log(0.004) + np.maximum(0, LOADS - at) * np.log(2) / 20
    latency: Floats = np.exp(log + rng.normal(0, noise, LOADS.size))
    return latency


@given(st.floats(90, 190), st.integers(0, 1000))
@settings(max_examples=12, deadline=None)
def test_a_knee_is_found_where_it_is(at: float, seed: int) -> None:
    found = knee(LOADS, bent(at, 0.05, seed), n_resamples=60)
    assert found.value == pytest.approx(at, abs=6)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high


def test_the_interval_covers_the_knee_about_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(40):
        found = knee(LOADS, bent(150, 0.15, seed), n_resamples=150, seed=seed)
        covered += found.low is not None and found.high is not None and found.low <= 150 <= found.high
    assert 32 <= covered <= 40  # 95 %, a little fewer with six trials a load: the estimate says so


@pytest.mark.parametrize("slope", [0.0, 0.01])
def test_a_straight_line_has_no_knee(slope: float) -> None:
    found_none = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        latency = np.exp(np.log(0.004) + slope * LOADS + rng.normal(0, 0.1, LOADS.size))
        found_none += knee(LOADS, latency, n_resamples=60, seed=seed).value is None
    assert found_none >= 19


def answered(capacity: float, noise: float, seed: int = 0) -> Floats:
    """Right answers that follow the load up to a capacity, and stay there."""
    rng = np.random.default_rng(seed)
    found: Floats = np.minimum(LOADS, capacity) * np.exp(rng.normal(0, noise, LOADS.size))
    return found


@given(st.floats(90, 190), st.integers(0, 1000))
@settings(max_examples=12, deadline=None)
def test_answers_follow_the_load_up_to_the_capacity(capacity: float, seed: int) -> None:
    found = saturation(LOADS, answered(capacity, 0.03, seed), n_resamples=60)
    assert found.value == pytest.approx(capacity, abs=12)
    assert found.low is None or found.low <= (found.value or 0)
    assert found.high is None or found.high >= (found.value or 0)


def test_answers_that_follow_every_load_tell_no_capacity() -> None:
    told = [saturation(LOADS, answered(1e6, 0.03, seed), n_resamples=60, seed=seed) for seed in range(20)]
    assert sum(found.value is not None for found in told) <= 1
    assert told[0].unit == "1/s"
    assert "follow" in told[0].estimand


def test_too_few_loads_are_refused_with_the_reason() -> None:
    few = np.isin(LOADS, np.unique(LOADS)[: MIN_LOADS - 1])
    found = knee(LOADS[few], bent(100, 0.05)[few])
    assert found.value is None
    assert f"{MIN_LOADS} needed" in found.warnings[0]


#: The loads of the published bank under ``quick``: shares of a capacity of 100 per second, five trials each.
SIX = np.repeat([40.0, 70.0, 100.0, 140.0, 200.0, 280.0], 5)


def doubling(loads: Floats, at: float, seed: int, noise: float = 0.15) -> Floats:
    """Latency that doubles every 30 requests per second beyond the knee."""
    rng = np.random.default_rng(seed)
    latency: Floats = np.exp(
        np.log(0.02) + np.maximum(0, loads - at) * np.log(2) / 30 + rng.normal(0, noise, loads.size)
    )
    return latency


@pytest.mark.parametrize("at", [20.0, 45.0, 55.0, 230.0, 260.0, 400.0])
def test_a_knee_outside_of_what_was_offered_is_none_or_has_an_open_interval(at: float) -> None:
    for seed in range(12):
        found = knee(SIX, doubling(SIX, at, seed), n_resamples=100, seed=seed)
        if found.value is None:
            assert found.warnings
            continue
        side = found.low if at < 70 else found.high
        assert side is None
        assert any("open" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("load", "latency"), [([1.0, 2.0], [1.0]), ([0.0], [1.0]), ([1.0], [0.0]), ([float("nan")], [1.0])]
)
def test_what_is_no_load_curve_is_refused(load: list[float], latency: list[float]) -> None:
    with pytest.raises(InputError):
        knee(load, latency)


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
    start = np.arange(0, 8, 0.01)
    at = np.arange(-1, 9, 0.05)
    cpu = np.interp(at, [0, 2, 8], [0, 3, 6])  # a core and a half, then half a one
    samples = pd.DataFrame({"monotonic_s": at, "role": "service", "cpu_s": cpu, "rss_bytes": 1e8})
    parts = parts_of(
        requests(1e9 + start, np.full(start.size, 0.002)), duration_s=8, samples=samples,
        epoch_to_monotonic_s=-1e9,
    )  # fmt: skip
    assert parts["service_cores"].round(2).tolist() == [1.5, 0.5, 0.5, 0.5]


def test_a_part_without_right_answers_has_no_latency_but_counts_its_errors() -> None:
    start = np.arange(0, 4, 0.01)
    parts = parts_of(requests(start, np.full(start.size, 0.01), start >= 1), duration_s=4)
    assert np.isnan(parts["latency_mean_s"].iloc[0])
    assert parts["n_errors"].tolist() == [100, 0, 0, 0]


def test_a_schedule_with_pauses_is_cut_where_its_parts_were_due_however_late_they_were_answered() -> None:
    begins = (0.0, 3.0, 6.0)
    start = np.concatenate([begin + np.arange(0, 2, 0.01) for begin in begins])
    latency = np.where(start < 2, 4.0, 0.002)  # all of the first part is answered in later ones
    parts = parts_of(requests(1e9 + start, latency), duration_s=2, begins_s=begins, n_parts=3)
    assert parts["n_requests"].tolist() == [200, 200, 200]
    assert parts["latency_mean_s"].round(6).tolist() == [4.0, 0.002, 0.002]
    assert parts["throughput_per_s"].round(6).tolist() == [100.0, 100.0, 100.0]


@given(st.floats(-0.4, 0.4), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_a_late_generator_and_a_late_first_request_move_nothing_into_another_part(
    late_s: float, seed: int
) -> None:
    """What counts from the first request may be early in later parts; a slow generator may reach into the pause."""
    begins = (0.0, 3.0, 6.0)
    jitter = np.random.default_rng(seed).uniform(0, 0.05, 60)
    start = np.concatenate([begin + np.linspace(0, 2, 20, endpoint=False) for begin in begins]) + jitter
    start[20:] += late_s
    parts = parts_of(requests(1e9 + start, np.full(60, 0.01)), duration_s=2, begins_s=begins, n_parts=3)
    assert parts["n_requests"].tolist() == [20, 20, 20]


def test_parts_of_a_schedule_can_be_cut_further_and_only_alike() -> None:
    start = np.concatenate([begin + np.arange(0, 2, 0.01) for begin in (0.0, 3.0)])
    all_of_it = requests(1e9 + start, np.full(start.size, 0.002))
    finer = parts_of(all_of_it, duration_s=2, begins_s=(0.0, 3.0), n_parts=8)
    assert finer["n_requests"].tolist() == [50] * 8
    with pytest.raises(InputError, match="2 parts"):
        parts_of(all_of_it, duration_s=2, begins_s=(0.0, 3.0), n_parts=3)


def test_nothing_to_cut_is_refused() -> None:
    with pytest.raises(InputError):
        parts_of(requests(np.array([]), np.array([])), duration_s=1)
    with pytest.raises(InputError):
        parts_of(requests(np.array([1.0]), np.array([1.0])), duration_s=0)
