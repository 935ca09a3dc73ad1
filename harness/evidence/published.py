# SPDX-License-Identifier: Apache-2.0
"""Tables of numbers that others published, from ``data/published``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from harness.errors import InputError
from harness.project import find_root

FOLDER = Path("data") / "published"


def published_table(
    file: Path,
    columns: Sequence[str],
    numbers: Sequence[str],
    *,
    root: Path | None = None,
    zero: bool = False,
    gaps: bool = False,
) -> pd.DataFrame:
    """Return a table as it was published.

    Args:
        file: below ``root``. columns: all that it has. numbers: those of numbers above zero.
        zero: zero is allowed too. gaps: so is an empty field, which is NaN: it was not printed.

    Raises:
        InputError: no such table, other columns, or what is no such number.
    """
    path = (root or find_root()) / file
    if not path.is_file():
        raise InputError("no published numbers", file=path)
    frame = pd.read_csv(path, comment="#", dtype={"load": "str"})
    if tuple(frame.columns) != tuple(columns):
        raise InputError(
            "wrong columns", file=path, found=", ".join(frame.columns), allowed=", ".join(columns)
        )
    for column in numbers:
        values = pd.to_numeric(frame[column], errors="coerce")
        missing = values.isna() & frame[column].notna() if gaps else values.isna()
        if missing.any() or (values < 0 if zero else values <= 0).any():
            allowed = "numbers, none below zero" if zero else "positive numbers"
            raise InputError(f"must be {allowed}", file=path, place=column)
        frame[column] = values
    return frame
