# SPDX-License-Identifier: Apache-2.0
"""A fixed amount of work tells how long it took; a load that offers a rate tells which rate was kept up."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.load.load_response import offered_for_s, serve_s, sustained_per_s
from harness.model import ClosedLoad, LoadSummary, OpenLoad

ONCE = ClosedLoad(users=400, ramp_up_s=4.0, loops=1)


def load(**changes: object) -> LoadSummary:
    facts: dict[str, object] = {
        "n_requests": 2800, "n_errors": 0, "start_epoch_s": 0.0, "duration_s": 6.0, "offered_per_s": None,
        "achieved_per_s": 2800 / 6, "latency_mean_s": 0.01, "resolution_s": 0.001, "has_requests": True,
        "n_flows": 400, "n_flows_right": 400,
    }  # fmt: skip
    return LoadSummary.model_validate(facts | changes)


def test_one_slow_user_at_the_end_does_not_change_the_rate_that_was_kept_up() -> None:
    start = np.arange(0, 4, 0.01)
    latency = np.full(start.size, 0.005)
    steady = sustained_per_s(start, latency, np.ones(start.size, dtype=bool), 4.0)
    assert steady == pytest.approx(100, rel=0.01)
    latency[-1] = 60.0
    assert sustained_per_s(start, latency, np.ones(start.size, dtype=bool), 4.0) == pytest.approx(
        steady, rel=0.01
    )


def test_a_service_that_falls_behind_keeps_up_its_own_rate_and_wrong_answers_are_none() -> None:
    start = np.arange(0, 4, 0.01)
    done = np.arange(1, start.size + 1) / 25.0  # a quarter of what comes
    right = np.ones(start.size, dtype=bool)
    assert sustained_per_s(start, done - start, right, 4.0) == pytest.approx(25, rel=0.02)
    assert sustained_per_s(start, done - start, ~right, 4.0) == 0


def test_users_who_come_once_over_a_ramp_offer_a_rate_and_users_who_stay_do_not() -> None:
    assert offered_for_s(ONCE) == 4
    assert offered_for_s(OpenLoad(rate_per_s=9, duration_s=5)) == 5
    assert offered_for_s(OpenLoad(rate_per_s=9, duration_s=5, parts=2, pause_s=1)) is None
    assert offered_for_s(ClosedLoad(users=9, loops=5, ramp_up_s=1)) is None
    assert offered_for_s(ClosedLoad(users=9, duration_s=5)) is None


def test_time_to_serve_is_that_of_work_that_was_all_done() -> None:
    assert serve_s(ONCE, load()) == 6
    assert serve_s(ONCE, load(n_flows=None, n_flows_right=None)) == 6
    for lost in ({"n_errors": 1}, {"n_flows_right": 399}, {"n_dropped": 1}):
        assert serve_s(ONCE, load(**lost)) is None
    assert serve_s(ClosedLoad(users=9, duration_s=5), load()) is None
    assert serve_s(OpenLoad(rate_per_s=9, duration_s=5), load()) is None
