# SPDX-License-Identifier: Apache-2.0
"""Rows as text: digits from the interval, what a row says in one word, and the value that is published of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from harness.model import Estimate, Support, Verdict
from harness.model.age import YOUNG, ratio_with_age
from harness.model.formatting import show, verdict_words
from harness.publish.sentences import says
from harness.rows.schema import records

Row = Mapping[str, Any]
#: Columns of a row that stand in its published value unchanged.
_SAME = (
    "value", "low", "high", "kind", "variant", "label", "reference", "verdict", "margin", "n_blocks", "n_excluded",
    "age", "reference_age",
)  # fmt: skip


class Ratio(NamedTuple):
    """A ratio row as the words of a verdict need it."""

    ratio: Estimate
    margin: float | None
    verdict: Verdict
    not_about: str | None
    young: bool


def estimate_of(row: Row) -> Estimate:
    """Return the number of a row; without a value its reason is the warning."""
    warnings = tuple(row["warnings"] or ())
    return Estimate(
        **{name: row[name] for name in ("value", "low", "high")},
        **{name: row[name] or "" for name in ("unit", "method", "estimand")},
        level=row["level"] or 0.95,
        support=Support.REAL,  # what a quantity can be was checked when its row was made
        n_trials=row["n_trials"] or 0,
        inputs=tuple(row["inputs"] or ()),
        warnings=warnings if row["value"] is not None or warnings else (str(row["why"]),),
    )


def is_young(row: Row) -> bool:
    """Tell whether a ratio is one of young processes."""
    return row["kind"] == "ratio" and YOUNG in (row["age"], row["reference_age"])


def words_of(row: Row) -> str:
    """Return the verdict between the names of both arms, ``higher than``; empty: the row has none."""
    if row["verdict"] is None:
        return ""
    verdict = Verdict(row["verdict"])
    not_about = row["why"] if verdict is Verdict.NOT_ABOUT_SERVICES else None
    return verdict_words(Ratio(estimate_of(row), row["margin"], verdict, not_about, is_young(row)))


def text_of(row: Row) -> str:
    """Return the value with its interval, ``12.3 ms (11.9 to 12.7)``; of a row with words, such as ``< 1 s``, these."""
    if row["text"] is not None:
        return str(row["text"])
    return ratio_with_age(show(estimate_of(row)).interval, is_young(row) and row["value"] is not None)


def entries_of(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the published value of each row, by key."""
    return {row["key"]: entry_of(row) for row in records(rows)}


def entry_of(row: Row) -> dict[str, Any]:
    """Return the published value of a row; an empty one is ``None``."""
    estimate = estimate_of(row)
    number = show(estimate)
    return {
        **{name: row[name] for name in _SAME},
        **{name: getattr(estimate, name) for name in ("level", "unit", "method", "estimand", "n_trials")},
        "text": row["text"] or number.text,
        "interval_text": text_of(row),
        "reason": None if row["text"] else number.reason,
        "words": words_of(row),
        "inputs": list(estimate.inputs),
        "warnings": list(row["warnings"] or ()),
    }


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with ``shown``, value and interval as text, and ``says``: higher, lower, equal, open, refused."""
    lines = records(rows)
    return rows.assign(
        shown=pd.Series([text_of(row) for row in lines], index=rows.index, dtype="str"),
        says=pd.Series([says(row) for row in lines], index=rows.index, dtype="str"),
    )
