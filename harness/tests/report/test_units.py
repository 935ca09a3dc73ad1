# SPDX-License-Identifier: Apache-2.0
"""Rules for a report on anybody's file: whether its units can be true, and which ones would be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.formats.jtl_units import UNITS_PER_S
from harness.tests.support import generated_jtl
from harness.tests.support.generated_jtl import report_file

MANY = settings(max_examples=25, deadline=None)
#: From a tenth of a millisecond to half a minute.
medians = st.floats(-4, 1.5).map(lambda power: 10**power)


@MANY
@given(users=st.integers(1, 60), each=st.integers(2, 40), median_s=medians, sigma=st.floats(0.01, 1.2),
       think=st.sampled_from([0.0, 0.01, 1.0, 30.0]), columns=generated_jtl.COLUMNS, seed=generated_jtl.seeds)  # fmt: skip
def test_a_right_file_of_users_is_never_accused(
    users: int, each: int, median_s: float, sigma: float, think: float, columns: tuple[str, ...], seed: int
) -> None:
    load = generated_jtl.closed_load(users, each, median_s, sigma=sigma, think_s=think * median_s, seed=seed)
    assert generated_jtl.accused(generated_jtl.reported(load, columns)) == []


@MANY
@given(n=st.integers(1, 1500), rate=st.floats(0, 3.5).map(lambda power: 10**power), median_s=medians,
       sigma=st.floats(0.01, 1.2), even=st.booleans(), columns=generated_jtl.COLUMNS, seed=generated_jtl.seeds)  # fmt: skip
def test_a_right_file_of_arrivals_is_never_accused(
    n: int, rate: float, median_s: float, sigma: float, even: bool, columns: tuple[str, ...], seed: int
) -> None:
    load = generated_jtl.open_load(n, rate, median_s, sigma=sigma, even=even, seed=seed)
    assert generated_jtl.accused(generated_jtl.reported(load, columns)) == []


@generated_jtl.SOME
@given(median_s=st.floats(0.001, 0.3), seed=generated_jtl.seeds)
def test_sums_of_transactions_that_cannot_be_told_are_no_wrong_unit(median_s: float, seed: int) -> None:
    load = generated_jtl.closed_load(8, 40, median_s, seed=seed)
    # A row that sums up its sample, twice over, under the same thread and start, and no message to tell it by.
    start, latency, thread, threads = (
        np.tile(each, 3) for each in (load.start, load.latency, load.thread, load.threads)
    )
    summed = generated_jtl.Load(start=start, latency=latency, thread=thread, threads=threads)
    assert generated_jtl.accused(generated_jtl.reported(summed)) == []


@generated_jtl.SOME
@given(
    users=st.integers(1, 50), median_s=st.floats(0.002, 1.0), think=st.floats(0, 10), seed=generated_jtl.seeds
)
def test_microseconds_are_noticed_by_threads(users: int, median_s: float, think: float, seed: int) -> None:
    load = generated_jtl.closed_load(users, 30, median_s, think_s=think * median_s, seed=seed)
    columns = tuple(name for name in generated_jtl.FULL if name not in {"Latency", "Connect"})
    wrong = generated_jtl.reported(load, columns, elapsed_per_s=1e6)
    assert generated_jtl.suspected(wrong) == {"us"}
    assert wrong.loop is not None and wrong.loop.kind == "cannot say" and wrong.loop.corrected_ms is None


def test_the_line_names_file_column_what_was_found_and_what_to_say() -> None:
    (text,) = generated_jtl.accused(
        generated_jtl.reported(
            generated_jtl.closed_load(5, 30, 0.02), (*generated_jtl.BARE, "threadName"), elapsed_per_s=1e6
        )
    )
    assert text.startswith("some.jtl: column elapsed, read as milliseconds: ")
    assert "in microseconds" in text and text.endswith("if that is right, use --latency-unit us")


@pytest.mark.parametrize("unit", UNITS_PER_S)
def test_a_unit_that_was_said_is_read_and_nothing_is_accused(tmp_path: Path, unit: str) -> None:
    load = generated_jtl.closed_load(5, 100, 3.0, seed=4)
    path = generated_jtl.write_load(tmp_path / "x.jtl", load, elapsed_per_s=UNITS_PER_S[unit])  # type: ignore[index]  # its own keys
    report = report_file(path, unit=unit)
    assert generated_jtl.accused(report) == []
    assert report.latency_ms["p50"] == pytest.approx(float(np.median(load.latency)) * 1e3, rel=0.2)
    assert report.resolution_ms == pytest.approx(1e3 / UNITS_PER_S[unit])  # type: ignore[index]  # its own keys


def test_fractions_are_refused_until_their_unit_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s.jtl"
    rows = "".join(f"{1_790_000_000_000 + 40 * i},{0.02 + 0.0001 * (i % 7):.4f},a,true\n" for i in range(300))
    path.write_text("timeStamp,elapsed,label,success\n" + rows)
    with pytest.raises(InputError, match=r"s\.jtl: column elapsed.*--latency-unit s"):
        report_file(path)
    report = report_file(path, unit="s")
    assert report.requests == 300 and report.latency_ms["p50"] == pytest.approx(20.3)
    assert report.resolution_ms == pytest.approx(0.1)


@pytest.mark.parametrize(("unit", "per_s"), [("seconds", 1.0), ("microseconds", 1e6), ("nanoseconds", 1e9)])
def test_time_stamps_tell_their_own_unit_and_it_is_said(tmp_path: Path, unit: str, per_s: float) -> None:
    load = generated_jtl.open_load(300, 50.0, 0.02)
    report = report_file(generated_jtl.write_load(tmp_path / "x.jtl", load, stamps_per_s=per_s))
    assert report.start_epoch_s == pytest.approx(generated_jtl.EPOCH_S, abs=1.1)
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


def test_what_may_be_true_is_asked_about_and_not_called_a_contradiction() -> None:
    load = generated_jtl.open_load(3000, 300.0, 0.02)
    for per_s, unit in ((1e6, "us"), (1e9, "ns")):
        (found,) = generated_jtl.reported(load, generated_jtl.BARE, elapsed_per_s=per_s).units
        assert (found.contradicted, found.rather) == (False, unit) and "outstanding" in found.text
