# SPDX-License-Identifier: Apache-2.0
"""Fresh databases in no time: each a copy of a template, with passwords of its own.

A cluster is a copy in ``clusters/<owner's pid>-<its start>-<number>``, used again for the next trial after
it was made equal to its template; what a killed harness left is swept by the next one.

Only what differs from the template is written again. A database's data folder has more than a thousand files, and
a short trial changes some thirty of them.
Making the files anew costs seconds on a busy disk, and their writing back would fall into the next
measurement. Whatever was written to has a new time of change, so size and time tell what differs;
the copy must have been made with its times (``cp -a``).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.agent.processes import alive, this_process
from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    MAINTENANCE,
    OWNER,
    SUPERUSER,
    Login,
    connect,
    new_password,
    set_password,
)
from harness.backing.postgres_install import DatabaseMachine, refuse_full
from harness.backing.postgres_server import (
    Server,
    end_leftovers,
    free_shared_memory,
    server_settings,
    start_server,
)
from harness.backing.postgres_template import Templates
from harness.errors import HostError, InputError
from harness.model import BackingSettings


def restore(original: Path, copy: Path) -> int:
    """Make ``copy`` equal to ``original``; return how many files were written.

    Whatever is in the copy alone is removed. New files get the owner of the copy's folder.

    Raises:
        OSError: it could not be done; the copy is then of no use.
    """
    owner = copy.stat()
    written = 0
    with os.scandir(copy) as entries:
        extra = {entry.name for entry in entries}
    with os.scandir(original) as entries:
        for entry in entries:
            extra.discard(entry.name)
            target = copy / entry.name
            if entry.is_dir(follow_symlinks=False):
                if not target.is_dir():
                    target.mkdir(mode=entry.stat().st_mode & 0o777)
                    os.chown(target, owner.st_uid, owner.st_gid)
                written += restore(Path(entry.path), target)
            elif _differs(entry, target):
                shutil.copyfile(entry.path, target)
                os.chown(target, owner.st_uid, owner.st_gid)
                shutil.copystat(entry.path, target)
                written += 1
    for name in extra:
        gone = copy / name
        if gone.is_dir() and not gone.is_symlink():
            shutil.rmtree(gone)
        else:
            gone.unlink()
    return written


def _differs(entry: os.DirEntry[str], target: Path) -> bool:
    then = entry.stat()
    try:
        now = target.stat()
    except FileNotFoundError:
        return True
    return (then.st_size, then.st_mtime_ns) != (now.st_size, now.st_mtime_ns)


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
        self.templates = Templates(machine)
        self._swept: set[Path] = set()
        self._spare: dict[tuple[Path, Path], Cluster] = {}

    def fresh(self, need: BackingNeed) -> tuple[Cluster, Server, Login]:
        """Return a running copy of the template with passwords of its own.

        Raises:
            InputError: no room for it. TrialFailure: it did not come up.
        """
        template = self.templates.of(need)
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
        """Start a server over a cluster.

        Raises:
            TrialFailure: it did not come up.
        """
        login = login or Login(port=0, user=SUPERUSER, password=cluster.superuser, database=MAINTENANCE)
        values = server_settings(cluster.settings)
        return start_server(self._machine, cluster.data, values, login, cluster.log, cpus=cluster.cpus)

    def give_back(self, cluster: Cluster) -> None:
        """Take a cluster that nobody serves any more: it is used again, or removed."""
        key = (cluster.template, cluster.folder.parent)
        if key in self._spare or not self._machine.here:
            self._machine.remove(cluster.folder)
        else:
            self._spare[key] = cluster

    def close(self) -> None:
        """Remove what was kept to be used again."""
        for cluster in self._spare.values():
            self._machine.remove(cluster.folder)
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
        return base / "clusters" if self._machine.here else base

    def _copy(self, template: Path, settings: BackingSettings) -> Cluster:
        place = self._place(settings)
        if self._machine.here:
            place.mkdir(parents=True, exist_ok=True)
            self._sweep(place)
            refuse_full(place)
        pid, ticks = this_process()
        folder = place / f"{pid}-{ticks}-{secrets.token_hex(4)}"
        self._machine.make_folder(folder)
        try:
            self._machine.run(
                "cp", "-a", str(template / "data"), str(folder / "data"), within_s=COPY_WITHIN_S
            )
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
                free_shared_memory(folder / "data")
                shutil.rmtree(folder, ignore_errors=True)


__all__ = ["Cluster", "Clusters"]
