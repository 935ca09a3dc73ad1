# SPDX-License-Identifier: Apache-2.0
"""The share that failed counts what was never sent, and passes where the load is a flow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.load.load_response import failed_share, right_share, wanted


def row(**counts: float | None) -> pd.DataFrame:
    names = ("n_requests", "n_errors", "n_dropped", "n_flows", "n_flows_right")
    return pd.DataFrame([{name: counts.get(name) for name in names}])


def test_arrivals_that_were_never_sent_have_failed() -> None:
    """Of 40 arrivals 19 were sent, of which 6 went wrong: 27 of 40 failed, not 6 of 19."""
    trial = row(n_requests=19, n_errors=6, n_dropped=21)
    assert failed_share(trial).tolist() == [pytest.approx(27 / 40)]
    assert right_share(trial).tolist() == [pytest.approx(13 / 40)]


def test_a_flow_is_counted_in_passes() -> None:
    """988 passes of 7 requests, of which 505 ended at their first wrong answer: half of them, not a tenth."""
    trial = row(n_requests=4946, n_errors=505, n_flows=988, n_flows_right=483)
    assert failed_share(trial).tolist() == [pytest.approx(505 / 988)]
    assert right_share(trial).tolist() == [pytest.approx(483 / 988)]
    dropped = trial.assign(n_dropped=12)
    assert failed_share(dropped).tolist() == [pytest.approx(517 / 1000)]
    assert right_share(dropped).tolist() == [pytest.approx(0.483)]


def test_a_load_that_asked_for_nothing_has_no_share() -> None:
    for trial in (row(n_requests=0, n_errors=0), row()):
        assert np.isnan(failed_share(trial)[0])
        assert np.isnan(right_share(trial)[0])


@given(
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(0, 500) | st.none()),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=60, deadline=None)
def test_what_was_wanted_was_answered_rightly_or_failed(loads: list[tuple[int, int, int | None]]) -> None:
    frame = pd.concat(
        [row(n_requests=r + e, n_errors=e, n_dropped=d) for r, e, d in loads], ignore_index=True
    )
    there = wanted(frame).notna()
    assert there.tolist() == [r + e + (d or 0) > 0 for r, e, d in loads]
    assert (failed_share(frame) + right_share(frame))[there].tolist() == pytest.approx([1.0] * there.sum())


def test_tables_of_early_sessions_without_passes_and_drops_are_read_as_before() -> None:
    early = pd.DataFrame({"n_requests": [10.0, 20.0], "n_errors": [1.0, 0.0]}, index=[7, 3])
    assert failed_share(early).to_dict() == {7: 0.1, 3: 0.0}
