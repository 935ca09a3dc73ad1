# SPDX-License-Identifier: Apache-2.0
"""Rules for reading what wrk prints; the golden texts are its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.formats.detect import read_any
from harness.formats.table import AggregateTable
from harness.formats.wrk_text import parse_count, parse_time_s, read_wrk

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "wrk"


def test_a_real_summary_is_read_number_by_number() -> None:
    table = read_any(GOLDEN / "latency.txt")
    assert isinstance(table, AggregateTable)
    assert table.total is not None
    assert (table.total.n_requests, table.total.n_errors) == (175_844, 914)
    assert table.total.latency_quantiles_s == {
        "p50": pytest.approx(196e-6),
        "p75": pytest.approx(2.58e-3),
        "p90": pytest.approx(6.14e-3),
        "p99": pytest.approx(9.37e-3),
    }
    assert table.total.latency_mean_s == pytest.approx(1.68e-3)
    assert table.total.latency_max_s == pytest.approx(20.10e-3)
    assert table.total.answers_per_s == 56724.68
    assert table.errors_by_kind == {"status": 914}
    assert table.duration_s == pytest.approx(3.10)


def test_the_text_agrees_with_the_exact_numbers_of_the_same_load() -> None:
    table, exact = read_wrk(GOLDEN / "mix.txt"), json.loads((GOLDEN / "mix.json").read_text())
    assert table.total is not None
    assert table.total.n_requests == exact["requests"]
    assert table.errors_by_kind == {"status": exact["errors"]["status"]}
    assert table.duration_s == pytest.approx(exact["duration_us"] / 1e6, abs=0.005)
    for name in ("p50", "p75", "p90", "p99"):
        assert table.total.latency_quantiles_s[name] == pytest.approx(
            exact["latency_us"][name] / 1e6, rel=0.005
        )


def test_socket_errors_are_counted_by_kind(tmp_path: Path) -> None:
    text = (GOLDEN / "latency.txt").read_text()
    line = "  Socket errors: connect 2, read 3, write 0, timeout 5\n"
    path = tmp_path / "wrk.txt"
    path.write_text(text.replace("  Non-2xx", line + "  Non-2xx"))
    table = read_wrk(path)
    assert table.errors_by_kind == {"connect": 2, "read": 3, "timeout": 5, "status": 914}
    assert table.total is not None
    assert table.total.n_errors == 924


def test_without_the_latency_option_there_are_no_quantiles(tmp_path: Path) -> None:
    text = (GOLDEN / "latency.txt").read_text()
    head, _, tail = text.partition("  Latency Distribution")
    path = tmp_path / "wrk.txt"
    path.write_text(head + tail[tail.index("  175844") :])
    total = read_wrk(path).total
    assert total is not None
    assert total.latency_quantiles_s == {}
    assert total.latency_mean_s == pytest.approx(1.68e-3)


@pytest.mark.parametrize(
    ("text", "value_s"),
    [("196.00us", 196e-6), ("2.58ms", 2.58e-3), ("1.20s", 1.2), ("1.50m", 90.0), ("2.00h", 7200.0)],
)
def test_times_carry_their_unit(text: str, value_s: float) -> None:
    assert parse_time_s(text) == pytest.approx(value_s)


@pytest.mark.parametrize(("text", "value"), [("12.00", 12.0), ("28.98k", 28_980.0), ("1.20M", 1.2e6)])
def test_counts_carry_their_scale(text: str, value: float) -> None:
    assert parse_count(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "12", "nan", "-1.00ms", "1.00 ms", "12.00Ms"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="wrk"):
        parse_time_s(text)
