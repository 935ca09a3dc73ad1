# SPDX-License-Identifier: Apache-2.0
"""The machine that databases run on, this one or a host over SSH; their driver is loaded when a database is made.

On another machine nothing is installed: the server of that machine is started there and asked through the connection.
The server refuses to run as root, so root starts it as an unprivileged user, who must be able to reach the programs
and the data. Where the project's folder cannot be reached by that user, the data lies below ``/var/tmp``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from harness.errors import HostError, InputError, MissingTool
from harness.model import BackingSettings
from harness.places.hosts.base import Command, run_words
from harness.places.hosts.measuring import MeasuringHost
from harness.toolchains import Tool

if TYPE_CHECKING:
    from harness.places.hosts.ssh.host import SshHost

#: Where servers listen, and whom they let in, unless others have to reach them.
ADDRESS, NEAR = "127.0.0.1", "127.0.0.1/32"
#: Users that the server runs as when we are root, the first that there is.
ACCOUNTS = ("postgres", "nobody")
MEMORY = Path("/dev/shm")
ELSEWHERE = Path("/var/tmp")
#: A database of its own, the log it writes ahead, and the rows of a long load.
MIN_FREE_BYTES = 512 * 1024 * 1024
#: Where distributions put the programs, the newest first; then whatever is on PATH.
_USUAL = (
    "$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | sort -rV) "
    '$(dirname "$(readlink -f "$(command -v postgres || echo /nowhere/postgres)")")'
)
_FIND = 'for f in {places}; do if [ -x "$f/postgres" ] && [ -x "$f/initdb" ]; then echo "$f"; exit 0; fi; done; exit 1'


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresHome:
    """The programs, and the user and group that they run as; ``None``: as we are."""

    programs: Path
    version: str
    run_as: tuple[int, int] | None


def find_account(host: MeasuringHost) -> tuple[int, int] | None:
    """Return user and group that the server runs as where we are root, or ``None`` where we are not. Raises
    InputError: we are root and there is no such user."""
    if host.user.partition(":")[0] != "0":
        return None
    for name in ACCOUNTS:
        uid, gid = (run_words(host, "id", which, name).stdout.strip() for which in ("-u", "-g"))
        if uid.isdigit() and gid.isdigit():
            return int(uid), int(gid)
    raise InputError(
        f"PostgreSQL refuses to run as root, and {host.name} has no unprivileged user it could run as",
        allowed=f"one of the users {', '.join(ACCOUNTS)} (useradd --system postgres), or not being root",
    )


def find_home(host: MeasuringHost, tool: Tool, base: Path) -> PostgresHome:
    """Return the PostgreSQL that the finder names, where its user can reach it: programs that this user cannot reach
    (an embedded copy below a closed folder) are copied below ``base`` once. Raises MissingTool: there is none;
    InputError: as ``find_account``."""
    programs = tool.require().resolve().parent
    run_as = find_account(host)
    if not reachable(programs, run_as):
        programs = _copied(programs.parent, base) / "bin"
    return PostgresHome(programs=programs, version=tool.version or "unknown", run_as=run_as)


def find_remote_home(host: SshHost) -> PostgresHome:
    """Return the server of another machine. Raises MissingTool: there is none; InputError: as ``find_account``."""
    places = shlex.quote(host.postgres) if host.postgres is not None else _USUAL
    programs = run_words(host, "sh", "-c", _FIND.format(places=places)).stdout.strip()
    if not programs:
        raise MissingTool(
            f"PostgreSQL on {host.name}",
            why="as the database beside the service there",
            how_to_get=f"apt-get install -y postgresql (on {host.name}; or set postgres in hosts.toml)",
        )
    shown = run_words(host, f"{programs}/postgres", "--version").stdout.strip()
    match = re.search(r"\d+(\.\d+)*", shown)
    version = match.group() if match else shown
    return PostgresHome(programs=Path(programs), version=version, run_as=find_account(host))


class DatabaseMachine:
    """A machine on which databases run. ``base``: the folder of databases of this machine; ``None``: it is another
    one. ``address``: where servers listen; ``admits``: whom they let in."""

    def __init__(
        self,
        host: MeasuringHost,
        home: PostgresHome,
        base: Path | None = None,
        *,
        address: str = ADDRESS,
        admits: str = NEAR,
    ) -> None:
        self.host, self.home, self.address = host, home, address
        self._base, self._admits = base, admits
        self._scratch: dict[Path, Path] = {}

    @property
    def is_local(self) -> bool:
        """Whether it is this machine."""
        return self._base is not None

    def folder_for(self, settings: BackingSettings) -> Path:
        """Return where data folders with these settings stand; on another machine they go with the host's agent."""
        in_memory = settings.storage == "memory"
        if self._base is not None:
            # the owner's id is in the name, for several may measure here
            return own_folder(MEMORY.resolve() / f"rematch-{os.geteuid()}") if in_memory else self._base
        parent = MEMORY if in_memory else ELSEWHERE
        if parent not in self._scratch:
            self._scratch[parent] = cast("SshHost", self.host).scratch(parent, self.home.run_as)
        return self._scratch[parent]

    def read(self, file: Path, last_bytes: int | None = None) -> bytes:
        """Return the content of a file, or its end; nothing of one that is not there."""
        try:
            return self.host.read(file, last_bytes)
        except HostError:
            return b""

    def make_folder(self, folder: Path) -> None:
        """Make a folder that only the server's user (and root) can look into."""
        owner = [] if self.home.run_as is None else [f"-o{self.home.run_as[0]}", f"-g{self.home.run_as[1]}"]
        self.run("install", "-d", "-m", "700", *owner, str(folder))

    def put(self, text: str, target: Path) -> None:
        """Write a small file that only the server's user may read."""
        with tempfile.TemporaryDirectory(prefix="rematch-database-") as name:
            local = Path(name) / "file"
            local.touch(mode=0o600)
            local.write_text(text)
            self.host.put(local, target)
        if self.home.run_as is not None:
            self.run("chown", ":".join(map(str, self.home.run_as)), str(target))

    def let_in(self, data: Path, authentication: str) -> None:
        """Say who may come in from where, and how passwords are checked: under ``md5`` a user of whose password a
        SCRAM verifier is stored is asked for that."""
        self.put(f"host all all {self._admits} {authentication}\n", data / "pg_hba.conf")

    def filesystem_of(self, folder: Path) -> str | None:
        """Return the type of the file system that holds a folder, or ``None`` when it cannot be told."""
        with contextlib.suppress(HostError):  # a host without that program
            words = run_words(self.host, "df", "--output=fstype", str(folder)).stdout.split()
            return words[-1] if words else None
        return None

    def memory_unavailable(self) -> str | None:
        """Return why a database cannot lie in memory there, or ``None``."""
        where = "here" if self.is_local else f"on {self.host.name}"
        if self.filesystem_of(MEMORY) not in ("tmpfs", "ramfs"):
            return f"storage = 'memory' needs a file system in memory at {MEMORY}, and there is none {where}"
        free = shutil.disk_usage(MEMORY).free if self.is_local else MIN_FREE_BYTES
        if free < MIN_FREE_BYTES:
            return (
                f"storage = 'memory' needs {MIN_FREE_BYTES >> 20} MiB free at {MEMORY}, and there are {free >> 20} "
                "(of a container: start it with a larger --shm-size)"
            )
        return None

    def remove(self, folder: Path) -> None:
        """Remove a data folder; nobody serves it any more."""
        self.run("rm", "-rf", str(folder))

    def run(self, *words: str, within_s: float = 60.0, run_as: tuple[int, int] | None = None) -> None:
        """Run a program; ``run_as``: user and group, default: ours there. Raises HostError: it did not end well; with
        the last line of its output."""
        command = Command(argv=words, folder=Path("/"), environment={"LC_ALL": "C"}, run_as=run_as)
        done = self.host.run(command, within_s)
        if done.exit_code != 0:
            last = ((done.stderr or done.stdout).strip().splitlines() or ["nothing"])[-1][:300]
            raise HostError(f"{self.host.name}: {words[0]} ended with {done.exit_code}; output: {last}")


