# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL that is slow on purpose, behind the bank: its CPU has no more to give, or nobody in it may work.

``grown``: a balance reads a hundred thousand rows without an index. ``locked``: somebody else holds the table's lock
nearly all the time, so that statements wait in the database and use no CPU.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from statistics import fmean
from typing import Literal

import psycopg

from harness.analysis.tables.bound import Connections
from harness.backing.base import BackingNeed, BackingService
from harness.backing.postgres_database import QUESTION
from harness.backing.postgres_server import Connection, Login, connect
from harness.backing.postgres_source import Postgres
from harness.errors import RematchError
from harness.hosts.measuring import MeasuringHost
from harness.model import BackingSettings
from harness.project import find_root
from harness.toolchains import Surroundings, find_tool
from harness.verify.real.go_service import POOL_SIZE, Behind, tree_cpu_s

#: Of each tenth of a second the lock is held for so long.
HELD_S, FREE_S = 0.095, 0.005
#: How often the server is asked who works in it, while the load is on.
ASKED_HZ = 20.0
_SEEDS: dict[Literal["grown", "locked"], str] = {"grown": "grown", "locked": "two-clients"}


@contextmanager
def slowed_database(
    how: Literal["grown", "locked"],
    cpus: tuple[int, ...],
    host: MeasuringHost,
    around: Surroundings,
    folder: Path,
) -> Iterator[Behind]:
    """Have a fresh database on these CPUs.

    Raises:
        RematchError: PostgreSQL is missing, or the database did not come up.
    """
    root = find_root()
    source = Postgres(host, root, find_tool("postgres", around))
    need = BackingNeed(
        workload="bank",
        contract=root / "services" / "bank" / "contract",
        settings=BackingSettings(seed=_SEEDS[how]),
        cpus=cpus,
    )
    missing = source.unavailable(need)
    if missing is not None:
        raise RematchError(f"verify bound needs PostgreSQL: {missing}")
    try:
        source.prepare(need)
        lent = source.start(need, folder)
        try:
            login = _login(lent)
            record, locked = lent.record, how == "locked"
            with connect(login, "verify") as asking, _locked(login) if locked else nullcontext():
                yield Behind(
                    environment=dict(lent.environment),
                    cpu_s=lambda: tree_cpu_s(
                        record.pid, record.process_start_ticks, lent.cpu_at_launch_s, short_lived=True
                    ),
                    wait=lambda span_s: _seen(asking, span_s),
                )
        finally:
            lent.stop()
    finally:
        source.close()


def _login(lent: BackingService) -> Login:
    values = lent.environment
    user, password, database = (values[f"PG{name}"] for name in ("USER", "PASSWORD", "DATABASE"))
    return Login(port=int(values["PGPORT"]), user=user, password=password, database=database)


def _seen(asking: Connection, span_s: float) -> Connections:
    """Ask who works in the database for so long, as its watch does in a trial, only more often."""
    until = time.monotonic() + span_s
    rows: list[tuple[int, int, int]] = []
    while (left_s := until - time.monotonic()) > 0:
        row = asking.execute(QUESTION.encode()).fetchone()
        if row is not None:
            n_active, _, n_in_transaction, _, n_waiting = (int(cell) for cell in row[:5])
            rows.append((n_active, n_in_transaction, n_waiting))
        time.sleep(max(0.0, min(1 / ASKED_HZ, left_s)))
    return Connections(
        n_active=fmean(active for active, _, _ in rows),
        n_in_use=fmean(active + within for active, within, _ in rows),
        n_waiting_for_lock=fmean(waiting for _, _, waiting in rows),
        at_most=POOL_SIZE,
    )


@contextmanager
def _locked(login: Login) -> Iterator[None]:
    """Hold the lock of the table that a balance reads, nearly all the time, until the end."""
    ending = threading.Event()

    def hold() -> None:
        # an error is the end of the database, which the service's answers show
        with suppress(psycopg.Error):
            while not ending.wait(FREE_S):
                with connection.transaction():
                    connection.execute("LOCK TABLE transaction IN ACCESS EXCLUSIVE MODE")
                    ending.wait(HELD_S)

    with closing(connect(login, "lock")) as connection:
        holder = threading.Thread(target=hold, name="lock", daemon=True)
        holder.start()
        try:
            yield
        finally:
            ending.set()
            holder.join()
