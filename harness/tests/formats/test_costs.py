# SPDX-License-Identifier: Apache-2.0
"""What a file may cost its reader: memory and time are bounded by its length, whatever stands in it."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

from harness.formats import source
from harness.formats.jtl import open_jtl
from harness.formats.log_lines import BEGINS, LONGEST_LINE, OtherLines, read_lines
from harness.formats.rows import _Records
from harness.formats.runtime_log import read_runtime_log
from harness.tests.support.result_files import write

HEADER = "timeStamp,elapsed,label,responseCode,success,failureMessage,Connect"
ROW = "1795261972662,48,hello,200,true,,39"


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
    layout = open_jtl(write(tmp_path / "some.jtl", f"{HEADER}\n{ROW}\n".encode())).layout
    _Counting.looked_at = 0
    after = _Records(block, layout)._record(list(lines), 0)
    assert after == n + 1
    assert _Counting.looked_at <= sum(map(len, lines))


def test_a_small_gzip_file_is_unpacked_in_pieces_and_whole(tmp_path: Path) -> None:
    text = b"a,b,c,d\n" * 4_000_000
    path = write(tmp_path / "large.jtl.gz", gzip.compress(text, 9))
    assert path.stat().st_size < len(text) // 500
    pieces = list(source.read_text_pieces(path, source.SourceNotes()))
    assert max(map(len, pieces)) <= source.PIECE_BYTES
    assert b"".join(pieces) == text


@pytest.mark.parametrize("line", [b"x", "\N{LATIN SMALL LETTER E WITH ACUTE}".encode("cp1252")])
def test_an_endless_line_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr(source, "PIECE_BYTES", 1000)
    monkeypatch.setattr(source, "LONGEST_RECORD_BYTES", 5000)
    path = write(tmp_path / "some.jtl", line * 50_000)
    pieces = list(source.read_text_pieces(path, source.SourceNotes()))
    assert max(map(len, pieces)) <= 2 * (5000 + 1000)
    assert not list(source.without_lines(iter(pieces), 1))


def test_a_line_of_a_jvms_log_has_a_longest_length_and_the_next_one_is_read(tmp_path: Path) -> None:
    good = b"[2.000s][info][gc] GC(1) Pause Young (Normal) 24M->4M(64M) 1.000ms\n"
    endless = b"[1.000s][info][safepoint] " + b'Safepoint "a", ' * 20_000 + b"\n"
    path = write(tmp_path / "gc.log", endless + good)
    lines, _, _ = lines_of(path)
    assert max(map(len, lines)) <= LONGEST_LINE
    assert lines[-1] == good.decode().rstrip()
    assert len(read_runtime_log(path).events) == 1


def lines_of(path: Path) -> tuple[list[str], OtherLines, source.SourceNotes]:
    notes, others = source.SourceNotes(), OtherLines()
    return [line.before + line.text for line in read_lines(path, notes, others)], others, notes


def test_empty_lines_of_a_log_are_passed_over_and_the_others_read_as_ever(tmp_path: Path) -> None:
    rng = random.Random(6)
    parts = (
        b"\n", b"\r\n", b" ", b"x", b"\n" * 9000, b"y" * 8191, b"z" * LONGEST_LINE, b"[1s] a\n", b"gc 1 @",
    )  # fmt: skip
    for n in range(300):
        data = b"".join(rng.choice(parts) for _ in range(rng.randrange(12)))
        path = write(
            tmp_path / ("gc.log.gz" if n % 2 else "gc.log"), gzip.compress(data, 1) if n % 2 else data
        )
        every = [line for line in data.decode().split("\n") if line.strip()]
        begins = [found.start() if (found := BEGINS.search(line)) else None for line in every]
        read, others, _ = lines_of(path)
        assert others.n == begins.count(None)
        assert read == [
            line[max(at - LONGEST_LINE, 0) : at + LONGEST_LINE].rstrip("\r")
            for line, at in zip(every, begins, strict=True)
            if at is not None
        ]
    path = write(tmp_path / "gc.log", b"\n" * 3_000_000 + b"[1s] a\n")
    assert lines_of(path)[0] == ["[1s] a"]
