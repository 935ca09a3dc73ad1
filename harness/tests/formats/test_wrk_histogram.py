# SPDX-License-Identifier: Apache-2.0
"""wrk's correction of latencies is undone exactly, or refused. What wrk does is done here as its source says it."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.formats.wrk_histogram import (
    HEADER,
    LatencyHistogram,
    expected_interval_us,
    read_wrk_histogram,
    undo_correction,
)

LATENCIES = st.dictionaries(st.integers(0, 3000), st.integers(1, 50), max_size=60)


def stats_correct(made: Mapping[int, int], expected: int) -> dict[int, int]:
    """wrk's own two loops over its array; its script is shown the array from the least measured latency on."""
    most = max(made, default=0)
    data = [made.get(value, 0) for value in range(most + 1)]
    for n in range(2 * expected, most + 1):
        count, m = data[n], n - expected
        while count and m > expected:
            data[m] += count
            m -= expected
    return {value: data[value] for value in range(min(made, default=0), most + 1) if data[value]}


def histogram(counts: Mapping[int, int]) -> LatencyHistogram:
    return LatencyHistogram(
        value_us=np.array(sorted(counts), dtype=np.int64),
        count=np.array([counts[value] for value in sorted(counts)], dtype=np.int64),
    )


def counts(found: LatencyHistogram) -> dict[int, int]:
    return dict(zip(found.value_us.tolist(), found.count.tolist(), strict=True))


@given(made=LATENCIES, interval_us=st.integers(1, 4000))
def test_undoing_gives_back_every_histogram(made: dict[int, int], interval_us: int) -> None:
    corrected = histogram(stats_correct(made, interval_us))
    assert counts(undo_correction(corrected, interval_us, n_recorded=sum(made.values()))) == made
    assert counts(undo_correction(histogram(made), 0, n_recorded=sum(made.values()))) == made


#: Quick answers, and one pause that four connections met.
PAUSED = dict.fromkeys(range(80, 130), 5) | {20_000: 1, 20_003: 2, 20_150: 1}


def test_the_test_would_notice_a_wrong_interval() -> None:
    corrected = histogram(stats_correct(PAUSED, 110))
    n = sum(PAUSED.values())
    assert corrected.n > 2 * n
    assert undo_correction(corrected, 110, n_recorded=n).n == n
    for wrong in {*range(10, 220), 20_000, 0} - {110}:
        with pytest.raises(InputError):
            undo_correction(corrected, wrong, n_recorded=n)
    with pytest.raises(InputError, match="has 254 requests, and wrk measured 255"):
        undo_correction(corrected, 110, n_recorded=255)


@pytest.mark.parametrize(
    ("found", "why"), [({50: 1, 301: 2}, "leaves out"), ({50: 1, 201: 1, 301: 2}, "leaves out"),
                       ({50: 1, 101: 1, 201: 2}, "below zero")]
)  # fmt: skip
def test_what_no_correction_can_have_made_is_refused(found: dict[int, int], why: str) -> None:
    with pytest.raises(InputError, match=why):
        undo_correction(histogram(found), 100, n_recorded=sum(found.values()))


@pytest.mark.parametrize(
    ("duration_us", "n_answers", "connections", "interval_us"),
    [
        (1_099_789, 69_181, 32, 508),
        (1_000_001, 95, 32, 500_000),
        (1_000_000, 31, 32, 0),
        (1_000_000, 32, 32, 1_000_000),
        (1, 0, 1, 0),
    ],
)
def test_the_interval_is_whole(duration_us: int, n_answers: int, connections: int, interval_us: int) -> None:
    found = expected_interval_us(duration_us=duration_us, n_answers=n_answers, connections=connections)
    assert found == interval_us


@given(made=st.dictionaries(st.integers(0, 3000), st.integers(1, 50), min_size=1, max_size=40))
def test_mean_and_quantiles_are_those_of_the_single_latencies(made: dict[int, int]) -> None:
    each = np.sort(np.repeat(list(made), list(made.values())))
    found = histogram(made)
    assert found.mean_s == pytest.approx(each.mean() / 1e6)
    for share in (0.5, 0.99, 0.999):
        assert found.quantile_s(share) == np.quantile(each, share, method="inverted_cdf") / 1e6


def test_a_file_is_read_plain_and_packed(tmp_path: Path) -> None:
    text = f"{HEADER}\n0,2\n17,1\n59999983,3\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("a.csv", "a.csv.gz"):
        assert counts(read_wrk_histogram(tmp_path / name)) == {0: 2, 17: 1, 60_000_000: 3}
    (tmp_path / "a.csv").write_text(f"{HEADER}\n")
    assert read_wrk_histogram(tmp_path / "a.csv").n == 0


@pytest.mark.parametrize(
    "text", ["", "1,2\n", f"{HEADER}\n1\n", f"{HEADER}\n1,2,3\n", f"{HEADER}\n1,x\n", f"{HEADER}\n2,1\n-1,1\n",
             f"{HEADER}\n1,0\n", f"{HEADER}\n-1,1\n", f"{HEADER}\n1,1\n0,1\n", f"{HEADER}\n1,1.5\n"]
)  # fmt: skip
def test_what_is_no_histogram_is_refused_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=r"a\.csv: not a wrk histogram"):
        read_wrk_histogram(tmp_path / "a.csv")
