# SPDX-License-Identifier: Apache-2.0
"""The real PostgreSQL in tests: found as the harness finds it, its data where its user can reach it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from harness.places.backing import BackingNeed
from harness.places.backing.postgres_database import Lease
from harness.places.backing.postgres_source import Postgres
from harness.places.hosts.local import LocalHost
from harness.project import find_root
from harness.tests.support.available import patient
from harness.toolchains import Surroundings, Tool, find_tool


def postgres_tool() -> Tool:
    return find_tool("postgres", Surroundings(project=find_root(Path(__file__).parent)))


def postgres_of_the_wheel(nowhere: Path) -> Tool:
    """The server that set-up brings, found as on a machine that has no other; ``nowhere``: an empty folder."""
    project = find_root(Path(__file__).parent)
    return find_tool("postgres", Surroundings(project=project, environ={"PATH": ""}, system=nowhere))


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that the server's user can reach: pytest's own are closed to everybody else."""
    with tempfile.TemporaryDirectory(prefix="rematch-test-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


SQL = {
    "schema.sql": "CREATE TABLE entry (id serial PRIMARY KEY, amount integer NOT NULL, owner integer);\n",
    "index.sql": "CREATE INDEX entry_owner ON entry (owner);\n",
    "seed-seven.sql": "INSERT INTO entry (amount) VALUES (3); INSERT INTO entry (amount) VALUES (4);\n",
    "invariants.sql": "SELECT 'sum of all amounts', coalesce(sum(amount), 0), 0::bigint FROM entry;\n",
}


def write_contract(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in SQL.items():
        (folder / name).write_text(text)
    return folder


class Remembering(Postgres):
    """Knows what it started, so that a test that fails leaves nothing behind."""

    def __init__(self, root: Path, tool: Tool | None = None) -> None:
        super().__init__(LocalHost(), root, tool or postgres_tool())
        self.started: list[Lease] = []

    def start(self, need: BackingNeed, folder: Path) -> Lease:
        self.started.append(super().start(need, folder))
        return self.started[-1]


class RealDatabase:
    """PostgreSQL with what a service would do with it; ``tool``: another than the one that is found here."""

    def __init__(self, root: Path, tool: Tool | None = None) -> None:
        self.source = Remembering(root, tool)

    def stop_all(self) -> None:
        while self.source.started:
            self.source.started.pop().stop()

    def add(self, environment: Mapping[str, str], amount: int) -> None:
        with client(environment) as connection:
            connection.execute("INSERT INTO entry (amount) VALUES (%s)", (amount,))

    def sum(self, environment: Mapping[str, str]) -> int:
        return int(one(environment, "SELECT coalesce(sum(amount), 0) FROM entry"))


def client(environment: Mapping[str, str]) -> psycopg.Connection[Any]:
    """Connect as a service would."""
    return psycopg.connect(
        host=environment["PGHOST"], port=environment["PGPORT"], user=environment["PGUSER"],
        password=environment["PGPASSWORD"], dbname=environment["PGDATABASE"], sslmode="disable",
        connect_timeout=round(patient(10)), autocommit=True,
    )  # fmt: skip


def one(environment: Mapping[str, str], question: str) -> Any:
    with client(environment) as connection:
        row = connection.execute(question.encode()).fetchone()
    assert row is not None
    return row[0]
