# SPDX-License-Identifier: Apache-2.0
"""Causes beside the service's pauses, connecting above all: none is found where it is not, none takes what an
earlier one has taken, and what nobody recorded is said to be so."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.attribution.event_matching import Beside, most_lost_s, peak_causes, stall_causes
from harness.analysis.attribution.share_of_quantile import attributable_fractions
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import CauseName, Span, attribute_latency
from harness.analysis.attribution.table import attribution_table
from harness.formats.arrays import FloatArray
from harness.store import SessionFolder
from harness.tests.support.paused_session import attributed, requests_of
from harness.tests.support.reports import report_file
from harness.tests.support.synthetic import make_session
from harness.tests.support.synthetic_pauses import pauses_of, requests_behind

BEGIN_S = 1_700_000_000.0


def paced(n: int = 2000, latency_s: float = 0.002) -> tuple[FloatArray, FloatArray]:
    """Requests 1 ms apart that all take the same."""
    return np.linspace(0.0, (n - 1) * 1e-3, n), np.full(n, latency_s, dtype=np.float64)


def test_a_request_that_was_slow_to_connect_is_put_down_to_connecting_and_to_no_pause() -> None:
    start, latency = paced()
    connect = np.zeros_like(start)
    slow = np.arange(50, 2000, 50)
    latency[slow] += 0.030
    connect[slow] = 0.030
    pauses = [(t + 0.040, t + 0.041) for t in start[slow[:-1]]]  # there are pauses, elsewhere
    causes = peak_causes(start, latency, {"gc_pause": pauses}, from_s=0.02, connect_s=connect)
    assert {cause for cause in causes if cause is not None} == {"connect"}
    without = peak_causes(start, latency, {"gc_pause": pauses}, from_s=0.02, connect_s=np.zeros_like(start))
    assert {cause for cause in without if cause is not None} == {"unexplained"}
    (tail,) = attributable_fractions(start, latency, {"gc_pause": pauses}, connect_s=connect)
    shares = {cause: share.value for cause, share in tail.causes.items()}
    assert shares["connect"] == pytest.approx(1, abs=0.02)
    assert shares["gc_pause"] == pytest.approx(0, abs=0.02)


def test_connecting_in_a_pause_belongs_to_the_pause() -> None:
    start, latency = np.arange(5.0), np.array([0.010, 0.100, 0.100, 0.010, 0.010])
    connect = np.array([0.0, 0.090, 0.090, 0.0, 0.0])
    taken = attribute_latency(start, latency, {"gc_pause": [(1.0, 1.080)]}, connect_s=connect)
    assert taken["gc_pause"] == pytest.approx([0, 0.080, 0, 0, 0])
    assert taken["connect"] == pytest.approx([0, 0.010, 0.090, 0, 0])


def test_where_every_arrival_connects_anew_only_what_is_more_than_ordinary_counts() -> None:
    start, latency = paced(200)
    connect = np.full(200, 0.001)
    connect[7] = 0.021
    latency[7] = 0.022
    taken = attribute_latency(start, latency, {}, connect_s=connect)["connect"]
    assert taken[7] == pytest.approx(0.020)
    assert np.count_nonzero(taken) == 1


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.floats(0, 1), st.floats(1e-3, 0.2), st.floats(0, 0.2) | st.just(float("nan"))),
        min_size=1,
        max_size=30,
    ),
    spans=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2)), max_size=6),
)
def test_no_cause_takes_more_than_there_is_and_connecting_no_more_than_it_took(
    rows: list[tuple[float, float, float]], spans: list[tuple[float, float]]
) -> None:
    start, latency, connect = (np.array(column) for column in zip(*rows, strict=True))
    events: dict[CauseName, list[Span]] = {
        "gc_pause": [(a, a + b) for a, b in spans[::2]],
        "run_queue": [(a, a + b) for a, b in spans[1::2]],
    }
    taken = attribute_latency(start, latency, events, connect_s=connect)
    assert (np.sum(list(taken.values()), axis=0) <= latency + 1e-9).all()
    assert all((one >= -1e-9).all() for one in taken.values())
    assert (taken["connect"] <= np.nan_to_num(connect) + 1e-9).all()


def lost(spans: list[tuple[float, float]], lost_s: list[float]) -> Beside:
    return Beside(cause="run_queue", spans=tuple(spans), lost_s=tuple(lost_s))


@settings(max_examples=80, deadline=None)
@given(
    gaps=st.lists(
        st.tuples(st.floats(0, 0.3), st.floats(0.01, 0.5), st.floats(0, 1)), min_size=1, max_size=8
    ),
    requests=st.lists(st.tuples(st.floats(-0.5, 4), st.floats(0.001, 2)), min_size=1, max_size=20),
)
def test_the_most_that_was_lost_is_what_a_walk_over_all_spans_gives(
    gaps: list[tuple[float, float, float]], requests: list[tuple[float, float]]
) -> None:
    spans, at = [], 0.0
    for gap, length, _ in gaps:
        spans.append((at + gap, at + gap + length))
        at += gap + length
    one = lost(spans, [length * share for _, length, share in gaps])
    start, latency = (np.array(column) for column in zip(*requests, strict=True))
    walked = [
        sum(
            min(max(min(s + took, high) - max(s, low), 0.0), most)
            for (low, high), most in zip(one.spans, one.lost_s, strict=True)
        )
        for s, took in requests
    ]
    assert most_lost_s(start, latency, one) == pytest.approx(walked, abs=1e-9)


def stall(start_s: float, end_s: float) -> Stall:
    return Stall(start_s=start_s, end_s=end_s, kind="stall", n_requests=20, log_p=-20.0)


def test_the_first_cause_in_order_that_claims_a_stall_is_its_name() -> None:
    spans = [(0.0, 0.1), (1.0, 1.1), (2.0, 2.1), (3.0, 3.1)]
    stalls = [stall(*span) for span in spans]
    events: dict[CauseName, list[Span]] = {
        "gc_pause": [(0.0, 0.1)],
        "other_safepoint": [(0.05, 0.1), (2.0, 2.1)],
    }
    found = stall_causes(stalls, events, connecting=[True, True, False, False])
    assert found == ("gc_pause", "connect", "other_safepoint", "unexplained")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    return make_session(tmp_path_factory.mktemp("causes"), "gc-peaks", "smoke")


def test_what_nobody_recorded_is_told_and_is_no_zero(session: SessionFolder) -> None:
    one = attributed(session, requests_of(session))
    why: dict[CauseName, str] = {
        "cgroup_throttle": "there is no machine.csv",
        "jit": "no flight recording",
        "connect": "does not report the time to connect",
        "run_queue": "there is no machine.csv",
    }
    assert set(one.missing) == set(why)
    for cause, words in why.items():
        assert one.missing[cause].startswith("not recorded: ") and words in one.missing[cause]
    assert one.most_beside["p99"] == {}
    assert "connect" not in set(one.tail["p99"])
    assert "unexplained" in set(one.tail["p99"])
    (row,) = attribution_table([one])
    for name in ("connect_tail", "throttle_most", "jit_most", "run_queue_most"):
        assert row.numbers[name].value is None
        assert row.numbers[name].warnings[0].startswith("not recorded: ")
    assert row.numbers["unexplained_tail"].value is not None


def jtl(folder: Path, *, connect: Literal["slow", "none", "untold"]) -> Path:
    """Requests that were held up seven times by something of 25 ms; by connecting, if that is slow."""
    rng = np.random.default_rng(5)
    frame = requests_behind(BEGIN_S, pauses_of(BEGIN_S, 0.025), rng)
    late = np.maximum(frame["elapsed"] - 3, 0) * (frame["elapsed"] > 11)
    if connect != "untold":
        frame = frame.assign(Connect=late if connect == "slow" else 0)
    path = folder / f"{connect}.jtl"
    frame.to_csv(path, index=False)
    return path


def test_a_report_puts_a_stall_down_to_connecting_where_the_file_tells_it(tmp_path: Path) -> None:
    told = report_file(jtl(tmp_path, connect="slow"))
    assert told.stalls and {stall.cause for stall in told.stalls} == {"connect"}
    for nothing in (jtl(tmp_path, connect="none"), jtl(tmp_path, connect="untold")):
        other = report_file(nothing)
        assert other.stalls and {stall.cause for stall in other.stalls} == {None}
