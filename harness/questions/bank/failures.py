# SPDX-License-Identifier: Apache-2.0
"""How banks failed under their loads, or that none did, in sentences; every trial counts, duplicates apart."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from harness.analysis.stats.pairing import inputs_of
from harness.model import Estimate, Outcome
from harness.model.digits import percent
from harness.model.formatting import show
from harness.model.level_words import level_words
from harness.model.phrases import capital, counted, listed
from harness.publish.results import NO_TEXT, Leaf, Words

FACTOR = "connections"


def failed_passes(table: pd.DataFrame | None, most_connections: int) -> Leaf:
    """Return in how many trials of a growing load passes failed, and how near the limit of connections any came.

    Args:
        most_connections: that the database accepts.
    """
    mine = _own(table)
    if mine is None:
        return NO_TEXT
    failed = int((mine["error_share"].fillna(0.0) > 0).sum())
    held = int(mine["most_connections"].max())
    used = f"the services held at most {held} of the {most_connections} connections that the database accepts"
    if failed:
        return Words(f"Here passes failed in {failed} of {len(mine)} trials, and {used}.", inputs_of(mine))
    return Words(
        f"Here no pass failed in any of {len(mine)} trials, and {used}: the failure of the article did not occur, so "
        "its cause was not tested under this load.",
        inputs_of(mine),
    )


def bends(found: Mapping[str, Estimate], labels: Mapping[str, str]) -> Leaf:
    """Return from which offered load on the ninety-ninth percentile grows faster, or that none was detected."""
    if not found:
        return NO_TEXT
    inputs = tuple(dict.fromkeys(trial for one in found.values() for trial in one.inputs))
    at = [f"{show(one).interval} for {labels[name]}" for name, one in found.items() if one.value is not None]
    without: dict[str, list[str]] = {}
    for name, one in found.items():
        if one.value is None:
            without.setdefault("; ".join(one.warnings) or "no number", []).append(labels[name])
    said = [f"The ninety-ninth percentile begins to grow faster at {listed(at)}."] if at else []
    said += [
        f"No load was detected from which the ninety-ninth percentile of {listed(names)} grows faster ({why})."
        for why, names in without.items()
    ]
    return Words(" ".join(said), inputs)


def overloads(table: pd.DataFrame | None, labels: Mapping[str, str], most_connections: int) -> Leaf:
    """Return which banks were overloaded, by how they hold their connections, and how many of their passes failed.

    Args:
        table: the trials at one load. most_connections: that the database accepts.
    """
    mine = _own(table)
    if mine is None:
        return NO_TEXT
    over = mine["outcome"] == Outcome.OVERLOADED.value
    if not over.any():
        return Words(f"No bank was overloaded in any of {len(mine)} trials.", inputs_of(mine))
    said = []
    for name in dict.fromkeys(mine.loc[over, "variant"].astype(str)):
        levels = list(dict.fromkeys(mine.loc[over & (mine["variant"] == name), FACTOR].astype(str)))
        there = mine[(mine["variant"] == name) & mine[FACTOR].isin(levels)]
        where = [
            f"{int(over[some.index].sum())} of {counted(len(some), 'trial')} with {level_words(FACTOR, level)}"
            for level, some in there.groupby(FACTOR, sort=False)
        ]
        said.append(
            f"{labels.get(name, name)} was overloaded in {listed(where)}: it held up to "
            f"{int(there['most_connections'].max())} of the {most_connections} connections that the database accepts, "
            f"and {percent(1 - float(there['right_share'].mean()))} of its passes failed"
        )
    rest = mine[~mine["variant"].isin(mine.loc[over, "variant"])]
    if len(rest):
        said.append(f"no other bank was overloaded in any trial ({len(rest)} trials)")
    return Words(f"{capital('; '.join(said))}.", inputs_of(mine))


def _own(table: pd.DataFrame | None) -> pd.DataFrame | None:
    """The trials without the duplicates of the reference; None: there are none that say what became of their passes."""
    if (
        table is None
        or table.empty
        or "most_connections" not in table
        or table["most_connections"].isna().all()
    ):
        return None
    return table[~table["duplicate"].astype(bool)]


__all__ = ["bends", "failed_passes", "overloads"]
