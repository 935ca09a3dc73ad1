# SPDX-License-Identifier: Apache-2.0
"""Where a curve against load bends, that of latency or that of answers: segmented regression, bootstrap over trials.

Model: y = a + b load + c max(0, load - knee), by least squares over a grid of knees (a regression with an unknown
join point: Hudson 1966; Muggeo 2003 calls it segmented). The interval is the percentile interval of a bootstrap that
resamples whole trials within each load, because requests of one trial are no independent news.

``knee``: y is log latency, and c > 0. Latency stands as its logarithm: beyond the knee it grows by factors, as long as
requests keep coming. ``saturation``: y is right answers per second, and c < 0. A load that ends after seconds piles up
no more than it has, so its log latency flattens again and shows no knee; what is answered flattens all the same.

The knee lies between loads that were offered, so a coarse grid of loads makes a coarse knee, and the
percentile interval of few trials is too narrow (see :mod:`harness.analysis.stats.bootstrap`). Where the best bend is
the first or the last that is looked for, the true one may lie outside: then there is none. Where only an end of
the interval is, that end is open. All this is said in the estimate's warnings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.inputs import Floats, trial_values
from harness.errors import InputError
from harness.model import Estimate

#: Fewer distinct loads than this leave a segment without a load to spare: each needs three points.
MIN_LOADS = 6
#: Candidate knees between the second load and the last but one; beyond these a bend cannot be told from a point
#: that lies off the line.
GRID = 121
#: The bend must take this share of the squares that a straight line leaves, else there is none.
MIN_GAIN = 0.5
#: A bend found in fewer resamples than this is not one that another session would show.
MIN_FOUND_SHARE = 0.9
_HOW = "segmented regression of {}, bootstrap over trials"


class _Sought(NamedTuple):
    """What is looked for: the quantity that bends, and the estimand in words."""

    quantity: str
    estimand: str

    @property
    def method(self) -> str:
        return _HOW.format(self.quantity)


_KNEE = _Sought("log latency", "load at which log latency begins to rise faster")
_SATURATION = _Sought("right answers per second", "load up to which right answers follow what is offered")


def knee(
    load_per_s: ArrayLike,
    latency_s: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 500,
    seed: int = 0,
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the load at which latency begins to rise faster, in the unit of ``load_per_s``.

    Args:
        load_per_s, latency_s: one value per trial, shape (k,), both above zero.

    Returns:
        An estimate without value where no bend is shown, and why in its warnings; with one bound ``None`` where
        the interval is open on that side.

    Raises:
        InputError: lengths that differ, or values that are not above zero.
    """
    load, latency = _pairs(load_per_s, latency_s, "latency_s")
    if (latency <= 0).any():
        raise InputError("latencies are above zero", found="0 or less", allowed="positive numbers")
    return _bend(load, np.log(latency), _KNEE, level, n_resamples, seed, inputs)


def saturation(
    load_per_s: ArrayLike,
    answered_per_s: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 500,
    seed: int = 0,
    inputs: tuple[str, ...] = (),
) -> Estimate:
    """Return the load beyond which right answers fall behind what is offered, in the unit of ``load_per_s``.

    Args:
        load_per_s, answered_per_s: one value per trial, shape (k,); loads above zero, answers not below.

    Returns:
        An estimate as ``knee`` gives it.

    Raises:
        InputError: lengths that differ, or values that cannot be.
    """
    load, answered = _pairs(load_per_s, answered_per_s, "answered_per_s")
    if (answered < 0).any():
        raise InputError("answers are counted", found="less than 0", allowed="0 or more per second")
    return _bend(load, -answered, _SATURATION, level, n_resamples, seed, inputs)


def _pairs(load_per_s: ArrayLike, values: ArrayLike, name: str) -> tuple[Floats, Floats]:
    load, other = trial_values(load_per_s, "load_per_s"), trial_values(values, name)
    if load.shape != other.shape:
        raise InputError(f"one {name} per load", found=f"{other.shape}", allowed=f"{load.shape}")
    if (load <= 0).any():
        raise InputError("loads are above zero", found="0 or less", allowed="positive numbers")
    return load, other


