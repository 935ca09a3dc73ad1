# SPDX-License-Identifier: Apache-2.0
"""Changed and hostile files: every reader reads them or refuses them in one line."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import InputError, RematchError, StoreError
from harness.project import find_root
from harness.tests.chaos.files.promise import broken_promise
from harness.tests.chaos.files.readers import Reader, readers
from harness.tests.support.available import long_tests_are_asked_for

ROOT = find_root(Path(__file__).parent)
NAMES_OF_READERS = (
    "jmeter csv", "locust csv", "k6 csv", "k6 json", "oha csv", "oha sqlite", "vegeta csv",
    "metronome csv", "wrk text", "wrk2 text",
    "jvm log", "gctrace", "jfr json", "nmt", "prometheus", "contention", "samples", "cgroup", "experiment",
    "claims", "service", "requests", "cases", "hosts", "record", "archive",
)  # fmt: skip
#: Files of each reader in a run of ``make test``, and of ``make test-all``.
N_FILES = 400 if long_tests_are_asked_for() else 12
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
