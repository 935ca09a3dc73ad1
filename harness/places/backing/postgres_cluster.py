# SPDX-License-Identifier: Apache-2.0
"""Databases that are initialised and filled once per session and contract, and copies of them for trials.

All trials with the same settings thus begin from the same bytes: vacuumed, frozen and analysed, so that no housekeeping
of the load falls into the measurement. A copy has passwords of its own, and is used again for the next trial after it
was made equal to its template. Folders are named ``<owner's pid>-<its start>-<number>``; what a killed harness left is
swept by the next one.

Only what differs from the template is written again: making a thousand files anew costs seconds on a busy disk, and
their writing back would fall into the next measurement. The copy is made with its times (``cp -a``): files of the same
size and time are the same.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import secrets
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.agent.processes import alive, this_process
from harness.errors import HostError, InputError
from harness.model import BackingSettings
from harness.places.backing.base import BackingNeed
from harness.places.backing.postgres import DatabaseMachine, refuse_full
from harness.places.backing.postgres_server import (
    DATABASE,
    MAINTENANCE,
    OWNER,
    SUPERUSER,
    Login,
    Server,
    apply_file,
    connect,
    end_leftovers,
    new_password,
    read_invariants,
    read_sql,
    read_stored,
    server_settings,
    set_password,
    start_server,
)

SCHEMA, INDEX, INVARIANTS, STORED = "schema.sql", "index.sql", "invariants.sql", "stored.sql"
INITDB_WITHIN_S = 120.0


def sql_files(need: BackingNeed) -> tuple[Path, ...]:
    """Return the contract's files that make the database, in the order in which they are applied."""
    names = [SCHEMA]
    names += [INDEX] if need.settings.index else []
    names += [f"seed-{need.settings.seed}.sql"] if need.settings.seed else []
    return tuple(need.contract / name for name in names)


def fill(login: Login, need: BackingNeed, files: tuple[Path, ...]) -> None:
    """Make the service's role and database in a new cluster, by the contract's files. Raises InputError: one is
    wrong."""
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


def restore(original: Path, copy: Path) -> int:
    """Make ``copy`` equal to ``original``; return how many files were written. What is in the copy alone is removed;
    new files get the owner of the copy's folder. Raises OSError: the copy is of no use then."""
    owner, written = copy.stat(), 0
    compared = filecmp.dircmp(original, copy, ignore=[], hide=[])
    for name in (*compared.right_only, *compared.common_funny):
        gone = copy / name
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone)
        else:
            gone.unlink()
    different = (*compared.left_only, *compared.common_funny, *compared.diff_files, *compared.funny_files)
    for name in (*different, *compared.common_dirs):
        source, target = original / name, copy / name
        if source.is_dir():
            target.mkdir(mode=source.stat().st_mode & 0o777, exist_ok=True)
            written += restore(source, target)
        else:
            shutil.copyfile(source, target)
            shutil.copystat(source, target)
            written += 1
        os.chown(target, owner.st_uid, owner.st_gid)
    return written


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


