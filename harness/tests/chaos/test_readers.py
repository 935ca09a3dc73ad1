# SPDX-License-Identifier: Apache-2.0
"""Changed and hostile files: every reader reads them or refuses them in one line."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.definitions import load_implementations, load_requests, load_study
from harness.errors import RematchError
from harness.formats.runtime_log import read_runtime_log
from harness.formats.runtime_metrics import parse_runtime_metrics
from harness.places.hosts.ssh.settings import FILE as HOSTS
from harness.places.hosts.ssh.settings import host_names
from harness.project import EXPERIMENTS, LEDGERS
from harness.report.compare.reading import RunFiles, read_run
from harness.report.output import main
from harness.tests.support.available import PROJECT, long_tests_are_asked_for
from harness.tests.support.result_files import write
from harness.workloads import load_all_requests, load_cases

#: Files of each reader in a run of ``make test``, and of ``make test-all``.
N_FILES = 400 if long_tests_are_asked_for() else 12
SETTINGS = settings(
    max_examples=N_FILES, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip
#: CPU time of one file. The largest hostile file takes some seconds; what takes this long has no end.
LONGEST_CPU_S = 30.0
#: Resident memory that one file may add while it is read.
MOST_BYTES = 1 << 30
#: One hostile file among so many changed ones: some are megabytes.
HOSTILE_ONE_IN = 60
#: The shares of reports that are written as a page and as text: they take as long as a hundred and as ten others.
PAGES, TEXTS = 0.003, 0.02
#: Of a long text a part is used, for faults are in kinds of lines; of a flight recording, so many events of each type.
LONGEST, EVENTS = 3000, 4

Read = Callable[[bytes, Path, random.Random], object]
GOLDEN = "harness/tests/golden"
RESULTS = {
    "jmeter csv": "jmeter/*", "locust csv": "locust/*.csv", "k6 csv": "k6/*.csv*", "k6 json": "k6/*.json*",
    "oha csv": "oha/oha.csv", "oha sqlite": "oha/samples.db.gz", "vegeta csv": "vegeta/results.csv",
    "metronome csv": "metronome/samples.csv", "wrk text": "wrk/*.txt", "wrk2 text": "wrk2/*.txt",
}  # fmt: skip
LOGS = {"jvm log": "jvm_log/*", "gctrace": "gctrace/*.log", "jfr json": "jfr_json/*"}


class Reader(NamedTuple):
    """One reader: it gets bytes and a folder of its own, writes them to a file there, and reads it as a command would."""

    recordings: tuple[bytes, ...]
    read: Read
    names: str = "changed.file"


def recordings(*patterns: str) -> tuple[bytes, ...]:
    """Return the files of the project that match, unpacked."""
    paths = [path for pattern in patterns for path in sorted(PROJECT.glob(pattern))]
    files = [path.read_bytes() for path in paths if path.is_file() and path.suffix != ".md"]
    return tuple(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data for data in files)


def result(data: bytes, folder: Path, rng: random.Random) -> None:
    path, way = write(folder / "changed.file", data), rng.random()
    if way < 0.15:
        read_run(RunFiles(name="a", paths=(path,)))
        return
    html = folder / "page.html" if way < 0.15 + PAGES else None
    with redirect_stdout(io.StringIO()):
        main([path], as_json=way < 1 - TEXTS, html=html)


def runtime_log(data: bytes, folder: Path, rng: random.Random) -> None:
    name = "changed.file.gz" if data[:2] == b"\x1f\x8b" else "changed.file"
    read_runtime_log(write(folder / name, data), process_start_epoch_s=rng.choice([None, 1.7e9]))


def prometheus(data: bytes, folder: Path, rng: random.Random) -> None:
    parse_runtime_metrics(data.decode("utf-8", "replace"))


def experiment(data: bytes, folder: Path, rng: random.Random) -> None:
    named = re.match(rb'(?:.*\n){0,20}?name = "([a-z0-9-]{1,40})"', data)
    load_study(PROJECT, str(write(folder / f"{named[1].decode() if named else 'changed'}.toml", data)))


def service(data: bytes, folder: Path, rng: random.Random) -> None:
    write(folder / "services/strings/go-nethttp/service.toml", data)
    load_implementations(folder, "strings")


def requests(data: bytes, folder: Path, rng: random.Random) -> None:
    contract = write(folder / "services/strings/contract/requests.jsonl", data).parent
    if rng.random() < 0.5:
        load_requests(folder, "strings")
    else:
        load_all_requests(contract)


def cases(data: bytes, folder: Path, rng: random.Random) -> None:
    load_cases(write(folder / "contract/cases.jsonl", data).parent)


def hosts(data: bytes, folder: Path, rng: random.Random) -> None:
    write(folder / HOSTS, data)
    host_names(folder)


def fewer_events(data: bytes) -> bytes:
    """Return a flight recording with a few events of each type."""
    tree, by_type = json.loads(data), defaultdict[str, list[object]](list)
    for event in tree["recording"]["events"]:
        by_type[event["type"]].append(event)
    tree["recording"]["events"] = [event for events in by_type.values() for event in events[:EVENTS]]
    return json.dumps(tree, indent=2).encode()


@cache
def every() -> dict[str, Reader]:
    """All readers by name; their recordings are read when a test asks for them, not wherever tests are collected."""
    readers = {name: Reader(recordings(f"{GOLDEN}/{pattern}"), result) for name, pattern in RESULTS.items()}
    logs = {name: recordings(f"{GOLDEN}/{pattern}") for name, pattern in LOGS.items()}
    logs["jfr json"] = tuple(map(fewer_events, logs["jfr json"]))
    studies = [path for path in sorted((PROJECT / EXPERIMENTS).glob("*.toml")) if path.stem not in LEDGERS]
    contract = "services/*/contract"
    return {
        **readers,
        **{name: Reader(files, runtime_log) for name, files in logs.items()},
        "prometheus": Reader(recordings(f"{GOLDEN}/runtime_metrics/*"), prometheus, ""),
        "experiment": Reader(tuple(path.read_bytes() for path in studies), experiment, ".toml"),
        "service": Reader(recordings("services/strings/go-nethttp/service.toml"), service, "service.toml"),
        "requests": Reader(recordings(f"{contract}/requests.jsonl"), requests, "requests.jsonl"),
        "cases": Reader(recordings(f"{contract}/cases.jsonl"), cases, "cases.jsonl"),
        "hosts": Reader(recordings("harness/hosts.example.toml"), hosts, HOSTS),
    }


NAMES = (*RESULTS, *LOGS, "prometheus", "experiment", "service", "requests", "cases", "hosts")
#: Recordings of lines, of which a part is enough.
LINES = {*RESULTS, *LOGS, "prometheus"} - {"k6 json", "oha sqlite", "jfr json"}

#: What takes the place of a byte, a word, a cell, a key or a value.
JUNK = (
    b"", b"\r", b"\n", b"\0", b'"', b",", b";", b"-1", b"0", b"9" * 30, b"9" * 5000, b"1e400", b"0.5", b"nan", b"inf",
    b"\xff\xfe", b"\xc3", b"{", b"}", b"[", b"]", b":", b"=", b".", b"1.2.3", b" ", b"\t", b"null", b"true", b"T", b"[]",
    b"{}", b"[[]]", b'""', b'{"": null}', b'"\\ud800"', b"'''", b"1979-05-27", b"0x7fffffffffffffffff", b"\x1b[2J",
    b"<script>", b"../../x", b"%s", "\N{SUPERSCRIPT TWO}".encode(), "\N{ARABIC-INDIC DIGIT THREE}".encode(),
)  # fmt: skip
#: Words, numbers, and texts in quotes: the cells of a table, keys and values of JSON and TOML.
WORDS = re.compile(rb'("[^"\n]*"|[^\s,;:=\[\]{}"]+)')
DEEP, LONG, DIGITS = 100_000, 3 << 20, b"9" * 5000


def changed(reader: Reader, name: str, rng: random.Random) -> bytes:
    """Return a recording with a few changed bytes, words or lines, in another wrapping, or a file made to do harm."""
    if rng.randrange(HOSTILE_ONE_IN) == 0:
        return rng.choice(hostile())
    data = rng.choice(reader.recordings)
    data = data[: rng.choice((LONGEST // 2, LONGEST))] if name in LINES else data
    kind = rng.random()
    if kind < 0.05:
        packed = gzip.compress(data, 1, mtime=0)
        return rng.choice((
            b"", b"\n" * 1000, data.decode("utf-8", "replace").encode("utf-16"), b"\xef\xbb\xbf" + data, packed,
            packed[: rng.randrange(len(packed))], packed + packed, data.replace(b"\n", b"\r\n"),
            data.replace(b"\n", b"\r"), data * 3, data[: rng.randrange(len(data))], rng.randbytes(500),
        ))  # fmt: skip
    joint = b"\n" if kind > 0.8 else b""
    units = [data[i : i + 1] for i in range(len(data))] if kind < 0.4 else WORDS.split(data)
    units = (data.split(joint) if joint else units) or [b""]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(min(len(units), 400) if rng.random() < 0.5 else len(units))
        end = at + rng.choice((1, 1, 2, 5, 30))
        part = units[at:end]
        units[at:end] = rng.choice((
            [rng.choice(JUNK)], [rng.choice(JUNK), *part[1:]], [], part * rng.choice((2, 50)), part[::-1],
            [part[0][: rng.randrange(len(part[0]) + 1)] + rng.choice((b"7", b"-", b".", b"E", b":"))],
        )) or [b""]  # fmt: skip
    return joint.join(units)


@cache
def hostile() -> tuple[bytes, ...]:
    """Return files made to do harm: by depth, length, digits and compression."""
    bombs = (gzip.compress(byte * (96 << 20), 9, mtime=0) for byte in (b"\n", b"x"))
    return (
        b"x" * LONG, b"," * LONG, b'"' * 99_999, b"\n" * LONG, b"\0" * LONG, DIGITS, *bombs,
        b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><testResults>&b;</testResults>",
        b"[" * DEEP, b'{"a":' * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' + DIGITS + b"}", b'{"a":1e999}',
        b'{"recording":{"events":' + b"[" * DEEP + b"]" * DEEP + b"}}", b'{"metrics":' + b"[" * DEEP,
        b'{"type":"Point","metric":"http_req_duration","data":' + b"[" * DEEP,
        b"a = " + b"[" * DEEP, b"a = " + DIGITS, b"a." * 20_000 + b"b = 1", b"[" + b"a." * 5_000 + b"b]",
        b"a = {" * 5_000, b"hosts = 3", b"[hosts]\na = 3", b"[[hosts]]", b'name = "\\uD800"',
    )  # fmt: skip


class TookTooLong(BaseException):
    """CPU time of one file is used up; no reader catches it."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise ``TookTooLong`` after so much CPU time."""

    def end(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def peak_bytes() -> int:
    """Return the most resident memory that this process had since the kernel was asked to forget it."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[0]) << 10


@pytest.mark.parametrize("name", NAMES)
@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_a_changed_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path, seed: int) -> None:
    rng, reader, folder = random.Random(f"{name} {seed}"), every()[name], tmp_path / "reader"
    data = changed(reader, name, rng)
    folder.mkdir(exist_ok=True)
    with suppress(OSError):  # kernels differ in who may
        Path("/proc/self/clear_refs").write_text("5")
    before_bytes = peak_bytes()
    try:
        with cpu_limit(LONGEST_CPU_S):
            reader.read(data, folder, rng)
    except RematchError as refused:
        assert "\n" not in str(refused)
        assert refused.exit_code == 2
        assert reader.names in str(refused)
    assert peak_bytes() - before_bytes < MOST_BYTES, f"memory for a file of {len(data):,} bytes"
    assert os.listdir(tmp_path) == ["reader"]
