# SPDX-License-Identifier: Apache-2.0
"""A running database of this machine, as a trial has it: its settings and log, its invariants, its end."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psycopg

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    ADDRESS,
    DATABASE,
    OWNER,
    SUPERUSER,
    Connection,
    Login,
    connect,
    read_invariants,
    read_stored,
    words_of,
)
from harness.backing.postgres_cluster import Cluster, Clusters
from harness.backing.postgres_install import filesystem_of
from harness.backing.postgres_server import RESERVED, Server
from harness.backing.postgres_template import INVARIANTS, STORED
from harness.backing.postgres_watch import Watch, wait_until_quiet
from harness.errors import TrialFailure
from harness.model import BackingRecord, InvariantReading, Outcome

LOG = "database.log"
#: What a server says to whoever comes after it was told to stop, while somebody is connected still: also our own watch.
SHUTTING_DOWN = "shutting down"
T = TypeVar("T")


@dataclass(kw_only=True)
class Lent:
    """A running cluster, as a trial has it. ``keeps``: it lives on when the trial is over."""

    clusters: Clusters
    cluster: Cluster
    server: Server
    login: Login
    need: BackingNeed
    folder: Path
    version: str
    ready_s: float
    log_from: int
    keeps: bool
    watch: Watch | None = None
    record: BackingRecord = field(init=False)
    again: Server | None = None
    told_to_stop: str | None = None
    stopped: bool = False

    def __post_init__(self) -> None:
        settings, process = self.cluster.settings, self.server.process
        argv = tuple(word.replace(str(self.cluster.folder), "{database}") for word in self.server.argv)
        self.record = BackingRecord(
            name="postgresql",
            version=self.version,
            settings=settings,
            argv=argv,
            pid=process.pid,
            process_start_ticks=process.start_ticks,
            port=self.server.port,
            launched=process.launched,
            cpu_affinity=self.cluster.cpus or (),
            ready_s=self.ready_s,
            service_connections=settings.max_connections - RESERVED,
            filesystem=filesystem_of(self.cluster.data),
            n_trials_before=self.cluster.n_trials,
        )
        self.cluster.n_trials += 1

    @property
    def environment(self) -> Mapping[str, str]:
        """The names that libpq and its kin know."""
        return {
            "PGHOST": ADDRESS,
            "PGPORT": str(self.server.port),
            "PGUSER": OWNER,
            "PGPASSWORD": self.cluster.owner,
            "PGDATABASE": DATABASE,
        }

    @property
    def cpu_at_launch_s(self) -> float:
        return self.server.process.cpu_at_launch_s

    def ended(self) -> str | None:
        return None if self.stopped else self.told_to_stop or self.server.ended()

    def invariants(self) -> tuple[InvariantReading, ...]:
        file = self.need.contract / INVARIANTS
        return self._ask(lambda inside: read_invariants(inside, file), over=True) if file.is_file() else ()

    def stored(self, *, over: bool) -> dict[str, int]:
        file = self.need.contract / STORED
        return self._ask(lambda inside: read_stored(inside, file), over=over) if file.is_file() else {}

    def _ask(self, question: Callable[[Connection], T], *, over: bool) -> T:
        """Put a question to the database. One that was killed, or that somebody told to stop, comes up again on its
        data for that: what it had promised to keep is there, or it is lost."""
        if self.again is None and self.server.ended() is not None:
            self._serve_again()
        try:
            return self._put(question, over=over)
        except psycopg.Error as problem:
            text = f"the database rejects logins now: {words_of(problem)}"
            if self.again is not None or SHUTTING_DOWN not in text:
                raise TrialFailure(Outcome.FAILED, self.server.ended() or text) from problem
            self.told_to_stop = text
        self._serve_again()
        try:
            return self._put(question, over=over)
        except psycopg.Error as problem:
            raise TrialFailure(Outcome.FAILED, self.told_to_stop) from problem

    def _put(self, question: Callable[[Connection], T], *, over: bool) -> T:
        inside = Login(port=self.login.port, user=SUPERUSER, password=self.login.password, database=DATABASE)
        with connect(inside, "invariants") as connection:
            if over:
                wait_until_quiet(connection)
            return question(connection)

    def _serve_again(self) -> None:
        self._end_server()
        self.again, self.login = self.clusters.serve(self.cluster, self.login)

    def stop(self) -> BackingRecord:
        if self.stopped:
            return self.record
        self.stopped = True
        with contextlib.ExitStack() as steps:  # each is done, whatever becomes of the others
            if not self.keeps:
                steps.callback(self.clusters.give_back, self.cluster)
            steps.callback(self._keep_log)
            if not self.keeps or self.server.ended() is not None:
                steps.callback(self._end_server)
            if self.again is not None:
                steps.callback(self.again.stop, "SIGINT" if self.keeps else "SIGQUIT")
            if self.watch is not None:
                steps.callback(self.watch.stop)
        return self.record

    def _end_server(self) -> None:
        ended = self.server.stop("SIGQUIT")
        changes = {"exit_code": ended.exit_code, "stop_signal": ended.signal}
        self.record = self.record.model_copy(update=changes)

    def _keep_log(self) -> None:
        with self.cluster.log.open("rb") as source, (self.folder / LOG).open("wb") as target:
            source.seek(self.log_from)
            shutil.copyfileobj(source, target)


__all__ = ["LOG", "Lent"]
