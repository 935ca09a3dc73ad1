# SPDX-License-Identifier: Apache-2.0
"""What a verification says: its bar, its control, and every cell with its own limits and its Monte Carlo interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import nan, sqrt
from typing import Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, computed_field
from scipy import stats

from harness.model import Estimate, Frozen

#: Of the Monte Carlo intervals: what the number of simulations leaves open, not what the method does.
LEVEL = 0.95


class Tally(Frozen):
    """What a cell's value is made of, as sums that add up over rounds of simulations.

    ``share``: hits, experiments; ``average``: experiments, sum, sum of squares; ``frequency``: events, exposure;
    ``f1``: right, found, to be found.
    """

    kind: Literal["share", "average", "frequency", "f1"]
    sums: tuple[float, ...]


class Cell(Frozen):
    """One number of a simulation and the limits it must keep. ``None``: no limit on that side."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    control: bool = False  # must fail where the method holds: the simulator bites
    low: float | None = None  # end of the 95 % Monte Carlo interval; None: a largest error or a median
    high: float | None = None
    tally: Tally | None = None  # None: judged by its first round alone

    @computed_field  # type: ignore[prop-decorator]  # pydantic puts it on a property, so that --json has it
    @property
    def holds(self) -> bool:
        """The value keeps both limits."""
        above = self.at_least is None or self.value >= self.at_least
        return above and (self.at_most is None or self.value <= self.at_most)

    @property
    def barred(self) -> bool:
        """There is a limit to keep."""
        return self.at_least is not None or self.at_most is not None

    @property
    def close(self) -> bool:
        """A limit lies strictly inside the interval: with other random numbers the cell might be judged otherwise."""
        if self.low is None or self.high is None:
            return False
        limits = [limit for limit in (self.at_least, self.at_most) if limit is not None]
        return any(self.low < limit < self.high for limit in limits)

    @property
    def refuted(self) -> bool:
        """The value misses a limit by more than the simulations leave open."""
        return not self.holds and not self.close


def contains(estimate: Estimate, truth: float) -> bool:
    """Whether an estimate has an interval, and the truth lies in it."""
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


class _Limits(TypedDict, total=False):
    """What every kind of cell may be given beside its value."""

    at_least: float | None
    at_most: float | None
    control: bool


