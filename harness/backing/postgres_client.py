# SPDX-License-Identifier: Apache-2.0
"""Talking to a PostgreSQL server: connections that obey no variable of this shell, passwords, a workload's SQL."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg

from harness.backing.postgres_install import ADDRESS
from harness.errors import InputError, TrialFailure
from harness.model import InvariantReading, Outcome

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
    """Return a connection in autocommit mode.

    Raises psycopg.OperationalError: nobody answers, or does not let us in.
    """
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


def scram_verifier(password: str, *, salt: bytes | None = None, iterations: int = 4096) -> str:
    """Return what the server keeps of a password (RFC 5802, RFC 7677), so that it is never told the password."""
    salt = salt if salt is not None else secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    words = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${iterations}:{words[0]}${words[1]}:{words[2]}"


def set_password(
    connection: Connection, user: str, password: str, authentication: str = "scram-sha-256"
) -> None:
    """Give one of our own two users a password. How it is checked follows from what is kept of it."""
    verifier = scram_verifier(password)
    if authentication == "md5":  # as passwords were checked by default before PostgreSQL 14
        verifier = "md5" + hashlib.md5((password + user).encode(), usedforsecurity=False).hexdigest()
    connection.execute(f"ALTER ROLE {user} PASSWORD '{verifier}'".encode())


def apply_file(connection: Connection, file: Path) -> None:
    """Execute a file of SQL in one transaction.

    Raises InputError: it cannot be read, or the server refuses it; in the server's words.
    """
    text = read_sql(file)
    try:
        with connection.transaction():
            connection.execute(text)
    except psycopg.Error as problem:
        raise InputError(f"PostgreSQL refuses it: {words_of(problem)}", file=file) from problem


def read_invariants(connection: Connection, file: Path) -> tuple[InvariantReading, ...]:
    """Ask what must hold: every statement is a SELECT of (name text, found bigint, expected bigint).

    All statements see the same moment of the database, and none of them can change it.

    Raises:
        InputError: the file is wrong.
        TrialFailure: the server does not answer.
    """
    return tuple(_reading(row, file) for row in _ask(connection, file, "whether its invariants hold"))


def read_stored(connection: Connection, file: Path) -> dict[str, int]:
    """Ask what the requests have left: every statement is a SELECT of (request text, traces bigint).

    Raises:
        InputError: the file is wrong.
        TrialFailure: the server does not answer.
    """
    results: dict[str, int] = {}
    for row in _ask(connection, file, "what it holds"):
        match row:
            case (str() as request, int() as n) if request not in results:
                results[request] = n
            case _:
                raise InputError(
                    "a row is not of the form it must have",
                    file=file,
                    found=", ".join("null" if cell is None else str(cell) for cell in row)[:100],
                    allowed="request text, traces bigint, each request once",
                )
    return results


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
        raise TrialFailure(
            Outcome.FAILED, f"the database does not say {what}: {words_of(problem)}"
        ) from problem
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


def _reading(row: tuple[Any, ...], file: Path) -> InvariantReading:
    match row:
        case (str() as name, int() | Decimal() as found, int() | Decimal() as expected) if found == int(
            found
        ) and expected == int(expected):
            return InvariantReading(name=name, found=int(found), expected=int(expected))
    raise InputError(
        "a row is not of the form it must have",
        file=file,
        found=", ".join("null" if cell is None else str(cell) for cell in row)[:100],
        allowed="name text, found bigint, expected bigint, none of them null (use coalesce)",
    )
