# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL on a far host, beside the service there: the server of that machine, asked through the connection.

Nothing is installed. Each session makes its templates anew, in a folder that goes with the host's agent:
when the controller is gone for good, server and data are too. What is told the server, what fills it and
what is asked of it are those of the database on this machine (``postgres_cluster``, ``postgres_server``).
"""

from __future__ import annotations

import contextlib
import re
import shlex
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from harness.backing.base import BackingNeed
from harness.backing.postgres_client import (
    ADDRESS,
    DATABASE,
    MAINTENANCE,
    OWNER,
    SUPERUSER,
    Connection,
    Login,
    connect,
    new_password,
    read_invariants,
    set_password,
    words_of,
)
from harness.backing.postgres_cluster import (
    COPY_WITHIN_S,
    INITDB_WITHIN_S,
    INVARIANTS,
    fill,
    sql_files,
    template_key,
)
from harness.backing.postgres_home import ACCOUNTS, ELSEWHERE, MEMORY
from harness.backing.postgres_server import (
    GRACE_S,
    READY_WITHIN_S,
    RESERVED,
    in_words,
    server_settings,
    words_of_log,
)
from harness.backing.postgres_watch import Watch, n_clients
from harness.errors import HostError, InputError, MissingTool, TrialFailure
from harness.hosts import Command, Process, StopSignal
from harness.loadgen.base import Endpoint
from harness.model import BackingName, BackingRecord, BackingSettings, InvariantReading, Outcome
from harness.remote import SshHost

LOG, WATCH_FILE = "database.log", "database.csv"
QUIET_WITHIN_S = 30.0
LOG_TAIL_BYTES = 8192
READY = b"database system is ready to accept connections"
#: Where distributions put the programs, the newest first; then whatever is on PATH.
USUAL = (
    "$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin 2>/dev/null | sort -rV) "
    '$(dirname "$(readlink -f "$(command -v postgres || echo /nowhere/postgres)")")'
)
FIND = 'for f in {places}; do if [ -x "$f/postgres" ] && [ -x "$f/initdb" ]; then echo "$f"; exit 0; fi; done; exit 1'


@dataclass(frozen=True, kw_only=True)
class FarHome:
    """The programs there, and the user they run as; ``None``: as we are."""

    programs: Path
    version: str
    run_as: tuple[int, int] | None


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


class FarLent:
    """A running database, as a trial has it; see ``BackingService``."""

    def __init__(
        self, source: FarPostgres, database: Database, need: BackingNeed, folder: Path, ready_s: float
    ) -> None:
        assert database.process is not None
        self._source, self._database, self._need, self._folder = source, database, need, folder
        self._process = database.process
        self._stopped = False
        # the part of an earlier trial stays with that
        self._log_from = source.log_bytes(database) if database.n_trials else 0
        self.cpu_at_launch_s = self._process.cpu_at_launch_s
        self.record = BackingRecord(
            name="postgresql",
            version=source.home.version,
            settings=need.settings,
            argv=tuple(
                word.replace(str(database.folder), "{database}").replace(
                    str(source.home.programs), "{postgresql}"
                )
                for word in database.argv
            ),
            pid=self._process.pid,
            process_start_ticks=self._process.start_ticks,
            port=database.port,
            launched=self._process.launched,
            cpu_affinity=need.cpus or (),
            ready_s=ready_s,
            service_connections=need.settings.max_connections - RESERVED,
            filesystem=source.filesystem_of(database.folder),
            n_trials_before=database.n_trials,
        )
        database.n_trials += 1
        self._watch = Watch(source.inside(database, "watch", MAINTENANCE), folder / WATCH_FILE)

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "PGHOST": self._source.address,
            "PGPORT": str(self._database.port),
            "PGUSER": OWNER,
            "PGPASSWORD": self._database.owner,
            "PGDATABASE": DATABASE,
        }

    def ended(self) -> str | None:
        return None if self._stopped else self._source.ended(self._database)

    def invariants(self) -> tuple[InvariantReading, ...]:
        file = self._need.contract / INVARIANTS
        if not file.is_file():
            return ()
        try:
            with self._source.inside(self._database, "invariants", DATABASE) as connection:
                deadline = time.monotonic() + QUIET_WITHIN_S
                while (
                    n_clients(connection) > 1 and time.monotonic() < deadline
                ):  # the watch is one of the others
                    time.sleep(0.02)
                return read_invariants(connection, file)
        except psycopg.Error as problem:
            gone = self._source.ended(self._database)
            said = f"the database lets nobody in any more: {words_of(problem)}"
            raise TrialFailure(Outcome.FAILED, gone or said) from problem

    def stop(self) -> BackingRecord:
        if self._stopped:
            return self.record
        gone = self._source.ended(self._database)
        self._stopped = True
        with contextlib.ExitStack() as steps:  # each is done, whatever becomes of the others
            if self._need.settings.wiped:
                steps.callback(self._source.remove, self._database)
            steps.callback(self._keep_log)
            if self._need.settings.wiped or gone is not None:
                steps.callback(self._end)
            steps.callback(self._watch.stop)
        return self.record

    def _end(self) -> None:
        ended = self._process.stop(GRACE_S, "SIGQUIT")
        changes = {"exit_code": ended.exit_code, "stop_signal": ended.signal}
        self.record = self.record.model_copy(update=changes)

    def _keep_log(self) -> None:
        said = self._source.host.read(self._database.log)
        (self._folder / LOG).write_bytes(said[self._log_from :])


class FarPostgres:
    """See ``BackingSource``. One server at a time runs on ``host``; one that is never wiped rests in between.

    ``open_to_others``: its service runs on another machine, so it listens where that can reach it, and
    lets in whoever has the password, from anywhere.
    """

    name: BackingName = "postgresql"

    def __init__(self, host: SshHost, *, open_to_others: bool = False) -> None:
        self.host = host
        self.address = host.listen_address if open_to_others else ADDRESS
        self._let_in = "all" if open_to_others else "127.0.0.1/32"
        self._home: FarHome | None = None
        self._bases: dict[Path, Path] = {}
        self._templates: dict[tuple[Path, str], Database] = {}
        self._kept: dict[str, Database] = {}
        self._n = 0

    @property
    def home(self) -> FarHome:
        """The server of that machine.

        Raises:
            MissingTool: there is none.
            InputError: we are root there, and there is nobody it could run as.
        """
        if self._home is None:
            self._home = self._find()
        return self._home

    def unavailable(self, need: BackingNeed) -> str | None:
        try:
            self.home  # noqa: B018 - looked for once, and the reason is what is wanted
        except (MissingTool, InputError) as problem:
            return str(problem)
        kind = self.filesystem_of(MEMORY) if need.settings.storage == "memory" else "tmpfs"
        if kind not in ("tmpfs", "ramfs"):
            return f"storage = 'memory' needs a file system in memory at {MEMORY} on {self.host.name}"
        return None

    def prepare(self, need: BackingNeed) -> None:
        self._template(need)

    def start(self, need: BackingNeed, folder: Path) -> FarLent:
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
            self._serve(database, need.cpus)
        try:
            return FarLent(self, database, need, folder, time.monotonic() - began)
        except BaseException as problem:
            self._stop(database, "SIGQUIT")
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
                self.remove(database)
        self._kept.clear()
        self._templates.clear()
        return ()

    def inside(self, database: Database, purpose: str, name: str) -> Connection:
        """Return a connection of the superuser's, through that of the host."""
        return connect(self._login(database, name), purpose)

    def _login(self, database: Database, name: str) -> Login:
        near = self.host.reach(Endpoint(host=self.address, port=database.port))
        return Login(
            host=near.host, port=near.port, user=SUPERUSER, password=database.superuser, database=name
        )

    def ended(self, database: Database) -> str | None:
        """Return how its server ended by itself, or ``None``."""
        code = database.process.exited() if database.process is not None else None
        if code is None:
            return None
        said = self.host.read(database.log, LOG_TAIL_BYTES).decode(errors="replace")
        return f"the database ended by itself ({in_words(code)}; it said: {words_of_log(said)})"

    def log_bytes(self, database: Database) -> int:
        """Return how long its log is now."""
        return int(self._say("stat", "-c", "%s", str(database.log)).strip() or 0)

    def filesystem_of(self, folder: Path) -> str | None:
        return self._say("stat", "-f", "-c", "%T", str(folder)).strip() or None

    def remove(self, database: Database) -> None:
        """Remove its folder; nobody serves it any more."""
        self._say("rm", "-rf", str(database.folder))

    def _find(self) -> FarHome:
        places = shlex.quote(self.host.postgres) if self.host.postgres is not None else USUAL
        script = FIND.format(places=places)
        found = self.host.run(Command(argv=("sh", "-c", script), folder=Path("/")), 20.0)
        if found.exit_code != 0:
            raise MissingTool(
                f"PostgreSQL on {self.host.name}",
                why="as the database beside the service there",
                how_to_get=f"apt-get install -y postgresql (on {self.host.name}; or set postgres in hosts.toml)",
            )
        programs = Path(found.stdout.strip())
        said = self._say(str(programs / "postgres"), "--version")
        version = re.search(r"\d+(\.\d+)*", said)
        return FarHome(
            programs=programs, version=version.group() if version else said, run_as=self._account()
        )

    def _account(self) -> tuple[int, int] | None:
        if self.host.user.partition(":")[0] != "0":
            return None
        for name in ACCOUNTS:
            uid, gid = self._say("id", "-u", name).strip(), self._say("id", "-g", name).strip()
            if uid.isdigit() and gid.isdigit():
                return int(uid), int(gid)
        raise InputError(
            f"PostgreSQL refuses to run as root, and {self.host.name} has no unprivileged user it could run as",
            allowed=f"one of the users {', '.join(ACCOUNTS)}, or not being root there",
        )

    def _base(self, settings: BackingSettings) -> Path:
        parent = MEMORY if settings.storage == "memory" else ELSEWHERE
        if parent not in self._bases:
            self._bases[parent] = self.host.scratch(parent, self.home.run_as)
        return self._bases[parent]

    def _template(self, need: BackingNeed) -> Database:
        """A filled and stopped database; those of trials are copies of it."""
        files = sql_files(need)
        base = self._base(need.settings)
        key = (base, template_key(self.home.version, files))
        if key in self._templates:
            return self._templates[key]
        making = Database(
            folder=base / f"template-{key[1]}", settings=BackingSettings(), superuser=new_password(), owner=""
        )
        self._run("mkdir", "-m", "700", str(making.folder))
        try:
            self._put(making.superuser, making.folder / "superuser")
            self._run(
                str(self.home.programs / "initdb"), "-D", str(making.folder / "data"), "--username", SUPERUSER,
                "--auth", "scram-sha-256", "--pwfile", str(making.folder / "superuser"),
                "--encoding", "UTF8", "--locale", "C", "--no-sync", within_s=INITDB_WITHIN_S,
            )  # fmt: skip
            self._put(f"host all all {self._let_in} scram-sha-256\n", making.folder / "data" / "pg_hba.conf")
            self._serve(making, None, database_name="postgres", further={"fsync": "off"})
            try:
                fill(self._login(making, "postgres"), need, files)
            finally:
                self._stop(making, "SIGINT")
        except BaseException:
            self.remove(making)
            raise
        self._templates[key] = making
        return making

    def _fresh(self, need: BackingNeed) -> Database:
        template = self._template(need)
        self._n += 1
        database = Database(
            folder=self._base(need.settings) / f"database-{self._n}",
            settings=need.settings,
            superuser=template.superuser,
            owner=new_password(),
        )
        self._run("mkdir", "-m", "700", str(database.folder))
        try:
            self._run(
                "cp",
                "-a",
                str(template.folder / "data"),
                str(database.folder / "data"),
                within_s=COPY_WITHIN_S,
            )
            self._serve(database, need.cpus)
            try:
                with self.inside(database, "passwords", MAINTENANCE) as connection:
                    fresh = new_password()
                    set_password(connection, OWNER, database.owner)
                    set_password(connection, SUPERUSER, fresh)
                database.superuser = fresh
            except BaseException:
                self._stop(database, "SIGQUIT")
                raise
        except BaseException:
            self.remove(database)
            raise
        return database

    def _serve(
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
        told = {**server_settings(database.settings), **listening, **(further or {})}
        words = [word for name, value in told.items() for word in ("-c", f"{name}={value}")]
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
            self._stop(database, "SIGQUIT")
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
                Outcome.FAILED, f"the database is ready and lets nobody in: {words_of(problem)}"
            ) from problem

    def _rest(self, *, but: str | None) -> None:
        """End the servers of databases that live on, their data in good order."""
        for key, database in self._kept.items():
            if key != but:
                self._stop(database, "SIGINT")

    def _stop(self, database: Database, first: StopSignal) -> None:
        if database.process is not None:
            database.process.stop(GRACE_S, first)
            database.process = None

    def _put(self, text: str, target: Path) -> None:
        """Write a small file that only the server's user may read."""
        with tempfile.TemporaryDirectory(prefix="rematch-database-") as name:
            ours = Path(name) / "file"
            ours.touch(mode=0o600)
            ours.write_text(text)
            self.host.put(ours, target)
        if self.home.run_as is not None:
            uid, gid = self.home.run_as
            self._say("chown", f"{uid}:{gid}", str(target))

    def _run(self, *words: str, within_s: float = 30.0) -> None:
        """Run a program as the server's user.

        Raises:
            HostError: it did not do it; with its last words.
        """
        command = Command(argv=words, folder=Path("/"), environment={"LC_ALL": "C"}, run_as=self.home.run_as)
        done = self.host.run(command, within_s)
        if done.exit_code != 0:
            said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
            raise HostError(
                f"{self.host.name}: {words[0]} ended with {done.exit_code}; it said: {said[-1][:300]}"
            )

    def _say(self, *words: str) -> str:
        return self.host.run(Command(argv=words, folder=Path("/")), 60.0).stdout


__all__ = ["FarPostgres"]
