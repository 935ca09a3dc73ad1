# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL's databases on this machine: fresh for each trial, or one that lives on through a session.

A fresh one is a copy of a template, started for the trial and removed after it. One that is never
wiped belongs to the source: its data stays until ``close``, its server until another database is
wanted, for never do two run at once. It is lent to each trial, which gets its part of the log.
"""

from __future__ import annotations

import time
from pathlib import Path

import psycopg

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import Login, connect, words_of
from harness.backing.postgres_cluster import Cluster, Clusters
from harness.backing.postgres_database import Lent
from harness.backing.postgres_install import (
    PostgresHome,
    base_folder,
    find_account,
    find_home,
)
from harness.backing.postgres_server import Server
from harness.backing.postgres_watch import WATCH_FILE, Watch
from harness.errors import TrialFailure
from harness.hosts.base import Host
from harness.model import Outcome
from harness.toolchains import Tool


class Databases:
    """What ``Postgres`` is when there is a server to start; see ``BackingSource``."""

    def __init__(self, host: Host, root: Path, tool: Tool) -> None:
        self._host, self._root, self._tool = host, root, tool
        self._home: PostgresHome | None = None
        self._clusters: Clusters | None = None
        self._kept: dict[str, Cluster] = {}
        self._living: tuple[str, Server, Login] | None = None
        self._rested: list[int] = []

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


__all__ = ["Databases"]
