# SPDX-License-Identifier: Apache-2.0
"""Changed and hostile files: every reader reads them or refuses them in one line.

A refusal is a ``RematchError`` with exit status 2 whose message is one line and names the file. Memory and CPU time of
one file are bounded, and nothing is written outside of the reader's folder.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import RematchError
from harness.tests.chaos.files.readers import Reader, readers
from harness.tests.chaos.watch import peak_bytes
from harness.tests.support.available import PROJECT, long_tests_are_asked_for

NAMES_OF_READERS = (
    "jmeter csv", "locust csv", "k6 csv", "k6 json", "oha csv", "oha sqlite", "vegeta csv",
    "metronome csv", "wrk text", "wrk2 text",
    "jvm log", "gctrace", "jfr json", "nmt", "prometheus", "contention", "experiment",
    "claims", "service", "requests", "cases", "hosts", "record",
)  # fmt: skip
#: Files of each reader in a run of ``make test``, and of ``make test-all``.
N_FILES = 400 if long_tests_are_asked_for() else 12
_SETTINGS = settings(
    max_examples=N_FILES, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)  # fmt: skip
#: CPU time of one file. The largest hostile file takes some seconds; what takes this long has no end.
LONGEST_CPU_S = 30.0
#: Resident memory that one file may add while it is read.
MOST_BYTES = 1 << 30


@cache
def every() -> dict[str, Reader]:
    """All readers by name; their recordings are read when a test asks for them, not wherever tests are collected."""
    return readers(PROJECT)


@pytest.mark.parametrize("name", NAMES_OF_READERS)
@_SETTINGS
@given(seed=st.integers(0, 2**32))
def test_a_changed_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    read_or_refused(every()[name], every()[name].input(rng), folder_of(name, tmp_path), rng)


def read_or_refused(reader: Reader, data: bytes, folder: Path, rng: random.Random) -> None:
    """Have a file read, and assert that the reader keeps its promise."""
    beside, before_bytes = os.listdir(folder.parent), reset_peak()
    try:
        with cpu_limit(LONGEST_CPU_S):
            reader.read(data, folder, rng)
    except RematchError as refused:
        assert "\n" not in str(refused)
        assert refused.exit_code == 2
        assert reader.names is None or reader.names in str(refused)
    assert peak_bytes(os.getpid()) - before_bytes < MOST_BYTES, f"memory for a file of {len(data):,} bytes"
    assert os.listdir(folder.parent) == beside and not os.path.exists("/tmp/rematch-fuzz-outside")


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


def reset_peak() -> int:
    """Forget the peak of resident memory, where the kernel can; return what it is then."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes(os.getpid())


def folder_of(name: str, tmp_path: Path) -> Path:
    folder = tmp_path / name.replace(" ", "-")
    folder.mkdir(exist_ok=True)
    return folder


def test_every_kind_of_file_that_is_read_has_a_reader() -> None:
    assert tuple(every()) == NAMES_OF_READERS
    assert all(reader.recordings for reader in every().values())


@pytest.mark.parametrize("name", NAMES_OF_READERS)
def test_an_unchanged_recording_is_read_so_that_changes_reach_behind_the_first_check(
    name: str, tmp_path: Path
) -> None:
    n_read = 0
    for data in every()[name].recordings:
        with suppress(RematchError):
            every()[name].read(data, folder_of(name, tmp_path), random.Random(1))
            n_read += 1
    assert n_read > 0
