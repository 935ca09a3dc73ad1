# SPDX-License-Identifier: Apache-2.0
"""A backing service that is a page of Python, up in moments: held to the contract that PostgreSQL keeps."""

from __future__ import annotations

import secrets
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from harness.agent.ports import free_port
from harness.backing import BackingNeed
from harness.errors import TrialFailure
from harness.hosts.base import Command, Host, Process
from harness.model import BackingName, BackingRecord, InvariantReading, Outcome

PROGRAM = Path(__file__).with_name("fake_database.py")


def ask(environment: Mapping[str, str], *words: object) -> int:
    """Put one question to a fake database; return the sum of its amounts."""
    with socket.create_connection((environment["PGHOST"], int(environment["PGPORT"])), 10) as connection:
        connection.sendall(
            " ".join(str(word) for word in (environment["PGPASSWORD"], *words)).encode() + b"\n"
        )
        return int(connection.makefile().readline())


class FakeLent:
    """A running fake database, as a trial has it."""

    def __init__(
        self, process: Process, environment: Mapping[str, str], need: BackingNeed, before: int
    ) -> None:
        self._process, self._need, self._stopped = process, need, False
        self.environment = environment
        self.cpu_at_launch_s = process.cpu_at_launch_s
        self.record = BackingRecord(
            name="postgresql",
            version="fake",
            settings=need.settings,
            argv=("fake",),
            pid=process.pid,
            process_start_ticks=process.start_ticks,
            port=int(environment["PGPORT"]),
            launched=process.launched,
            ready_s=0.0,
            n_trials_before=before,
        )

    def ended(self) -> str | None:
        code = None if self._stopped else self._process.exited()
        return None if code is None else f"the database ended by itself (exit code {code})"

    def invariants(self) -> tuple[InvariantReading, ...]:
        if not (self._need.contract / "invariants.sql").is_file():
            return ()
        try:
            found = ask(self.environment, "sum")
        except OSError as problem:
            raise TrialFailure(Outcome.FAILED, f"the database does not answer: {problem}") from problem
        return (InvariantReading(name="sum of all amounts", found=found, expected=0),)

    def stored(self, *, over: bool) -> dict[str, int]:
        return {}

    def stop(self) -> BackingRecord:
        if not self._stopped and (self._need.settings.wiped or self._process.exited() is not None):
            ended = self._process.stop(0.0)
            changes = {"exit_code": ended.exit_code, "stop_signal": ended.signal}
            self.record = self.record.model_copy(update=changes)
        self._stopped = True
        return self.record


class FakeDatabase:
    """See ``BackingSource``. The seed ``seven`` makes it begin with an amount that nobody put there."""

    name: BackingName = "postgresql"

    def __init__(self, host: Host, *, absent: str | None = None) -> None:
        self._host, self._absent = host, absent
        self._living: tuple[Process, Mapping[str, str]] | None = None
        self._n_trials = 0

    def unavailable(self, need: BackingNeed) -> str | None:
        return self._absent

    def prepare(self, need: BackingNeed) -> None:
        return  # nothing takes long

    def start(self, need: BackingNeed, folder: Path) -> FakeLent:
        if need.settings.wiped:
            return FakeLent(*self._spawn(need, folder), need, 0)
        if self._living is None:
            self._living = self._spawn(need, folder)
        self._n_trials += 1
        return FakeLent(*self._living, need, self._n_trials - 1)

    def close(self) -> tuple[int, ...]:
        if self._living is None:
            return ()
        process, _ = self._living
        self._living = None
        process.stop(0.0)
        return (process.pid,)

    def _spawn(self, need: BackingNeed, folder: Path) -> tuple[Process, Mapping[str, str]]:
        port, password = free_port(), secrets.token_hex(8)
        first = "7" if need.settings.seed == "seven" else "0"
        process = self._host.spawn(
            Command(
                argv=(sys.executable, "-I", "-S", str(PROGRAM), str(port), first),
                folder=folder,
                environment={"FAKE_PASSWORD": password},
            )
        )
        environment = {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGPASSWORD": password}
        while True:
            try:
                ask(environment, "sum")
                return process, environment
            except OSError:
                if process.exited() is not None:
                    raise TrialFailure(Outcome.FAILED, "the fake database did not come up") from None
                time.sleep(0.005)
