# SPDX-License-Identifier: Apache-2.0
"""Changed and hostile files: every reader reads them or refuses them in one line."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import InputError, RematchError, StoreError
from harness.project import find_root
from harness.tests.chaos.files import promise
from harness.tests.chaos.files.hostile import NAMES, bomb, hostile, hostile_archive
from harness.tests.chaos.files.mutate import Format, mutated
from harness.tests.chaos.files.promise import broken_promise
from harness.tests.chaos.files.readers import Reader, readers
from harness.tests.chaos.files.recordings import EVENTS, PART_BYTES, fewer_events, ledgers
from harness.tests.support.available import long_tests_are_asked_for

ROOT = find_root(Path(__file__).parent)
NAMES_OF_READERS = (
    "jmeter csv", "locust csv", "k6 csv", "k6 json", "oha csv", "oha sqlite", "vegeta csv", "wrk text", "wrk2 text",
    "jvm log", "gctrace", "jfr json", "nmt", "prometheus", "contention", "samples", "cgroup", "experiment",
    "claims", "service", "requests", "cases", "hosts", "record", "archive",
)  # fmt: skip
#: Files of each reader in a run of ``make test``, and of ``make test-all``.
N_FILES = 400 if long_tests_are_asked_for() else 4
_SETTINGS = settings(
    max_examples=N_FILES, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip


@cache
def every() -> dict[str, Reader]:
    """All readers by name; their recordings are read when a test asks for them, not wherever tests are collected."""
    return {one.name: one for one in readers(ROOT)}


@pytest.mark.parametrize("name", NAMES_OF_READERS)
@_SETTINGS
@given(seed=st.integers(0, 2**32))
def test_a_changed_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    assert broken_promise(every()[name], every()[name].input(rng), folder_of(name, tmp_path), rng) is None


def folder_of(name: str, tmp_path: Path) -> Path:
    folder = tmp_path / name.replace(" ", "-")
    folder.mkdir(exist_ok=True)
    return folder


def test_every_kind_of_file_that_is_read_has_a_reader() -> None:
    assert tuple(every()) == NAMES_OF_READERS


def test_an_unchanged_recording_is_read_so_that_changes_reach_behind_the_first_check(tmp_path: Path) -> None:
    def refused(one: Reader, data: bytes) -> str | None:
        try:
            one.read(data, folder_of(one.name, tmp_path), random.Random(1))
        except RematchError as error:
            return str(error)
        return None

    answers = {one.name: [refused(one, data) for data in one.recordings] for one in every().values()}
    assert {name: texts for name, texts in answers.items() if None not in texts} == {}


def test_a_long_recording_is_changed_in_parts_and_all_of_its_claims_are_in_one() -> None:
    whole = b"[claims.a]\nx = 1\n" + b"[claims.b]\ny = 2\n" * 800 + b"[claims.c]\nz = 3\n"
    parts = ledgers((whole,))
    assert b"".join(parts) == whole and len(parts) > 3 and max(map(len, parts)) <= PART_BYTES
    assert all(part.startswith(b"[claims.") for part in parts)


def test_a_flight_recording_keeps_a_few_events_of_each_type() -> None:
    events = [{"type": kind, "values": {"n": n}} for n in range(50) for kind in ("a", "b")]
    short = json.loads(fewer_events(json.dumps({"recording": {"events": events}}).encode()))
    kept = Counter(event["type"] for event in short["recording"]["events"])
    assert kept == {"a": EVENTS, "b": EVENTS}


def test_each_hostile_file_comes_and_those_of_megabytes_seldom() -> None:
    rng = random.Random(4)
    seen = Counter(hostile("lines", rng) for _ in range(5000))
    large = {data for data in seen if len(data) >= 1 << 20 or data[:2] == b"\x1f\x8b"}
    assert 3 < len(large) < len(seen)
    assert max(seen[data] for data in large) < min(seen[data] for data in seen if data not in large)


def test_a_file_does_not_depend_on_those_that_were_made_before_it() -> None:
    original = b'{"a": [1, {"b": null, "c": [2, [3]]}], "d": {"e": {"f": []}}}'
    fresh = {n: mutated(original, "json", random.Random(n), [original]) for n in range(2000)}
    later = {n: mutated(original, "json", random.Random(n), [original]) for n in reversed(range(2000))}
    assert fresh == later


def broken(error: BaseException | None, names: str | None = None) -> Reader:
    def read(data: bytes, folder: Path, rng: random.Random) -> None:
        if error is not None:
            raise error

    return Reader(name="broken", form="lines", recordings=(b"a\nb\n",), read=read, names=names)


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (KeyError("x"), "KeyError: "),
        (RecursionError("deep"), "RecursionError: "),
        (MemoryError(), "memory: "),
        (RematchError("status 1"), "refusal: exit status 1"),
        (StoreError("two\nlines"), "refusal: more than one line"),
        (InputError("no name"), "refusal: does not name the file"),
    ],
)
def test_a_broken_promise_is_named(error: BaseException, what: str, tmp_path: Path) -> None:
    said = broken_promise(broken(error, names="changed.file"), b"", tmp_path, random.Random(1))
    assert said is not None and said.startswith(what)


def test_a_refusal_that_names_its_file_keeps_the_promise(tmp_path: Path) -> None:
    error = InputError("is no table", file="changed.file", place="line 1", allowed="a table")
    assert broken_promise(broken(error, names="changed.file"), b"", tmp_path, random.Random(1)) is None


def test_a_reader_without_end_one_that_takes_memory_and_one_that_writes_elsewhere_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promise, "LONGEST_CPU_S", 0.2)
    monkeypatch.setattr(promise, "MOST_BYTES", 32 << 20)

    def endless(data: bytes, folder: Path, rng: random.Random) -> None:
        while True:
            pass

    def greedy(data: bytes, folder: Path, rng: random.Random) -> None:
        assert len(bytearray(b"x") * (96 << 20)) > 0

    def stray(data: bytes, folder: Path, rng: random.Random) -> None:
        (folder.parent / "outside").write_text("x")

    for read, what in ((endless, "time: "), (greedy, "memory: "), (stray, "wrote outside of its folder")):
        one = Reader(name=what, form="lines", recordings=(b"a",), read=read, names=None)
        said = broken_promise(one, b"a", folder_of("own", tmp_path), random.Random(1))
        assert said is not None and said.startswith(what)


def test_hostile_archives_hold_each_kind_of_harm() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("session.json", "{}")
    names, methods, large = set(), set(), False
    for n in range(200):
        data = hostile_archive(made.getvalue(), random.Random(n))
        try:
            entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
        except Exception:  # damaged ones are wanted too
            continue
        names |= {entry.filename for entry in entries}
        methods |= {entry.compress_type for entry in entries}
        large |= any(entry.file_size > 50 << 20 for entry in entries)
    assert len(names & set(NAMES)) > 6 and any(".." in name for name in names)
    assert {zipfile.ZIP_LZMA, zipfile.ZIP_DEFLATED} <= methods and large


def test_a_bomb_is_small() -> None:
    assert len(bomb(b"x")) < 200_000


@pytest.mark.parametrize("form", ["lines", "csv", "json", "toml", "bytes"])
def test_each_form_is_changed_and_may_become_empty(form: Format) -> None:
    original = {"json": b'{"a": [1, {"b": null}]}', "toml": b'a = 1\n[b]\nc = "d"\n'}.get(
        form, b"a,b\n1,2\n3,4\n"
    )
    made = {mutated(original, form, random.Random(n), [original]) for n in range(300)}
    assert len(made) > 150
    assert mutated(b"", form, random.Random(3), []) is not None
