# SPDX-License-Identifier: Apache-2.0
"""Rules for a report on a long file: counts of latencies say what the latencies say, in memory that does not grow."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.load.coordinated_omission import with_missing_of_counts
from harness.formats import source
from harness.formats.jtl import open_jtl
from harness.formats.table import RequestTable
from harness.report import kept
from harness.report.analyse import report_file
from harness.report.kept import (
    BLOCK_ROWS,
    GRID_ERROR,
    MOST_BLOCKS,
    CountedLatencies,
    Counts,
    Kept,
    cells_of,
    steps_of,
)
from harness.report.output import main
from harness.report.requests import gather
from harness.report.result import QUANTILES, Report
from harness.report.spread import EveryLatency
from harness.tests.support.generated_jtl import closed_load, write_load

MANY = settings(max_examples=60, deadline=None)
whole_ms = st.lists(st.integers(0, 3000), min_size=1, max_size=400)


def counted(latency: np.ndarray, *, pieces: int = 1, step_s: float = 1e-3) -> CountedLatencies:
    """Latencies of one name that were counted in so many pieces."""
    counts = Counts(step_s)
    for part in np.array_split(latency, pieces):
        counts.add(part, np.zeros(len(part), dtype=np.uint8))
    return of(counts)


def of(counts: Counts, name: int | None = None) -> CountedLatencies:
    result = counts.of(name)
    assert result is not None
    return result


def correlated_ms(n: int, seed: int = 1) -> np.ndarray:
    """Whole milliseconds that follow each other."""
    rng = np.random.default_rng(seed)
    slow = np.repeat(rng.lognormal(0, 0.3, n // 500 + 1), 500)[:n]
    return np.round(200 * slow * rng.lognormal(0, 0.5, n)) / 1e3


@MANY
@given(ms=whole_ms, pieces=st.integers(1, 5))
def test_every_order_statistic_of_counts_is_that_of_the_latencies(ms: list[int], pieces: int) -> None:
    latency = np.array(ms) / 1e3
    counts, wanted = counted(latency, pieces=pieces), EveryLatency(latency)
    ranks = np.arange(1, len(ms) + 1)
    assert counts.n == wanted.n and counts.median() == wanted.median()
    assert counts.at(ranks).tolist() == wanted.at(ranks).tolist() == np.sort(latency).tolist()
    assert counts.mean().value == pytest.approx(wanted.mean().value, rel=1e-12)
    for q in QUANTILES.values():
        assert counts.quantile(q).value == wanted.quantile(q).value


def test_where_blocks_end_with_batches_the_intervals_are_the_same_to_the_last_digit() -> None:
    latency = correlated_ms(30 * 2 * BLOCK_ROWS)
    counts, wanted = counted(latency, pieces=7), EveryLatency(latency)
    for q in (0.5, 0.9, 0.99, 0.999):
        assert counts.quantile(q) == wanted.quantile(q) and counts.quantile(q).low is not None
    assert counts.mean() == pytest.approx(wanted.mean(), rel=1e-9)


@pytest.mark.parametrize("n", [600_000, 777_777])
def test_anywhere_else_the_intervals_are_nearly_the_same(n: int) -> None:
    latency = correlated_ms(n, seed=n)
    counts, wanted = counted(latency, pieces=9), EveryLatency(latency)
    for of_counts, exact in [(counts.quantile(q), wanted.quantile(q)) for q in (0.5, 0.9, 0.99)]:
        assert of_counts.value == exact.value
        assert of_counts.low is not None and of_counts.high is not None
        assert exact.low is not None and exact.high is not None and exact.value is not None
        assert of_counts.low <= exact.value <= of_counts.high
        assert 0.5 < (of_counts.high - of_counts.low + 1e-3) / (exact.high - exact.low + 1e-3) < 2


@pytest.mark.parametrize("n_tables", [1, 12])
def test_blocks_are_joined_and_stay_in_order_however_many_requests_come(n_tables: int) -> None:
    counts, part = Counts(1e-3), np.tile([0.001, 0.002], BLOCK_ROWS * 64 * 12 // n_tables)
    for _ in range(n_tables):
        counts.add(part, np.zeros(len(part), dtype=np.uint8))
    assert counts.n == 12 * 128 * BLOCK_ROWS and counts.block_rows == 2 * BLOCK_ROWS
    assert counts.n / counts.block_rows <= MOST_BLOCKS
    every = of(counts)
    assert every.n == counts.n and every.has_batches and every.quantile(0.99).value == 0.002


@MANY
@given(steps=st.lists(st.integers(0, 10**17), min_size=1, max_size=50))
def test_a_rounded_latency_is_off_by_a_half_thousandth_at_most(steps: list[int]) -> None:
    exact = np.sort(np.array(steps, dtype=np.float64))
    rounded = steps_of(cells_of(exact))
    assert (np.abs(rounded - exact) <= GRID_ERROR * exact).all() and GRID_ERROR < 0.0005
    assert (np.diff(rounded) >= 0).all()
    assert (rounded == exact)[exact <= kept.MOST_STEPS].all()


def test_long_latencies_of_a_fine_clock_are_rounded_within_the_stated_error() -> None:
    latency = np.round(np.random.default_rng(2).lognormal(-4, 1.2, 300_000), 9)
    counts, wanted = counted(latency, pieces=3, step_s=1e-9), EveryLatency(latency)
    for q in QUANTILES.values():
        assert counts.quantile(q).value == pytest.approx(wanted.quantile(q).value, rel=GRID_ERROR)
    assert counts.mean().value == pytest.approx(wanted.mean().value, rel=GRID_ERROR)
    assert counts.at(np.array([counts.n]))[0] == pytest.approx(latency.max(), rel=GRID_ERROR)


@MANY
@given(ms=whole_ms, interval_ms=st.integers(1, 4000))
def test_the_correction_from_counts_is_that_from_the_latencies(ms: list[int], interval_ms: int) -> None:
    latency, interval_s = np.array(ms) / 1e3, interval_ms / 1e3
    wanted = EveryLatency(latency).with_missing(interval_s)
    corrected = with_missing_of_counts(*np.unique(latency, return_counts=True), interval_s)
    assert (corrected is None) == (wanted is None)
    if corrected is not None and wanted is not None:
        ranks = np.unique(np.linspace(1, wanted.n, 30).astype(np.int64))
        assert corrected.n == wanted.n
        assert corrected.at(ranks) == pytest.approx(wanted.at(ranks), abs=1e-9)


def test_each_name_has_its_own_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_KEPT", 5000)
    rng = np.random.default_rng(3)
    latency, codes = correlated_ms(30_000), rng.integers(0, 3, 30_000).astype(np.uint8)
    codes[:8000] = 0  # the other names come later
    taken = Kept(1e-3)
    for part in np.split(np.arange(30_000), 6):
        taken.take(latency[part], codes[part])
    assert taken.whole.n == 30_000
    for code in range(3):
        of_code, wanted = taken.of_name(code), EveryLatency(latency[codes == code])
        assert of_code is not None and of_code.n == wanted.n
        assert [of_code.quantile(q).value for q in (0.5, 0.9)] == [
            wanted.quantile(q).value for q in (0.5, 0.9)
        ]
    assert taken.of_name(7) is None


def test_names_with_too_many_counts_lose_the_rare_ones_and_the_whole_loses_nothing() -> None:
    latency = np.arange(4000) % 40 / 1e3
    name = np.where(np.arange(4000) % 2 == 0, 0, 1 + np.arange(4000) // 10).astype(np.uint32)
    counts = Counts(1e-3, most=500)
    for part in np.split(np.arange(4000), 2):
        counts.add(latency[part], name[part])
    assert counts.left_out and all(counts.of(item) is None for item in counts.left_out)
    assert 0 not in counts.left_out and of(counts, 0).n == 2000
    assert of(counts).n == 4000 and of(counts).quantile(0.9) == counted(latency).quantile(0.9)


def known(values: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Report, Report]:
    """A file, its report from every latency, and that from counts."""
    path = write_load(folder / "r.jtl", closed_load(6, 2000, 0.02, think_s=0.01, seed=4))
    whole = report_file(path)
    monkeypatch.setattr(kept, "MOST_KEPT", 1000)
    return path, whole, report_file(path)


def test_a_report_from_counts_says_the_same_and_says_that_it_is_from_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, whole, found = both(tmp_path, monkeypatch)
    assert known(found.latency_ms) == pytest.approx(known(whole.latency_ms), rel=1e-12)
    assert found.stalls == whole.stalls and found.harms_s == whole.harms_s
    assert found.loop is not None and whole.loop is not None
    assert found.loop.corrected_ms is not None and whole.loop.corrected_ms is not None
    assert known(found.loop.corrected_ms) == pytest.approx(known(whole.loop.corrected_ms), rel=1e-9)
    assert found.loop.n_added == whole.loop.n_added
    assert [row.requests for row in found.labels] == [row.requests for row in whole.labels]
    for mine, other in zip(found.labels, whole.labels, strict=True):
        assert known(mine.latency_ms) == pytest.approx(known(other.latency_ms), rel=1e-12)
    (more,) = set(found.warnings) - set(whole.warnings)
    assert "more than 1,000 successful requests: exact percentiles" in more and more in found.background
    main([path], html=tmp_path / "page.html", as_json=True)
    assert json.loads(capsys.readouterr().out)["latency_ms"]["p99"] == whole.latency_ms["p99"]
    assert "Latency by percentile" in (tmp_path / "page.html").read_text()


def test_rounded_latencies_are_a_warning_with_their_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_STEPS", 16)
    _, whole, report = both(tmp_path, monkeypatch)
    (warning,) = [text for text in report.warnings if "rounded" in text]
    assert "at most 0.049 %" in warning and warning not in report.background
    p99 = whole.latency_ms["p99"]
    assert p99 is not None and report.latency_ms["p99"] == pytest.approx(p99, rel=GRID_ERROR)


def test_rows_that_sum_up_others_are_counted_over_all_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(source, "PIECE_BYTES", 500)
    path = Path(__file__).resolve().parents[1] / "golden" / "jmeter" / "default-transactions.jtl"
    whole = report_file(path)
    parts = list(open_jtl(path).stretches(20, whole_rows=40))
    assert sum(part.n_transactions_left_out > 0 for part in parts) > 1
    left_out = [
        [said for said in one.warnings if "transaction controllers" in said]
        for one in (gather(parts).report(), whole)
    ]
    assert left_out[0] == left_out[1] and len(left_out[0]) == 1


def tables(n_tables: int) -> Iterator[RequestTable]:
    """Half a million requests each, of three names and without start times, made when they are asked for."""
    n = 500_000
    for i in range(n_tables):
        rng = np.random.default_rng(i)
        yield RequestTable(
            path=Path("made-up.jtl"),
            source="jmeter",
            start_epoch_s=np.full(n, np.nan),
            latency_s=np.round(20 * rng.lognormal(0, 0.5, n)) / 1e3,
            ok=np.ones(n, dtype=np.bool_),
            label_codes=(np.arange(n) % 3).astype(np.int32),
            labels=("a", "b", "c"),
            resolution_s=1e-3,
            has_start_times=False,
        )


def peak_bytes(n_tables: int) -> int:
    tracemalloc.start()
    try:
        report = gather(tables(n_tables)).report()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert report.requests == n_tables * 500_000 and report.intervals["mean"] is not None
    assert all(row.intervals["mean"] is not None for row in report.labels) and len(report.labels) == 3
    return peak


def test_memory_does_not_grow_with_the_length_of_a_file() -> None:
    shorter, longer = peak_bytes(9), peak_bytes(18)  # both had as many blocks as there may be
    # Kept one by one, nine more tables of latencies would take 36 MB, and a copy of them as much again.
    assert longer - shorter < 6e6
