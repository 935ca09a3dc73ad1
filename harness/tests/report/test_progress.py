# SPDX-License-Identifier: Apache-2.0
"""Rules for a report on a long file: a bar shows how much was read, and only where somebody looks on."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.formats.jtl import open_jtl
from harness.report import output
from harness.report.text import with_progress

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "jmeter"


@pytest.mark.parametrize("name", ["default-transactions.jtl", "closed-10-users.jtl.gz"])
def test_a_long_file_shows_how_much_was_read_of_what_is_stored(name: str) -> None:
    out = io.StringIO()
    opened, n_bytes = open_jtl(GOLDEN / name), (GOLDEN / name).stat().st_size
    table = with_progress(opened, n_bytes, Console(file=out, force_terminal=True, width=80)).collect()
    assert table.n_requests == open_jtl(GOLDEN / name).collect().n_requests
    assert name in out.getvalue() and "100%" in out.getvalue()


def test_nothing_is_shown_where_nobody_looks_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "LONG_BYTES", 1)
    output.main([GOLDEN / "default-transactions.jtl"], as_json=True)
    assert capsys.readouterr().err == ""
