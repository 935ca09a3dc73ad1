# SPDX-License-Identifier: Apache-2.0
"""Which PostgreSQL serves, as which user, and where its data may lie.

The server refuses to run as root, so root starts it as an unprivileged user, who must be able to
reach both the programs and the data. Where the project's folder cannot be reached by that user
(it lies in a home folder that is closed to others), the data lies below ``/var/tmp``.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InputError
from harness.toolchains import Tool

#: Tried in this order when we are root.
ACCOUNTS = ("postgres", "nobody")
MEMORY = Path("/dev/shm")
ELSEWHERE = Path("/var/tmp")
#: A database of its own, the log it writes ahead, and the rows of a long load.
MIN_FREE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """A user of this machine."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresHome:
    """The programs, and the user they run as; ``None``: as we are."""

    programs: Path
    version: str
    account: Account | None

    @property
    def run_as(self) -> tuple[int, int] | None:
        return None if self.account is None else (self.account.uid, self.account.gid)

    def make_folder(self, folder: Path) -> None:
        """Make a folder that only the server's user (and root) can look into."""
        folder.mkdir(mode=0o700)
        self.give(folder)

    def give(self, path: Path) -> None:
        """Make it the server's user's own."""
        if self.run_as is not None:
            os.chown(path, *self.run_as)


def find_account() -> Account | None:
    """Return the user that the server runs as when we are root, or ``None`` when we are not.

    Raises:
        InputError: we are root and there is no such user.
    """
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise InputError(
        "PostgreSQL refuses to run as root, and there is no unprivileged user it could run as",
        allowed=f"one of the users {', '.join(ACCOUNTS)} (useradd --system postgres), or not being root",
    )


def find_home(tool: Tool, base: Path) -> PostgresHome:
    """Return the PostgreSQL that the finder found, where its user can reach it.

    Programs that this user cannot reach (an embedded copy in an environment below a closed folder)
    are copied below ``base`` once.

    Raises:
        MissingTool: there is none.
        InputError: as for ``find_account``.
    """
    programs = tool.require().resolve().parent
    account = find_account()
    if not reachable(programs, account):
        programs = _copied(programs.parent, base) / "bin"
    return PostgresHome(programs=programs, version=tool.version or "unknown", account=account)


def base_folder(root: Path, account: Account | None, elsewhere: Path = ELSEWHERE) -> Path:
    """Return where templates and clusters on disk lie: below the project where the user can reach that.

    Raises:
        InputError: somebody else has made the folder that would be used instead.
    """
    inside = root.resolve() / ".cache" / "backing"
    if reachable(root.resolve(), account):
        inside.mkdir(parents=True, exist_ok=True)
        return inside
    return own_folder(
        elsewhere.resolve() / f"rematch-{hashlib.sha256(bytes(root.resolve())).hexdigest()[:12]}"
    )


def own_folder(folder: Path) -> Path:
    """Make a folder in a place that is open to everybody, and be sure that it is ours.

    Raises:
        InputError: it is somebody else's.
    """
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


def memory_folder() -> Path:
    """Return where clusters in memory lie; the owner's id is in the name, for several may measure here."""
    return own_folder(MEMORY.resolve() / f"rematch-{os.geteuid()}")


def memory_unavailable() -> str | None:
    """Return why a database cannot lie in memory here, or ``None``."""
    if filesystem_of(MEMORY) not in ("tmpfs", "ramfs"):
        return f"storage = 'memory' needs a file system in memory at {MEMORY}, and there is none"
    free = shutil.disk_usage(MEMORY).free
    if free < MIN_FREE_BYTES:
        return (
            f"storage = 'memory' needs {MIN_FREE_BYTES >> 20} MiB free at {MEMORY}, and there are {free >> 20} "
            "(of a container: start it with a larger --shm-size)"
        )
    return None


def refuse_full(folder: Path, wanted: int = MIN_FREE_BYTES) -> None:
    """Refuse to begin where a database would run out of room.

    Raises:
        InputError: says how much is free and how much is wanted.
    """
    free = shutil.disk_usage(folder).free
    if free < wanted:
        raise InputError(
            f"too little room for a database: {free >> 20} MiB free, {wanted >> 20} MiB required",
            file=folder,
            allowed="free some, then give the same command again",
        )


def filesystem_of(path: Path) -> str | None:
    """Return the type of the file system that holds ``path``, or ``None`` when it cannot be told."""
    try:
        lines = Path("/proc/self/mounts").read_text(errors="replace").splitlines()
    except OSError:
        return None
    real, best, kind = str(path.resolve()), "", None
    for line in lines:
        _, place, result, *_ = line.split(" ")
        place = place.replace("\\040", " ")
        inside = real == place or real.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):
            best, kind = place, result
    return kind


def reachable(folder: Path, account: Account | None) -> bool:
    """Whether the user may pass every folder down to this one (by its permission bits)."""
    if account is None:
        return True
    for part in (folder, *folder.parents):
        result = part.stat()
        bit = stat.S_IXOTH
        if result.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif result.st_gid == account.gid:
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
