# SPDX-License-Identifier: Apache-2.0
"""Does each published ratio agree with the two table cells it comes from? A paper that says both must not differ.

A ratio of geometric means over blocks is the ratio of two geometric means over the same trials, but for rounding. A
table whose cells are arithmetic means of the same trials differs from it by their scatter, and agrees where the ratio
of its cells lies within the interval of the published one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from harness.model.digits import plain
from harness.publish.generated import GENERATED, contributions

#: Of what is one number, computed in two ways.
SAME = 1e-6
_RATIO = re.compile(r"ratio of geometric means over trials of (?P<metric>\w+)")
_MEAN = re.compile(r"(?P<mean>geometric|arithmetic) mean over trials of (?P<metric>\w+)")


class Checked(NamedTuple):
    """A published ratio beside the two cells of one table that hold the same trials, numerator first."""

    key: str
    ratio: float
    table: str
    cells: tuple[float, float]
    agrees: bool

    @property
    def words(self) -> str:
        """Both numbers in one line."""
        above, below = self.cells
        return (
            f"{self.key} is {plain(self.ratio, 4)}, the cells of table {self.table} it comes from are "
            f"{plain(above, 4)} and {plain(below, 4)}, a ratio of {plain(above / below, 4)}"
        )


class _CellOf(NamedTuple):
    table: str
    mean: str
    value: float


def checked_ratios(root: Path) -> tuple[Checked, ...]:
    """Return every published ratio of geometric means that has both its means in one table."""
    parts = contributions(root / GENERATED)
    cells = _cells(parts)
    return tuple(
        one for part in parts for key, entry in part["values"].items() for one in _check(key, entry, cells)
    )


def contradictions(root: Path) -> tuple[str, ...]:
    """Return one line for each published ratio that its own table contradicts."""
    return tuple(one.words for one in checked_ratios(root) if not one.agrees)


def _cells(
    parts: tuple[dict[str, Any], ...],
) -> Mapping[tuple[str, frozenset[str]], list[_CellOf]]:
    """(metric, trials) -> the means of tables over just these trials."""
    found: dict[tuple[str, frozenset[str]], list[_CellOf]] = {}
    for part in parts:
        for table, entry in part["tables"].items():
            for cell in entry["estimates"]:
                said = _MEAN.match(cell["estimand"])
                if said is not None and cell["inputs"]:
                    trials = frozenset(entry["inputs"][place] for place in cell["inputs"])
                    mean = _CellOf(table, said["mean"], cell["value"])
                    found.setdefault((said["metric"], trials), []).append(mean)
    return found


def _check(
    key: str, entry: Mapping[str, Any], cells: Mapping[tuple[str, frozenset[str]], list[_CellOf]]
) -> Iterator[Checked]:
    said, trials = _RATIO.match(entry["estimand"]), entry["inputs"]
    if said is None or entry["value"] is None or len(trials) % 2:
        return
    half = len(trials) // 2  # the numerator's trials come first, in the order of the denominator's
    above, below = (cells.get((said["metric"], frozenset(arm)), []) for arm in (trials[:half], trials[half:]))
    pairs = [
        (one, other)
        for one, other in product(above, below)
        if (one.table, one.mean) == (other.table, other.mean) and other.value
    ]
    for table in dict.fromkeys(one.table for one, _ in pairs):
        # rows may be parts of the same trials: the ratio is that of one pair among them
        mine = [pair for pair in pairs if pair[0].table == table]
        one, other = next((pair for pair in mine if _agrees(entry, *pair)), mine[0])
        yield Checked(key, entry["value"], table, (one.value, other.value), _agrees(entry, one, other))


def _agrees(entry: Mapping[str, Any], above: _CellOf, below: _CellOf) -> bool:
    ratio, value = above.value / below.value, entry["value"]
    if above.mean == "geometric":
        return bool(abs(ratio - value) <= SAME * abs(value))
    low, high = entry["low"], entry["high"]
    return low is None or high is None or low <= ratio <= high
