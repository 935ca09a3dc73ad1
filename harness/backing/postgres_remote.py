# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL on a far host, beside the service there: the server of that machine, asked through the connection.

Nothing is installed. Each session makes its templates anew, in a folder that goes with the host's agent:
when the controller is gone for good, server and data are too. What is told the server, what fills it and
what is asked of it are those of the database on this machine (``postgres_template``, ``postgres_server``).
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psycopg

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    MAINTENANCE,
    OWNER,
    SUPERUSER,
    new_password,
    set_password,
    words_of,
)
from harness.backing.postgres_cluster import COPY_WITHIN_S
from harness.backing.postgres_install import MEMORY
from harness.backing.postgres_remote_database import RemoteDatabase
from harness.backing.postgres_remote_server import Database, RemoteServer
from harness.backing.postgres_template import INITDB_WITHIN_S, fill, sql_files, template_key
from harness.errors import HostError, InputError, MissingTool, TrialFailure
from harness.hosts.ssh.host import SshHost
from harness.model import BackingName, BackingSettings, Outcome


class RemotePostgres:
    """See ``BackingSource``. One server at a time runs on ``host``; one that is never wiped rests in between.

    ``open_to_others``: see ``RemoteServer``.
    """

    name: BackingName = "postgresql"

    def __init__(self, host: SshHost, *, open_to_others: bool = False) -> None:
        self._server = RemoteServer(host, open_to_others=open_to_others)
        self._templates: dict[tuple[Path, str], Database] = {}
        self._kept: dict[str, Database] = {}
        self._n = 0

    def unavailable(self, need: BackingNeed) -> str | None:
        try:
            self._server.home  # noqa: B018 - looked for once, and the reason is what is wanted
        except (MissingTool, InputError) as problem:
            return str(problem)
        kind = self._server.filesystem_of(MEMORY) if need.settings.storage == "memory" else "tmpfs"
        if kind not in ("tmpfs", "ramfs"):
            return f"storage = 'memory' needs a file system in memory at {MEMORY} on {self._server.host.name}"
        return None

    def prepare(self, need: BackingNeed) -> None:
        self._template(need)

    def start(self, need: BackingNeed, folder: Path) -> RemoteDatabase:
        """See ``BackingSource.start``."""
        began = time.monotonic()
        key = f"{need.workload} {need.settings.model_dump_json()}"
        self._rest(but=None if need.settings.wiped else key)
        database = None if need.settings.wiped else self._kept.get(key)
        if database is None:
            database = self._fresh(need)
            if not need.settings.wiped:
                self._kept[key] = database
        elif database.process is None or database.process.exited() is not None:
            self._server.serve(database, need.cpus)
        try:
            return RemoteDatabase(self._server, database, need, folder, time.monotonic() - began)
        except BaseException as problem:
            self._server.stop(database, "SIGQUIT")
            if isinstance(problem, psycopg.Error):
                raise TrialFailure(
                    Outcome.FAILED, f"the database cannot be watched: {words_of(problem)}"
                ) from problem
            raise

    def close(self) -> tuple[int, ...]:
        """See ``BackingSource.close``. No process of a far host stands in this machine's books."""
        with contextlib.suppress(HostError):  # its agent ends and removes it
            self._rest(but=None)
            for database in (*self._kept.values(), *self._templates.values()):
                self._server.remove(database)
        self._kept.clear()
        self._templates.clear()
        return ()

    def _template(self, need: BackingNeed) -> Database:
        """A filled and stopped database; those of trials are copies of it."""
        files = sql_files(need)
        base = self._server.base(need.settings)
        key = (base, template_key(self._server.home.version, files))
        if key in self._templates:
            return self._templates[key]
        making = Database(
            folder=base / f"template-{key[1]}", settings=BackingSettings(), superuser=new_password(), owner=""
        )
        self._server.run("mkdir", "-m", "700", str(making.folder))
        try:
            self._server.put(making.superuser, making.folder / "superuser")
            self._server.run(
                str(self._server.home.programs / "initdb"), "-D", str(making.folder / "data"), "--username", SUPERUSER,
                "--auth", "scram-sha-256", "--pwfile", str(making.folder / "superuser"),
                "--encoding", "UTF8", "--locale", "C", "--no-sync", within_s=INITDB_WITHIN_S,
            )  # fmt: skip
            self._server.let_in(making.folder / "data", "scram-sha-256")
            self._server.serve(making, None, database_name="postgres", further={"fsync": "off"})
            try:
                fill(self._server.login(making, "postgres"), need, files)
            finally:
                self._server.stop(making, "SIGINT")
        except BaseException:
            self._server.remove(making)
            raise
        self._templates[key] = making
        return making

    def _fresh(self, need: BackingNeed) -> Database:
        template = self._template(need)
        self._n += 1
        database = Database(
            folder=self._server.base(need.settings) / f"database-{self._n}",
            settings=need.settings,
            superuser=template.superuser,
            owner=new_password(),
        )
        self._server.run("mkdir", "-m", "700", str(database.folder))
        try:
            self._server.run(
                "cp",
                "-a",
                str(template.folder / "data"),
                str(database.folder / "data"),
                within_s=COPY_WITHIN_S,
            )
            authentication = need.settings.authentication
            if authentication != "scram-sha-256":
                self._server.let_in(database.folder / "data", authentication)
            self._server.serve(database, need.cpus)
            try:
                with self._server.inside(database, "passwords", MAINTENANCE) as connection:
                    fresh = new_password()
                    set_password(connection, OWNER, database.owner, authentication)
                    set_password(connection, SUPERUSER, fresh)
                database.superuser = fresh
            except BaseException:
                self._server.stop(database, "SIGQUIT")
                raise
        except BaseException:
            self._server.remove(database)
            raise
        return database

    def _rest(self, *, but: str | None) -> None:
        """End the servers of databases that live on, their data in good order."""
        for key, database in self._kept.items():
            if key != but:
                self._server.stop(database, "SIGINT")


__all__ = ["RemotePostgres"]
