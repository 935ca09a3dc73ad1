# SPDX-License-Identifier: Apache-2.0
"""Rules for what a closed loop hides."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.load.coordinated_omission import coordinated_omission_check, with_missing_requests


def test_one_user_held_up_for_a_second_leaves_out_what_it_would_have_sent() -> None:
    every = with_missing_requests(np.array([1.0, 0.05]), 0.25)
    assert every is not None and every.tolist() == [1.0, 0.05, 0.75, 0.5, 0.25]


def test_a_single_user_is_a_closed_loop_and_its_tail_is_corrected() -> None:
    latency = np.full(2000, 0.01)
    latency[500::500] = 2.0
    start = np.concatenate([[0.0], np.cumsum(latency)[:-1]])
    check = coordinated_omission_check(start, latency, users=1)
    assert check.flagged and check.loop == "closed" and check.interval_s == pytest.approx(0.01)
    assert check.corrected_s is not None and check.corrected_s["p99"] > 100 * check.measured_s["p99"]
