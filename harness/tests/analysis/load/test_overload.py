# SPDX-License-Identifier: Apache-2.0
"""Overload: backlog, drain, recovery; and how the database was used meanwhile."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.load.load_response import backlog, overload
from harness.analysis.tables.bound_columns import read_database, use_of
from harness.errors import InputError

QUEUES = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 80)), min_size=1, max_size=60
)  # starts and latencies in hundredths of a second: no rounding of a sum decides a test


def arrays(queue: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    start, latency = (np.array(column, dtype=float) for column in zip(*queue, strict=True))
    return start, latency


@given(QUEUES)
@settings(max_examples=60, deadline=None)
def test_the_backlog_is_what_a_count_of_every_request_says(queue: list[tuple[int, int]]) -> None:
    start, latency = arrays(queue)
    at = np.arange(0, 300, 7.0)
    brute = [sum(s <= t < s + d for s, d in queue) for t in at]
    assert backlog(start, latency, at).tolist() == brute


@given(QUEUES, st.integers(-1000, 1000))
@settings(max_examples=60, deadline=None)
def test_a_shift_in_time_and_the_order_of_rows_change_nothing(
    queue: list[tuple[int, int]], shift: int
) -> None:
    start, latency = arrays(queue)
    ok = np.arange(len(queue)) % 3 > 0
    order = np.argsort(latency, kind="stable")
    assert overload(start, latency, ok) == overload((start + shift)[order], latency[order], ok[order])


@given(QUEUES)
@settings(max_examples=60, deadline=None)
def test_the_queue_ends_where_its_last_request_ends(queue: list[tuple[int, int]]) -> None:
    start, latency = arrays(queue)
    found = overload(start, latency, np.ones(len(queue), dtype=bool))
    assert found.drain_s == (start + latency).max() - start.max()
    assert 1 <= found.left_at_last_arrival <= found.highest_backlog <= len(queue)
    assert found.recovery_s is None or found.recovery_s > 0
    assert (found.recovery_s is None) == (found.highest_backlog == 1)


def test_a_service_that_keeps_up_has_no_backlog_and_one_that_does_not_drains_afterwards() -> None:
    start = np.arange(0, 10, 0.01)
    good = overload(start, np.full(start.size, 0.005), np.ones(start.size, dtype=bool))
    assert (good.highest_backlog, good.recovery_s) == (1, None)
    served_at = np.arange(1, start.size + 1) * 0.02  # half as fast as they arrive
    bad = overload(start, served_at - start, np.ones(start.size, dtype=bool))
    assert bad.drain_s == pytest.approx(10.01, abs=0.02)
    assert bad.left_at_last_arrival == bad.highest_backlog == pytest.approx(500, abs=2)
    assert bad.recovery_s == pytest.approx(9.0, abs=0.1)  # nine tenths of the queue at 50 a second


@pytest.mark.parametrize(
    ("start", "latency", "ok"),
    [([], [], []), ([1.0], [1.0, 2.0], [True]), ([1.0], [-1.0], [True]), ([1.0], [1.0], [True, True])],
)
def test_what_is_no_queue_is_refused(start: list[float], latency: list[float], ok: list[bool]) -> None:
    with pytest.raises(InputError):
        overload(start, latency, ok)


def watched(*rows: tuple[float, int, int]) -> bytes:
    head = (
        "epoch_s,n_active,n_idle,n_idle_in_transaction,n_starting,n_waiting_for_lock,n_locks_not_granted,"
        "deadlocks,xact_commit,xact_rollback\n"
    )
    return (head + "".join(f"{t},{a},{i},1,0,0,0,0,{int(t)},0\n" for t, a, i in rows)).encode()


def test_connections_are_counted_within_the_window_and_a_cut_last_line_is_left_out() -> None:
    text = watched((10.0, 50, 50), (20.0, 3, 4), (20.5, 1, 9), (30.0, 99, 0)) + b"30.5,7"
    used = use_of(read_database(io.BytesIO(text)), (15.0, 25.0))
    assert used is not None
    assert (used.most_connections, used.most_active) == (11, 3)
    assert use_of(read_database(io.BytesIO(text)), (40.0, 50.0)) is None


@pytest.mark.parametrize("text", [b"", b"a,b\n1,2\n"])
def test_a_file_that_the_watch_did_not_write_is_refused(text: bytes) -> None:
    with pytest.raises(InputError):
        read_database(io.BytesIO(text))


def test_an_empty_watch_has_no_use() -> None:
    assert use_of(pd.DataFrame(read_database(io.BytesIO(watched()))), (0.0, 100.0)) is None
