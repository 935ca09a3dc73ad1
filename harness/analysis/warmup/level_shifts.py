# SPDX-License-Identifier: Apache-2.0
"""Which change points are shifts of the level, when windows follow each other.

PELT's change points are candidates in one regression with the correlation ``rho`` of neighbouring windows:

    y[t] - level[t] = rho (y[t-1] - level[t-1]) + innovation[t]

Innovations enter by Huber's loss, so that a jump alone counts for little. Candidates are dropped one by one; of these
models that of least ``loss + price x shifts`` is kept. The price is the quantile of the best gain of a single shift in
simulated series *without* any, with the fitted ``rho`` and resampled innovations.

Sources: Chakar et al. 2017, Romano et al. 2022 (DeCAFS), Cho & Fryzlewicz 2024 (WCM.gSa), Fearnhead & Rigaill 2019. The
combination is this project's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.formats.arrays import FloatArray

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
    """Fit levels and rho (over a grid) by iteratively reweighted least squares; ``near``: a model of one more shift."""
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
    now: FloatArray, before: FloatArray, weights: FloatArray, column: npt.NDArray[np.int64], rhos: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the normal equations of the step regression for every rho, shapes (r, p, p), (r, p), (r,)."""

    def from_window(summand: FloatArray) -> FloatArray:
        # Entry u: sum over the rows of window u and later; rows begin at window 1.
        tail = np.append(np.cumsum(summand[::-1])[::-1], 0.0)
        return np.append(tail[0], tail)

    weight_tail = from_window(weights)
    local, shifted = column, column + 1
    same = weight_tail[np.maximum.outer(local, local)]
    mixed = weight_tail[np.maximum.outer(local, shifted)]
    lagged = weight_tail[np.maximum.outer(shifted, shifted)]
    tail_now, tail_before = from_window(weights * now), from_window(weights * before)
    r = rhos[:, None]
    gram = same - r[:, :, None] * (mixed + mixed.T) + (r * r)[:, :, None] * lagged
    cross = tail_now[local] - r * (tail_before[local] + tail_now[shifted]) + r * r * tail_before[shifted]
    innovation = now[None, :] - r * before[None, :]
    squares = (innovation * innovation) @ weights
    return gram, cross, squares


def scan(series: FloatArray, scale: FloatArray, rho: float, min_size: int) -> tuple[FloatArray, FloatArray]:
    """Return the loss without a shift, shape (b,), and the gain of one at each place, shape (b, n - 2 min_size + 1), of
    ``series``, shape (b, n). The jump's own row keeps Huber's loss; the rest enter to second order."""
    n = series.shape[1]
    rows = n - 1
    innovation = (series[:, 1:] - rho * series[:, :-1]) / scale
    # From the median: beside a step of many scales the mean lies between the levels, where every row is clipped.
    innovation -= np.median(innovation, axis=1, keepdims=True)
    for _ in range(3):  # reweighting steps towards Huber's location; none of them can overshoot
        weight = np.mean(_weights(innovation), axis=1, keepdims=True)
        innovation -= np.clip(innovation, -CORNER, CORNER).mean(axis=1, keepdims=True) / weight
    clipped = np.clip(innovation, -CORNER, CORNER)
    inside = np.mean(clipped == innovation, axis=1, keepdims=True)
    # Two levels of equal length may leave no row inside; the loss then still bends, by the weights.
    inside = np.maximum(inside, 0.5 * np.mean(_weights(innovation), axis=1, keepdims=True))
    loss = _huber(innovation)
    at = np.arange(min_size, n - min_size + 1) - 1
    places = slice(min_size - 1, n - min_size)
    pull = np.cumsum(clipped, axis=1)[:, places] * (rho - 1.0)
    after = rows - 1 - at
    stiffness = (1.0 - rho) ** 2 * inside * (after * (rows - after) / rows)
    jump = innovation[:, places]
    size = (jump + pull) / (1.0 + stiffness)
    # Where the jump stays outside of the corner, its loss is linear.
    rest = jump - size
    linear = (np.copysign(CORNER, rest) + pull) / np.maximum(stiffness, 1e-12)
    size = np.where(np.abs(rest) > CORNER, linear, size)
    gain: FloatArray = loss[:, places] - _huber(jump - size) + 2.0 * pull * size - stiffness * size * size
    return loss.sum(axis=1), gain


def _huber(value: FloatArray) -> FloatArray:
    clipped = np.clip(value, -CORNER, CORNER)
    return np.asarray((2.0 * value - clipped) * clipped)  # square inside, linear outside


def _weights(innovations: FloatArray) -> FloatArray:
    return np.asarray(np.minimum(1.0, CORNER / np.maximum(np.abs(innovations), 1e-9)))


#: Price at which the segments are cut whose innovations calibrate the real price.
FIRST_PRICE = 18.0
N_SIMULATED = 100
MANY = 60
_EULER = 0.5772156649015329


@dataclass(frozen=True, kw_only=True)
class ShiftPath:
    """The nested models of one series, most shifts first, and the simulated null gains."""

    models: tuple[ShiftModel, ...]
    null_gains: FloatArray  # shape (N_SIMULATED,)
    scale: float

    def price(self, level: float) -> float:
        """Price of a shift that no-shift series exceed with probability ``level``: a Gumbel law of simulated gains."""
        width = float(self.null_gains.std()) * np.sqrt(6.0) / np.pi
        return float(self.null_gains.mean() - width * (_EULER + np.log(-np.log1p(-level))))


