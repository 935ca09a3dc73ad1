# SPDX-License-Identifier: Apache-2.0
"""The PostgreSQL server of a remote host: found there with its user, started, asked and ended by the connection."""

from __future__ import annotations

import re
import shlex
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from harness.backing.postgres_client import (
    ADDRESS,
    MAINTENANCE,
    SUPERUSER,
    Connection,
    Login,
    connect,
    words_of,
)
from harness.backing.postgres_install import ACCOUNTS, ELSEWHERE, MEMORY
from harness.backing.postgres_server import (
    GRACE_S,
    READY_WITHIN_S,
    in_words,
    server_settings,
    words_of_log,
)
from harness.backing.postgres_template import ADMISSION, LETS_IN, NEAR
from harness.errors import HostError, InputError, MissingTool, TrialFailure
from harness.hosts.base import Command, Process, StopSignal
from harness.hosts.ssh.host import SshHost
from harness.model import BackingSettings, Outcome
from harness.model.endpoint import Endpoint

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
    result = host.run(Command(argv=("sh", "-c", script), folder=Path("/")), 20.0)
    if result.exit_code != 0:
        raise MissingTool(
            f"PostgreSQL on {host.name}",
            why="as the database beside the service there",
            how_to_get=f"apt-get install -y postgresql (on {host.name}; or set postgres in hosts.toml)",
        )
    programs = Path(result.stdout.strip())
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


LOG_TAIL_BYTES = 8192
READY = b"database system is ready to accept connections"


@dataclass(kw_only=True)
class Database:
    """A data folder on the host, and the server over it while there is one."""

    folder: Path
    settings: BackingSettings
    superuser: str = field(repr=False)
    owner: str = field(repr=False)
    process: Process | None = None
    argv: tuple[str, ...] = ()
    port: int = 0
    n_trials: int = 0

    @property
    def log(self) -> Path:
        return self.folder / "server.log"


class RemoteServer:
    """Runs servers over data folders of ``host``, as an unprivileged user.

    ``open_to_others``: its service runs on another machine, so it listens where that can reach it, and
    lets in whoever has the password, from anywhere.
    """

    def __init__(self, host: SshHost, *, open_to_others: bool = False) -> None:
        self.host = host
        self.address = host.listen_address if open_to_others else ADDRESS
        self._let_in = "all" if open_to_others else NEAR
        self._home: RemoteHome | None = None
        self._bases: dict[Path, Path] = {}

    @property
    def home(self) -> RemoteHome:
        """The server of that machine.

        Raises:
            MissingTool: there is none.
            InputError: we are root there, and there is nobody it could run as.
        """
        if self._home is None:
            self._home = find_remote_home(self.host)
        return self._home

    def base(self, settings: BackingSettings) -> Path:
        """Return where data folders with these settings stand; it goes with the host's agent."""
        parent = MEMORY if settings.storage == "memory" else ELSEWHERE
        if parent not in self._bases:
            self._bases[parent] = self.host.scratch(parent, self.home.run_as)
        return self._bases[parent]

    def let_in(self, data: Path, authentication: str) -> None:
        """Say who may come in from where, and how passwords are checked."""
        self.put(ADMISSION.format(self._let_in, authentication), data / LETS_IN)

    def serve(
        self,
        database: Database,
        cpus: tuple[int, ...] | None,
        *,
        database_name: str = MAINTENANCE,
        further: Mapping[str, str] | None = None,
    ) -> None:
        """Start a server and wait until it lets us in.

        Raises:
            TrialFailure: it did not come up, in its own words.
        """
        data = database.folder / "data"
        database.port = self.host.free_port(self.address)
        listening = {"listen_addresses": self.address}
        settings = {**server_settings(database.settings), **listening, **(further or {})}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        program = str(self.home.programs / "postgres")
        database.argv = (program, "-D", str(data), "-p", str(database.port), *words)
        command = Command(
            argv=database.argv,
            folder=data,
            environment={"HOME": str(data), "LC_ALL": "C"},
            cpus=cpus,
            stdout=database.log,
            stderr=database.log,
            run_as=self.home.run_as,
        )
        log_from = self.log_bytes(database)
        try:
            database.process = self.host.spawn(command)
        except HostError as problem:
            raise TrialFailure(Outcome.FAILED, f"the database cannot be started: {problem}") from problem
        try:
            self._wait_until_in(database, database_name, log_from)
        except BaseException:
            self.stop(database, "SIGQUIT")
            raise

    def _wait_until_in(self, database: Database, name: str, log_from: int) -> None:
        """Wait for its own word that it is ready, then get in: before, nobody listens on that port."""
        deadline = time.monotonic() + READY_WITHIN_S
        while READY not in self.host.read(database.log)[log_from:]:
            how = self.ended(database)
            if how is not None or time.monotonic() > deadline:
                slow = f"the database was not ready within {READY_WITHIN_S:g} s"
                raise TrialFailure(Outcome.FAILED, how or slow)
            time.sleep(0.05)
        try:
            self.inside(database, "readiness", name).close()
        except psycopg.OperationalError as problem:
            raise TrialFailure(
                Outcome.FAILED, f"the database is ready but rejects logins: {words_of(problem)}"
            ) from problem

    def stop(self, database: Database, first: StopSignal) -> None:
        """End its server, if there is one."""
        if database.process is not None:
            database.process.stop(GRACE_S, first)
            database.process = None

    def put(self, text: str, target: Path) -> None:
        """Write a small file that only the server's user may read."""
        with tempfile.TemporaryDirectory(prefix="rematch-database-") as name:
            ours = Path(name) / "file"
            ours.touch(mode=0o600)
            ours.write_text(text)
            self.host.put(ours, target)
        if self.home.run_as is not None:
            uid, gid = self.home.run_as
            say(self.host, "chown", f"{uid}:{gid}", str(target))

    def run(self, *words: str, within_s: float = 30.0) -> None:
        """Run a program as the server's user.

        Raises:
            HostError: it did not do it; with its last words.
        """
        command = Command(argv=words, folder=Path("/"), environment={"LC_ALL": "C"}, run_as=self.home.run_as)
        done = self.host.run(command, within_s)
        if done.exit_code != 0:
            output = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
            raise HostError(
                f"{self.host.name}: {words[0]} ended with {done.exit_code}; output: {output[-1][:300]}"
            )

    def inside(self, database: Database, purpose: str, name: str) -> Connection:
        """Return a connection of the superuser's, through that of the host."""
        return connect(self.login(database, name), purpose)

    def login(self, database: Database, name: str) -> Login:
        near = self.host.reach(Endpoint(host=self.address, port=database.port))
        return Login(
            host=near.host, port=near.port, user=SUPERUSER, password=database.superuser, database=name
        )

    def ended(self, database: Database) -> str | None:
        """Return how its server ended by itself, or ``None``."""
        code = database.process.exited() if database.process is not None else None
        if code is None:
            return None
        text = self.host.read(database.log, LOG_TAIL_BYTES).decode(errors="replace")
        return f"the database ended by itself ({in_words(code)}; output: {words_of_log(text)})"

    def log_bytes(self, database: Database) -> int:
        """Return how long its log is now."""
        return int(say(self.host, "stat", "-c", "%s", str(database.log)).strip() or 0)

    def filesystem_of(self, folder: Path) -> str | None:
        return say(self.host, "stat", "-f", "-c", "%T", str(folder)).strip() or None

    def remove(self, database: Database) -> None:
        """Remove its folder; nobody serves it any more."""
        say(self.host, "rm", "-rf", str(database.folder))


__all__ = ["Database", "RemoteServer"]
