# SPDX-License-Identifier: Apache-2.0
"""A small project whose service has a database and an upstream API, measured in moments."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from harness.definitions import load_implementations
from harness.measure.session import Assembly, measure, prepare
from harness.measure.session.wiring import training_of
from harness.model import BackingName
from harness.places.backing import BackingSource
from harness.places.backing.postgres_source import Postgres
from harness.places.backing.upstream import Upstream
from harness.places.hosts.local import LocalHost
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.store import SessionFolder
from harness.tests.support.instances import OBEYS_WITHIN_S
from harness.tests.support.postgres import postgres_tool
from harness.tests.support.sessions import LIMITS, tiny_assembly, write_tiny

LEDGER = Path(__file__).with_name("ledger")


def make_ledger_project(root: Path, *, backing: str = "", other: str = "", loops: int = 5) -> Path:
    """Lay out the project; ``backing`` and ``other`` are TOML."""
    shutil.copytree(LEDGER, root / "services" / "ledger")
    write_tiny(root, "ledger", "python-ledger", other=other, loops=loops, more=backing)
    return root


def ledger_assembly(root: Path, database: BackingSource) -> Assembly:
    host = LocalHost()
    backing: dict[BackingName, BackingSource] = {"postgresql": database}
    launcher = ProcessLauncher(
        host, root, Tools(), grace_s=OBEYS_WITHIN_S, training=training_of(root, backing)
    )
    backing["upstream"] = Upstream(
        launcher, lambda workload: load_implementations(root, workload).get("upstream-api"), host
    )
    return tiny_assembly(root, launcher, backing=backing)


def measure_ledger(root: Path, database: BackingSource) -> SessionFolder:
    assembly = ledger_assembly(root, database)
    prepared = prepare(assembly, "tiny", profile="smoke", host="local", seed=1)
    return measure(assembly, prepared, limits=LIMITS)


def real_database(root: Path) -> Postgres:
    return Postgres(LocalHost(), root, postgres_tool())


if __name__ == "__main__":
    measure_ledger(Path(sys.argv[1]), real_database(Path(sys.argv[2])))
