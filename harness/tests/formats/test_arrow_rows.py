# SPDX-License-Identifier: Apache-2.0
"""Rows that Arrow reads: the same as without it, and of no memory of the interpreter's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pytest
from pyarrow import csv as arrow_csv

from harness.formats import rows
from harness.formats.detect import read_any
from harness.formats.jtl import read_jtl
from harness.formats.table import RequestTable

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CAPTURED = (
    "jmeter/samples.jtl", "jmeter/default-transactions.jtl", "jmeter/no-header.jtl", "jmeter/tab-few-columns.jtl",
    "jmeter/semicolon-dates.jtl", "jmeter/open-arrivals.jtl.gz", "k6/samples.csv", "locust/samples.csv",
    "oha/oha.csv", "vegeta/results.csv", "metronome/samples.csv",
)  # fmt: skip

ROWS = [f"{1795261972662 + i},{i % 50},hello,true" for i in range(3000)]


def test_arrows_threads_hold_nothing_of_the_interpreters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that lets go of the interpreter's memory while the interpreter ends takes the process with it."""
    path = tmp_path / "some.jtl"
    path.write_text("\n".join(["timeStamp,elapsed,label,success", *ROWS]) + "\n")
    before, held = pa.total_allocated_bytes(), []
    read_csv = arrow_csv.read_csv

    def watched(*given: Any, **options: Any) -> pa.Table:
        held.append(pa.total_allocated_bytes() - before)
        return read_csv(*given, **options)

    monkeypatch.setattr(arrow_csv, "read_csv", watched)
    assert read_jtl(path).n_requests == len(ROWS)
    assert sum(held) >= len("\n".join(ROWS))


def same(quick: RequestTable, patient: RequestTable) -> None:
    for name in ("start_epoch_s", "latency_s", "ok", "connect_s"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(patient, name), name)
    assert [quick.labels[code] for code in quick.label_codes] == [
        patient.labels[code] for code in patient.label_codes
    ]
    assert quick.errors_by_kind == patient.errors_by_kind
    assert (quick.unreadable, quick.notes) == (patient.unreadable, patient.notes)


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[RequestTable, RequestTable]:
    """A file as it is read with Arrow, and without."""
    quick = read_any(path)
    with monkeypatch.context() as patch:
        patch.setattr(rows, "_quickly", lambda block, layout, wanted: None)
        patient = read_any(path)
    assert isinstance(quick, RequestTable) and isinstance(patient, RequestTable)
    return quick, patient


@pytest.mark.parametrize("name", CAPTURED)
def test_a_small_file_is_read_without_arrow_as_with_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    same(*both(GOLDEN / name, monkeypatch))


@pytest.mark.parametrize("odd", ["TRUE", "False", "tRuE", " true", "yes", ""])
def test_the_same_words_are_true_and_false(odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.jtl"
    lines = ["timeStamp,elapsed,label,success", *ROWS[:5], f"1795261972999,7,odd,{odd}", *ROWS[5:10]]
    path.write_text("\n".join(lines) + "\n")
    same(*both(path, monkeypatch))
