# SPDX-License-Identifier: Apache-2.0
"""From rows to the published values that paper, results page and ``rematch trace`` read today, and back from the file.

This module goes when the last question publishes rows: then all of them read the Parquet files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types

from harness.model.formatting import show
from harness.publish.generated import GENERATED
from harness.rows.schema import records, stack
from harness.rows.text import Row, estimate_of, text_of, words_of

#: Columns of a row that stand in its entry unchanged.
_SAME = (
    "kind",
    "variant",
    "label",
    "reference",
    "verdict",
    "margin",
    "n_blocks",
    "n_excluded",
    "age",
    "reference_age",
)


def entries_of(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the published value of each row, by key."""
    return {row["key"]: entry_of(row) for row in records(rows)}


def entry_of(row: Row) -> dict[str, Any]:
    """Return the published value of a row; an empty one is ``None``."""
    estimate = estimate_of(row)
    number = show(estimate)
    return {
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "level": estimate.level,
        "unit": estimate.unit,
        "text": row["text"] or number.text,
        "interval_text": text_of(row),
        "reason": None if row["text"] else number.reason,
        "words": words_of(row),
        "method": estimate.method,
        "estimand": estimate.estimand,
        "n_trials": estimate.n_trials,
        "inputs": list(estimate.inputs),
        "warnings": list(row["warnings"] or ()),
        **{name: row[name] for name in _SAME},
    }


def read_rows(root: Path) -> pd.DataFrame:
    """Return all published rows; none: no question has published any."""
    frames = []
    for path in sorted((root / GENERATED / "rows").glob("*.parquet")):
        table = pq.read_table(path)
        lists = {
            name: table[name].to_pylist() for name in ("warnings", "inputs")
        }  # pandas would make arrays of them
        frames.append(table.to_pandas().assign(**lists))
    return stack(*frames)
