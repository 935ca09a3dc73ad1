# SPDX-License-Identifier: Apache-2.0
"""What a file may cost its reader: memory and time are bounded by its length, whatever stands in it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.formats import source
from harness.formats.gctrace import parse_gctrace
from harness.formats.jtl import open_jtl
from harness.formats.jvm_log import read_jvm_log
from harness.formats.rows import _Patience
from harness.formats.unified_log import LONGEST_LINE, read_lines
from harness.formats.wrk_text import read_wrk

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
HEADER = "timeStamp,elapsed,label,responseCode,success,failureMessage,Connect"
ROW = "1795261972662,48,hello,200,true,,39"


def write(folder: Path, data: bytes, name: str = "some.jtl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


class _Counting(str):
    """Text that tells how much of it was looked through for quotes."""

    looked_at = 0

    def __add__(self, other: str) -> _Counting:
        return _Counting(super().__add__(other))

    def count(self, *sought: Any) -> int:
        type(self).looked_at += len(self)
        return super().count(*sought)


def test_a_quote_that_stays_open_is_not_looked_for_again_with_every_line(tmp_path: Path) -> None:
    n = 2000
    lines = [_Counting('1,3,hello,500,false,"oops'), *([_Counting("no row")] * n), _Counting(ROW)]
    block = source.Block(data=b"", first_line=2)
    layout = open_jtl(write(tmp_path, f"{HEADER}\n{ROW}\n".encode())).layout
    _Counting.looked_at = 0
    after = _Patience(block=block, layout=layout)._record(list(lines), 0, complete=True)
    assert after == n + 1
    assert _Counting.looked_at <= sum(map(len, lines))


def test_a_small_gzip_file_is_unpacked_in_pieces_and_whole(tmp_path: Path) -> None:
    text = b"a,b,c,d\n" * 4_000_000
    path = write(tmp_path, gzip.compress(text, 9), "large.jtl.gz")
    assert path.stat().st_size < len(text) // 500
    pieces = list(source.read_text_pieces(path, source.SourceNotes()))
    assert max(map(len, pieces)) <= source.PIECE_BYTES
    assert b"".join(pieces) == text


@pytest.mark.parametrize("line", [b"x", "\N{LATIN SMALL LETTER E WITH ACUTE}".encode("cp1252")])
def test_a_line_without_end_is_not_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(source, "PIECE_BYTES", 1000)
    monkeypatch.setattr(source, "LONGEST_RECORD_BYTES", 5000)
    path = write(tmp_path, line * 50_000)
    pieces = list(source.read_text_pieces(path, source.SourceNotes()))
    assert max(map(len, pieces)) <= 2 * (5000 + 1000)
    assert not list(source.without_first_line(iter(pieces)))


def test_a_line_of_a_jvms_log_has_a_longest_length_and_the_next_one_is_read(tmp_path: Path) -> None:
    good = b"[2.000s][info][gc] GC(1) Pause Young (Normal) 24M->4M(64M) 1.000ms\n"
    endless = b"[1.000s][info][safepoint] " + b'Safepoint "a", ' * 20_000 + b"\n"
    path = write(tmp_path, endless + good, "gc.log")
    lines = list(read_lines([path]))
    assert max(len(text) for text, _ in lines) <= LONGEST_LINE
    assert lines[-1] == (good.decode().rstrip(), True)
    assert len(read_jvm_log(path).events) == 1


@pytest.mark.parametrize("length", ["0" * 40, "+" * 2000], ids=["digits", "signs"])
def test_a_length_of_gos_trace_has_a_longest_length(length: str) -> None:
    rest = "+0.2+0.003 ms clock, 0.1+0/0/0+0.1 ms cpu, 4->4->0 MB, 4 MB goal, 2 P\n"
    assert parse_gctrace(f"gc 1 @0.1s 2%: 0.01{rest}").n_unknown == 0
    assert parse_gctrace(f"gc 1 @0.1s 2%: {length}{rest}").n_unknown == 1


def test_blanks_between_words_of_wrk_are_no_line_ends(tmp_path: Path) -> None:
    text = (GOLDEN / "wrk" / "latency.txt").read_text("utf-8")
    assert "Requests/sec:  56724.68\n" in text
    split = write(tmp_path, text.replace("Requests/sec:  ", "Requests/sec:\n").encode(), "split.txt")
    assert read_wrk(GOLDEN / "wrk" / "latency.txt").total != read_wrk(split).total
    with pytest.raises(InputError, match="not a complete wrk summary"):
        read_wrk(write(tmp_path, b"Running 3s test @ http://x/\n" + b"\n" * 20_000, "lines.txt"))
