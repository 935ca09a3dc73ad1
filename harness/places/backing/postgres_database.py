# SPDX-License-Identifier: Apache-2.0
"""A running database as a trial has it: its settings and log, its invariants, its end.

A fresh one is a copy of a template, started for the trial and removed after it. One that is never wiped belongs to
the source: its data stays until ``close``, its server until another database is wanted, for never do two run at once.
It is lent to each trial, which gets its part of the log.

``Watch`` asks the database of itself twice a second over one connection of the superuser, so it is let in when all
others are taken; the server has one connection more than the service is told of, and this one is left out of every
count. The counters of transactions and deadlocks are those of the service's database alone; PostgreSQL brings them up
to date within about a second.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import psycopg

from harness.errors import HostError, TrialFailure
from harness.model import BackingRecord, InvariantReading, Outcome
from harness.places.backing.base import WATCH_FILE, BackingNeed
from harness.places.backing.postgres import DatabaseMachine
from harness.places.backing.postgres_cluster import INVARIANTS, STORED, Cluster, Clusters
from harness.places.backing.postgres_server import (
    DATABASE,
    OWNER,
    RESERVED,
    Connection,
    Login,
    Server,
    connect,
    read_invariants,
    read_stored,
    words_of,
)

HZ = 2.0
#: How long statements that were under way may take to end once the service is gone.
QUIET_WITHIN_S = 30.0
WATCH_COLUMNS = (
    "epoch_s",
    "n_active",
    "n_idle",
    "n_idle_in_transaction",
    "n_starting",
    "n_waiting_for_lock",
    "n_locks_not_granted",
    "deadlocks",
    "xact_commit",
    "xact_rollback",
)
#: A backend that has not yet let its client in has no state.
QUESTION = f"""
SELECT activity.*, (SELECT count(*) FROM pg_locks WHERE NOT granted), deadlocks, xact_commit, xact_rollback
FROM pg_stat_database, (
  SELECT count(*) FILTER (WHERE state IN ('active', 'fastpath function call')),
         count(*) FILTER (WHERE state = 'idle'),
         count(*) FILTER (WHERE state LIKE 'idle in transaction%'),
         count(*) FILTER (WHERE state IS NULL OR state = 'disabled'),
         count(*) FILTER (WHERE wait_event_type = 'Lock')
  FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
) AS activity
WHERE datname = '{DATABASE}'
"""
QUIET_QUESTION = """
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class Watch:
    """Writes ``database.csv`` until it is stopped, or until the database is gone. Owns its connection."""

    def __init__(self, connection: Connection, file: Path) -> None:
        self._connection, self._file, self._period_s = connection, file, 1.0 / HZ
        self._stopping = threading.Event()
        self._problem: OSError | None = None
        self._thread = threading.Thread(target=self._work, name="database watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it and close the connection. Idempotent. Raises OSError: the file could not be written."""
        self._stopping.set()
        self._thread.join()
        self._connection.close()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def _work(self) -> None:
        try:
            with self._file.open("w") as stream:
                stream.write(",".join(WATCH_COLUMNS) + "\n")
                begin, number = time.monotonic(), 0
                while not self._stopping.is_set():
                    row = self._connection.execute(QUESTION.encode()).fetchone()
                    words = ["" if cell is None else str(cell) for cell in row or ()]
                    stream.write(",".join([f"{time.time():.6f}", *words]) + "\n")
                    stream.flush()
                    number = max(number + 1, int((time.monotonic() - begin) / self._period_s) + 1)
                    self._stopping.wait(max(0.0, begin + number * self._period_s - time.monotonic()))
        except OSError as problem:
            self._problem = problem
        except psycopg.Error:
            return  # it is gone: whoever runs the trial finds out, and says how it ended


LOG = "database.log"
T = TypeVar("T")


@dataclass(kw_only=True)
class Lease:
    """A running cluster, as a trial has it; one that is not wiped lives on when the trial is over."""

    clusters: Clusters
    cluster: Cluster
    server: Server
    login: Login
    need: BackingNeed
    folder: Path
    ready_s: float
    log_from: int
    watch: Watch | None = None
    record: BackingRecord = field(init=False)
    again: Server | None = None
    stopped: bool = False

    def __post_init__(self) -> None:
        settings, process, machine = self.cluster.settings, self.server.process, self.server.machine
        self.lives_on, self.cpu_at_launch_s = not settings.wiped, process.cpu_at_launch_s
        argv = tuple(word.replace(str(self.cluster.folder), "{database}") for word in self.server.argv)
        if not machine.is_local:
            argv = tuple(word.replace(str(machine.home.programs), "{postgresql}") for word in argv)
        self.record = BackingRecord(
            name="postgresql",
            version=machine.home.version,
            settings=settings,
            argv=argv,
            pid=process.pid,
            process_start_ticks=process.start_ticks,
            port=self.server.port,
            launched=process.launched,
            cpu_affinity=self.cluster.cpus or (),
            ready_s=self.ready_s,
            service_connections=settings.max_connections - RESERVED,
            filesystem=machine.filesystem_of(self.cluster.data),
            n_trials_before=self.cluster.n_trials,
        )
        self.cluster.n_trials += 1

    @property
    def environment(self) -> Mapping[str, str]:
        """The names that libpq and its kin know."""
        return {
            "PGHOST": self.server.machine.address,
            "PGPORT": str(self.server.port),
            "PGUSER": OWNER,
            "PGPASSWORD": self.cluster.owner,
            "PGDATABASE": DATABASE,
        }

    def ended(self) -> str | None:
        return None if self.stopped else self.server.ended()

    def invariants(self) -> tuple[InvariantReading, ...]:
        file = self.need.contract / INVARIANTS
        return self._ask(lambda inside: read_invariants(inside, file), over=True) if file.is_file() else ()

    def stored(self, *, over: bool) -> dict[str, int]:
        file = self.need.contract / STORED
        return self._ask(lambda inside: read_stored(inside, file), over=over) if file.is_file() else {}

    def _ask(self, question: Callable[[Connection], T], *, over: bool) -> T:
        """Put a question to the database. One that was killed comes up again on its data for that: what it had
        promised to keep is there, or it is lost."""
        if self.again is None and self.server.ended() is not None:
            self._end_server()
            self.again, self.login = self.clusters.serve(self.cluster, self.login)
        try:
            login = (self.again or self.server).reached(self.login)
            with connect(replace(login, database=DATABASE), "invariants") as connection:
                deadline = time.monotonic() + (QUIET_WITHIN_S if over else 0.0)
                while time.monotonic() < deadline:  # nobody but the watch is connected too
                    row = connection.execute(QUIET_QUESTION.encode()).fetchone()
                    if row is None or int(row[0]) <= 1:
                        break
                    time.sleep(0.02)
                return question(connection)
        except psycopg.Error as problem:
            text = f"the database rejects logins now: {words_of(problem)}"
            raise TrialFailure(Outcome.FAILED, self.server.ended() or text) from problem

    def stop(self) -> BackingRecord:
        if self.stopped:
            return self.record
        self.stopped = True
        with contextlib.ExitStack() as steps:  # each is done, whatever becomes of the others
            if not self.lives_on:
                steps.callback(self.clusters.give_back, self.cluster)
            steps.callback(self._keep_log)
            if not self.lives_on or self.server.ended() is not None:
                steps.callback(self._end_server)
            if self.again is not None:
                steps.callback(self.again.stop, "SIGINT" if self.lives_on else "SIGQUIT")
            if self.watch is not None:
                steps.callback(self.watch.stop)
        return self.record

    def _end_server(self) -> None:
        ended = self.server.stop("SIGQUIT")
        changes = {"exit_code": ended.exit_code, "stop_signal": ended.signal}
        self.record = self.record.model_copy(update=changes)

    def _keep_log(self) -> None:
        content = self.server.machine.read(self.cluster.log)
        (self.folder / LOG).write_bytes(content[self.log_from :])


class Databases:
    """What a source of databases is when there is a server to start; see ``BackingSource``."""

    def __init__(self, machine: DatabaseMachine) -> None:
        self._machine, self._clusters = machine, Clusters(machine)
        self._lasting: dict[str, Cluster] = {}
        self._living: tuple[str, Server, Login] | None = None
        self._rested: list[int] = []
        self.prepare = self._clusters.template

    def start(self, need: BackingNeed, folder: Path) -> Lease:
        """See ``BackingSource.start``."""
        began = time.monotonic()
        key = f"{need.workload} {need.settings.model_dump_json()}"
        if self._living is not None and (need.settings.wiped or self._living[0] != key):
            self._rest()
        log_from = 0
        if need.settings.wiped:
            cluster, server, login = self._clusters.fresh(need)
        else:
            if key in self._lasting:
                log_from = len(self._machine.read(self._lasting[key].log))
            cluster, server, login = self._revive(key, need)
        lent = Lease(
            clusters=self._clusters,
            cluster=cluster,
            server=server,
            login=login,
            need=need,
            folder=folder,
            ready_s=time.monotonic() - began,
            log_from=log_from,
        )
        try:
            lent.watch = Watch(connect(server.reached(login), "watch"), folder / WATCH_FILE)
        except BaseException as problem:
            lent.stop()
            if isinstance(problem, psycopg.Error):
                why = f"the database cannot be watched: {words_of(problem)}"
                raise TrialFailure(Outcome.FAILED, why) from problem
            raise
        return lent

    def close(self) -> tuple[int, ...]:
        """See ``BackingSource.close``. No process of another machine stands in this machine's books."""
        with contextlib.ExitStack() as steps:
            if not self._machine.is_local:
                steps.enter_context(contextlib.suppress(HostError))  # its agent ends and removes it
            self._rest()
            for cluster in self._lasting.values():
                self._machine.remove(cluster.folder)
            self._clusters.close()
        self._lasting.clear()
        ended, self._rested = tuple(self._rested), []
        return ended if self._machine.is_local else ()

    def _revive(self, key: str, need: BackingNeed) -> tuple[Cluster, Server, Login]:
        """Return the database of that key as earlier trials left it; a server that died is started anew."""
        if self._living is not None and self._living[1].ended() is not None:
            self._rest()
        cluster = self._lasting.get(key)
        if self._living is not None and cluster is not None:
            return cluster, self._living[1], self._living[2]
        if cluster is None:
            cluster, server, login = self._clusters.fresh(need)
            self._lasting[key] = cluster
        else:
            server, login = self._clusters.serve(cluster)
        self._living = (key, server, login)
        return cluster, server, login

    def _rest(self) -> None:
        """End the server that lives, its data in good order."""
        if self._living is not None:
            (_, server, _), self._living = self._living, None
            self._rested.append(server.process.pid)
            server.stop("SIGINT")
