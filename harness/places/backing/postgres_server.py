# SPDX-License-Identifier: Apache-2.0
"""One PostgreSQL server process over one data folder: started, awaited, ended with everything it forked.

Each backend is a session and a process group of its own, so ending the server's group does not end
them. Normally the server ends them itself, and they end when they see that it is gone. What is left
all the same is found by its working directory, the data folder, which nobody else works in.

Connections obey no variable of this shell.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import psycopg

from harness.agent.processes import GONE_WITHIN_S
from harness.errors import HostError, InputError, TrialFailure
from harness.model import BackingSettings, Endpoint, InvariantReading, Outcome
from harness.places.backing.postgres import ADDRESS, DatabaseMachine
from harness.places.hosts.base import Command, Exit, Process, StopSignal

SUPERUSER, OWNER, DATABASE = "postgres", "rematch", "rematch"
#: Where we are connected when it is not the service's database that is asked.
MAINTENANCE = "template1"
STATEMENT_WITHIN_S = 60.0
Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """How to get in."""

    port: int
    user: str
    password: str = field(repr=False)
    database: str = DATABASE
    host: str = ADDRESS


def connect(login: Login, purpose: str) -> Connection:
    """Return a connection in autocommit mode. Raises psycopg.OperationalError: nobody answers, or does not let us
    in."""
    return psycopg.connect(
        host=login.host,
        hostaddr=ADDRESS if login.host == ADDRESS else None,
        port=login.port,
        user=login.user,
        password=login.password,
        dbname=login.database,
        application_name=f"rematch {purpose}",
        connect_timeout=10,
        sslmode="disable",
        gssencmode="disable",
        options=f"-c statement_timeout={int(STATEMENT_WITHIN_S * 1000)}",
        autocommit=True,
    )


def new_password() -> str:
    """Return 128 random bits in hex: no character of it means anything in a URL, a shell or SQL."""
    return secrets.token_hex(16)


def set_password(connection: Connection, user: str, password: str, method: str = "scram-sha-256") -> None:
    """Give one of our own two users a password, of which the server gets a verifier alone. How it is checked follows
    from that: ``md5`` is the default of before PostgreSQL 14."""
    verifier = connection.pgconn.encrypt_password(password.encode(), user.encode(), method.encode()).decode()
    connection.execute(f"ALTER ROLE {user} PASSWORD '{verifier}'".encode())


def apply_file(connection: Connection, file: Path) -> None:
    """Execute a file of SQL in one transaction. Raises InputError: it cannot be read, or the server refuses it; in
    the server's words."""
    text = read_sql(file)
    try:
        with connection.transaction():
            connection.execute(text)
    except psycopg.Error as problem:
        raise InputError(f"PostgreSQL refuses it: {words_of(problem)}", file=file) from problem


def read_invariants(connection: Connection, file: Path) -> tuple[InvariantReading, ...]:
    """Ask what must hold: every statement is a SELECT of (name text, found bigint, expected bigint). All see the same
    moment of the database. Raises InputError: the file is wrong; TrialFailure: the server does not answer."""
    readings = []
    for row in _ask(connection, file, "whether its invariants hold"):
        match row:
            case (str() as name, int() | Decimal() as n, int() | Decimal() as due) if n % 1 == due % 1 == 0:
                readings.append(InvariantReading(name=name, found=int(n), expected=int(due)))
            case _:
                raise _wrong_row(row, file, "name text, found bigint, expected bigint, none null (coalesce)")
    return tuple(readings)


def read_stored(connection: Connection, file: Path) -> dict[str, int]:
    """Ask what the requests have left: every statement is a SELECT of (request text, traces bigint); raises as
    ``read_invariants``."""
    results: dict[str, int] = {}
    for row in _ask(connection, file, "what it holds"):
        match row:
            case (str() as request, int() as n) if request not in results:
                results[request] = n
            case _:
                raise _wrong_row(row, file, "request text, traces bigint, each request once")
    return results


def _wrong_row(row: tuple[Any, ...], file: Path, allowed: str) -> InputError:
    cells = ", ".join("null" if cell is None else str(cell) for cell in row)[:100]
    return InputError("a row is not of the form it must have", file=file, found=cells, allowed=allowed)


def _ask(connection: Connection, file: Path, what: str) -> list[tuple[Any, ...]]:
    """Return the rows of all statements of a file; they see one moment of the database and change nothing."""
    text = read_sql(file)
    rows: list[tuple[Any, ...]] = []
    try:
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        with connection.transaction():
            cursor = connection.execute(text)
            more: bool | None = True
            while more:
                rows += cursor.fetchall() if cursor.description else []
                more = cursor.nextset()
    except (psycopg.OperationalError, psycopg.InterfaceError) as problem:
        why = f"the database does not say {what}: {words_of(problem)}"
        raise TrialFailure(Outcome.FAILED, why) from problem
    except psycopg.Error as problem:
        raise InputError(f"PostgreSQL refuses it: {words_of(problem)}", file=file) from problem
    return rows


def words_of(problem: Exception) -> str:
    """Return what the server said, in one line."""
    text = getattr(getattr(problem, "diag", None), "message_primary", None) or str(problem)
    return " ".join(str(text).split())


