# SPDX-License-Identifier: Apache-2.0
"""Numbers of ``data/published`` that a claim names: a cell, the ratio of two, or how often one row is the highest."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from harness.errors import InputError
from harness.evidence.published import FOLDER
from harness.model.claim import Cell, PublishedNumber


@dataclass(frozen=True)
class PublishedTables:
    """The published tables below ``root``; each is read once, and each of its parts is chosen once."""

    root: Path
    _read: dict[str, pd.DataFrame] = field(default_factory=dict)
    _chosen: dict[tuple[str, frozenset[tuple[str, str]]], pd.DataFrame] = field(default_factory=dict)

    def value(self, number: PublishedNumber) -> float:
        """Return the number, in the table's unit times ``factor``; a ratio has no unit.

        Raises:
            InputError: no such table or column, a value that is no number, or other than one cell where one is meant.
        """
        if number.pick == "wins":
            return float(self._wins(number))
        values = self._side(number, number.of, number.column)
        if number.is_ratio:
            base = self._side(number, number.over or number.of, number.over_column or number.column)
            values = (values / base).dropna()
        if number.pick == "only" and len(values) != 1:
            raise self._error(number, f"{len(values)} cells, one is meant", number.of)
        if values.empty:
            raise self._error(number, "no such cells", number.of)
        return number.factor * float(values.min() if number.pick == "least" else values.max())

    def _side(self, number: PublishedNumber, cell: Cell, column: str) -> pd.Series[float]:
        """The values of one side, by what pairs them with the other; one value alone has no such thing."""
        rows = self._rows(number, cell)
        self._has(number, (column, *number.by))
        if not pd.api.types.is_numeric_dtype(rows[column]):
            raise self._error(number, f"{column} is no column of numbers", cell)
        present = rows[rows[column].notna()]
        if number.pick == "only" and len(present) != 1:
            raise self._error(number, f"{len(present)} cells, one is meant", cell)
        index = pd.MultiIndex.from_frame(present[list(number.by)]) if number.by else range(len(present))
        return pd.Series(present[column].to_numpy(dtype="float64"), index=index)

    def _wins(self, number: PublishedNumber) -> int:
        frame = self._frame(number.file)
        self._has(number, (number.column, *number.by))
        best = frame.loc[frame.groupby(list(number.by), sort=False)[number.column].idxmax()]
        return int(_matching(best, number.of).sum())

    def _rows(self, number: PublishedNumber, cell: Cell) -> pd.DataFrame:
        self._has(number, tuple(cell))
        key = number.file, frozenset((column, str(value)) for column, value in cell.items())
        if key not in self._chosen:
            frame = self._frame(number.file)
            self._chosen[key] = frame[_matching(frame, cell)]
        return self._chosen[key]

    def _has(self, number: PublishedNumber, columns: tuple[str, ...]) -> None:
        frame = self._frame(number.file)
        for column in columns:
            if column not in frame:
                raise InputError(
                    "no such column", file=FOLDER / f"{number.file}.csv", found=column,
                    allowed=", ".join(map(str, frame.columns)),
                )  # fmt: skip

    def _frame(self, file: str) -> pd.DataFrame:
        if file not in self._read:
            path = self.root / FOLDER / f"{file}.csv"
            try:
                self._read[file] = pd.read_csv(path, comment="#")
            except (OSError, ValueError) as error:
                raise InputError(f"cannot be read ({error})", file=FOLDER / path.name) from None
        return self._read[file]

    def _error(self, number: PublishedNumber, problem: str, cell: Cell) -> InputError:
        said = ", ".join(f"{column}={value}" for column, value in cell.items())
        return InputError(problem, file=FOLDER / f"{number.file}.csv", found=said or "all rows")


def _matching(frame: pd.DataFrame, cell: Cell) -> pd.Series[bool]:
    chosen = pd.Series(data=True, index=frame.index)
    for column, value in cell.items():
        chosen &= frame[column].astype(str) == str(value)
    return chosen
