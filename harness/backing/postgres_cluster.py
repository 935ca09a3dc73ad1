# SPDX-License-Identifier: Apache-2.0
"""Fresh databases in no time: initialised and filled once per contract, copied for each trial.

A template is a stopped cluster in ``templates/<key>``; the key covers the version and every file of
SQL that went in. All trials with the same settings thus begin from the same bytes: vacuumed, frozen
and analysed, so that no housekeeping of the load falls into the measurement. A cluster is a copy in
``clusters/<owner's pid>-<its start>-<number>``, used again for the next trial after it was made equal to
its template; what a killed harness left is swept by the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    DATABASE,
    MAINTENANCE,
    OWNER,
    SUPERUSER,
    Login,
    apply_file,
    connect,
    new_password,
    read_invariants,
    read_sql,
    set_password,
)
from harness.backing.postgres_home import PostgresHome, memory_folder, refuse_full
from harness.backing.postgres_server import (
    Server,
    end_leftovers,
    free_shared_memory,
    server_settings,
    start_server,
)
from harness.backing.tree_copy import restore
from harness.errors import HostError, InputError
from harness.hosts import Command, Host
from harness.model import BackingSettings
from harness.processes import alive, this_process

#: Part of the key: to be raised when templates are made in another way.
RECIPE = "2"
#: Who may come in from where. Under ``md5`` a user of whose password a SCRAM verifier is kept is asked for that.
NEAR = "127.0.0.1/32"
LETS_IN, ADMISSION = "pg_hba.conf", "host all all {} {}\n"
SCHEMA, INDEX, INVARIANTS = "schema.sql", "index.sql", "invariants.sql"
INITDB_WITHIN_S = 120.0
COPY_WITHIN_S = 120.0


@dataclass(kw_only=True)
class Cluster:
    """A data folder with what is needed to serve it. ``superuser`` and ``owner`` are passwords."""

    folder: Path
    template: Path
    settings: BackingSettings
    superuser: str = field(repr=False)
    owner: str = field(repr=False)
    cpus: tuple[int, ...] | None = None
    n_trials: int = 0

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


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
    said = b"\0".join(read_sql(file) for file in files)
    return hashlib.sha256(f"{RECIPE}\0{version}\0".encode() + said).hexdigest()[:16]


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
        connection.execute("RESET ROLE")
        connection.execute("VACUUM (FREEZE, ANALYZE)")
        for unused in ("template0", "postgres"):  # half of all files to be copied
            connection.execute(f"DROP DATABASE {unused}".encode())


class Clusters:
    """Templates on disk, and clusters made of them on disk or in memory."""

    def __init__(self, host: Host, home: PostgresHome, base: Path) -> None:
        self._host, self._home, self._base = host, home, base
        self._swept: set[Path] = set()
        self._spare: dict[tuple[Path, Path], Cluster] = {}

    def template(self, need: BackingNeed) -> Path:
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
                self._own(making)
                try:
                    self._make(making, need, files)
                    making.rename(folder)
                finally:
                    shutil.rmtree(making, ignore_errors=True)
        return folder

    def fresh(self, need: BackingNeed) -> tuple[Cluster, Server, Login]:
        """Return a running copy of the template with passwords of its own.

        Raises:
            InputError: no room for it. TrialFailure: it did not come up.
        """
        template = self.template(need)
        cluster = self._taken_again(template, need.settings) or self._copy(template, need.settings)
        cluster.cpus = need.cpus
        authentication = need.settings.authentication
        try:
            if authentication != "scram-sha-256":
                (cluster.data / LETS_IN).write_text(ADMISSION.format(NEAR, authentication))
            old = Login(port=0, user=SUPERUSER, password=cluster.superuser, database=MAINTENANCE)
            server, login = self.serve(cluster, old)
            try:
                with connect(login, "passwords") as connection:
                    cluster.superuser = new_password()
                    set_password(connection, OWNER, cluster.owner, authentication)
                    set_password(connection, SUPERUSER, cluster.superuser)
            except BaseException:
                server.stop("SIGQUIT")
                raise
        except BaseException:
            cluster.remove()
            raise
        fresh = Login(port=server.port, user=SUPERUSER, password=cluster.superuser, database=MAINTENANCE)
        return cluster, server, fresh

    def serve(self, cluster: Cluster, login: Login | None = None) -> tuple[Server, Login]:
        """Start a server over a cluster.

        Raises:
            TrialFailure: it did not come up.
        """
        login = login or Login(port=0, user=SUPERUSER, password=cluster.superuser, database=MAINTENANCE)
        told = server_settings(cluster.settings)
        return start_server(self._host, self._home, cluster.data, told, login, cluster.log, cpus=cluster.cpus)

    def give_back(self, cluster: Cluster) -> None:
        """Take a cluster that nobody serves any more: it is used again, or removed."""
        key = (cluster.template, cluster.folder.parent)
        if key in self._spare:
            cluster.remove()
        else:
            self._spare[key] = cluster

    def close(self) -> None:
        """Remove what was kept to be used again."""
        for cluster in self._spare.values():
            cluster.remove()
        self._spare.clear()
        for place in self._swept - {self._base / "clusters"}:
            with contextlib.suppress(OSError):  # another session's clusters lie in memory too
                place.rmdir()
                place.parent.rmdir()
        self._swept.clear()

    def _taken_again(self, template: Path, settings: BackingSettings) -> Cluster | None:
        used = self._spare.pop((template, self._place(settings)), None)
        if used is None:
            return None
        refuse_full(used.folder)
        try:
            used.log.unlink(missing_ok=True)
            restore(template / "data", used.data)
        except OSError:
            used.remove()
            return None  # whatever it was, a new copy meets it again, and says it
        superuser = (template / "superuser").read_text()
        return Cluster(
            folder=used.folder,
            template=template,
            settings=settings,
            superuser=superuser,
            owner=new_password(),
        )

    def _place(self, settings: BackingSettings) -> Path:
        base = memory_folder() if settings.storage == "memory" else self._base
        return base / "clusters"

    def _copy(self, template: Path, settings: BackingSettings) -> Cluster:
        place = self._place(settings)
        place.mkdir(parents=True, exist_ok=True)
        self._sweep(place)
        refuse_full(place)
        pid, ticks = this_process()
        folder = place / f"{pid}-{ticks}-{secrets.token_hex(4)}"
        self._own(folder)
        copying = Command(
            argv=("cp", "-a", str(template / "data"), str(folder / "data")),
            folder=folder,
            run_as=self._home.run_as,
        )
        try:
            done = self._host.run(copying, COPY_WITHIN_S)
            if done.exit_code != 0:
                raise InputError(
                    f"a fresh database cannot be copied: {done.stderr.strip()[:300]}", file=folder
                )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        superuser = (template / "superuser").read_text()
        return Cluster(
            folder=folder, template=template, settings=settings, superuser=superuser, owner=new_password()
        )

    def _make(self, making: Path, need: BackingNeed, files: tuple[Path, ...]) -> None:
        password = new_password()
        secret = making / "superuser"
        with os.fdopen(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(password)
        self._give(secret)
        self._initialise(making, secret)
        (making / "data" / LETS_IN).write_text(ADMISSION.format(NEAR, "scram-sha-256"))
        login = Login(port=0, user=SUPERUSER, password=password, database="postgres")
        told = {**server_settings(BackingSettings()), "fsync": "off"}
        server, login = start_server(
            self._host, self._home, making / "data", told, login, making / "server.log"
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
            said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
            raise HostError(f"initdb ended with {done.exit_code}; it said: {said[-1][:300]}")

    def _own(self, folder: Path) -> None:
        """Make a folder that only the server's user (and root) can look into."""
        folder.mkdir(mode=0o700)
        self._give(folder)

    def _give(self, path: Path) -> None:
        if self._home.run_as is not None:
            os.chown(path, *self._home.run_as)

    def _sweep(self, place: Path) -> None:
        """Remove the clusters of owners that are gone; once is enough."""
        if place in self._swept:
            return
        self._swept.add(place)
        for folder in place.iterdir():
            pid, _, rest = folder.name.partition("-")
            ticks = rest.partition("-")[0]
            if pid.isdigit() and ticks.isdigit() and not alive(int(pid), int(ticks)):
                end_leftovers(folder / "data")
                free_shared_memory(folder / "data")
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one at a time makes a template; the others wait and find it."""
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


__all__ = ["INVARIANTS", "Cluster", "Clusters", "fill", "sql_files", "template_key"]