def read_sql(file: Path) -> bytes:
    """Return a file of SQL. Raises InputError: it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot be read: {problem.strerror}", file=file) from problem


READY_WITHIN_S = 60.0
#: A fast stop writes what is in memory to disk first.
GRACE_S = 30.0
#: What a stock server keeps for the superuser, out of max_connections.
RESERVED = 3
#: Our own connection, which watches: the server has one more than it is said to have.
WATCHING = 1
LOG_TAIL_BYTES = 8192


def server_settings(settings: BackingSettings) -> dict[str, str]:
    """Return what the server is told on its command line; everything else is as PostgreSQL comes."""
    values = {
        "unix_socket_directories": "",
        "max_connections": str(settings.max_connections + WATCHING),
        "superuser_reserved_connections": str(RESERVED),
        # segments below /dev/shm would outlive a killed server; files in its own folder go with that
        "dynamic_shared_memory_type": "mmap",
        "logging_collector": "off",
        "log_destination": "stderr",
        "log_statement": "none",
        "log_min_error_statement": "panic",  # no statement in the log, thus no password either
        "log_timezone": "UTC",
        "timezone": "UTC",
    }
    return values if settings.fsync else {**values, "fsync": "off"}


@dataclass(kw_only=True)
class Server:
    """A running server. ``log`` is what it writes to stderr, appended."""

    machine: DatabaseMachine
    process: Process
    data: Path
    log: Path
    port: int
    argv: tuple[str, ...]

    def reached(self, login: Login) -> Login:
        """Return the login with where the server can be asked now: ways to another machine are closed with each trial's
        folder."""
        near = self.machine.host.reach(Endpoint(host=self.machine.address, port=self.port))
        return replace(login, host=near.host, port=near.port)

    def ended(self) -> str | None:
        """Return how it ended by itself, with its last words, or ``None``. Never blocks."""
        code = self.process.exited()
        if code is None:
            return None
        how = f"signal {code - 128}" if code > 128 else f"exit code {code}"
        return f"the database ended by itself ({how}; output: {self.last_words()})"

    def last_words(self) -> str:
        """Return the last line of its log that complains, else its last line; without time and process."""
        lines = self.machine.read(self.log, LOG_TAIL_BYTES).decode(errors="replace").splitlines()
        bad = [line for line in lines if re.search(r"\b(PANIC|FATAL|ERROR):", line)]
        return re.sub(r"^\S+ \S+ \S+ \[\d+\] ", "", (bad or lines or ["nothing"])[-1])[:300]

    def stop(self, first: StopSignal) -> Exit:
        """End it: SIGINT is a fast stop that keeps the data in order, SIGQUIT one that does not care."""
        try:
            return self.process.stop(GRACE_S, first)
        finally:
            if self.machine.is_local:
                end_leftovers(self.data)


def start_server(
    machine: DatabaseMachine,
    data: Path,
    settings: Mapping[str, str],
    login: Login,
    log: Path,
    *,
    cpus: tuple[int, ...] | None = None,
) -> tuple[Server, Login]:
    """Start a server and wait until ``login`` is let in; the login is returned with where it listens. Raises
    TrialFailure: it did not come up, in its own words."""
    port = machine.host.free_port(machine.address)
    listening = {"listen_addresses": machine.address, **settings}
    words = [word for name, value in listening.items() for word in ("-c", f"{name}={value}")]
    argv = (str(machine.home.programs / "postgres"), "-D", str(data), "-p", str(port), *words)
    command = Command(
        argv=argv,
        folder=data,
        environment={"HOME": str(data), "LC_ALL": "C"},
        cpus=cpus,
        stdout=log,
        stderr=log,
        run_as=machine.home.run_as,
    )
    try:
        process = machine.host.spawn(command)
    except HostError as problem:
        raise TrialFailure(Outcome.FAILED, f"the database cannot be started: {problem}") from problem
    server = Server(machine=machine, process=process, data=data, log=log, port=port, argv=argv)
    try:
        login = server.reached(login)
        _wait_until_in(server, login)
    except BaseException:
        server.stop("SIGQUIT")
        raise
    return server, login


def _wait_until_in(server: Server, login: Login) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            connect(login, "readiness").close()
            return
        except psycopg.OperationalError as problem:
            rejected = problem
        # a server of somebody else on that port would refuse us too: look at ours first
        how = server.ended()
        if how is None and time.monotonic() > deadline:
            how = f"the database lets nobody in: {words_of(rejected)}; {server.last_words()}"
        if how is not None:
            raise TrialFailure(Outcome.FAILED, how) from rejected
        time.sleep(0.01 if server.machine.is_local else 0.05)


def end_leftovers(data: Path) -> None:
    """Kill whatever still works in this data folder. Raises HostError: something would not go."""
    left = workers_in(data)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    alive = psutil.wait_procs(left, timeout=GONE_WITHIN_S)[1]
    if alive:
        raise HostError(f"processes of the database do not end after SIGKILL: {alive}")


def workers_in(data: Path) -> list[psutil.Process]:
    """Return the running processes whose working directory is this folder."""
    return [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(data)]
