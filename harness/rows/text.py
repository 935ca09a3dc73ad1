# SPDX-License-Identifier: Apache-2.0
"""Rows as text: digits from the interval, what a row says in one word, the value that is published of it, and tables
with a unit in each head and the notes that their cells need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from harness.model import Estimate, Support, Verdict
from harness.model.age import YOUNG, ratio_with_age, with_age
from harness.model.digits import whole_percent
from harness.model.formatting import DASH, show, verdict_words
from harness.publish.display import Cell, cell_texts
from harness.publish.sentences import says
from harness.rows.schema import records

Row = Mapping[str, Any]
#: Behind ``name.kind``: the column has verdicts in place of numbers.
VERDICT = ":verdict"
#: Columns of a row that stand in its published value unchanged.
_SAME = (
    "value", "low", "high", "kind", "variant", "label", "reference", "verdict", "margin", "n_blocks", "n_excluded",
    "age", "reference_age",
)  # fmt: skip


def estimate_of(row: Row) -> Estimate:
    """Return the number of a row; without a value its reason is the warning."""
    warnings = tuple(row["warnings"] or ())
    same: dict[str, Any] = {name: row[name] for name in ("value", "low", "high")}
    same |= {name: row[name] or "" for name in ("unit", "method", "estimand")}
    return Estimate(
        **same,
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
    ratio, margin, young = estimate_of(row), row["margin"], is_young(row)
    return verdict_words(ratio, verdict, margin=margin, not_about=not_about, young=young)


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


def pivot(
    rows: pd.DataFrame, columns: Mapping[str, str], *, index: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return rows as a table of texts: number and interval, each column in one unit, lines as they first appear.

    Args:
        columns: ``name.kind`` of rows -> head, with ``:verdict`` behind it for what ratios say.
        index: columns of the rows that make the lines -> head; default: the labels of variants.
    """
    lines = dict(index or {"label": "variant"})
    heads, body, _ = cell_texts({**lines, **columns}, cells_of(rows, columns, lines))
    return pd.DataFrame(body, columns=heads).set_index(heads[: len(lines)])


def cells_of(
    rows: pd.DataFrame, columns: Mapping[str, str], index: Iterable[str] = ("label",)
) -> list[Mapping[str, Cell]]:
    """Return the cells of :func:`pivot`, a mapping for each line."""
    names = list(index)
    lines: dict[tuple[object, ...], dict[str, Cell]] = {}
    for row in records(rows):
        column = f"{row['name']}.{row['kind']}"
        place = tuple(row[name] for name in names)
        for wanted in (column, column + VERDICT):
            if wanted in columns:
                line = lines.setdefault(place, {name: str(row[name] or DASH) for name in names})
                line[wanted] = _verdict(row) if wanted != column else row["text"] or estimate_of(row)
    return list(lines.values())


def _verdict(row: Row) -> str:
    if row["verdict"] is None:
        return DASH
    return with_age(Verdict(row["verdict"]).words, is_young(row))


def notes(rows: pd.DataFrame) -> list[str]:
    """Return what must stand below a table: why ratios have no verdict or cells no value, margins, exclusions."""
    refused = rows[rows["verdict"] == Verdict.NOT_ABOUT_SERVICES].groupby("why", sort=False)
    lines = [
        f"No verdict, since something else than the services decided: {_names(some)} ({why})."
        for why, some in refused
    ]
    missing = rows[rows["value"].isna() & rows["why"].notna()].groupby("why", sort=False)
    lines += [f"{DASH} {_names(some)}: {why}." for why, some in missing]
    compared = rows[rows["verdict"].notna()]
    margins = sorted(compared["margin"].dropna().unique())
    if margins:
        lines.append(f"Margin of equivalence: {_span([whole_percent(margin) for margin in margins])}.")
    elif len(compared):
        lines.append("Margin of equivalence: none, the noise is too large.")
    if len(compared):
        lines.append(f"Blocks: {_span([str(n) for n in sorted(compared['n_blocks'].dropna().unique())])}.")
    excluded = rows[rows["n_excluded"].fillna(0) > 0]
    if len(excluded):
        numbers = [str(n) for n in sorted(excluded["n_excluded"].unique())]
        lines.append(f"Trials left out and counted: {_span(numbers)} ({_names(excluded)}).")
    return lines


def _names(rows: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(rows["label"].dropna()))


def _span(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"
