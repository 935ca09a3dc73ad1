# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL as a backing service: fresh for each trial, or one that lives on through a session.

A fresh one is a copy of a template, started for the trial and removed after it. One that is never
wiped belongs to the source: its data stays until ``close``, its server until another database is
wanted, for never do two run at once. It is lent to each trial, which gets its part of the log.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    ADDRESS,
    DATABASE,
    OWNER,
    SUPERUSER,
    Login,
    connect,
    read_invariants,
    words_of,
)
from harness.backing.postgres_cluster import Cluster, Clusters
from harness.backing.postgres_home import (
    PostgresHome,
    base_folder,
    filesystem_of,
    find_account,
    find_home,
    memory_unavailable,
)
from harness.backing.postgres_server import RESERVED, Server
from harness.backing.postgres_template import INVARIANTS
from harness.backing.postgres_watch import Watch, n_clients
from harness.errors import InputError, MissingTool, TrialFailure
from harness.hosts import Host
from harness.model import BackingName, BackingRecord, InvariantReading, Outcome
from harness.toolchains import Tool

LOG, WATCH_FILE = "database.log", "database.csv"
#: How long statements that were under way may take to end once the service is gone.
QUIET_WITHIN_S = 30.0


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
        return None if self.stopped else self.server.ended()

    def invariants(self) -> tuple[InvariantReading, ...]:
        file = self.need.contract / INVARIANTS
        if not file.is_file():
            return ()
        inside = Login(port=self.login.port, user=SUPERUSER, password=self.login.password, database=DATABASE)
        try:
            with connect(inside, "invariants") as connection:
                deadline = time.monotonic() + QUIET_WITHIN_S
                # the watch is one of the others
                while n_clients(connection) > 1 and time.monotonic() < deadline:
                    time.sleep(0.02)
                return read_invariants(connection, file)
        except psycopg.Error as problem:
            raise TrialFailure(
                Outcome.FAILED,
                self.server.ended() or f"the database lets nobody in any more: {words_of(problem)}",
            ) from problem

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


class Postgres:
    """See ``BackingSource``. ``tool`` is the server's program as the finders found it, below ``root`` its data."""

    name: BackingName = "postgresql"

    def __init__(self, host: Host, root: Path, tool: Tool) -> None:
        self._host, self._root, self._tool = host, root, tool
        self._home: PostgresHome | None = None
        self._clusters: Clusters | None = None
        self._kept: dict[str, Cluster] = {}
        self._living: tuple[str, Server, Login] | None = None
        self._rested: list[int] = []

    def unavailable(self, need: BackingNeed) -> str | None:
        try:
            self._tool.require()
            find_account()
        except (MissingTool, InputError) as problem:
            return str(problem)
        return memory_unavailable() if need.settings.storage == "memory" else None

    def prepare(self, need: BackingNeed) -> None:
        self._ready().templates.of(need)

    def start(self, need: BackingNeed, folder: Path) -> Lent:
        """See ``BackingSource.start``."""
        began = time.monotonic()
        key = f"{need.workload} {need.settings.model_dump_json()}"
        if self._living is not None and (need.settings.wiped or self._living[0] != key):
            self._rest()
        if need.settings.wiped:
            cluster, server, login = self._ready().fresh(need)
            log_from = 0
        else:
            known = self._kept.get(key)
            log_from = known.log.stat().st_size if known is not None else 0
            cluster, server, login = self._revive(key, need)
        lent = Lent(
            clusters=self._ready(),
            cluster=cluster,
            server=server,
            login=login,
            need=need,
            folder=folder,
            version=self._home.version if self._home is not None else "",
            ready_s=time.monotonic() - began,
            log_from=log_from,
            keeps=not need.settings.wiped,
        )
        try:
            lent.watch = Watch(connect(login, "watch"), folder / WATCH_FILE)
        except BaseException as problem:
            lent.stop()
            if isinstance(problem, psycopg.Error):
                raise TrialFailure(
                    Outcome.FAILED, f"the database cannot be watched: {words_of(problem)}"
                ) from problem
            raise
        return lent

    def close(self) -> tuple[int, ...]:
        self._rest()
        ended, self._rested = tuple(self._rested), []
        for cluster in self._kept.values():
            cluster.remove()
        self._kept.clear()
        if self._clusters is not None:
            self._clusters.close()
        return ended

    def _ready(self) -> Clusters:
        if self._clusters is None:
            base = base_folder(self._root, find_account())
            self._home = find_home(self._tool, base)
            self._clusters = Clusters(self._host, self._home, base)
        return self._clusters

    def _revive(self, key: str, need: BackingNeed) -> tuple[Cluster, Server, Login]:
        """Return the database of that key as earlier trials left it; a server that died is started anew."""
        if self._living is not None and self._living[1].ended() is not None:
            self._rest()
        cluster = self._kept.get(key)
        if self._living is not None and cluster is not None:
            return cluster, self._living[1], self._living[2]
        if cluster is None:
            cluster, server, login = self._ready().fresh(need)
            self._kept[key] = cluster
        else:
            server, login = self._ready().serve(cluster)
        self._living = (key, server, login)
        return cluster, server, login

    def _rest(self) -> None:
        """End the server that lives, its data in good order."""
        if self._living is None:
            return
        _, server, _ = self._living
        self._living = None
        self._rested.append(server.process.pid)
        server.stop("SIGINT")


__all__ = ["LOG", "WATCH_FILE", "Lent", "Postgres"]
