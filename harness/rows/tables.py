# SPDX-License-Identifier: Apache-2.0
"""From rows to a table: a pivot with a unit in each head, and the notes that its cells need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from harness.model import Verdict
from harness.model.age import with_age
from harness.model.digits import whole_percent
from harness.model.formatting import DASH
from harness.publish.display import Cell, cell_texts
from harness.rows.schema import records
from harness.rows.text import Row, estimate_of, is_young

#: Behind ``name.kind``: the column has verdicts in place of numbers.
VERDICT = ":verdict"


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
    return with_age(str(row["verdict"]).replace("_", " "), is_young(row))


def notes(rows: pd.DataFrame) -> list[str]:
    """Return what must stand below a table: why ratios have no verdict or cells no value, margins, exclusions."""
    refused = rows[rows["verdict"] == Verdict.NOT_ABOUT_SERVICES].groupby("why", sort=False)
    lines = [
        f"Not about the services, so without a verdict: {_names(some)} ({why})." for why, some in refused
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
