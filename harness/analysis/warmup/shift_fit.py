# SPDX-License-Identifier: Apache-2.0
"""One regression of a series on its levels, with the correlation of neighbouring windows fitted together.

    y[t] - level[t] = rho (y[t-1] - level[t-1]) + innovation[t]

Innovations enter by Huber's loss, so a jump alone counts for little in heavy-tailed noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

#: Where Huber's loss turns from square to linear, in standard deviations of innovations.
CORNER = 2.0
#: Correlations tried. Above .99 a series wanders as a random walk and no level exists.
CORRELATIONS = np.concatenate([np.linspace(-0.5, 0.7, 13), np.linspace(0.75, 0.99, 13)])


@dataclass(frozen=True, kw_only=True)
class ShiftModel:
    """One fitted model: ``shifts`` (first window of each new level), its loss and its noise."""

    shifts: tuple[int, ...]
    levels: FloatArray  # shape (len(shifts) + 1,), in the unit of the series
    rho: float
    loss: float  # -2 log likelihood up to a constant
    innovations: FloatArray  # shape (n - 1,), in units of their scale
    gains: FloatArray  # shape (len(shifts),): what each shift is worth, least squares

    def priced(self, price: float) -> float:
        """Loss plus the price of its shifts."""
        return self.loss + price * len(self.shifts)


def fit(
    series: FloatArray, shifts: tuple[int, ...], scale: float, near: ShiftModel | None = None
) -> ShiftModel:
    """Fit levels and rho by iteratively reweighted least squares, rho over a grid.

    ``near``: a model of one more shift; its weights and rho are a good start.
    """
    now, before = series[1:], series[:-1]
    rhos, weights, rounds = CORRELATIONS, np.ones(len(now)), 6
    if near is not None:
        at = int(np.abs(CORRELATIONS - near.rho).argmin())
        rhos, rounds = CORRELATIONS[max(at - 3, 0) : at + 5], 3
        weights = _weights(near.innovations)
    column = np.array((0, *shifts))
    for _ in range(rounds):
        gram, cross, squares = _moments(now, before, weights, column, rhos)
        inverse = np.linalg.inv(gram)
        levels = np.einsum("rij,rj->ri", inverse, cross)
        rss = squares - (cross * levels).sum(axis=1)
        best = int(rss.argmin())
        rho, steps = float(rhos[best]), levels[best]
        fitted = np.repeat(np.cumsum(steps), np.diff(np.append(column, len(series))))
        deviation = series - fitted
        innovations = (deviation[1:] - rho * deviation[:-1]) / scale
        weights = _weights(innovations)
    worth = levels[:, 1:] ** 2 / np.einsum("rii->ri", inverse)[:, 1:]
    gains = ((rss[:, None] + worth).min(axis=0) - rss[best]) / scale**2 if shifts else np.empty(0)
    return ShiftModel(
        shifts=shifts,
        levels=np.cumsum(steps),
        rho=rho,
        loss=float(_huber(innovations).sum()),
        innovations=innovations,
        gains=gains,
    )


def _moments(
    now: FloatArray,
    before: FloatArray,
    weights: FloatArray,
    column: npt.NDArray[np.int64],
    rhos: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Normal equations of the step regression for every rho, shapes (r, p, p), (r, p), (r,).

    Columns are steps that begin at ``column``. Their products are sums of weights from the
    later of two steps on, so no n x p matrix is built.
    """

    def from_window(summand: FloatArray) -> FloatArray:
        # Entry u: sum over the rows of window u and later; rows begin at window 1.
        tail = np.append(np.cumsum(summand[::-1])[::-1], 0.0)
        return np.append(tail[0], tail)

    weight_tail = from_window(weights)
    here, shifted = column, column + 1
    same = weight_tail[np.maximum.outer(here, here)]
    mixed = weight_tail[np.maximum.outer(here, shifted)]
    lagged = weight_tail[np.maximum.outer(shifted, shifted)]
    tail_now, tail_before = from_window(weights * now), from_window(weights * before)
    r = rhos[:, None]
    gram = same - r[:, :, None] * (mixed + mixed.T) + (r * r)[:, :, None] * lagged
    cross = tail_now[here] - r * (tail_before[here] + tail_now[shifted]) + r * r * tail_before[shifted]
    innovation = now[None, :] - r * before[None, :]
    squares = (innovation * innovation) @ weights
    return gram, cross, squares


def scan(series: FloatArray, scale: FloatArray, rho: float, min_size: int) -> tuple[FloatArray, FloatArray]:
    """Loss without a shift, shape (b,), and what one shift at each place gains, shape (b, n - 2 min_size + 1).

    ``series`` has shape (b, n), ``scale`` (b, 1). The jump's own row keeps Huber's loss; the
    rows after it, which a shift moves by (1 - rho) of its size, enter to second order.
    """
    n = series.shape[1]
    rows = n - 1
    innovation = (series[:, 1:] - rho * series[:, :-1]) / scale
    # From the median: beside a step of many scales the mean lies between the levels, where every row is clipped.
    innovation = innovation - np.median(innovation, axis=1, keepdims=True)
    for _ in range(3):  # reweighting steps towards Huber's location; none of them can overshoot
        clipped = np.clip(innovation, -CORNER, CORNER)
        weight = np.mean(_weights(innovation), axis=1, keepdims=True)
        innovation = innovation - clipped.mean(axis=1, keepdims=True) / weight
    clipped = np.clip(innovation, -CORNER, CORNER)
    inside = np.mean(clipped == innovation, axis=1, keepdims=True)
    # Two levels of equal length may leave no row inside; the loss then still bends, by the weights.
    inside = np.maximum(inside, 0.5 * np.mean(_weights(innovation), axis=1, keepdims=True))
    at = np.arange(min_size, n - min_size + 1) - 1
    pull = -np.cumsum(clipped, axis=1)[:, at] * (1.0 - rho)
    after = rows - 1 - at
    stiffness = (1.0 - rho) ** 2 * inside * (after * (rows - after) / rows)
    jump = innovation[:, at]
    size = (jump + pull) / (1.0 + stiffness)
    rest = jump - size
    linear = (np.sign(rest) * CORNER + pull) / np.maximum(stiffness, 1e-12)
    size = np.where(np.abs(rest) > CORNER, linear, size)
    gain = _huber(jump) - _huber(jump - size) + 2.0 * pull * size - stiffness * size * size
    loss: FloatArray = _huber(innovation).sum(axis=1)
    return loss, gain


def _huber(value: FloatArray) -> FloatArray:
    clipped = np.clip(value, -CORNER, CORNER)
    loss: FloatArray = clipped * (2.0 * value - clipped)  # square inside, linear outside
    return loss


def _weights(innovations: FloatArray) -> FloatArray:
    weights: FloatArray = np.minimum(1.0, CORNER / np.maximum(np.abs(innovations), 1e-9))
    return weights