def shift_path(series: FloatArray, candidates: tuple[int, ...], *, min_size: int) -> ShiftPath:
    """Fit the path of models from all ``candidates``, ascending, down to none."""
    rough = float(series.std())
    innovations = fit(series, candidates, rough).innovations
    n = len(innovations)
    freedom = np.sqrt(n / max(n - len(candidates) - 2, 1))
    scale = rough * float(freedom) * _robust_scale(innovations)
    richest = fit(series, candidates, scale)
    moved = _moved(series, candidates, scale, richest.rho, min_size)
    if moved != candidates:
        richest = min(richest, fit(series, moved, scale), key=lambda model: model.loss)
    models = _path(series, richest, scale)
    base = min(models, key=lambda model: model.priced(FIRST_PRICE))
    scale *= _robust_scale(base.innovations)
    models = _path(series, fit(series, richest.shifts, scale), scale)
    base = min(models, key=lambda model: model.priced(FIRST_PRICE))
    null = _null_gains(base, len(series), min_size)
    return ShiftPath(models=models, null_gains=null, scale=scale)


def select(
    series: FloatArray, path: ShiftPath, *, levels: Sequence[float], min_size: int
) -> tuple[ShiftModel, ...]:
    """Return, for each level, the model whose shifts pay at it, after moving each to its best place."""
    refined: dict[tuple[int, ...], tuple[ShiftModel, ...]] = {(): ()}

    def selected(level: float) -> ShiftModel:
        price = path.price(level)
        model = min(path.models, key=lambda model: model.priced(price))
        if model.shifts not in refined:  # the path down from these shifts; mostly one for all levels
            places = _moved(series, model.shifts, path.scale, model.rho, min_size)
            refined[model.shifts] = _path(series, fit(series, places, path.scale), path.scale)
        return min(refined[model.shifts] or (model,), key=lambda model: model.priced(price))

    return tuple(map(selected, levels))


def _robust_scale(innovations: FloatArray) -> float:
    robust = 1.4826 * float(np.median(np.abs(innovations - np.median(innovations))))
    # More than half the windows exactly alike (coarse clocks): the median says 0, the mean does not.
    return robust if robust > 1e-9 else max(float(innovations.std()), 1e-9)


def _path(series: FloatArray, richest: ShiftModel, scale: float) -> tuple[ShiftModel, ...]:
    models = [richest]
    while models[-1].shifts:
        last = models[-1]
        # One at a time; of a long series' many candidates a twelfth, until MANY are left.
        n_dropped = 1 if len(last.shifts) <= MANY else len(last.shifts) // 12
        places = np.sort(np.argsort(last.gains, kind="stable")[n_dropped:])
        models.append(fit(series, tuple(last.shifts[at] for at in places), scale, near=last))
    return tuple(models)


def _moved(
    series: FloatArray, shifts: tuple[int, ...], scale: float, rho: float, min_size: int
) -> tuple[int, ...]:
    """Move each shift to the best window between its neighbours: PELT may miss it by one or two."""
    edges = [0, *shifts, len(series)]
    for at in range(1, len(edges) - 1):
        low, high = edges[at - 1], edges[at + 1]
        if high - low >= 2 * min_size + 2:
            _, gain = scan(series[None, low:high], np.array([[scale]]), rho, min_size)
            edges[at] = low + min_size + int(gain[0].argmax())
    return tuple(edges[1:-1])


def _null_gains(base: ShiftModel, n: int, min_size: int) -> FloatArray:
    """Best gain of a single shift in simulated series of ``n`` windows without any, shape (N_SIMULATED,)."""
    rng = np.random.default_rng(0)
    pool = base.innovations - base.innovations.mean()
    burn_in = 60
    drawn = pool[rng.integers(0, len(pool), (N_SIMULATED, n + burn_in))]
    noise: FloatArray = np.asarray(scipy.signal.lfilter([1.0], [1.0, -base.rho], drawn, axis=1)[:, burn_in:])
    centred = noise - noise.mean(axis=1, keepdims=True)
    lag = (centred[:, 1:] * centred[:, :-1]).sum(axis=1) / np.maximum((centred**2).sum(axis=1), 1e-300)
    innovation = centred[:, 1:] - np.clip(lag, -0.5, 0.99)[:, None] * centred[:, :-1]
    middle = np.median(innovation, axis=1, keepdims=True)
    scale = 1.4826 * np.median(np.abs(innovation - middle), axis=1, keepdims=True)
    scale = np.where(scale > 1e-9, scale, np.maximum(innovation.std(axis=1, keepdims=True), 1e-9))
    nearby = np.abs(CORRELATIONS - base.rho) <= 0.2  # a refit of so many windows strays no further
    scanned = [scan(noise, scale, float(rho), min_size) for rho in CORRELATIONS[nearby]]
    without = np.min([loss for loss, _ in scanned], axis=0)
    with_one = np.min([loss - gain.max(axis=1) for loss, gain in scanned], axis=0)
    return np.asarray(without - with_one)