def share(n: int, *, name: str, value: float, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell whose value is a share of ``n`` independent experiments, with Wilson's interval.

    Without an experiment it misses its limit.
    """
    if n == 0:
        return Cell(name=name, value=0.0 if limits.get("at_least") is not None else 1.0, **limits)
    return _of(Tally(kind="share", sums=(round(value * n), n)), name=name, **limits)


def average(values: ArrayLike, *, name: str, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell whose value is a mean over independent experiments, shape (sims,), with its t interval."""
    x = np.asarray(values, dtype=np.float64)
    sums = (x.size, float(x.sum()), float((x**2).sum()))
    return _of(Tally(kind="average", sums=sums), name=name, **limits)


def frequency(count: int, exposure: float, *, name: str, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell whose value is events over an exposure (minutes, series), with the exact Poisson interval."""
    return _of(Tally(kind="frequency", sums=(count, exposure)), name=name, **limits)


def f1(right: int, n_found: int, truth: int, *, name: str, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell of an F1: of all that was found or was to be found, the share that is both, J, in Wilson's
    interval; F1 = 2 J / (1 + J)."""
    return _of(Tally(kind="f1", sums=(right, n_found, truth)), name=name, **limits)


def pooled(rounds: Sequence[Cell]) -> Cell:
    """Return one cell of several rounds of it. One without sums, such as a largest error, stays that of the first."""
    first, tallies = rounds[0], [cell.tally for cell in rounds]
    if first.tally is None or any(tally is None or tally.kind != first.tally.kind for tally in tallies):
        return first
    sums = np.sum([tally.sums for tally in tallies if tally is not None], axis=0)
    return _of(
        Tally(kind=first.tally.kind, sums=tuple(sums.tolist())),
        name=first.name, at_least=first.at_least, at_most=first.at_most, control=first.control,
    )  # fmt: skip


def _of(tally: Tally, *, name: str, **limits: Unpack[_Limits]) -> Cell:
    """Return the cell that these sums make: its value, and its Monte Carlo interval."""
    value, low, high = _JUDGED[tally.kind](*tally.sums)
    return Cell(name=name, value=value, low=low, high=high, tally=tally, **limits)


Judged = tuple[float, float | None, float | None]


def _average(n: float, total: float, squares: float) -> Judged:
    if n < 2:
        return total / n if n else nan, None, None
    mean = total / n
    spread = sqrt(max(squares - n * mean**2, 0.0) / (n - 1))
    half = float(stats.t.ppf(0.5 + LEVEL / 2, n - 1)) * spread / sqrt(n)
    return mean, mean - half, mean + half


def _frequency(count: float, exposure: float) -> Judged:
    low = float(stats.chi2.ppf((1 - LEVEL) / 2, 2 * count)) / 2 if count else 0.0
    high = float(stats.chi2.ppf((1 + LEVEL) / 2, 2 * count + 2)) / 2
    return count / exposure, low / exposure, high / exposure


def _f1(right: float, n_found: float, truth: float) -> Judged:
    events = n_found + truth - right
    if events == 0:
        return 1.0, None, None
    low, high = (2 * j / (1 + j) for j in _wilson(right, events))
    return 2 * right / (n_found + truth), low, high


def _wilson(count: float, n: float) -> tuple[float, float]:
    low, high = stats.binomtest(round(count), round(n)).proportion_ci(LEVEL, method="wilson")
    return float(low), float(high)


#: What each kind of sums makes: the value, and both ends of its interval.
_JUDGED: dict[str, Callable[..., Judged]] = {
    "share": lambda count, n: (count / n, *_wilson(count, n)),
    "average": _average,
    "frequency": _frequency,
    "f1": _f1,
}


class VerifyResult(Frozen):
    """One verification. ``holds`` when no cell is refuted, the controls included; some may be undecided."""

    name: str
    bar: str
    control: str
    cells: tuple[Cell, ...]
    sims: int  # simulated experiments a cell, in one round
    rounds: int = Field(default=1, ge=1)  # until no cell was undecided
    seed: int
    open_problem: str | None = None  # what no bar is set for, with its figures

    @computed_field  # type: ignore[prop-decorator]
    @property
    def holds(self) -> bool:
        """No cell is refuted."""
        return not any(cell.refuted for cell in self.cells)

    @property
    def undecided(self) -> tuple[Cell, ...]:
        """The cells whose limit lies within what the simulations leave open."""
        return tuple(cell for cell in self.cells if cell.close)


def together(rounds: Sequence[VerifyResult]) -> VerifyResult:
    """Return one result of several rounds of the same row, cell by cell."""
    cells = tuple(pooled(same) for same in zip(*(item.cells for item in rounds), strict=True))
    return rounds[0].model_copy(update={"cells": cells, "rounds": len(rounds)})


class Cells:
    """The cells of one verification as they come, each of ``sims`` experiments unless it says otherwise."""

    def __init__(self, name: str, sims: int, seed: int, *, bar: str, control: str) -> None:
        self._name, self._sims, self._seed, self._bar, self._control = name, sims, seed, bar, control
        self._cells: list[Cell] = []

    def share(self, name: str, value: float, n: int | None = None, **limits: Unpack[_Limits]) -> None:
        """Add a share of ``n`` independent experiments."""
        self._cells.append(share(self._sims if n is None else n, name=name, value=value, **limits))

    def average(self, name: str, values: ArrayLike, **limits: Unpack[_Limits]) -> None:
        """Add a mean over independent experiments."""
        self._cells.append(average(values, name=name, **limits))

    def frequency(self, name: str, count: int, exposure: float, **limits: Unpack[_Limits]) -> None:
        """Add events over an exposure."""
        self._cells.append(frequency(count, exposure, name=name, **limits))

    def f1(self, name: str, right: int, n_found: int, truth: int, **limits: Unpack[_Limits]) -> None:
        """Add an F1."""
        self._cells.append(f1(right, n_found, truth, name=name, **limits))

    def plain(self, name: str, value: float, **limits: Unpack[_Limits]) -> None:
        """Add a number without an interval, such as a largest error or a median."""
        self._cells.append(Cell(name=name, value=value, **limits))

    def extend(self, cells: Iterable[Cell]) -> None:
        """Add cells that were made elsewhere."""
        self._cells += cells

    def result(self, open_problem: str | None = None) -> VerifyResult:
        """Return the verification."""
        return VerifyResult(
            name=self._name, bar=self._bar, control=self._control, cells=tuple(self._cells), sims=self._sims,
            seed=self._seed, open_problem=open_problem,
        )  # fmt: skip
