# SPDX-License-Identifier: Apache-2.0
"""What the repositories of the rematch, and a later state of the bank's, hold of results; from ``data/published``.

The rematch's article shows pictures; the dashboards behind them are numbers, of one run each. Users who come once over
a ramp are arrivals, so a service that answers nearly all that is offered says nothing of what it could do.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.errors import InputError
from harness.evidence.published import FOLDER, published_table
from harness.project import find_root
from harness.publish.results import Leaf, Tree, as_is

FILE, FILE_2019 = FOLDER / "bank-rematch.csv", FOLDER / "bank-2019.csv"
_NUMBERS = (
    "samples", "latency_mean_ms", "latency_min_ms", "latency_max_ms", "p90_ms", "p95_ms", "p99_ms",
    "answered_per_s",
)  # fmt: skip
COLUMNS = ("source", "language", "users", "request", *_NUMBERS)
COLUMNS_2019 = (
    "source", "stack", "pool_size", "users", "answered_per_s", "latency_mean_ms", "latency_max_ms", "errors_percent",
)  # fmt: skip
LANGUAGES = ("go", "java")
TOTAL = "total"
BALANCES = ("balance-a-before", "balance-b-before", "balance-a-after", "balance-b-after")
INSERTS = ("create-a", "create-b", "transfer")
STEPS = len(BALANCES) + len(INSERTS)
#: Requests of a pass of 2018, which the results of 2019 are of, too.
STEPS_2018 = 3
RAMP_UP_S = 60.0
#: Of the totals, which are printed with two decimals or whole.
_ROUNDED_MS = 0.01


def published_rematch(*, root: Path | None = None) -> pd.DataFrame:
    """Return the dashboards, one row a request of a load and one for each load as a whole.

    Added column: ``offered_per_s``, of all seven requests in the row of the whole, else of the one.

    Raises:
        InputError: wrong columns, a number that is not one, a total that its requests do not add up to, or more
            answered than was offered.
    """
    path = (root or find_root()) / FILE
    frame = published_table(FILE, COLUMNS, ("users", *_NUMBERS), root=root, zero=True)
    steps = frame["request"].map(lambda request: STEPS if request == TOTAL else 1)
    frame = frame.assign(offered_per_s=frame["users"] / RAMP_UP_S * steps)
    for (language, users), load in frame.groupby(["language", "users"], sort=False):
        place = f"{language}, {users} users"
        whole, requests = load[load["request"] == TOTAL], load[load["request"] != TOTAL]
        if set(requests["request"]) != {*BALANCES, *INSERTS} or len(whole) != 1 or len(load) != STEPS + 1:
            raise InputError("must have seven requests and a total", file=path, place=place)
        mean_ms = float((requests["samples"] * requests["latency_mean_ms"]).sum() / requests["samples"].sum())
        if (
            int(whole["samples"].iloc[0]) != int(requests["samples"].sum())
            or abs(float(whole["latency_mean_ms"].iloc[0]) - mean_ms) > _ROUNDED_MS
        ):
            raise InputError("the requests do not add up to the total", file=path, place=place)
    return _not_above_offered(frame, path)


def published_2019(*, root: Path | None = None) -> pd.DataFrame:
    """Return the results of 2019, one row each, with ``offered_per_s``.

    Raises:
        InputError: wrong columns, a number that is not one, or more answered than was offered.
    """
    frame = published_table(FILE_2019, COLUMNS_2019, COLUMNS_2019[2:], root=root, zero=True)
    return _not_above_offered(frame.assign(offered_per_s=frame["users"] / RAMP_UP_S * STEPS_2018), FILE_2019)


def published_rematch_results(published: pd.DataFrame, later: pd.DataFrame) -> Tree:
    """Return what the text says of the dashboards (``few``, ``many``: of users) and of the results of 2019.

    ``mean``, ``answered``: of each language and load; ``offered``: by load; ``balances``, ``inserts``: their mean
    latency with many users over that with few; ``later``: of 2019, at its smaller load.
    """
    loads = {"few": int(published["users"].min()), "many": int(published["users"].max())}
    whole = published[published["request"] == TOTAL]
    tree: dict[str, dict[str, Leaf]] = {"users": {}, "offered": {}}
    for word, users in loads.items():
        mine = whole[whole["users"] == users].set_index("language")
        tree["users"][word] = as_is(float(users), "1", "users")
        tree["offered"][word] = as_is(float(mine["offered_per_s"].iloc[0]), "1/s", "offered")
        for language in LANGUAGES:
            tree.setdefault(f"mean_{word}", {})[language] = _s(_number(mine, language, "latency_mean_ms"))
            tree.setdefault(f"answered_{word}", {})[language] = as_is(
                _number(mine, language, "answered_per_s"), "1/s", "answered"
            )
    for word, requests in (("balances", BALANCES), ("inserts", INSERTS)):
        mine = published[published["request"].isin(requests)]
        means = mine.pivot_table(index="language", columns="users", values="latency_mean_ms")
        growth = means[loads["many"]] / means[loads["few"]]
        tree[word] = {
            language: as_is(float(growth[language]), "ratio", f"growth of {word}") for language in LANGUAGES
        }
    return {**tree, "later": _later(later)}


def _later(later: pd.DataFrame) -> Tree:
    rows = later[later["users"] == later["users"].min()].set_index("stack")
    return {
        "users": as_is(float(later["users"].min()), "1", "users"),
        "offered": as_is(float(rows["offered_per_s"].iloc[0]), "1/s", "offered"),
        "mean": {str(stack): _s(float(row["latency_mean_ms"])) for stack, row in rows.iterrows()},
        "answered": {
            str(stack): as_is(float(row["answered_per_s"]), "1/s", "answered")
            for stack, row in rows.iterrows()
        },
        "pool": {
            str(stack): as_is(float(row["pool_size"]), "1", "connections") for stack, row in rows.iterrows()
        },
    }


def _not_above_offered(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    if (frame["answered_per_s"] > frame["offered_per_s"]).any():
        raise InputError("more answered than offered", file=path, place="answered_per_s")
    return frame


def _number(rows: pd.DataFrame, name: str, column: str) -> float:
    return float(rows[column].loc[[name]].iloc[0])


def _s(latency_ms: float) -> Leaf:
    return as_is(latency_ms / 1e3, "s", "mean latency")
