# SPDX-License-Identifier: Apache-2.0
"""What the database says of itself while it works, twice a second, over one long-lived connection.

That connection is the superuser's, so it is let in when all others are taken; the server has one
connection more than the service is told of, and this one is left out of every count. The counters
of transactions and deadlocks are those of the service's database alone; PostgreSQL brings them up
to date within about a second.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg

from harness.backing.postgres_client import DATABASE, Connection

HZ = 2.0
WATCH_FILE = "database.csv"
#: How long statements that were under way may take to end once the service is gone.
QUIET_WITHIN_S = 30.0
WATCH_COLUMNS = (
    "epoch_s",
    "n_active",
    "n_idle",
    "n_idle_in_transaction",
    "n_starting",
    "n_waiting_for_lock",
    "n_locks_not_granted",
    "deadlocks",
    "xact_commit",
    "xact_rollback",
)
#: A backend that has not yet let its client in has no state.
QUESTION = f"""
SELECT activity.*, (SELECT count(*) FROM pg_locks WHERE NOT granted), deadlocks, xact_commit, xact_rollback
FROM pg_stat_database, (
  SELECT count(*) FILTER (WHERE state IN ('active', 'fastpath function call')),
         count(*) FILTER (WHERE state = 'idle'),
         count(*) FILTER (WHERE state LIKE 'idle in transaction%'),
         count(*) FILTER (WHERE state IS NULL OR state = 'disabled'),
         count(*) FILTER (WHERE wait_event_type = 'Lock')
  FROM pg_stat_activity
  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
) AS activity
WHERE datname = '{DATABASE}'
"""
QUIET_QUESTION = """
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


class Watch:
    """Writes ``database.csv`` until it is stopped, or until the database is gone. Owns its connection."""

    def __init__(self, connection: Connection, file: Path, *, hz: float = HZ) -> None:
        self._connection, self._file, self._period_s = connection, file, 1.0 / hz
        self._stopping = threading.Event()
        self._problem: OSError | None = None
        self._thread = threading.Thread(target=self._work, name="database watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it and close the connection. Idempotent.

        Raises:
            OSError: the file could not be written.
        """
        self._stopping.set()
        self._thread.join()
        self._connection.close()
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def _work(self) -> None:
        try:
            with self._file.open("w") as stream:
                stream.write(",".join(WATCH_COLUMNS) + "\n")
                begin, number = time.monotonic(), 0
                while not self._stopping.is_set():
                    row = self._connection.execute(QUESTION.encode()).fetchone()
                    words = ["" if cell is None else str(cell) for cell in row or ()]
                    stream.write(",".join([f"{time.time():.6f}", *words]) + "\n")
                    stream.flush()
                    number = max(number + 1, int((time.monotonic() - begin) / self._period_s) + 1)
                    self._stopping.wait(max(0.0, begin + number * self._period_s - time.monotonic()))
        except OSError as problem:
            self._problem = problem
        except psycopg.Error:
            return  # it is gone: whoever runs the trial finds out, and says how it ended


def wait_until_quiet(connection: Connection) -> None:
    """Wait until nobody but the watch is connected too, but not for ever."""
    deadline = time.monotonic() + QUIET_WITHIN_S
    while _n_clients(connection) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)


def _n_clients(connection: Connection) -> int:
    """Return how many others are connected right now."""
    row = connection.execute(QUIET_QUESTION.encode()).fetchone()
    return int(row[0]) if row else 0
