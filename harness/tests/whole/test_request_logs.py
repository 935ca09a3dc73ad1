# SPDX-License-Identifier: Apache-2.0
"""Real services with real loggers, whose lines are counted.

That each logger writes the same fields is a test of each service's own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model import Outcome
from harness.tests.support.available import some_in_every_run
from harness.tests.support.real_projects import load, measured, project_of


def project(root: Path, sink: str) -> Path:
    told = f'face = "matched", craft = "idiomatic", logging = "on", log_sink = "{sink}", log_file = "requests.log"'
    loggers = {"go-nethttp": "slog-json", "java-helidon": "logback"}
    return project_of(
        root, "strings", {name: f'{told}, logger = "{logger}"' for name, logger in loggers.items()},
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