def _bend(
    load: Floats,
    y: Floats,
    sought: _Sought,
    level: float,
    n_resamples: int,
    seed: int,
    inputs: tuple[str, ...],
) -> Estimate:
    """Return where y begins to rise faster."""
    loads = np.unique(load)
    if loads.size < MIN_LOADS:
        return _none(load, sought, level, inputs, f"{loads.size} loads, {MIN_LOADS} needed for two segments")
    groups = [y[load == one] for one in loads]
    sizes = np.array([group.size for group in groups], dtype=np.float64)
    fit = _Fit(loads, sizes)
    found, gain = fit.best(
        np.array([[group.mean()] for group in groups]),
        np.array([sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)]),
    )
    if not np.isfinite(found[0]) or gain[0] < MIN_GAIN:
        return _none(load, sought, level, inputs, "no bend: a straight line fits as well")
    again, gained = fit.best(*_resampled(groups, n_resamples, np.random.default_rng(seed)))
    draws = again[np.isfinite(again) & (gained >= MIN_GAIN)]
    if draws.size < MIN_FOUND_SHARE * n_resamples:
        share = draws.size / max(n_resamples, 1)
        return _none(load, sought, level, inputs, f"a bend in {share:.0%} of the resamples only")
    first, last = fit.reach
    if not first < found[0] < last:
        side = "before" if found[0] <= first else "beyond"
        edge = f"it may lie {side} {found[0]:.4g} per second, where too few loads were offered"
        return _none(load, sought, level, inputs, f"the bend is at the edge of what can be told: {edge}")
    low, high = (float(q) for q in np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]))
    fewest = int(sizes.min())
    return Estimate(
        value=float(found[0]),
        low=low if low > first else None,
        high=high if high < last else None,
        level=level,
        unit="1/s",
        method=sought.method,
        estimand=sought.estimand,
        n_trials=load.size,
        seed=seed,
        inputs=inputs,
        warnings=(
            f"{loads.size} loads: the bend is no finer than they are",
            *(
                ["the interval is open below: no bend before the second load could be told"]
                if low <= first
                else []
            ),
            *(
                ["the interval is open above: no bend after the last load but one could be told"]
                if high >= last
                else []
            ),
            *([f"{fewest} trials at a load: the interval is too narrow"] if fewest < 10 else []),
        ),
    )


class _Fit:
    """Least squares of both models for many sets of group means at once.

    Loads repeat, so the squares of a fit are those within the groups, the same for every model, and those
    of the weighted group means, for which a projection a candidate is enough.
    """

    def __init__(self, loads: Floats, sizes: Floats) -> None:
        self._weights = np.sqrt(sizes)[:, None]
        straight = np.column_stack([np.ones_like(loads), loads])
        self._line = np.linalg.qr(straight * self._weights)[0]
        self._knees = np.linspace(loads[1], loads[-2], GRID)
        bends = [
            np.linalg.qr(np.column_stack([straight, np.maximum(0.0, loads - at)]) * self._weights)
            for at in self._knees
        ]
        #: what the bend adds to the line: one direction a candidate, turned so that upwards is positive
        self._bends = np.array([q[:, 2] * np.sign(r[2, 2]) for q, r in bends])

    @property
    def reach(self) -> tuple[float, float]:
        """Between which a knee can be told: one step of the grid within its ends."""
        return float(self._knees[1]), float(self._knees[-2])

    def best(self, means: Floats, within: Floats) -> tuple[Floats, Floats]:
        """Return the knee of least squares that bends upwards, and the share of the line's squares it takes.

        Args:
            means: of y, shape (loads, sets). within: squares within the groups, shape (sets,).

        Returns:
            Two arrays of shape (sets,); NaN: no candidate bends upwards.
        """
        y = means * self._weights
        left = within + np.sum((y - self._line @ (self._line.T @ y)) ** 2, axis=0)
        along = self._bends @ y
        gains = np.where(along > 0, along**2, -np.inf)
        place = np.argmax(gains, axis=0)
        most = gains[place, np.arange(y.shape[1])]
        upwards = np.isfinite(most)
        share = np.divide(most, left, out=np.zeros_like(left), where=upwards & (left > 0))
        return np.where(upwards, self._knees[place], np.nan), share


def _resampled(groups: list[Floats], n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Means and squares within the groups when whole trials are drawn anew within each load."""
    means, within = [], np.zeros(n)
    for group in groups:
        drawn = group[rng.integers(0, group.size, (n, group.size))]
        means.append(drawn.mean(axis=1))
        within += np.sum((drawn - drawn.mean(axis=1, keepdims=True)) ** 2, axis=1)
    return np.array(means), within


def _none(load: Floats, sought: _Sought, level: float, inputs: tuple[str, ...], why: str) -> Estimate:
    return nothing(
        why, estimand=sought.estimand, unit="1/s", level=level, method=sought.method, n_trials=load.size, inputs=inputs
    )  # fmt: skip
