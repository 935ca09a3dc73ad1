# SPDX-License-Identifier: Apache-2.0
"""How a service used its database: from ``database.csv``, what the server said of itself twice a second."""

from __future__ import annotations

from typing import IO

import pandas as pd
from pydantic import Field

from harness.errors import InputError
from harness.model.base import Frozen

FILE = "database.csv"
_STATES = ("n_active", "n_idle", "n_idle_in_transaction", "n_starting")
_COLUMNS = ("epoch_s", *_STATES, "n_waiting_for_lock", "deadlocks", "xact_commit", "xact_rollback")


class DatabaseUse(Frozen):
    """Connections of one trial under load. The server was asked twice a second: shorter peaks go unseen."""

    most_connections: int = Field(description="open at once, whatever they did")
    most_active: int = Field(description="executing a statement at once")


def read_database(stream: IO[bytes]) -> pd.DataFrame:
    """Return ``database.csv`` as a table; a last line that a kill cut is left out.

    Raises:
        InputError: it is no such file.
    """
    try:
        frame = pd.read_csv(stream, on_bad_lines="skip", encoding_errors="replace")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"not a table ({error})", file=FILE) from error
    missing = [name for name in _COLUMNS if name not in frame]
    if missing:
        raise InputError("not what the database's watch writes", file=FILE, place=missing[0], found="absent")
    numbers = pd.DataFrame({name: pd.to_numeric(frame[name], errors="coerce") for name in _COLUMNS})
    return numbers.dropna().reset_index(drop=True)


def use_of(frame: pd.DataFrame, window_epoch_s: tuple[float, float]) -> DatabaseUse | None:
    """Return the use within a window of time; ``None``: no reading lies in it."""
    inside = frame[frame["epoch_s"].between(*window_epoch_s)]
    if inside.empty:
        return None
    return DatabaseUse(
        most_connections=int(inside[list(_STATES)].sum(axis=1).max()),
        most_active=int(inside["n_active"].max()),
    )
