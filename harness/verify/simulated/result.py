# SPDX-License-Identifier: Apache-2.0
"""What a verification says: its bar, its control, and every cell with its own limits and its Monte Carlo interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field, computed_field
from scipy import stats

from harness.model.base import Frozen

#: Of the Monte Carlo intervals: what the number of simulations leaves open, not what the method does.
LEVEL = 0.95


class Cell(Frozen):
    """One number of a simulation and the limits it must keep. ``None``: no limit on that side."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    control: bool = Field(default=False, description="must fail where the method holds: the simulator bites")
    low: float | None = Field(
        default=None, description="end of the 95 % Monte Carlo interval; None: a largest error or a median"
    )
    high: float | None = None

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


class _Limits(TypedDict, total=False):
    """What every kind of cell may be given beside its value."""

    at_least: float | None
    at_most: float | None
    control: bool


def share(n: int, *, name: str, value: float, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell whose value is a share of ``n`` independent experiments, with Wilson's interval."""
    low, high = _wilson(round(value * n), n)
    return Cell(name=name, value=value, low=low, high=high, **limits)


def average(values: ArrayLike, *, name: str, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell whose value is a mean over independent experiments, shape (sims,), with its t interval."""
    x = np.asarray(values, dtype=np.float64)
    half = float(stats.t.ppf(0.5 + LEVEL / 2, x.size - 1) * x.std(ddof=1) / sqrt(x.size))
    mean = float(x.mean())
    return Cell(name=name, value=mean, low=mean - half, high=mean + half, **limits)


def frequency(count: int, exposure: float, *, name: str, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell whose value is events over an exposure (minutes, series), with the exact Poisson interval."""
    low = float(stats.chi2.ppf((1 - LEVEL) / 2, 2 * count)) / 2 if count else 0.0
    high = float(stats.chi2.ppf((1 + LEVEL) / 2, 2 * count + 2)) / 2
    return Cell(name=name, value=count / exposure, low=low / exposure, high=high / exposure, **limits)


def f1(right: int, found: int, truth: int, *, name: str, **limits: Unpack[_Limits]) -> Cell:
    """Return a cell of an F1: of all that was found or was to be found, the share that is both, J, in Wilson's
    interval; F1 = 2 J / (1 + J)."""
    events = found + truth - right
    if events == 0:
        return Cell(name=name, value=1.0, **limits)
    low, high = (2 * j / (1 + j) for j in _wilson(right, events))
    return Cell(name=name, value=2 * right / (found + truth), low=low, high=high, **limits)


def _wilson(count: int, n: int) -> tuple[float, float]:
    low, high = stats.binomtest(count, n).proportion_ci(LEVEL, method="wilson")
    return float(low), float(high)


class VerifyResult(Frozen):
    """One verification. ``holds`` only when every cell does, the controls included."""

    name: str
    bar: str
    control: str
    cells: tuple[Cell, ...]
    sims: int = Field(description="simulated experiments a cell")
    seed: int
    holds: bool
    open_problem: str | None = Field(default=None, description="what no bar is set for, with its figures")


def result(
    name: str,
    *,
    bar: str,
    control: str,
    cells: Sequence[Cell],
    sims: int,
    seed: int,
    open_problem: str | None = None,
) -> VerifyResult:
    """Put a result together; it holds when all of its cells do."""
    return VerifyResult(
        name=name, bar=bar, control=control, cells=tuple(cells), sims=sims, seed=seed,
        holds=all(cell.holds for cell in cells), open_problem=open_problem,
    )  # fmt: skip
