# SPDX-License-Identifier: Apache-2.0
"""A real service that logs into a pipe, with a reader that is told when to read, and when to be gone."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.agent.http_exchange import Connection, request_bytes
from harness.definitions import load_implementations
from harness.launchers.base import STDOUT, LaunchSpec
from harness.launchers.process import ProcessInstance, ProcessLauncher
from harness.model import Expectation, Request, RuntimeSettings, Variant
from harness.model.endpoint import Endpoint
from harness.runner.start_up import wait_first_response
from harness.tests.support.patience import patient
from harness.tests.support.real_projects import QUICK_JVM
from harness.tests.support.sessions import REPOSITORY

HEALTH = Request(mix="health", name="health", method="GET", path="/health", expect=Expectation(status=200))
BODY = b'{"s":"hello"}'
CHUNK_BYTES = 4096


class PipeReader:
    """The reading end of a service's standard output. Nothing is read before ``read`` is called."""

    def __init__(self, folder: Path, *, pause_s: float = 0.0) -> None:
        self.file = folder / STDOUT
        os.mkfifo(self.file)
        self._descriptor: int | None = os.open(self.file, os.O_RDONLY | os.O_NONBLOCK)
        self._pause_s, self._parts = pause_s, list[bytes]()
        self._thread = threading.Thread(target=self._read_to_the_end, daemon=True)

    def read(self) -> None:
        """Begin to read, as slowly as it was told."""
        self._thread.start()

    def go_away(self) -> None:
        """Close the reading end: whoever writes from now on has no reader."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def text(self) -> str:
        """Return all that was written, when the service has ended."""
        if not self._thread.ident:
            self.read()
        self._thread.join()
        return b"".join(self._parts).decode()

    def _read_to_the_end(self) -> None:
        assert self._descriptor is not None
        waiting = select.poll()
        waiting.register(self._descriptor, select.POLLIN)
        waiting.poll()  # before the first line nobody may have opened it for writing, which looks like its end
        os.set_blocking(self._descriptor, True)
        while data := os.read(self._descriptor, CHUNK_BYTES):
            self._parts.append(data)
            time.sleep(self._pause_s)


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
    build = launcher.build(wanted, variant)
    instance = launcher.launch(LaunchSpec(implementation=wanted, variant=variant, build=build, folder=folder))
    try:
        wait_first_response(instance, HEALTH, patient(60))
        yield instance
    finally:
        instance.stop()


def ask(endpoint: Endpoint, n_requests: int) -> int:
    """Send so many requests, one after the other over one connection; return how many were answered rightly."""
    request = request_bytes("POST", "/uppercase", {"Content-Type": "application/json"}, BODY, endpoint)
    with Connection(endpoint, 30.0) as connection:
        answers = [connection.exchange(request) for _ in range(n_requests)]
    return sum(answer.status == 200 and answer.body == b'{"v":"HELLO"}' for answer in answers)
