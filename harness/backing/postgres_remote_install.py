# SPDX-License-Identifier: Apache-2.0
"""Which PostgreSQL serves on a far host, and as which user."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from harness.backing.postgres_install import ACCOUNTS
from harness.errors import InputError, MissingTool
from harness.hosts.base import Command
from harness.hosts.ssh.host import SshHost

#: Where distributions put the programs, the newest first; then whatever is on PATH.
USUAL = (
    "$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | sort -rV) "
    '$(dirname "$(readlink -f "$(command -v postgres || echo /nowhere/postgres)")")'
)
FIND = 'for f in {places}; do if [ -x "$f/postgres" ] && [ -x "$f/initdb" ]; then echo "$f"; exit 0; fi; done; exit 1'


@dataclass(frozen=True, kw_only=True)
class RemoteHome:
    """The programs there, and the user they run as; ``None``: as we are."""

    programs: Path
    version: str
    run_as: tuple[int, int] | None


def find_remote_home(host: SshHost) -> RemoteHome:
    """Return the server of that machine.

    Raises:
        MissingTool: there is none.
        InputError: we are root there, and there is nobody it could run as.
    """
    places = shlex.quote(host.postgres) if host.postgres is not None else USUAL
    script = FIND.format(places=places)
    found = host.run(Command(argv=("sh", "-c", script), folder=Path("/")), 20.0)
    if found.exit_code != 0:
        raise MissingTool(
            f"PostgreSQL on {host.name}",
            why="as the database beside the service there",
            how_to_get=f"apt-get install -y postgresql (on {host.name}; or set postgres in hosts.toml)",
        )
    programs = Path(found.stdout.strip())
    said = say(host, str(programs / "postgres"), "--version")
    version = re.search(r"\d+(\.\d+)*", said)
    return RemoteHome(programs=programs, version=version.group() if version else said, run_as=_account(host))


def _account(host: SshHost) -> tuple[int, int] | None:
    if host.user.partition(":")[0] != "0":
        return None
    for name in ACCOUNTS:
        uid, gid = say(host, "id", "-u", name).strip(), say(host, "id", "-g", name).strip()
        if uid.isdigit() and gid.isdigit():
            return int(uid), int(gid)
    raise InputError(
        f"PostgreSQL refuses to run as root, and {host.name} has no unprivileged user it could run as",
        allowed=f"one of the users {', '.join(ACCOUNTS)}, or not being root there",
    )


def say(host: SshHost, *words: str) -> str:
    """Have a small program of the host's own work on its files; return what it printed."""
    return host.run(Command(argv=words, folder=Path("/")), 60.0).stdout
