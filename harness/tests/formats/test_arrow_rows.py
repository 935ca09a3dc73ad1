# SPDX-License-Identifier: Apache-2.0
"""What Arrow's threads may hold: rows that are read quickly are read by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pytest
from pyarrow import csv as arrow_csv

from harness.formats.jtl import read_jtl

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
