# SPDX-License-Identifier: Apache-2.0
"""What a verification says: its bar, its control, and every cell with its own limits and its Monte Carlo interval."""

from __future__ import annotations

from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from pydantic import computed_field
from scipy import stats

from harness.model import Estimate, Frozen

#: Of the Monte Carlo intervals: what the number of simulations leaves open, not what the method does.
LEVEL = 0.95


class Cell(Frozen):
    """One number of a simulation and the limits it must keep. ``None``: no limit on that side."""

    name: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    control: bool = False  # must fail where the method holds: the simulator bites
    low: float | None = None  # end of the 95 % Monte Carlo interval; None: a largest error or a median
    high: float | None = None

    @computed_field  # type: ignore[prop-decorator]  # pydantic puts it on a property, so that --json has it
    @property
    def holds(self) -> bool:
        """The value keeps both limits."""
        above = self.at_least is None or self.value >= self.at_least
        return above and (self.at_most is None or self.value <= self.at_most)

    @property
    def limits(self) -> list[float]:
        """The limits there are."""
        return [limit for limit in (self.at_least, self.at_most) if limit is not None]

    @property
    def close(self) -> bool:
        """A limit lies strictly inside the interval: with other random numbers the cell might be judged otherwise."""
        if self.low is None or self.high is None:
            return False
        return any(self.low < limit < self.high for limit in self.limits)

    @property
    def refuted(self) -> bool:
        """The value misses a limit by more than the simulations leave open."""
        return not self.holds and not self.close


def contains(estimate: Estimate, truth: float) -> bool:
    """Whether an estimate has an interval, and the truth lies in it."""
    return estimate.low is not None and estimate.high is not None and estimate.low <= truth <= estimate.high


class _Limits(TypedDict, total=False):
    at_least: float | None
    at_most: float | None
    control: bool


def share(n: int, *, name: str, value: float, **limits: Unpack[_Limits]) -> Cell:
    """Return a share of ``n`` independent experiments, with Wilson's interval; without any it misses its limit."""
    if n == 0:
        return Cell(name=name, value=0.0 if limits.get("at_least") is not None else 1.0, **limits)
    low, high = stats.binomtest(round(value * n), n).proportion_ci(LEVEL, method="wilson")
    return Cell(name=name, value=round(value * n) / n, low=float(low), high=float(high), **limits)


class VerifyResult(Frozen):
    """One verification. ``holds`` when no cell is refuted, the controls included; some may be undecided."""

    name: str
    bar: str
    control: str
    cells: tuple[Cell, ...]
    sims: int  # simulated experiments a cell
    seed: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def holds(self) -> bool:
        """No cell is refuted."""
        return not any(cell.refuted for cell in self.cells)

    @property
    def undecided(self) -> tuple[Cell, ...]:
        """The cells whose limit lies within what the simulations leave open."""
        return tuple(cell for cell in self.cells if cell.close)


class Cells(list[Cell]):
    """The cells of one verification as they come, each of ``sims`` experiments unless it says otherwise."""

    def __init__(self, name: str, sims: int, seed: int, *, bar: str, control: str) -> None:
        super().__init__()
        self._name, self._sims, self._seed, self._bar, self._control = name, sims, seed, bar, control

    def share(self, name: str, value: float, n: int | None = None, **limits: Unpack[_Limits]) -> None:
        """Add a share of ``n`` independent experiments."""
        self.append(share(self._sims if n is None else n, name=name, value=value, **limits))

    def average(self, name: str, values: ArrayLike, **limits: Unpack[_Limits]) -> None:
        """Add a mean over independent experiments, shape (sims,), with its t interval."""
        x = np.asarray(values, dtype=np.float64)
        mean, within = float(x.mean()), stats.sem(x) * stats.t.ppf((1 + LEVEL) / 2, x.size - 1)
        self.append(Cell(name=name, value=mean, low=mean - within, high=mean + within, **limits))

    def plain(self, name: str, value: float, **limits: Unpack[_Limits]) -> None:
        """Add a number without an interval, such as a largest error or a median."""
        self.append(Cell(name=name, value=value, **limits))

    def result(self) -> VerifyResult:
        """Return the verification."""
        return VerifyResult(
            name=self._name, bar=self._bar, control=self._control, cells=tuple(self), sims=self._sims,
            seed=self._seed,
        )  # fmt: skip