def base_folder(root: Path, account: tuple[int, int] | None, elsewhere: Path = ELSEWHERE) -> Path:
    """Return where templates and clusters on disk lie: below the project where the user can reach that. Raises
    InputError: somebody else has made the folder that would be used instead."""
    inside = root.resolve() / ".cache" / "backing"
    if reachable(root.resolve(), account):
        inside.mkdir(parents=True, exist_ok=True)
        return inside
    name = f"rematch-{hashlib.sha256(bytes(root.resolve())).hexdigest()[:12]}"
    return own_folder(elsewhere.resolve() / name)


def own_folder(folder: Path) -> Path:
    """Make a folder in a place that is open to everybody. Raises InputError: it is somebody else's."""
    folder.mkdir(mode=0o755, exist_ok=True)
    result = folder.lstat()
    if not stat.S_ISDIR(result.st_mode) or result.st_uid != os.geteuid():
        raise InputError(
            "the folder belongs to another user and is needed for a database",
            file=folder,
            allowed="remove it",
        )
    folder.chmod(0o755)
    return folder


def refuse_full(folder: Path, wanted: int = MIN_FREE_BYTES) -> None:
    """Refuse to begin where a database would run out of room. Raises InputError: too little is free."""
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise InputError(
            f"too little room for a database: {free >> 20} MiB free, {wanted >> 20} MiB required",
            file=folder,
            allowed="free some, then give the same command again",
        )


def reachable(folder: Path, account: tuple[int, int] | None) -> bool:
    """Whether the user may pass every folder down to this one (by its permission bits)."""
    if account is None:
        return True
    for part in (folder, *folder.parents):
        result = part.stat()
        bit = stat.S_IXOTH
        if result.st_uid == account[0]:
            bit = stat.S_IXUSR
        elif result.st_gid == account[1]:
            bit = stat.S_IXGRP
        if not result.st_mode & bit:
            return False
    return True


def _copied(installation: Path, base: Path) -> Path:
    """A wheel's programs look for their libraries in the folder beside their package's, so both come along."""
    package = installation.parent
    target = base / f"programs-{hashlib.sha256(bytes(installation)).hexdigest()[:12]}"
    if not target.is_dir():
        part = target.with_name(f"{target.name}.{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(installation, part / package.name / installation.name, symlinks=True)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, part / libraries.name, symlinks=True)
        part.rename(target)
    return target / package.name / installation.name
