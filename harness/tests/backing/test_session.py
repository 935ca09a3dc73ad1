# SPDX-License-Identifier: Apache-2.0
"""Sessions whose service has a database and an upstream API."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.errors import InputError
from harness.measure.session import measure, prepare
from harness.model import BackingSettings, Outcome, TrialRecord
from harness.places.backing.postgres_server import workers_in
from harness.places.backing.postgres_source import Postgres
from harness.places.hosts.local import LocalHost
from harness.places.launchers.base import MASK
from harness.store import SessionFolder
from harness.tests.support import ledger_sessions, sessions
from harness.tests.support.available import only_in_ci
from harness.tests.support.instances import eventually
from harness.tests.support.postgres import postgres_tool, reachable_folder, write_contract


@pytest.fixture(scope="module")
def databases() -> Iterator[Path]:
    """Where the databases of all sessions of this module lie, so that the template is made once."""
    with reachable_folder() as folder:
        yield folder


def of_variant(folder: SessionFolder, name: str) -> TrialRecord:
    return next(one for one in folder.records() if one.planned.configuration.variant_name == name)


def nothing_left(root: Path, databases: Path) -> bool:
    return not (
        sessions.running_below(root)
        or any((databases / ".cache/backing/clusters").glob("*"))
        or any((root / ".cache/running").glob("*.json"))
    )


#: One more variant, beside the calm one and ``other``, which is lossy.
FORGETFUL = """
[variants.forgetful]
implementation = "python-ledger"
settings = { forgetful = true }
"""


class Ledgers(NamedTuple):
    """A project and its session, whose services keep money, lose it or forget it."""

    root: Path
    folder: SessionFolder


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory, databases: Path) -> Ledgers:
    root = ledger_sessions.make_ledger_project(
        tmp_path_factory.mktemp("ledgers"), other="lossy = true", backing='backing = { seed = "balanced" }'
    )
    file = root / "harness/experiments/tiny.toml"
    file.write_text(file.read_text().replace("\n[profiles.smoke]\n", f"{FORGETFUL}\n[profiles.smoke]\n"))
    folder = ledger_sessions.measure_ledger(root, ledger_sessions.real_database(databases))
    assert folder.complete and folder.verify() == ()
    assert eventually(lambda: nothing_left(root, databases))
    return Ledgers(root, folder)


def test_a_trial_with_a_database_and_an_upstream_api_keeps_what_both_did(ledgers: Ledgers) -> None:
    root, folder = ledgers
    record = of_variant(folder, "calm")
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert [phase.name for phase in record.phases][:2] == ["backing", "start-up"]
    database, upstream = record.backing
    assert (database.name, upstream.name) == ("postgresql", "upstream")
    assert database.settings == BackingSettings(seed="balanced") == record.planned.configuration.backing
    assert database.version and database.exit_code is not None and upstream.exit_code is not None
    assert record.instance is not None
    told = record.instance.environment
    assert (told["PGPASSWORD"], told["PGUSER"], told["PGPORT"]) == (MASK, "rematch", str(database.port))
    assert told["UPSTREAM_URL"] == f"http://127.0.0.1:{upstream.port}"
    (row,) = record.invariants
    assert row.holds
    trial = record.planned.trial_id
    samples = folder.open(trial, "samples.csv").read().decode().splitlines()
    assert {line.split(",")[1] for line in samples[1:]} == {"service", "generator", "database", "upstream"}
    watched = folder.open(trial, "database.csv").read().decode().splitlines()
    assert watched[0].startswith("epoch_s,n_active,n_idle") and len(watched) > 1
    commits = watched[0].split(",").index("xact_commit")
    assert int(watched[-1].split(",")[commits]) >= int(watched[1].split(",")[commits])
    assert b"database system is ready" in folder.open(trial, "database.log").read()
    for path in folder.folder.rglob("*"):
        assert not path.is_file() or path.suffix == ".gz" or os.fsencode(root) not in path.read_bytes()


def test_lost_money_is_an_outcome_of_its_own_and_says_which_and_how_much(ledgers: Ledgers) -> None:
    record = of_variant(ledgers.folder, "other")
    assert record.outcome == Outcome.INCONSISTENT
    # two users post five times each, after the readiness poll and the one case of the contract
    assert record.reason == "sum of all amounts: found 60, expected 0"
    assert record.load is not None and record.load.n_errors == 0


def test_an_answer_that_was_never_stored_is_found_though_balances_add_up(ledgers: Ledgers) -> None:
    calm, record = of_variant(ledgers.folder, "calm"), of_variant(ledgers.folder, "forgetful")
    # two users post five times each; the readiness poll and the contract's case were before the load
    (kept,) = calm.stored
    assert (kept.request, kept.n_stored, kept.n_right, kept.n_sent) == ("post", 10, 10, 10)
    assert calm.outcome == Outcome.OK
    assert all(row.holds for row in record.invariants)
    assert record.load is not None and record.load.n_errors == 0
    assert record.outcome == Outcome.INCONSISTENT
    assert record.reason == "post: 10 answered rightly, 5 stored"


def test_a_database_killed_under_load_fails_the_trial_and_says_so(tmp_path: Path, databases: Path) -> None:
    root = sessions.calm_alone(ledger_sessions.make_ledger_project(tmp_path, loops=120))
    killed: list[int] = []
    stop = threading.Event()

    def kill_one() -> None:
        while not stop.wait(0.005) and not killed:
            for note in (root / ".cache/running").glob("*.json"):
                generator = list((root / "data/raw/tiny").glob("*/.partial-*/load/samples.csv"))
                try:
                    said = sessions.read_json(note)
                except (OSError, ValueError):
                    continue
                answered = any(len(rows.read_text().splitlines()) > 5 for rows in generator)
                if said["role"] == "database" and answered:
                    os.kill(said["pid"], signal.SIGKILL)
                    killed.append(said["pid"])

    killer = threading.Thread(target=kill_one)
    killer.start()
    folder = ledger_sessions.measure_ledger(root, ledger_sessions.real_database(databases))
    stop.set()
    killer.join()
    first, other = folder.records()
    assert first.outcome == Outcome.FAILED
    assert (first.reason or "").startswith("the database ended by itself (signal 9")
    (row,) = first.invariants  # it came up again on its data to be asked
    assert row.holds
    (promised,) = first.stored
    assert promised.n_stored >= promised.n_right > 0 and promised.n_sent is None
    assert promised.holds
    assert other.outcome == Outcome.OK
    assert eventually(lambda: nothing_left(root, databases))


def test_a_later_load_of_a_process_has_what_stands_behind_it_too(tmp_path: Path, databases: Path) -> None:
    backing = 'same_process = "load"\nbacking = { beside = "service" }'
    root = sessions.calm_alone(ledger_sessions.make_ledger_project(tmp_path, backing=backing, loops=300))
    file = root / "harness/experiments/tiny.toml"
    file.write_text(file.read_text() + sessions.TWO_LOADS.replace("loops = 8", "loops = 300"))
    folder = ledger_sessions.measure_ledger(root, ledger_sessions.real_database(databases))
    records = {bool(record.planned.process_of): record for record in folder.records()}
    for record in (records[False], records[True]):
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert [service.name for service in record.backing] == ["postgresql", "upstream"]
        samples = folder.open(record.planned.trial_id, "samples.csv").read().decode().splitlines()
        roles = {line.split(",")[1] for line in samples[1:]}
        assert roles == {"service", "generator", "database", "upstream"}
        assert record.instance and {s.cpu_affinity for s in record.backing} == {record.instance.cpu_affinity}
        assert folder.has(record.planned.trial_id, "database.csv")


@only_in_ci("a session that is killed beside its database")
def test_a_session_killed_in_mid_trial_leaves_data_for_a_sweep_alone(tmp_path: Path, databases: Path) -> None:
    root = sessions.calm_alone(ledger_sessions.make_ledger_project(tmp_path, loops=60))
    session = subprocess.Popen(
        [sys.executable, "-m", "harness.tests.support.ledger_sessions", str(root), str(databases)],
        env={**os.environ, "PYTHONPATH": str(sessions.REPOSITORY)},
        start_new_session=True,
    )
    under_load = "data/raw/tiny/*/.partial-*/load/samples.csv"
    assert eventually(lambda: bool(list(root.glob(under_load))), within_s=60)
    clusters = (databases / ".cache/backing/clusters").iterdir()
    data = [folder / "data" for folder in clusters if workers_in(folder / "data")]
    assert data
    session.kill()
    session.wait()
    assert eventually(lambda: not any(workers_in(one) for one in data) and not sessions.running_below(root))
    folder = ledger_sessions.measure_ledger(root, ledger_sessions.real_database(databases))
    assert folder.complete
    assert [record.outcome for record in folder.records()] == [Outcome.OK] * 2
    assert eventually(lambda: nothing_left(root, databases))


def test_an_upstream_api_that_does_not_start_fails_the_trial(tmp_path: Path, databases: Path) -> None:
    backing = 'backing = { upstream = { fail_start = "no licence" } }'
    root = sessions.calm_alone(ledger_sessions.make_ledger_project(tmp_path, backing=backing))
    folder = ledger_sessions.measure_ledger(root, ledger_sessions.real_database(databases))
    for record in folder.records():
        assert record.outcome == Outcome.FAILED
        assert record.reason == "the upstream API exited with 1 before it was ready: no licence"
        assert record.instance is None
        assert [one.name for one in record.backing] == ["postgresql"]
    assert eventually(lambda: not sessions.running_below(root))


def careless_session(root: Path, database: Postgres, backing: str = "") -> SessionFolder:
    """Measure a service that does nothing with its database."""
    sessions.calm_alone(sessions.make_session_project(root))
    workload = root / "services/strings"
    service = workload / "misbehaving/service.toml"
    service.write_text(service.read_text().replace("[settings]", 'needs = ["postgresql"]\n\n[settings]'))
    write_contract(workload / "contract")
    experiment = root / "harness/experiments/tiny.toml"
    experiment.write_text(experiment.read_text().replace("[variants.calm]", f"{backing}\n[variants.calm]"))
    assembly = dataclasses.replace(sessions.tiny_assembly(root), backing={"postgresql": database})
    return measure(
        assembly, prepare(assembly, "tiny", profile="smoke", host="local", seed=1), limits=sessions.LIMITS
    )


def test_what_a_trial_broke_in_a_kept_database_is_its_own(tmp_path: Path, databases: Path) -> None:
    backing = '[backing]\nseed = "seven"\nwiped = false\n'
    folder = careless_session(tmp_path, ledger_sessions.real_database(databases), backing)
    first, *later = sorted(folder.records(), key=lambda record: record.planned.position)
    assert (first.outcome, first.invariants[0].already_off) == (Outcome.INCONSISTENT, 0)
    assert later
    for record in later:
        assert (record.outcome, record.invariants[0].already_off) == (Outcome.OK, 7)
        assert record.invariants[0].found == 7  # it is told all the same


def test_a_variant_whose_database_is_missing_is_refused_with_the_reason(tmp_path: Path) -> None:
    missing = dataclasses.replace(postgres_tool(), path=None)
    with pytest.raises(InputError, match="reference calm cannot run here.*postgres.* is missing"):
        careless_session(tmp_path, Postgres(LocalHost(), tmp_path, missing))
