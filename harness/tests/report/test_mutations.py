# SPDX-License-Identifier: Apache-2.0
"""Rule for every file that a report reads: changed at random it is read, or refused in one line."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.formats.runtime_log import read_runtime_log
from harness.report.output import main

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
REQUESTS = ("jmeter/*", "k6/*", "locust/*", "oha/*", "vegeta/results.csv", "metronome/*", "wrk/*", "wrk2/*")
LOGS = ("jvm_log/*", "gctrace/*", "jfr_json/*")
#: Mutations of each of the two kinds: some seconds. Another seed or number looks further.
MUTATIONS = 800
LONGEST = 3000
JUNK = (
    b"\r", b"\n", b"\0", b'"', b",", b";", b"-1", b"9" * 30, b"1e400", b"nan", b"inf", b"\xff\xfe", b"\xc3", b"{", b"}",
    b"[", b"]", b":", b".", b"1.2.3", b" ", b"null", b"true", "\N{SUPERSCRIPT TWO}".encode(), b"e", b"T", b"[]", b"{}",
)  # fmt: skip


def captured(patterns: tuple[str, ...]) -> list[bytes]:
    found = []
    for pattern in patterns:
        for path in sorted(GOLDEN.glob(pattern)):
            data = path.read_bytes()
            if path.suffix != ".md":
                found.append(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    return found


def mutated(original: bytes, rng: random.Random) -> bytes:
    data = bytearray(original[: rng.choice([LONGEST // 2, LONGEST])])
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(min(len(data), 400) if rng.random() < 0.5 else len(data)) if data else 0
        what = rng.randrange(6)
        if what == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif what == 1:
            data[at:at] = rng.choice(JUNK)
        elif what == 2:
            del data[at : at + rng.choice([1, 1, 2, 5, 30])]
        elif what == 3:
            data[at : at + rng.choice([1, 2, 8])] = rng.choice(JUNK)
        elif what == 4:
            data[at:at] = data[at : at + rng.choice([1, 5, 40, 200])]
        else:
            digits = [i for i in range(at, min(len(data), at + 300)) if chr(data[i]).isdecimal()]
            if digits:
                data[rng.choice(digits)] = rng.choice(b"0123456789-.,eE:")
    return bytes(data)


def read_or_refused(path: Path, *, is_log: bool, rng: random.Random) -> bool:
    """Whether it was read; refused: in one line that names the file."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            if is_log:
                read_runtime_log(path, process_start_epoch_s=rng.choice([None, 1.7e9]))
            else:
                main([path], as_json=rng.random() < 0.9)
    except InputError as refused:
        assert "\n" not in str(refused) and path.name in str(refused)
        return False
    return True


@pytest.mark.parametrize(("patterns", "is_log"), [(REQUESTS, False), (LOGS, True)], ids=["requests", "logs"])
def test_a_changed_file_is_read_or_refused_in_one_line(
    tmp_path: Path, patterns: tuple[str, ...], is_log: bool
) -> None:
    rng = random.Random(20261123)
    originals, path = captured(patterns), tmp_path / "changed.file"
    outcomes = set()
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(rng.choice(originals), rng))
        outcomes.add(read_or_refused(path, is_log=is_log, rng=rng))
    assert True in outcomes


@pytest.mark.parametrize(
    "line",
    [
        "[2026-11-21T41:27:48.880+0000][1.000s][info][gc] GC(0) Pause Young (Normal) 24M->4M(64M) 1.000ms",
        "gc 1 @0.0.1s 2%: 0.01+0.2+0.003 ms clock, 0.1+0/0/0+0.1 ms cpu, 4->4->0 MB, 4 MB goal, 2 P",
        "gc 1 @0.1s 2%: 0-1015+0.2+0.003 ms clock, 0.1+0/0/0+0.1 ms cpu, 4->4->0 MB, 4 MB goal, 2 P",
    ],
)
def test_a_broken_number_in_a_runtimes_log_costs_its_own_line_at_most(tmp_path: Path, line: str) -> None:
    path = tmp_path / "gc.log"
    good = "[1790000000000ms][2.000s][info][gc] GC(1) Pause Young (Normal) 24M->4M(64M) 1.000ms\n"
    path.write_text(line + "\n" + (good if line.startswith("[") else ""))
    log = read_runtime_log(path)
    assert log.events or log.n_unknown


def test_a_lone_carriage_return_in_a_header_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "r.jtl"
    path.write_bytes(b'time\rStamp,elapsed,"la\rbel",success\n1790000000000,3,a,true\n')
    assert read_or_refused(path, is_log=False, rng=random.Random(1)) in {True, False}
    path.write_bytes(b'"na\rme","Request Count"\n"a",3\n')
    with pytest.raises(InputError, match=r"r\.jtl"):
        main([path])
