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
import os
import shutil
from collections.abc import Iterator
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
from harness.backing.postgres_install import PostgresHome, refuse_full
from harness.backing.postgres_server import end_leftovers, server_settings, start_server
from harness.errors import HostError
from harness.hosts.base import Command, Host
from harness.model import BackingSettings

#: Part of the key: to be raised when templates are made in another way.
RECIPE = "2"
#: Who may come in from where. Under ``md5`` a user of whose password a SCRAM verifier is kept is asked for that.
NEAR = "127.0.0.1/32"
LETS_IN, ADMISSION = "pg_hba.conf", "host all all {} {}\n"
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
    inside = Login(
        host=login.host, port=login.port, user=SUPERUSER, password=login.password, database=DATABASE
    )
    with connect(inside, "template") as connection:
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
    """The templates below ``base``."""

    def __init__(self, host: Host, home: PostgresHome, base: Path) -> None:
        self._host, self._home, self._base = host, home, base

    def of(self, need: BackingNeed) -> Path:
        """Return the folder of the template, made now if it is not there.

        Raises:
            InputError: a file of the contract is wrong, or there is no room.
            HostError, TrialFailure: PostgreSQL could not do it.
        """
        files = sql_files(need)
        key = template_key(self._home.version, files)
        folder = self._base / "templates" / key
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.parent / ".lock"):
            if not folder.is_dir():
                refuse_full(folder.parent)
                for unfinished in folder.parent.glob(".making-*"):
                    end_leftovers(unfinished / "data")
                    shutil.rmtree(unfinished, ignore_errors=True)
                making = folder.parent / f".making-{key}"
                self._home.make_folder(making)
                try:
                    self._make(making, need, files)
                    making.rename(folder)
                finally:
                    shutil.rmtree(making, ignore_errors=True)
        return folder

    def _make(self, making: Path, need: BackingNeed, files: tuple[Path, ...]) -> None:
        password = new_password()
        secret = making / "superuser"
        with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(password)
        self._home.give(secret)
        self._initialise(making, secret)
        (making / "data" / LETS_IN).write_text(ADMISSION.format(NEAR, "scram-sha-256"))
        login = Login(port=0, user=SUPERUSER, password=password, database="postgres")
        settings = {**server_settings(BackingSettings()), "fsync": "off"}
        server, login = start_server(
            self._host, self._home, making / "data", settings, login, making / "server.log"
        )
        try:
            fill(login, need, files)
        finally:
            server.stop("SIGINT")
        self._initdb(making, "--sync-only")  # a power cut must not leave a template with holes

    def _initialise(self, making: Path, secret: Path) -> None:
        self._initdb(
            making, "--username", SUPERUSER, "--auth", "scram-sha-256", "--pwfile", str(secret),
            "--encoding", "UTF8", "--locale", "C", "--no-sync",
        )  # fmt: skip

    def _initdb(self, making: Path, *words: str) -> None:
        command = Command(
            argv=(str(self._home.programs / "initdb"), "-D", str(making / "data"), *words),
            folder=making,
            environment={"HOME": str(making), "LC_ALL": "C"},
            run_as=self._home.run_as,
        )
        done = self._host.run(command, INITDB_WITHIN_S)
        if done.exit_code != 0:
            output = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
            raise HostError(f"initdb ended with {done.exit_code}; output: {output[-1][:300]}")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one at a time makes a template; the others wait and find it."""
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
