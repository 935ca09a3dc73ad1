# SPDX-License-Identifier: Apache-2.0
"""Rules for a report on a long file: it tells how much was read, and only where somebody looks on."""

from __future__ import annotations

import gzip
import io
import shutil
from pathlib import Path

import pytest

from harness.formats.jtl import open_jtl
from harness.report import output

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "jmeter"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "LONG_BYTES", 1)
    monkeypatch.setattr(output, "_BETWEEN_S", 0.0)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", ["default-transactions.jtl", "closed-10-users.jtl.gz"])
def test_a_long_file_tells_how_much_was_read_of_what_is_stored(name: str) -> None:
    out = Terminal()
    told = output.with_progress(open_jtl(GOLDEN / name), out).collect()
    assert told.n_requests == open_jtl(GOLDEN / name).collect().n_requests
    assert f"{name}: 100% read, about 0 s left" in out.getvalue()
    assert out.getvalue().endswith("\r\033[K")


@pytest.mark.usefixtures("at_once")
def test_nothing_is_told_where_nobody_looks_on() -> None:
    out = io.StringIO()
    output.with_progress(open_jtl(GOLDEN / "default-transactions.jtl"), out).collect()
    assert out.getvalue() == ""


def test_a_short_file_is_read_in_silence(tmp_path: Path) -> None:
    with gzip.open(GOLDEN / "closed-10-users.jtl.gz") as packed, (tmp_path / "a.jtl").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    out = Terminal()
    output.with_progress(open_jtl(tmp_path / "a.jtl"), out).collect()
    assert out.getvalue() == ""


def test_the_time_left_follows_from_the_share_that_was_read() -> None:
    assert output.progress_words(25, 100, 10.0) == "25% read, about 30 s left"
    assert output.progress_words(1, 100, 10.0) == "1% read"
    assert output.progress_words(120, 100, 10.0) == "100% read, about 0 s left"
