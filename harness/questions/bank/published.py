# SPDX-License-Identifier: Apache-2.0
"""What was published of the bank in 2018, from ``data/published``, and ours beside it at a load as heavy.

Machines of two decades have no requests per second in common. What a load means to each is its size beside
the most requests that the Go bank answered rightly in a second, under any load of the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from harness.analysis.stats.comparisons import Comparison, compare
from harness.errors import InputError
from harness.evidence.load_response import every
from harness.evidence.published import FOLDER, published_table
from harness.model import Estimate
from harness.project import find_root
from harness.publish.cells import Cell
from harness.publish.leaves import mean_of
from harness.publish.results import Leaf, Tree, as_is

FILE = FOLDER / "bank-original.csv"
GO, JAVA = "go-gorilla", "java-spring"
#: language -> the variant that stands for it; our loads are held against what the one in Go answers
VARIANTS = {"go": GO, "java": JAVA}
COLUMNS = (
    "source", "users",
    *(f"{language}_{what}" for language in ("java", "go")
      for what in ("latency_mean_ms", "errors_percent", "answered_per_s", "most_active", "latency_max_ms", "duration_s",
                   "errors")),
)  # fmt: skip
RAMP_UP_S, STEPS = 60.0, 3
#: Shares are printed with two decimals.
_ROUNDED_PERCENT = 0.0051
#: A load of ours is beside a published one when it is as heavy within this factor.
AS_HEAVY = 1.3


def published_bank(*, root: Path | None = None) -> pd.DataFrame:
    """Return the published loads, one row each, with what follows from them.

    Added columns: ``offered_per_s``, ``go_right_per_s`` and ``java_right_per_s``, and ``load``: offered over
    the most that Go answered rightly in a second under any of them.

    Raises:
        InputError: wrong columns, a number that is not one, errors that make another share of the requests, or more
            answered than was offered.
    """
    path = (root or find_root()) / FILE
    frame = published_table(FILE, COLUMNS, COLUMNS[1:], root=root, zero=True)
    offered = frame["users"] / RAMP_UP_S * STEPS
    right = {
        f"{name}_right_per_s": frame[f"{name}_answered_per_s"] * (1 - frame[f"{name}_errors_percent"] / 100)
        for name in VARIANTS
    }
    for name in VARIANTS:
        percent = 100 * frame[f"{name}_errors"] / (frame["users"] * STEPS)
        if (abs(percent - frame[f"{name}_errors_percent"]) > _ROUNDED_PERCENT).any():
            raise InputError("errors make another share", file=path, place=f"{name}_errors")
        if (frame[f"{name}_answered_per_s"] > offered).any():
            raise InputError("more answered than offered", file=path, place=f"{name}_answered_per_s")
    return frame.assign(offered_per_s=offered, **right, load=offered / right["go_right_per_s"].max())


def most_right(table: pd.DataFrame) -> pd.DataFrame:
    """Return of each variant and block the trial with the most right answers per second under any load."""
    mine = every(table[~table["duplicate"].astype(bool)]).dropna(subset=["sustained_per_s"])
    best = mine.groupby(["session_id", "block", "variant"], sort=False)["sustained_per_s"].idxmax()
    return mine.loc[best].assign(configuration=lambda frame: frame["variant"])


def capacity_effect(table: pd.DataFrame | None) -> Comparison | None:
    """Compare the most right answers per second of Java with those of Go, each at its best load, block by block."""
    if table is None:
        return None
    both = most_right(table[table["variant"].isin([GO, JAVA])])
    if set(both["variant"]) != {GO, JAVA}:
        return None
    return next(iter(compare(both, "sustained_per_s", reference=GO)), None)


def published_results(published: pd.DataFrame) -> Tree:
    """Return what the sentences of the article rest on: the first load with errors and the last load of each bank,
    the most users whom both answered without one, and the most right answers of Java over those of Go."""
    clean = published[(published["go_errors_percent"] == 0) & (published["java_errors_percent"] == 0)]
    ratio = published["java_right_per_s"].max() / published["go_right_per_s"].max()
    found: dict[str, dict[str, Leaf]] = {}
    for name in VARIANTS:
        failing = published[published[f"{name}_errors_percent"] > 0].iloc[0]
        for word, row in (("first", failing), ("last", published.iloc[-1])):
            found.setdefault(f"{word}_users", {})[name] = as_is(float(row["users"]), "1", "users")
            found.setdefault(f"{word}_failed", {})[name] = _failed(row, name)
            found.setdefault(f"{word}_mean", {})[name] = _mean(row, name)
    return {
        **found,
        "clean_users": as_is(float(clean["users"].max()), "1", "users"),
        "capacity_ratio": as_is(float(ratio), "ratio", "Java over Go"),
    }


def published_rows(published: pd.DataFrame, table: pd.DataFrame | None) -> list[Mapping[str, Cell]]:
    """Return rows for ``Publisher.table``: a published load, and what it and ours did to each bank.

    Args:
        table: the load response; ``None``: there is nothing to set beside what was published.
    """
    ours = {} if table is None else our_loads(table, VARIANTS["go"])
    return [] if table is None else [_row(row, _beside(row, ours), table) for _, row in published.iterrows()]


def our_loads(table: pd.DataFrame, reference: str) -> dict[str, float]:
    """Return level of ``users`` -> offered over the most that the reference answered rightly in a second."""
    trials = table.dropna(subset=["offered_per_s", "sustained_per_s"])
    right = trials[trials["variant"] == reference].groupby("users", sort=False)["sustained_per_s"].mean()
    if right.empty or not right.max() > 0:
        return {}
    offered = trials.groupby("users", sort=False)["offered_per_s"].mean()
    return {str(level): float(one / right.max()) for level, one in offered.items()}


def _beside(row: pd.Series, ours: Mapping[str, float]) -> str | None:
    """The level of the very users, else the nearest that is as heavy; ``None``: there is none."""
    users = str(int(row["users"]))
    if users in ours:
        return users
    apart = {level: abs(float(np.log(load / row["load"]))) for level, load in ours.items()}
    nearest = min(apart, key=lambda level: apart[level], default=None)
    return nearest if nearest is not None and apart[nearest] <= np.log(AS_HEAVY) else None


def _row(row: pd.Series, level: str | None, table: pd.DataFrame) -> Mapping[str, Cell]:
    cells: dict[str, Cell] = {
        "users": int(row["users"]),
        "load": as_is(float(row["load"]), "1", "offered over the most Go answered"),
        "ours": level,
    }
    for name, variant in VARIANTS.items():
        mine = table[(table["variant"] == variant) & (table["users"] == level)]
        trials = every(mine[~mine["duplicate"].astype(bool)])
        some = len(trials) > 0
        cells |= {
            f"{name}_failed": _failed(row, name),
            f"{name}_mean": _mean(row, name),
            f"{name}_failed_ours": mean_of(trials, "error_share") if some else None,
            f"{name}_mean_ours": mean_of(trials, "latency_mean_s") if some else None,
        }
    return cells


def _failed(row: pd.Series, name: str) -> Estimate:
    return as_is(float(row[f"{name}_errors_percent"]) / 100, "share", "share of errors")


def _mean(row: pd.Series, name: str) -> Estimate:
    return as_is(float(row[f"{name}_latency_mean_ms"]) / 1e3, "s", "mean latency")
