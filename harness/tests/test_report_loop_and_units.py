# SPDX-License-Identifier: Apache-2.0
"""Rules for a report on anybody's file: which loop its numbers come from, and whether its units can be true."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.analysis.omission import coordinated_omission_check
from harness.analysis.quantiles import quantile_ci
from harness.analysis.report import report_file
from harness.analysis.report_html import _band
from harness.analysis.report_output import main
from harness.analysis.report_result import Report
from harness.analysis.rhythm import _p_fewer
from harness.analysis.verify.queueing import (
    ServiceLaw,
    arrival_times,
    regular_pauses,
    service_times,
    simulate_open,
)
from harness.errors import InputError
from harness.formats.jtl import open_jtl, read_jtl
from harness.formats.jtl_sides import read_sides
from harness.formats.jtl_units import UNITS_PER_S
from harness.tests.made_jtl import BARE, EPOCH_S, FULL, Load, closed_load, open_load, write_load

MANY = settings(max_examples=25, deadline=None)
SOME = settings(max_examples=12, deadline=None)
COLUMNS = st.sampled_from([
    FULL, BARE, tuple(c for c in FULL if c != "threadName"), tuple(c for c in FULL if "Threads" not in c),
    tuple(c for c in FULL if c not in {"Latency", "Connect"}), ("timeStamp", "elapsed", "allThreads", "success"),
])  # fmt: skip
seeds = st.integers(0, 10_000)
#: From a tenth of a millisecond to half a minute.
medians = st.floats(-4, 1.5).map(lambda power: 10**power)


def reported(load: Load, columns: tuple[str, ...] = FULL, **written: float) -> Report:
    with tempfile.TemporaryDirectory() as name:
        return report_file(write_load(Path(name) / "some.jtl", load, columns, **written))


def accused(report: Report) -> list[str]:
    return [one.text for one in report.units if one.contradicted]


def suspected(report: Report) -> set[str | None]:
    return {one.rather for one in report.units if one.contradicted}


def test_the_columns_beside_are_those_of_the_rows_that_are_no_sums() -> None:
    golden = Path(__file__).parent / "golden" / "jmeter"
    stream = open_jtl(golden / "default-transactions.jtl")
    sides = read_sides(stream.path, stream.layout)
    assert sides is not None and sides.n_requests == 45 and sides.is_whole_file
    assert sides.thread is not None and set(sides.thread.tolist()) == {0, 1, 2}
    assert sides.all_threads is not None and sides.all_threads.max() <= 3
    assert sides.first_byte_ms is not None and (sides.first_byte_ms <= sides.latency_s * 1e3).all()
    few = read_sides(stream.path, stream.layout, 10)
    assert few is not None and 0 < few.n_requests <= 10 and not few.is_whole_file
    plain = open_jtl(golden / "samples.jtl")
    connect_only = read_sides(plain.path, plain.layout)
    assert connect_only is None or connect_only.thread is None


def test_the_bundled_right_files_are_not_accused() -> None:
    for name in ("default-transactions.jtl", "no-header.jtl", "semicolon-dates.jtl", "samples.jtl"):
        report = report_file(Path(__file__).parent / "golden" / "jmeter" / name)
        assert accused(report) == [], name


# --- units: never accused wrongly ------------------------------------------------------------------


@MANY
@given(users=st.integers(1, 60), each=st.integers(2, 40), median_s=medians, sigma=st.floats(0.01, 1.2),
       think=st.sampled_from([0.0, 0.01, 1.0, 30.0]), columns=COLUMNS, seed=seeds)  # fmt: skip
def test_a_right_file_of_users_is_never_accused(
    users: int, each: int, median_s: float, sigma: float, think: float, columns: tuple[str, ...], seed: int
) -> None:
    load = closed_load(users, each, median_s, sigma=sigma, think_s=think * median_s, seed=seed)
    assert accused(reported(load, columns)) == []


@MANY
@given(n=st.integers(1, 1500), rate=st.floats(0, 3.5).map(lambda power: 10**power), median_s=medians,
       sigma=st.floats(0.01, 1.2), even=st.booleans(), columns=COLUMNS, seed=seeds)  # fmt: skip
def test_a_right_file_of_arrivals_is_never_accused(
    n: int, rate: float, median_s: float, sigma: float, even: bool, columns: tuple[str, ...], seed: int
) -> None:
    load = open_load(n, rate, median_s, sigma=sigma, even=even, seed=seed)
    assert accused(reported(load, columns)) == []


@SOME
@given(median_s=st.floats(0.001, 0.3), seed=seeds)
def test_sums_of_transactions_that_cannot_be_told_are_no_wrong_unit(median_s: float, seed: int) -> None:
    load = closed_load(8, 40, median_s, seed=seed)
    # A row that sums up its sample, twice over, under the same thread and start, and no message to tell it by.
    start, latency, thread, threads = (
        np.tile(each, 3) for each in (load.start, load.latency, load.thread, load.threads)
    )
    summed = Load(start=start, latency=latency, thread=thread, threads=threads)
    assert accused(reported(summed)) == []


# --- units: noticed wherever something contradicts -------------------------------------------------


@SOME
@given(users=st.integers(1, 50), median_s=st.floats(0.002, 1.0), think=st.floats(0, 10), seed=seeds)
def test_microseconds_are_noticed_by_the_threads_that_cannot_be_so_busy(
    users: int, median_s: float, think: float, seed: int
) -> None:
    load = closed_load(users, 30, median_s, think_s=think * median_s, seed=seed)
    columns = tuple(name for name in FULL if name not in {"Latency", "Connect"})
    wrong = reported(load, columns, elapsed_per_s=1e6)
    assert suspected(wrong) == {"us"}
    assert wrong.loop is not None and wrong.loop.kind == "cannot say" and wrong.loop.corrected_ms is None


@SOME
@given(users=st.integers(1, 30), median_s=st.floats(0.005, 1.0), seed=seeds)
def test_nanoseconds_are_noticed_too(users: int, median_s: float, seed: int) -> None:
    load = closed_load(users, 30, median_s, seed=seed)
    columns = tuple(name for name in FULL if name not in {"Latency", "Connect"})
    assert suspected(reported(load, columns, elapsed_per_s=1e9)) == {"ns"}


@SOME
@given(users=st.integers(1, 30), median_s=st.floats(0.005, 0.3), seed=seeds)
def test_microseconds_are_noticed_by_the_number_of_threads_alone(
    users: int, median_s: float, seed: int
) -> None:
    load = closed_load(users, 200, median_s, seed=seed)
    wrong = reported(load, ("timeStamp", "elapsed", "allThreads", "success"), elapsed_per_s=1e6)
    assert suspected(wrong) == {"us"}


@SOME
@given(n=st.integers(100, 900), median_s=st.floats(0.05, 2.0), seed=seeds)
def test_seconds_are_noticed_by_a_first_byte_that_comes_after_the_last(
    n: int, median_s: float, seed: int
) -> None:
    load = open_load(n, 20.0, median_s, seed=seed)
    assert suspected(reported(load, elapsed_per_s=1.0)) == {"s"}


@SOME
@given(users=st.integers(2, 20), seed=seeds)
def test_whole_seconds_are_noticed_by_when_each_thread_goes_on(users: int, seed: int) -> None:
    load = closed_load(users, 40, 4.0, sigma=0.8, seed=seed)
    assert suspected(
        reported(load, ("timeStamp", "elapsed", "threadName", "success"), elapsed_per_s=1.0)
    ) == {"s"}


@SOME
@given(users=st.integers(2, 6), median_s=st.floats(0.04, 0.4), seed=seeds)
def test_microseconds_are_noticed_by_requests_that_begin_where_others_end(
    users: int, median_s: float, seed: int
) -> None:
    load = closed_load(users, 150, median_s, seed=seed)
    assert suspected(reported(load, BARE, elapsed_per_s=1e6)) == {"us"}


def test_microseconds_are_noticed_by_a_log_whose_pauses_show_only_then(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    arrivals = arrival_times("poisson", 300.0, 24.0, rng)
    pauses = regular_pauses(24.0, 0.06, 1.5, rng)
    start, latency = simulate_open(
        arrivals, service_times(len(arrivals), ServiceLaw(), rng), servers=8, pauses=pauses
    )
    load = Load(start=start, latency=latency, thread=np.arange(len(start)), threads=np.ones(len(start)))
    log = tmp_path / "gc.log"
    log.write_text("".join(
        f'[{round((EPOCH_S + b) * 1e3)}ms][{round((b + 100) * 1e9)}ns][info][safepoint] Safepoint "G1CollectForAllocation", '
        f"Time since last: 1 ns, Reaching safepoint: 1 ns, Cleanup: 1 ns, At safepoint: 1 ns, Total: {round((b - a) * 1e9)} ns\n"
        for a, b in pauses.spans
    ))  # fmt: skip
    from harness.analysis.report_output import read_runtime_log

    right = report_file(write_load(tmp_path / "ms.jtl", load, BARE), read_runtime_log(log))
    wrong = report_file(write_load(tmp_path / "us.jtl", load, BARE, elapsed_per_s=1e6), read_runtime_log(log))
    assert accused(right) == [] and suspected(wrong) == {"us"}


def test_the_line_names_file_column_what_was_found_and_what_to_say() -> None:
    (text,) = accused(reported(closed_load(5, 30, 0.02), (*BARE, "threadName"), elapsed_per_s=1e6))
    assert text.startswith("some.jtl: column elapsed, read as milliseconds: ")
    assert "in microseconds" in text and text.endswith("if that is so, --latency-unit us")


# --- units: told by somebody, or by the file itself ------------------------------------------------


@pytest.mark.parametrize("unit", UNITS_PER_S)
def test_a_unit_that_was_said_is_read_and_nothing_is_accused(tmp_path: Path, unit: str) -> None:
    load = closed_load(5, 100, 3.0, seed=4)
    path = write_load(tmp_path / "x.jtl", load, elapsed_per_s=UNITS_PER_S[unit])  # type: ignore[index]  # its own keys
    report = report_file(path, latency_unit=unit)  # type: ignore[arg-type]  # its own keys
    assert accused(report) == []
    assert report.latency_ms["p50"] == pytest.approx(float(np.median(load.latency)) * 1e3, rel=0.2)
    assert report.resolution_ms == pytest.approx(1e3 / UNITS_PER_S[unit])  # type: ignore[index]  # its own keys


def test_fractions_are_refused_until_their_unit_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s.jtl"
    rows = "".join(f"{1_790_000_000_000 + 40 * i},{0.02 + 0.0001 * (i % 7):.4f},a,true\n" for i in range(300))
    path.write_text("timeStamp,elapsed,label,success\n" + rows)
    with pytest.raises(InputError, match=r"s\.jtl: column elapsed.*--latency-unit s"):
        report_file(path)
    report = report_file(path, latency_unit="s")
    assert report.requests == 300 and report.latency_ms["p50"] == pytest.approx(20.3)
    assert report.resolution_ms == pytest.approx(0.1)


@pytest.mark.parametrize(("unit", "per_s"), [("seconds", 1.0), ("microseconds", 1e6), ("nanoseconds", 1e9)])
def test_time_stamps_tell_their_own_unit_and_it_is_said(tmp_path: Path, unit: str, per_s: float) -> None:
    load = open_load(300, 50.0, 0.02)
    report = report_file(write_load(tmp_path / "x.jtl", load, stamps_per_s=per_s))
    assert report.start_epoch_s == pytest.approx(EPOCH_S, abs=1.1)
    assert any(f"was read as {unit}" in said for said in report.warnings)
    if per_s == 1.0:
        assert any("whole seconds" in said for said in report.warnings) and report.stalls is None


def test_time_stamps_that_count_from_elsewhere_are_said_and_impossible_ones_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jtl"
    path.write_text("timeStamp,elapsed,label,success\n" + "".join(f"{40 * i},20,a,true\n" for i in range(50)))
    assert any("counts from another moment" in said for said in report_file(path).warnings)
    path.write_text("timeStamp,elapsed,label,success\n" + "50000000000000,20,a,true\n" * 50)
    with pytest.raises(InputError, match=r"x\.jtl: column timeStamp: .*year 3554"):
        report_file(path)
    samples = tmp_path / "samples.csv"
    samples.write_text("start_epoch_s,latency_ms,ok,name\n" + "1790000000123.5,20,true,a\n" * 50)
    with pytest.raises(InputError, match="in milliseconds they would be right"):
        report_file(samples)


def test_a_unit_for_a_file_that_says_its_own_is_refused(tmp_path: Path) -> None:
    samples = tmp_path / "samples.csv"
    samples.write_text("start_epoch_s,latency_ms,ok,name\n1790000000.5,20,true,a\n")
    with pytest.raises(InputError, match="--latency-unit"):
        report_file(samples, latency_unit="us")


@SOME
@given(n=st.integers(50, 400), seed=seeds)
def test_every_unit_of_time_stamps_gives_the_same_starts(n: int, seed: int) -> None:
    load = open_load(n, 50.0, 0.02, seed=seed)
    with tempfile.TemporaryDirectory() as name:
        starts = [
            np.sort(read_jtl(write_load(Path(name) / "x.jtl", load, BARE, stamps_per_s=per_s)).start_epoch_s)
            for per_s in (1e3, 1e6, 1e9)
        ]
    assert np.abs(starts[1] - starts[0]).max() < 0.002 and np.abs(starts[2] - starts[0]).max() < 0.002


def test_what_may_be_true_is_asked_about_and_not_called_a_contradiction() -> None:
    load = open_load(3000, 300.0, 0.02)
    for per_s, unit in ((1e6, "us"), (1e9, "ns")):
        (found,) = reported(load, BARE, elapsed_per_s=per_s).units
        assert (found.contradicted, found.rather) == (False, unit) and "outstanding" in found.text


# --- the loop --------------------------------------------------------------------------------------


@SOME
@given(users=st.integers(1, 40), each=st.integers(40, 80), median_s=st.floats(0.001, 2.0),
       think=st.floats(0, 20), seed=seeds)  # fmt: skip
def test_threads_that_wait_are_a_closed_loop_of_as_many_users(
    users: int, each: int, median_s: float, think: float, seed: int
) -> None:
    loop = reported(closed_load(users, each, median_s, think_s=think * median_s, seed=seed)).loop
    assert loop is not None and (loop.kind, loop.users) == ("closed", users)
    assert loop.corrected_ms is not None and any("pauses hide" in said for said in loop.warnings)


@SOME
@given(n=st.integers(300, 1200), rate=st.floats(5, 500), median_s=st.floats(0.002, 0.2), even=st.booleans(),
       columns=COLUMNS, seed=seeds)  # fmt: skip
def test_arrivals_are_never_called_a_closed_loop(
    n: int, rate: float, median_s: float, even: bool, columns: tuple[str, ...], seed: int
) -> None:
    loop = reported(open_load(n, rate, median_s, even=even, seed=seed), columns).loop
    assert loop is not None and loop.kind != "closed" and loop.corrected_ms is None
    if "threadName" in columns and rate * median_s < n / 50:
        assert loop.kind == "open"


@SOME
@given(users=st.integers(1, 8), median_s=st.floats(0.03, 0.3), seed=seeds)
def test_users_without_names_show_in_the_rhythm(users: int, median_s: float, seed: int) -> None:
    loop = reported(closed_load(users, 200, median_s, seed=seed), BARE).loop
    assert loop is not None and (loop.kind, loop.users) == ("closed", users)


def with_stalls(users: int | None) -> Load:
    """Five stalls of half a second: users wait through them, arrivals go on coming."""
    rng = np.random.default_rng(5)
    if users is None:
        load = open_load(6000, 200.0, 0.004, seed=5)
        start, latency = load.start, load.latency.copy()
        for low in (4.0, 9.0, 14.0, 19.0, 24.0):
            held = (start >= low) & (start < low + 0.5)
            latency[held] += low + 0.5 - start[held]
        return Load(start=start, latency=latency, thread=load.thread, threads=load.threads)
    stalls = np.array([4.0, 9.0, 14.0, 19.0, 24.0])
    rows: list[tuple[float, float, int]] = []
    for user in range(users):
        at = float(rng.uniform(0, 0.01))
        while at < 30:
            took = float(rng.lognormal(np.log(0.004), 0.4))
            inside = stalls[(stalls < at + took) & (at < stalls + 0.5)]
            took = float(inside[0]) + 0.5 - at + took if len(inside) else took
            rows.append((at, took, user))
            at += took + float(rng.exponential(0.03))
    start, latency, thread = (np.array(column) for column in zip(*rows, strict=True))
    return Load(start=start, latency=latency, thread=thread.astype(int), threads=np.full(len(start), users))


def test_arrivals_that_go_on_through_stalls_are_an_open_loop_without_any_name() -> None:
    loop = reported(with_stalls(None), BARE).loop
    assert loop is not None and loop.kind == "open" and "does not wait for them" in loop.evidence[0]


def test_the_tail_that_users_hid_is_put_beside_what_was_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_load(tmp_path / "closed.jtl", with_stalls(10))
    report = report_file(path)
    assert report.loop is not None and report.loop.users == 10 and report.loop.corrected_ms is not None
    hidden, corrected = report.latency_ms["p99"], report.loop.corrected_ms["p99"]
    assert hidden is not None and corrected is not None and corrected > 10 * hidden
    main([path], html=tmp_path / "page.html")
    text, page = capsys.readouterr().out, (tmp_path / "page.html").read_text()
    assert (
        "closed loop, 10 users" in text
        and f"{corrected:,.3f}" in text
        and "pauses hide" in " ".join(text.split())
    )
    assert "Closed loop, 10 users" in page and f"<td>{corrected:,.3f}</td>" in page
    main([path], as_json=True)
    plain = json.loads(capsys.readouterr().out)
    assert plain["loop"]["kind"] == "closed" and plain["loop"]["corrected_ms"]["p99"] == corrected


def test_the_percentiles_on_the_page_have_a_band_and_few_requests_say_why_not(tmp_path: Path) -> None:
    main([write_load(tmp_path / "many.jtl", open_load(2000, 100.0, 0.02))], html=tmp_path / "many.html")
    many = (tmp_path / "many.html").read_text()
    assert "Grey band: 95 % interval" in many and ">95 % interval, this trial</text>" in many
    main([write_load(tmp_path / "few.jtl", open_load(200, 100.0, 0.02))], html=tmp_path / "few.html")
    few = (tmp_path / "few.html").read_text()
    assert "No interval: too few requests" in few and ">95 % interval, this trial</text>" not in few


def test_the_band_is_the_interval_of_the_table() -> None:
    rng = np.random.default_rng(6)
    latency = rng.gamma(4.0, 0.005, 20_000)
    band = _band(latency, np.sort(latency))
    assert band is not None
    for at, low, high in list(zip(*band, strict=True))[::10]:
        wanted = quantile_ci(latency, 1 - 1 / at)
        assert (low, high) == (wanted.low, wanted.high)


def test_a_correction_for_short_pauses_warns_that_it_restores_too_little() -> None:
    load = with_stalls(10)
    stalls = np.array([4.0, 9.0, 14.0, 19.0, 24.0])
    shorter = load.latency.copy()
    for low in stalls:
        held = (load.latency > 0.4) & (load.start >= low - 0.05) & (load.start < low + 0.5)
        shorter[held] -= 0.45
    # Their next requests still come when they came: what matters here is how long the stalls were.
    report = reported(Load(start=load.start, latency=shorter, thread=load.thread, threads=load.threads))
    assert report.loop is not None and report.loop.kind == "closed"
    assert any(said.startswith("correction: ") for said in report.loop.warnings)


def test_a_load_that_ends_while_requests_hang_is_no_closed_loop() -> None:
    start = np.cumsum(np.random.default_rng(2).exponential(0.01, 1000))
    latency = np.where(start > start[-1] - 0.3, 20.0, 0.005)
    check = coordinated_omission_check(start, latency)
    assert check.loop != "closed" and not check.flagged


def test_real_files_of_jmeter_tell_their_loop_and_a_wrong_unit(tmp_path: Path) -> None:
    """Ten users, and open arrivals, against a server that stops for 0.4 s every 3 s; JMeter's default columns."""
    golden = Path(__file__).parent / "golden" / "jmeter"
    closed, opened = (
        report_file(golden / name) for name in ("closed-10-users.jtl.gz", "open-arrivals.jtl.gz")
    )
    assert closed.loop is not None and (closed.loop.kind, closed.loop.users) == ("closed", 10)
    assert opened.loop is not None and opened.loop.kind == "open"
    assert accused(closed) == accused(opened) == []
    for name in ("closed-10-users.jtl.gz", "open-arrivals.jtl.gz"):
        rows = pd.read_csv(golden / name)
        for unit, factor in (("us", 1e3), ("ns", 1e6), ("s", 1e-3)):
            wrong = tmp_path / f"{unit}.jtl"
            rows.assign(elapsed=(rows["elapsed"] * factor).astype("int64")).to_csv(wrong, index=False)
            assert suspected(report_file(wrong)) == {unit}
    bare = tmp_path / "bare.jtl"
    pd.read_csv(golden / "closed-10-users.jtl.gz")[list(BARE)].to_csv(bare, index=False)
    by_rhythm = report_file(bare).loop
    assert by_rhythm is not None and (by_rhythm.kind, by_rhythm.users) == ("closed", 10)


def test_a_calm_file_without_names_cannot_say_its_loop() -> None:
    loop = reported(open_load(500, 100.0, 0.005), BARE).loop
    assert loop is not None and loop.kind == "cannot say" and "rhythm" in loop.evidence[0]


@given(
    few=st.lists(st.integers(0, 20), min_size=9, max_size=40),
    many=st.lists(st.integers(0, 20), min_size=9, max_size=40),
)
@settings(max_examples=30, deadline=None)
def test_the_rank_sum_test_is_scipys(few: list[int], many: list[int]) -> None:
    if len({*few, *many}) < 2:
        assert _p_fewer(np.array(few), np.array(many)) == 1.0
        return
    theirs = stats.mannwhitneyu(few, many, alternative="less", method="asymptotic").pvalue
    assert _p_fewer(np.array(few), np.array(many)) == pytest.approx(float(theirs), abs=1e-12)
