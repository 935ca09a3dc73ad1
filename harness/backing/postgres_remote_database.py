# SPDX-License-Identifier: Apache-2.0
"""A database on a far host as a trial has it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    DATABASE,
    MAINTENANCE,
    OWNER,
    Connection,
    read_invariants,
    read_stored,
    words_of,
)
from harness.backing.postgres_database import LOG, T
from harness.backing.postgres_remote_server import Database, RemoteServer
from harness.backing.postgres_server import GRACE_S, RESERVED
from harness.backing.postgres_template import INVARIANTS, STORED
from harness.backing.postgres_watch import WATCH_FILE, Watch, wait_until_quiet
from harness.errors import TrialFailure
from harness.model import BackingRecord, InvariantReading, Outcome


class RemoteDatabase:
    """A running database, as a trial has it; see ``BackingService``."""

    def __init__(
        self, server: RemoteServer, database: Database, need: BackingNeed, folder: Path, ready_s: float
    ) -> None:
        assert database.process is not None
        self.server, self.database, self._need, self._folder = server, database, need, folder
        self._process = database.process
        self._stopped = False
        # the part of an earlier trial stays with that
        self._log_from = server.log_bytes(database) if database.n_trials else 0
        self.cpu_at_launch_s = self._process.cpu_at_launch_s
        self.record = BackingRecord(
            name="postgresql",
            version=server.home.version,
            settings=need.settings,
            argv=tuple(
                word.replace(str(database.folder), "{database}").replace(
                    str(server.home.programs), "{postgresql}"
                )
                for word in database.argv
            ),
            pid=self._process.pid,
            process_start_ticks=self._process.start_ticks,
            port=database.port,
            launched=self._process.launched,
            cpu_affinity=need.cpus or (),
            ready_s=ready_s,
            service_connections=need.settings.max_connections - RESERVED,
            filesystem=server.filesystem_of(database.folder),
            n_trials_before=database.n_trials,
        )
        database.n_trials += 1
        self._watch = Watch(server.inside(database, "watch", MAINTENANCE), folder / WATCH_FILE)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "PGHOST": self.server.address,
            "PGPORT": str(self.database.port),
            "PGUSER": OWNER,
            "PGPASSWORD": self.database.owner,
            "PGDATABASE": DATABASE,
        }

    def ended(self) -> str | None:
        return None if self._stopped else self.server.ended(self.database)

    def invariants(self) -> tuple[InvariantReading, ...]:
        file = self._need.contract / INVARIANTS
        return self._ask(lambda inside: read_invariants(inside, file), over=True) if file.is_file() else ()

    def stored(self, *, over: bool) -> dict[str, int]:
        file = self._need.contract / STORED
        return self._ask(lambda inside: read_stored(inside, file), over=over) if file.is_file() else {}

    def _ask(self, question: Callable[[Connection], T], *, over: bool) -> T:
        """Put a question to the database."""
        try:
            with self.server.inside(self.database, "invariants", DATABASE) as connection:
                if over:
                    wait_until_quiet(connection)
                return question(connection)
        except psycopg.Error as problem:
            gone = self.server.ended(self.database)
            text = f"the database rejects logins now: {words_of(problem)}"
            raise TrialFailure(Outcome.FAILED, gone or text) from problem

    def stop(self) -> BackingRecord:
        if self._stopped:
            return self.record
        gone = self.server.ended(self.database)
        self._stopped = True
        with contextlib.ExitStack() as steps:  # each is done, whatever becomes of the others
            if self._need.settings.wiped:
                steps.callback(self.server.remove, self.database)
            steps.callback(self._keep_log)
            if self._need.settings.wiped or gone is not None:
                steps.callback(self._end)
            steps.callback(self._watch.stop)
        return self.record

    def _end(self) -> None:
        ended = self._process.stop(GRACE_S, "SIGQUIT")
        changes = {"exit_code": ended.exit_code, "stop_signal": ended.signal}
        self.record = self.record.model_copy(update=changes)

    def _keep_log(self) -> None:
        said = self.server.host.read(self.database.log)
        (self._folder / LOG).write_bytes(said[self._log_from :])


__all__ = ["RemoteDatabase"]
