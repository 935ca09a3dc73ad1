# SPDX-License-Identifier: Apache-2.0
"""Numbers of ``data/published`` that a claim names: a cell, the ratio of two, or how often one row is the highest."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from harness.definitions.claims import PUBLISHED
from harness.errors import InputError
from harness.model.claim import Cell, PublishedNumber


@dataclass(frozen=True)
class PublishedTables:
    """The published tables below ``root``; each is read once."""

    root: Path
    _read: dict[str, pd.DataFrame] = field(default_factory=dict)

    def value(self, number: PublishedNumber) -> float:
        """Return the number, in the table's unit times ``factor``; a ratio has no unit.

        Raises:
            InputError: no such table or column, a value that is no number, or other than one cell where one is meant.
        """
        if number.pick == "wins":
            frame = self._frame(number.file, (number.column, *number.of, *number.by))
            best = frame.loc[frame.groupby(list(number.by), sort=False)[number.column].idxmax()]
            return float(_matching(best, number.of).sum())
        values = self._cells(number, number.of, number.column)
        if number.is_ratio:
            base = self._cells(number, number.over or number.of, number.over_column or number.column)
            values = (values / base).dropna()
        _one_or_some(number, number.of, len(values))
        return number.factor * float(values.min() if number.pick == "least" else values.max())

    def _cells(self, number: PublishedNumber, cell: Cell, column: str) -> pd.Series[float]:
        """Return the values of one side, by what pairs them with the other."""
        frame = self._frame(number.file, (column, *cell, *number.by))
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise _error(number, f"{column} is no column of numbers", cell)
        rows = frame[_matching(frame, cell) & frame[column].notna()]
        _one_or_some(number, cell, len(rows))
        index = list(number.by)
        return rows.set_index(index)[column] if index else rows[column].reset_index(drop=True)

    def _frame(self, file: str, columns: tuple[str, ...]) -> pd.DataFrame:
        name = f"{file}.csv"
        if file not in self._read:
            try:
                self._read[file] = pd.read_csv(self.root / PUBLISHED / name, comment="#")
            except (OSError, ValueError) as error:
                raise InputError(f"cannot be read ({error})", file=PUBLISHED / name) from None
        frame = self._read[file]
        for column in columns:
            if column not in frame:
                allowed = ", ".join(map(str, frame.columns))
                raise InputError("no such column", file=PUBLISHED / name, found=column, allowed=allowed)
        return frame


def _matching(frame: pd.DataFrame, cell: Cell) -> pd.Series[bool]:
    chosen = pd.Series(data=True, index=frame.index)
    for column, value in cell.items():
        chosen &= frame[column].astype(str) == str(value)
    return chosen


def _one_or_some(number: PublishedNumber, cell: Cell, n: int) -> None:
    """Refuse other than one cell where one is meant, and none at all."""
    if n == 0 or (number.pick == "only" and n != 1):
        raise _error(number, f"{n} cells, {'one is' if number.pick == 'only' else 'some are'} meant", cell)


def _error(number: PublishedNumber, problem: str, cell: Cell) -> InputError:
    place = ", ".join(f"{column}={value}" for column, value in cell.items())
    return InputError(problem, file=PUBLISHED / f"{number.file}.csv", found=place or "all rows")
