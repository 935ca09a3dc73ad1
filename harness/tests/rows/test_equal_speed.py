# SPDX-License-Identifier: Apache-2.0
"""Metrics at one speed of the CPUs, where a neighbour slowed more trials than could be left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.evidence.metrics import METRICS
from harness.analysis.stats.comparisons import compare
from harness.errors import InputError
from harness.rows import at_equal_speed, beside_neighbours, overview
from harness.tests.support.made_up_trials import PER_S, uneven_speeds

STEP_S = 64e-9


def test_without_noise_every_trial_has_what_its_variant_does_at_that_speed() -> None:
    adjusted = at_equal_speed(uneven_speeds(noise=0.0, busy=0.5), "throughput_per_s", usual_s=1.2 * STEP_S)
    for variant, per_s in PER_S.items():
        rates = adjusted.loc[adjusted["variant"] == variant, "throughput_per_s"]
        assert rates.to_numpy() == pytest.approx(per_s / 1.2)


def test_trials_left_out_for_their_speed_count_again_and_others_do_not() -> None:
    trials = uneven_speeds(busy=0.3)
    slowed = trials["excluded"].copy()
    failed, unread, by_generator = trials.index[~slowed][0], trials.index[~slowed][1], trials.index[slowed][0]
    trials.loc[by_generator, "bound_by"] = "generator"
    trials.loc[failed, "excluded"], trials.loc[failed, "exclusion_reason"] = True, "failed: it ended"
    trials.loc[unread, "service_step_s"] = np.nan
    adjusted = at_equal_speed(trials, "throughput_per_s")
    assert slowed.sum() > 5
    assert list(adjusted.index[adjusted["excluded"]]) == sorted([failed, unread])
    assert adjusted.loc[unread, "exclusion_reason"].endswith("was not read")
    assert adjusted.loc[by_generator, "bound_by"] == "generator"
    assert set(adjusted.drop(index=by_generator)["bound_by"]) == {"service"}


@pytest.mark.parametrize("java_elasticity", [-1.0, -0.7])
def test_the_interval_holds_the_ratio_at_that_speed_and_is_narrower(java_elasticity: float) -> None:
    # the second service is slowed less than the first, as a program is that waits for memory
    usual, widths, n_held, n_sessions = 1.15, [], 0, 20
    truth = PER_S["java-helidon"] / PER_S["go-nethttp"] * usual ** (1.0 + java_elasticity)
    for seed in range(n_sessions):
        trials = uneven_speeds(seed=seed, busy=0.5, java_elasticity=java_elasticity)
        frames = (
            at_equal_speed(trials, "throughput_per_s", usual_s=usual * STEP_S),
            trials.assign(excluded=False),
        )
        ours, as_they_are = (
            compare(frame, "throughput_per_s", reference="go-nethttp", gated=False)[0].ratio
            for frame in frames
        )
        assert ours.low is not None and ours.high is not None and as_they_are.low and as_they_are.high
        widths.append(np.log(ours.high / ours.low) / np.log(as_they_are.high / as_they_are.low))
        n_held += ours.low <= truth <= ours.high
    assert n_held >= 0.9 * n_sessions
    assert float(np.median(widths)) < 0.5


def test_a_session_whose_speed_was_not_read_is_refused() -> None:
    with pytest.raises(InputError, match="too few trials to adjust for the speed"):
        at_equal_speed(uneven_speeds().assign(service_step_s=np.nan), "throughput_per_s")


def test_where_a_third_or_less_was_left_out_the_trials_stay_as_they_are() -> None:
    calm, busy = uneven_speeds(busy=0.1), uneven_speeds(busy=0.5)
    pd.testing.assert_frame_equal(beside_neighbours(calm, "throughput_per_s"), calm)
    pd.testing.assert_frame_equal(beside_neighbours(busy, "latency_p99_s"), busy)
    pd.testing.assert_frame_equal(
        beside_neighbours(busy, "throughput_per_s"), at_equal_speed(busy, "throughput_per_s")
    )


def test_memory_counts_as_it_is() -> None:
    busy = uneven_speeds(busy=0.5).assign(rss_after_bytes=1e6)
    counted = beside_neighbours(busy, "rss_after_bytes")
    assert busy["excluded"].any() and not counted["excluded"].any()
    pd.testing.assert_series_equal(counted["throughput_per_s"], busy["throughput_per_s"])


def test_each_combination_of_levels_is_decided_on_its_own() -> None:
    calm, busy = (uneven_speeds(busy=busy).assign(size=size) for busy, size in ((0.1, "a"), (0.5, "b")))
    both = pd.concat([calm, busy], ignore_index=True)
    excluded = beside_neighbours(both, "throughput_per_s", by=["size"]).groupby("size")["excluded"].sum()
    assert excluded["a"] == calm["excluded"].sum() > 0 and excluded["b"] == 0


def test_an_overview_counts_the_slowed_trials_and_says_so() -> None:
    trials = uneven_speeds(busy=0.5)
    rows = overview(trials, METRICS[:1], reference="go-nethttp").query("kind == 'ratio'")
    assert list(rows["n_blocks"]) == [20] and list(rows["bound_by"]) == ["service 40"]
    assert f"in {trials['excluded'].sum()} of 40 trials; all count" in " ".join(rows["warnings"].iloc[0])