class Clusters:
    """Clusters on disk or in memory, made of the machine's templates."""

    def __init__(self, machine: DatabaseMachine) -> None:
        self._machine = machine
        self._templates: dict[tuple[bytes, ...], Path] = {}
        self._swept: set[Path] = set()
        self._spare: dict[tuple[Path, Path], Cluster] = {}

    def template(self, need: BackingNeed) -> Path:
        """Return the folder of the template, made now if it is not there. Raises InputError: a file of the contract
        is wrong, or there is no room; HostError, TrialFailure: PostgreSQL could not do it."""
        files = sql_files(need)
        key = tuple(read_sql(file) for file in files)
        if key not in self._templates:
            folder = self._new_folder(BackingSettings())
            try:
                self._make(folder, need, files)
            except BaseException:
                self._machine.remove(folder)
                raise
            self._templates[key] = folder
        return self._templates[key]

    def _make(self, folder: Path, need: BackingNeed, files: tuple[Path, ...]) -> None:
        machine, data, password = self._machine, folder / "data", new_password()
        machine.put(password, folder / "superuser")
        machine.run(
            str(machine.home.programs / "initdb"), "-D", str(data), "--username", SUPERUSER,
            "--auth", "scram-sha-256", "--pwfile", str(folder / "superuser"),
            "--encoding", "UTF8", "--locale", "C", "--no-sync", within_s=INITDB_WITHIN_S, run_as=machine.home.run_as,
        )  # fmt: skip
        machine.let_in(data, "scram-sha-256")
        login = Login(port=0, user=SUPERUSER, password=password, database="postgres")
        settings = {**server_settings(BackingSettings()), "fsync": "off"}
        server, login = start_server(machine, data, settings, login, folder / "server.log")
        try:
            fill(login, need, files)
        finally:
            server.stop("SIGINT")

    def fresh(self, need: BackingNeed) -> tuple[Cluster, Server, Login]:
        """Return a running copy of the template with passwords of its own. Raises InputError: no room for it.
        TrialFailure: it did not come up."""
        template = self.template(need)
        cluster = self._taken_again(template, need.settings) or self._copy(template, need.settings)
        cluster.cpus = need.cpus
        authentication = need.settings.authentication
        try:
            if authentication != "scram-sha-256":
                self._machine.let_in(cluster.data, authentication)
            server, login = self.serve(cluster)
            try:
                with connect(login, "passwords") as connection:
                    cluster.superuser = new_password()
                    set_password(connection, OWNER, cluster.owner, authentication)
                    set_password(connection, SUPERUSER, cluster.superuser)
            except BaseException:
                server.stop("SIGQUIT")
                raise
        except BaseException:
            self._machine.remove(cluster.folder)
            raise
        return cluster, server, replace(login, password=cluster.superuser)

    def serve(self, cluster: Cluster, login: Login | None = None) -> tuple[Server, Login]:
        """Start a server over a cluster. Raises TrialFailure: it did not come up."""
        login = login or Login(port=0, user=SUPERUSER, password=cluster.superuser, database=MAINTENANCE)
        values = server_settings(cluster.settings)
        return start_server(self._machine, cluster.data, values, login, cluster.log, cpus=cluster.cpus)

    def give_back(self, cluster: Cluster) -> None:
        """Take a cluster that nobody serves any more: it is used again, or removed."""
        key = (cluster.template, cluster.folder.parent)
        if key in self._spare or not self._machine.is_local:
            self._machine.remove(cluster.folder)
        else:
            self._spare[key] = cluster

    def close(self) -> None:
        """Remove templates, and what was kept to be used again."""
        for folder in (*self._templates.values(), *(cluster.folder for cluster in self._spare.values())):
            self._machine.remove(folder)
        self._templates.clear()
        self._spare.clear()
        for place in self._swept - {self._place(BackingSettings())}:
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
            self._machine.remove(used.folder)
            return None  # whatever it was, a new copy meets it again, and says it
        return self._cluster(used.folder, template, settings)

    def _cluster(self, folder: Path, template: Path, settings: BackingSettings) -> Cluster:
        superuser = self._machine.read(template / "superuser").decode()
        return Cluster(
            folder=folder, template=template, settings=settings, superuser=superuser, owner=new_password()
        )

    def _place(self, settings: BackingSettings) -> Path:
        base = self._machine.folder_for(settings)
        return base / "clusters" if self._machine.is_local else base

    def _new_folder(self, settings: BackingSettings) -> Path:
        place = self._place(settings)
        if self._machine.is_local:
            place.mkdir(parents=True, exist_ok=True)
            self._sweep(place)
            refuse_full(place)
        pid, ticks = this_process()
        folder = place / f"{pid}-{ticks}-{secrets.token_hex(4)}"
        self._machine.make_folder(folder)
        return folder

    def _copy(self, template: Path, settings: BackingSettings) -> Cluster:
        folder = self._new_folder(settings)
        try:
            copied = ("cp", "-a", str(template / "data"), str(folder / "data"))
            self._machine.run(*copied, within_s=COPY_WITHIN_S, run_as=self._machine.home.run_as)
        except BaseException as problem:
            self._machine.remove(folder)
            if isinstance(problem, HostError):
                raise InputError(f"a fresh database cannot be copied: {problem}", file=folder) from problem
            raise
        return self._cluster(folder, template, settings)

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
                shutil.rmtree(folder, ignore_errors=True)
