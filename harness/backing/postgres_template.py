# SPDX-License-Identifier: Apache-2.0
"""Databases that are initialised and filled once per contract; those of trials are copies of them.

A template is a stopped cluster in ``templates/<key>``; the key covers the version and every file of
SQL that went in. All trials with the same settings thus begin from the same bytes: vacuumed, frozen
and analysed, so that no housekeeping of the load falls into the measurement.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    DATABASE,
    OWNER,
    SUPERUSER,
    Login,
    apply_file,
    connect,
    new_password,
    read_invariants,
    read_sql,
    read_stored,
)
from harness.backing.postgres_install import DatabaseMachine, refuse_full
from harness.backing.postgres_server import end_leftovers, server_settings, start_server
from harness.model import BackingSettings

#: Part of the key: to be raised when templates are made in another way.
RECIPE = "2"
SCHEMA, INDEX, INVARIANTS, STORED = "schema.sql", "index.sql", "invariants.sql", "stored.sql"
INITDB_WITHIN_S = 120.0


def sql_files(need: BackingNeed) -> tuple[Path, ...]:
    """Return the contract's files that make the database, in the order in which they are applied."""
    names = [SCHEMA]
    names += [INDEX] if need.settings.index else []
    names += [f"seed-{need.settings.seed}.sql"] if need.settings.seed else []
    return tuple(need.contract / name for name in names)


def template_key(version: str, files: tuple[Path, ...]) -> str:
    """Return what names the template of these files, made by this version.

    Raises:
        InputError: a file of the contract cannot be read.
    """
    text = b"\0".join(read_sql(file) for file in files)
    return hashlib.sha256(f"{RECIPE}\0{version}\0".encode() + text).hexdigest()[:16]


def fill(login: Login, need: BackingNeed, files: tuple[Path, ...]) -> None:
    """Make the service's role and database in a new cluster, with what the contract's files say.

    Raises:
        InputError: a file of the contract is wrong.
    """
    with connect(login, "template") as connection:
        connection.execute(f"CREATE ROLE {OWNER} LOGIN".encode())
        connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}".encode())
        connection.execute("ALTER DATABASE template0 IS_TEMPLATE false")
    with connect(replace(login, database=DATABASE), "template") as connection:
        connection.execute(f"SET ROLE {OWNER}".encode())
        for file in files:
            apply_file(connection, file)
        if (need.contract / INVARIANTS).is_file():
            read_invariants(connection, need.contract / INVARIANTS)  # better refused now than after an hour
        if (need.contract / STORED).is_file():
            read_stored(connection, need.contract / STORED)
        connection.execute("RESET ROLE")
        connection.execute("VACUUM (FREEZE, ANALYZE)")
        for unused in ("template0", "postgres"):  # half of all files to be copied
            connection.execute(f"DROP DATABASE {unused}".encode())


class Templates:
    """The templates of a machine: on this one they stay for later sessions, elsewhere they go with the host's agent."""

    def __init__(self, machine: DatabaseMachine) -> None:
        self._machine = machine
        self._ready: set[Path] = set()

    def of(self, need: BackingNeed) -> Path:
        """Return the folder of the template, made now if it is not there.

        Raises:
            InputError: a file of the contract is wrong, or there is no room.
            HostError, TrialFailure: PostgreSQL could not do it.
        """
        files = sql_files(need)
        key = template_key(self._machine.home.version, files)
        if not self._machine.here:
            folder = self._machine.folder_for(need.settings) / f"template-{key}"
            if folder not in self._ready:
                self._make(folder, need, files)
                self._ready.add(folder)
            return folder
        folder = self._machine.folder_for(BackingSettings()) / "templates" / key
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.parent / ".lock"):
            if not folder.is_dir():
                refuse_full(folder.parent)
                for unfinished in folder.parent.glob(".making-*"):
                    end_leftovers(unfinished / "data")
                    self._machine.remove(unfinished)
                making = folder.parent / f".making-{key}"
                self._make(making, need, files)
                making.rename(folder)
        return folder

    def _make(self, making: Path, need: BackingNeed, files: tuple[Path, ...]) -> None:
        machine, data, password = self._machine, making / "data", new_password()
        initdb = (str(machine.home.programs / "initdb"), "-D", str(data))
        machine.make_folder(making)
        try:
            machine.put(password, making / "superuser")
            machine.run(
                *initdb, "--username", SUPERUSER, "--auth", "scram-sha-256", "--pwfile", str(making / "superuser"),
                "--encoding", "UTF8", "--locale", "C", "--no-sync", within_s=INITDB_WITHIN_S,
            )  # fmt: skip
            machine.let_in(data, "scram-sha-256")
            login = Login(port=0, user=SUPERUSER, password=password, database="postgres")
            settings = {**server_settings(BackingSettings()), "fsync": "off"}
            server, login = start_server(machine, data, settings, login, making / "server.log")
            try:
                fill(login, need, files)
            finally:
                server.stop("SIGINT")
            if machine.here:  # a power cut must not leave a template with holes
                machine.run(*initdb, "--sync-only", within_s=INITDB_WITHIN_S)
        except BaseException:
            machine.remove(making)
            raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one at a time makes a template; the others wait and find it."""
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
