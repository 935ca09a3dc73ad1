# SPDX-License-Identifier: Apache-2.0
"""Rules for reading JMeter's result files. The golden ones were written by JMeter 5.6.3."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.formats import source
from harness.formats.detect import read_any
from harness.formats.jtl import read_jtl
from harness.formats.table import RequestTable
from harness.tests.support.result_files import write

SMALL = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

HEADER = "timeStamp,elapsed,label,responseCode,success,failureMessage,Connect"
ROWS = [
    "1795261972662,48,hello,200,true,,39",
    '1795261972700,7,"a ""b"", c",500,false,"Test failed: text expected\nto contain, /x/",0',
    "1795261972712,2,hello,200,true,,0",
]


def facts(table: RequestTable) -> list[tuple[float, float, bool, str]]:
    """Start in whole ms, latency in ms, ok, label of each row."""
    start_ms, latency_ms = (np.round(each * 1000).tolist() for each in (table.start_epoch_s, table.latency_s))
    return list(zip(start_ms, latency_ms, table.ok.tolist(), table.label, strict=True))


EXPECTED = [
    (1795261972662.0, 48.0, True, "hello"),
    (1795261972700.0, 7.0, False, 'a "b", c'),
    (1795261972712.0, 2.0, True, "hello"),
]
TEXT = "\n".join([HEADER, *ROWS, ""])


def test_without_time_stamps_there_are_latencies_but_no_duration(tmp_path: Path) -> None:
    table = read_jtl(write(tmp_path / "some.jtl", "elapsed,label,success\n3,a,true\n4,a,true\n"))
    assert table.latency_s.tolist() == [0.003, 0.004]
    assert not table.has_start_times
    assert np.isnan(table.start_epoch_s).all()
    assert table.duration_s is None
    assert any("timeStamp" in note for note in table.notes)


def test_one_latin_1_line_does_not_spoil_the_utf_8_ones(tmp_path: Path) -> None:
    lines = [HEADER, "1,2,grüße,200,true,,0", "3,4,größe,200,true,,0", ""]
    data = "\n".join(lines[:2]).encode() + b"\n" + "\n".join(lines[2:]).encode("latin-1")
    table = read_jtl(write(tmp_path / "some.jtl", data))
    assert table.labels == ("grüße", "größe") and any("Windows-1252" in note for note in table.notes)


@pytest.mark.parametrize(
    "form", ["%Y/%m/%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S", "%m/%d/%y %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f%z"]
)
def test_time_stamps_may_be_dates(tmp_path: Path, form: str) -> None:
    moment = datetime(2026, 11, 21, 10, 33, 7, 500_000, tzinfo=UTC)
    line = f"{moment.strftime(form)},12,hello,true"
    table = read_jtl(write(tmp_path / "some.jtl", f"timeStamp,elapsed,label,success\n{line}\n{line}\n"))
    whole = moment if "%f" in form else moment.replace(microsecond=0)
    assert table.start_epoch_s.tolist() == [whole.timestamp()] * 2
    assert any("UTC" in note for note in table.notes) == (not form.endswith("%z"))


def test_rows_of_transactions_stay_where_there_is_nothing_else(tmp_path: Path) -> None:
    message = '"Number of samples in transaction : 1, number of failing samples : 0"'
    text = f"timeStamp,elapsed,label,responseMessage,success\n1000,5,all,{message},true\n"
    table = read_jtl(write(tmp_path / "some.jtl", text))
    assert (table.n_requests, table.sums) == (1, None)


def test_a_headerless_file_in_default_order_is_recognised_and_said(tmp_path: Path) -> None:
    row = "1795261972662,48,hello,200,OK,g 1-1,text,true,,84,189,1,1,http://h/x,47,0,39\n"
    table = read_jtl(write(tmp_path / "some.jtl", row * 3))
    assert facts(table) == [EXPECTED[0]] * 3
    assert any("no header" in note for note in table.notes)


@pytest.mark.parametrize("sign", [";", "\t"])
def test_cells_may_be_set_apart_by_another_sign(tmp_path: Path, sign: str) -> None:
    text = "timeStamp,elapsed,label,success\n1795261972662,48,hello,true\n"
    assert facts(read_jtl(write(tmp_path / "some.jtl", text.replace(",", sign)))) == EXPECTED[:1]


@given(cut=st.integers(0, len(TEXT.encode())))
@example(cut=len(TEXT) - 1)
@SMALL
def test_a_file_cut_anywhere_keeps_complete_rows_or_is_an_input_error(tmp_path: Path, cut: int) -> None:
    data = TEXT.encode()[:cut]
    records = [TEXT.index(row) + len(row) for row in ROWS]  # ASCII: characters are bytes
    n_complete = sum(end <= cut for end in records)
    try:
        table = read_any(write(tmp_path / "some.jtl", data))
    except InputError:
        assert n_complete == 0
        return
    assert isinstance(table, RequestTable)
    got = facts(table)
    assert got[:n_complete] == EXPECTED[:n_complete]
    assert len(got) <= n_complete + 1  # a row cut in its last, unused column may count
    assert got == EXPECTED[: len(got)]


def test_a_row_that_cannot_be_read_is_counted_and_the_first_is_shown_with_its_line(tmp_path: Path) -> None:
    text = "\n".join(
        [HEADER, ROWS[0], ROWS[1], "x,y,z", ROWS[2], "1,-5,a,200,true,,0", "1,5,a,200,maybe,,0", ""]
    )
    table = read_jtl(write(tmp_path / "some.jtl", text))
    assert facts(table) == EXPECTED
    assert table.unreadable.n == 3
    assert table.unreadable.first_line == 5  # the second row takes two lines
    assert table.unreadable.first_text == "x,y,z"
    assert "line 5" in str(table.unreadable)


def test_a_row_cut_inside_quotes_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join([HEADER, ROWS[0], '1795261972665,3,hello,500,false,"Test fai', *ROWS, ""])
    for n in (1, 60):
        with monkeypatch.context() as patch:
            patch.setattr(source, "BLOCK_BYTES", 8 << 20 if n == 1 else 300)
            patch.setattr(source, "PIECE_BYTES", 100)
            table = read_jtl(write(tmp_path / "some.jtl", text + "\n".join([*ROWS, ""]) * n))
        assert facts(table) == [EXPECTED[0], *EXPECTED, *(EXPECTED * n)]
        assert table.unreadable.n == 1


def test_an_open_quote_does_not_eat_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 200)
    monkeypatch.setattr(source, "LONGEST_RECORD_BYTES", 600)
    monkeypatch.setattr(source, "PIECE_BYTES", 50)
    text = "\n".join([HEADER, '1,3,hello,500,false,"oops', *([ROWS[0]] * 200), ""])
    table = read_jtl(write(tmp_path / "some.jtl", text))
    assert table.n_requests == 200
    assert table.unreadable.n == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ('<?xml version="1.0"?>\n<testResults version="1.2">\n', "output_format=csv"),
        ("timeStamp,label\n1,a\n", "jmeter.save.saveservice.time=true"),
        ("a,b,c\n1,2,3\n", "JMeter csv"),
        ("hello world\n", "JMeter csv"),
        (HEADER + "\nnonsense\n", "line 2"),
        ("timeStamp,elapsed\nlast tuesday,3\n", "timestamp_format=ms"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_what_may_be(tmp_path: Path, content: str, said: str) -> None:
    path = write(tmp_path / "some.jtl", content)
    with pytest.raises(InputError) as caught:
        read_any(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert "allowed: " in message
    assert "\n" not in message


def test_a_missing_file_and_a_folder_are_input_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.jtl", tmp_path):
        with pytest.raises(InputError):
            read_any(path)
