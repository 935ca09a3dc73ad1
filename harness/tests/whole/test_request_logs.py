# SPDX-License-Identifier: Apache-2.0
"""Real services with real loggers, whose lines are counted, and those that are lost too."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.model import Outcome
from harness.tests.support.available import some_in_every_run
from harness.tests.support.instances import eventually
from harness.tests.support.real_projects import load, measured, project_of
from harness.tests.support.sessions import command_lines


def project(root: Path, sink: str, services: Sequence[str] = ("go-nethttp", "java-helidon")) -> Path:
    told = f'face = "matched", craft = "idiomatic", logging = "on", log_sink = "{sink}", log_file = "requests.log"'
    loggers = {"go-nethttp": "slog-json", "java-helidon": "logback"}
    return project_of(
        root, "strings", {name: f'{told}, logger = "{loggers[name]}"' for name in services},
        mix="hello", loads={"busy": load("wrk", "users = 4, duration_s = 1")}, echo=False,
    )  # fmt: skip


@pytest.mark.parametrize("sink", some_in_every_run(["file", "pipe"], ["pipe"], "a log into a file"))
def test_a_trial_counts_the_lines_of_its_whole_process(sink: str, tmp_path: Path) -> None:
    folder = measured(project(tmp_path, sink))
    assert folder.verify() == ()
    for record in folder.records():
        assert record.outcome == Outcome.OK, record.reason
        log, answered = record.request_log, record.load
        assert log is not None and answered is not None and log.requests is not None and log.bytes is not None
        assert (log.sink, log.lost, log.reader_ended) == (sink, 0, False)
        assert log.lines is not None and log.requests == log.lines > answered.n_requests
        assert log.bytes > 100 * log.lines
        assert (log.reader_cpu_s is not None and log.reader_cpu_s > 0) == (sink == "pipe")
        assert not folder.has(record.planned.trial_id, "requests.log")


def _kill_reader(root: Path) -> None:
    """Kill the reader of a pipe below ``root`` as soon as it has read a line."""

    def found() -> bool:
        try:
            counts = [json.loads(file.read_text()) for file in root.rglob("log-lines.json")]
        except (OSError, ValueError):  # folders come and go
            return False
        return any(count["lines"] for count in counts)

    assert eventually(found, within_s=120)
    for pid, line in command_lines().items():
        if any(
            word.startswith(bytes(root)) and word.endswith(b"/line_reader.py") for word in line.split(b"\0")
        ):
            os.kill(pid, signal.SIGKILL)


def test_a_killed_reader_costs_a_trial_lines_which_are_counted(tmp_path: Path) -> None:
    root = project(tmp_path, "pipe", ["go-nethttp"])
    killer = threading.Thread(target=_kill_reader, args=(root,))
    killer.start()
    folder = measured(root)
    killer.join()
    hit = [record for record in folder.records() if record.request_log and record.request_log.reader_ended]
    assert len(hit) == 1
    record = hit[0]
    assert record.outcome == Outcome.OK, record.reason
    assert record.load is not None and record.load.n_errors == 0
    assert record.request_log is not None and (record.request_log.lost or 0) > 0
