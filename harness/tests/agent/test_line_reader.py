# SPDX-License-Identifier: Apache-2.0
"""The reader of a pipe counts every line that was written, whenever it is stopped, and leaves its count when killed."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.runner.request_log import PROGRAM, count_lines, requests_counted
from harness.tests.support.instances import eventually


def counted(folder: Path) -> dict[str, int]:
    text = (folder / "counted").read_text()
    read = json.loads(text) if text else {"lines": 0}  # between two of its writes the file may be empty
    assert isinstance(read, dict)
    return read


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(PROGRAM), "pipe", "counted", "last"], cwd=tmp_path
    )
    try:
        assert eventually((tmp_path / "counted").exists)
        yield process
    finally:
        process.kill()
        process.wait()


def write(folder: Path, text: bytes) -> None:
    descriptor = os.open(folder / "pipe", os.O_WRONLY)
    try:
        while text:
            text = text[os.write(descriptor, text) :]
    finally:
        os.close(descriptor)


def test_what_is_in_the_pipe_when_it_is_stopped_is_read(
    reader: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    reader.send_signal(signal.SIGSTOP)
    write(tmp_path, b"line\n" * 5_000)
    reader.send_signal(signal.SIGTERM)
    reader.send_signal(signal.SIGCONT)
    assert reader.wait() == 0
    assert counted(tmp_path)["lines"] == 5_000


def test_requests_are_those_of_all_paths_and_statuses() -> None:
    metrics = (
        "# TYPE http_requests_total counter\n"
        'http_requests_total{path="/uppercase",status="200"} 41\n'
        'http_requests_total{path="other",status="404"} 1.0\n'
        'http_request_duration_seconds_count{path="/uppercase"} 7\n'
    )
    assert requests_counted(metrics) == 42
    assert requests_counted("http_requests_total 5\n") == 5
    assert requests_counted("go_goroutines 5\n") is None
