# SPDX-License-Identifier: Apache-2.0
"""Real services with real loggers: the same fields in each line, and all lines are counted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from harness.agent.http_exchange import Connection, request_bytes
from harness.definitions import load_implementations
from harness.hosts.local import LocalHost
from harness.launchers.process import ProcessInstance, ProcessLauncher
from harness.model import Outcome, RuntimeSettings, Variant
from harness.model.endpoint import Endpoint
from harness.tests.support.patience import patient
from harness.tests.support.real_projects import QUICK_JVM, load, measured, project_of, up
from harness.tests.support.sessions import REPOSITORY
from harness.tests.support.tools_here import tools_here

LOGGERS = {
    "go-nethttp": ("slog-text", "slog-json", "logfmt"),
    "go-kit": ("slog-text", "slog-json", "logfmt"),
    "java-helidon": ("jul", "logback", "logback-async"),
}
EVERY = [(service, logger) for service, names in LOGGERS.items() for logger in names]
FIELDS = {
    "level": "info", "msg": "request", "method": "POST", "path": "/uppercase", "status": "200", "bytes_in": "13",
    "bytes_out": "13",
}  # fmt: skip
BODY = b'{"s":"hello"}'


@contextmanager
def logging_service(
    launcher: ProcessLauncher, implementation: str, logger: str, sink: str, folder: Path
) -> Iterator[ProcessInstance]:
    """A service of the strings workload that logs; it is stopped at the end."""
    wanted = load_implementations(REPOSITORY, "strings")[implementation]
    jvm = {"gc": "serial", "heap_max": "256m", "jvm_flags": QUICK_JVM} if wanted.runtime == "jvm" else {}
    variant = Variant(
        implementation=implementation,
        settings={
            "face": "matched", "craft": "idiomatic", "logging": "on", "logger": logger, "log_sink": sink,
            "log_file": "requests.log",
        },
        runtime=RuntimeSettings.model_validate({"gc_log": False, **jvm}),
    )  # fmt: skip
    with up(launcher, wanted, variant, folder) as instance:
        yield instance


def ask(endpoint: Endpoint, n_requests: int) -> int:
    """Send so many requests, one after the other over one connection; return how many were answered rightly."""
    request = request_bytes("POST", "/uppercase", {"Content-Type": "application/json"}, BODY, endpoint)
    with Connection(endpoint, 30.0) as connection:
        answers = [connection.exchange(request) for _ in range(n_requests)]
    return sum(answer.status == 200 and answer.body == b'{"v":"HELLO"}' for answer in answers)


@pytest.fixture(scope="module")
def launcher() -> ProcessLauncher:
    return ProcessLauncher(LocalHost(), REPOSITORY, tools_here(), grace_s=patient(15))


def fields_of(line: str) -> dict[str, str]:
    if line.startswith("{"):
        return {name: str(value) for name, value in json.loads(line).items()}
    found = re.findall(r"([a-z_]+)=(\S+)", line)
    assert " ".join(f"{name}={value}" for name, value in found) == line, line
    return dict(found)


@pytest.mark.parametrize(("service", "logger"), EVERY)
def test_every_logger_writes_the_same_fields(
    service: str, logger: str, launcher: ProcessLauncher, tmp_path: Path
) -> None:
    with logging_service(launcher, service, logger, "file", tmp_path) as instance:
        assert ask(instance.endpoint, 3) == 3
    lines = (tmp_path / "requests.log").read_text().splitlines()
    assert len(lines) == 3
    for line in lines:
        found = fields_of(line)
        when, took_us = found.pop("time"), found.pop("took_us")
        moment = datetime.fromisoformat(when)
        assert moment.tzinfo is not None and int(took_us) >= 0
        assert {**found, "level": found["level"].lower()} == FIELDS


def project(root: Path, sink: str, services: Sequence[str] = ("go-nethttp", "java-helidon")) -> Path:
    told = f'face = "matched", craft = "idiomatic", logging = "on", log_sink = "{sink}", log_file = "requests.log"'
    loggers = {"go-nethttp": "slog-json", "java-helidon": "logback"}
    return project_of(
        root, "strings", {name: f'{told}, logger = "{loggers[name]}"' for name in services},
        mix="hello", loads={"busy": load("wrk", "users = 4, duration_s = 1")}, echo=False,
    )  # fmt: skip


@pytest.mark.parametrize("sink", ["file", "pipe"])
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
