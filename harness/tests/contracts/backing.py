# SPDX-License-Identifier: Apache-2.0
"""What every database behind a trial keeps. Subclass in a test module and bring one."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from harness.agent.processes import alive
from harness.backing import BackingNeed, BackingSource
from harness.errors import TrialFailure
from harness.model import BackingSettings
from harness.tests.support.instances import eventually
from harness.tests.support.sessions import command_lines

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


class Database(Protocol):
    """What the contract needs of a database: its source, and a way to work with a running one."""

    @property
    def source(self) -> BackingSource: ...

    def add(self, environment: Mapping[str, str], amount: int) -> None: ...

    def sum(self, environment: Mapping[str, str]) -> int: ...


class BackingContract:
    """Needs a fixture ``database``."""

    @pytest.fixture
    def database(self) -> Database:
        # Abstract: pytest never collects this base class, so only a subclass that forgot its part gets here.
        raise NotImplementedError("the subclass brings the database")

    @pytest.fixture
    def need(self, tmp_path: Path) -> BackingNeed:
        return BackingNeed(workload="ledger", contract=write_contract(tmp_path / "contract"))

    def test_each_one_is_fresh_whatever_was_done_to_the_one_before(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        for _ in range(2):
            service = database.source.start(need, tmp_path)
            assert database.sum(service.environment) == 0
            database.add(service.environment, 5)
            assert database.sum(service.environment) == 5
            service.stop()

    def test_two_at_once_know_nothing_of_each_other(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        one, other = database.source.start(need, tmp_path), database.source.start(need, tmp_path)
        database.add(one.environment, 5)
        assert (database.sum(one.environment), database.sum(other.environment)) == (5, 0)
        assert one.environment["PGPORT"] != other.environment["PGPORT"]
        assert one.environment["PGPASSWORD"] != other.environment["PGPASSWORD"]
        one.stop()
        assert database.sum(other.environment) == 0
        other.stop()

    def test_nothing_of_it_runs_when_it_was_stopped(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        service = database.source.start(need, tmp_path)
        assert service.ended() is None
        assert service.record.exit_code is None
        record = service.stop()
        assert not alive(record.pid, record.process_start_ticks)
        assert record.exit_code is not None
        assert service.stop() == record
        with pytest.raises(Exception):  # noqa: B017 - whatever the client says of a closed port
            database.sum(service.environment)

    def test_one_that_is_not_wiped_keeps_what_earlier_trials_left_until_it_is_closed(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        lasting = need.model_copy(update={"settings": BackingSettings(wiped=False)})
        records = []
        for trial in range(3):
            service = database.source.start(lasting, tmp_path)
            assert database.sum(service.environment) == 5 * trial
            database.add(service.environment, 5)
            records.append(service.stop())
            assert alive(records[-1].pid, records[-1].process_start_ticks)
        assert [record.n_trials_before for record in records] == [0, 1, 2]
        assert {record.exit_code for record in records} == {None}
        assert database.source.close() == (records[0].pid,)
        assert not alive(records[0].pid, records[0].process_start_ticks)
        assert database.source.close() == ()

    def test_invariants_are_found_as_they_are(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        service = database.source.start(need, tmp_path)
        (row,) = service.invariants()
        assert (row.name, row.found, row.expected, row.holds) == ("sum of all amounts", 0, 0, True)
        database.add(service.environment, 5)
        (row,) = service.invariants()
        assert (row.found, row.expected, row.holds) == (5, 0, False)
        service.stop()

    def test_the_seed_is_there_from_the_start_and_a_contract_without_invariants_has_none(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        (need.contract / "invariants.sql").unlink()
        seeded = need.model_copy(update={"settings": BackingSettings(seed="seven")})
        service = database.source.start(seeded, tmp_path)
        assert database.sum(service.environment) == 7
        assert service.invariants() == ()
        service.stop()

    def test_one_that_died_says_how_and_can_still_be_stopped(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        service = database.source.start(need, tmp_path)
        database.add(service.environment, 3)
        os.kill(service.record.pid, signal.SIGKILL)
        assert eventually(lambda: service.ended() is not None)
        with pytest.raises(TrialFailure):
            service.invariants()
        assert "ended by itself" in (service.ended() or "")
        assert service.stop().exit_code == 137

    def test_a_password_stands_nowhere_but_in_the_environment(
        self, database: Database, need: BackingNeed, tmp_path: Path
    ) -> None:
        service = database.source.start(need, tmp_path)
        password = service.environment["PGPASSWORD"]
        assert len(password) >= 16
        assert not [words for words in command_lines().values() if password.encode() in words]
        database.add(service.environment, 1)
        service.invariants()
        record = service.stop()
        assert password not in record.model_dump_json()
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or password.encode() not in path.read_bytes(), path
