# SPDX-License-Identifier: Apache-2.0
"""The rows of a question for a person, a table for each result, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from harness.cli.lines import table
from harness.errors import InputError
from harness.model.formatting import DASH
from harness.rows.question import read_rows
from harness.rows.schema import factors_of, records
from harness.rows.text import shown


def print_question(root: Path, question: str, names: Sequence[str], *, as_json: bool) -> bool:
    """Print the published rows of a question; return whether there are any.

    Args:
        names: only these results; none: all.

    Raises:
        InputError: the question has no such result.
    """
    rows = read_rows(root)
    rows = rows[rows["question"] == question]
    if rows.empty:
        return False
    known = list(dict.fromkeys(rows["name"]))
    for name in names:
        if name not in known:
            raise InputError("no such result", place="--metric", found=name, allowed=", ".join(known))
    chosen = rows[rows["name"].isin(list(names) or known)]
    if as_json:
        print(json.dumps(records(chosen.dropna(axis="columns", how="all")), indent=1, allow_nan=False))
        return True
    for place, (result, group) in enumerate(chosen.groupby(["name", "kind"], sort=False)):
        print(*[""] * bool(place), ", ".join(map(str, result)), sep="\n")
        print(_table(group))
    return True


def _table(rows: pd.DataFrame) -> str:
    """One result: variant and levels, number with its interval, and of ratios what they say."""
    compared = bool(rows["verdict"].notna().any())
    factors = [name for name in factors_of(rows) if rows[name].notna().any()]
    columns = ["label"] * bool(rows["label"].notna().any()) + factors + ["shown"]
    heads = ["variant" if name == "label" else "value" if name == "shown" else name for name in columns]
    heads += ["says", "blocks", "over"] * compared
    lines = []
    for row in records(shown(rows)):
        says = [
            row["says"] if row["verdict"] else DASH,
            str(row["n_blocks"] or DASH),
            row["reference"] or DASH,
        ]
        lines.append([str(row[name] or DASH) for name in columns] + says * compared)
    return table(heads, lines, indent="  ")
