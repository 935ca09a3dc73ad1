# SPDX-License-Identifier: Apache-2.0
"""Which change points are shifts of the level, when windows follow each other.

PELT takes windows for independent and finds changes in every slow wave. Here its change
points are candidates in one regression, with every level and the correlation ``rho`` of
neighbouring windows fitted together:

    y[t] - level[t] = rho (y[t-1] - level[t-1]) + innovation[t]

A shift has two traces: a jump, which one large innovation would leave as well, and the
new level that lasts. Innovations enter by Huber's loss, so a jump alone counts for
little in heavy-tailed noise. Candidates are dropped one by one, the least useful first,
and of the models on that path the one with the least ``loss + price x shifts`` is kept.

The price is not a constant. It is the quantile of the best gain a single shift reaches in
series *without* any, simulated with the fitted ``rho`` from the resampled innovations
within the segments: it fits the length, the correlation and the noise law of this series.

Sources: joint estimation of shifts and autoregression, Chakar et al. 2017, Romano et al.
2022 (DeCAFS); nested path of candidates, Cho & Fryzlewicz 2024 (WCM.gSa); biweight and
Huber losses for changes, Fearnhead & Rigaill 2019. The combination is this project's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import signal

from harness.analysis.warmup.shift_fit import CORNER, CORRELATIONS, FloatArray, ShiftModel, fit, scan

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
        """Price of a shift that a series without any exceeds with probability ``level``.

        A Gumbel law through mean and variance of the simulated gains: the quantile far out
        needs fewer simulations than counting would.
        """
        width = float(self.null_gains.std()) * np.sqrt(6.0) / np.pi
        return float(self.null_gains.mean() - width * (_EULER + np.log(-np.log1p(-level))))

    def smallest_step(self, price: float, model: ShiftModel) -> float:
        """Step between two halves of the series that would just pay ``price``, in the unit of the series.

        A step of d innovation scales, without noise, costs a model without it Huber's loss of
        the jump and (1 - rho)^2 n / 4 d^2 for the level that lasts.
        """
        lasting = (1.0 - model.rho) ** 2 * (len(model.innovations) + 1) / 4.0
        if (1.0 + lasting) * CORNER**2 >= price:
            return self.scale * float(np.sqrt(price / (1.0 + lasting)))
        root = np.sqrt(CORNER**2 + lasting * (CORNER**2 + price))
        return self.scale * float((root - CORNER) / lasting)


def shift_path(series: FloatArray, candidates: tuple[int, ...], *, min_size: int, seed: int) -> ShiftPath:
    """Fit the path of models from all ``candidates`` down to none.

    Args:
        series: shape (n,), not constant.
        candidates: change points to begin with, ascending.
        min_size: shortest segment in windows.
        seed: of the simulated series.
    """
    scale = _first_scale(series, candidates)
    richest = fit(series, candidates, scale)
    moved = _moved(series, candidates, scale, richest.rho, min_size)
    if moved != candidates and fit(series, moved, scale).loss < richest.loss:
        candidates = moved
    models = _path(series, candidates, scale)
    base = min(models, key=lambda model: model.priced(FIRST_PRICE))
    scale *= _robust_scale(base.innovations)
    models = _path(series, candidates, scale)
    base = min(models, key=lambda model: model.priced(FIRST_PRICE))
    null = _null_gains(base, len(series), min_size, seed)
    return ShiftPath(models=models, null_gains=null, scale=scale)


def select(series: FloatArray, path: ShiftPath, *, level: float, min_size: int) -> ShiftModel:
    """Return the model whose shifts pay at ``level``, after moving each to its best place."""
    price = path.price(level)
    best = min(path.models, key=lambda model: model.priced(price))
    if best.shifts:
        moved = _moved(series, best.shifts, path.scale, best.rho, min_size)
        best = min(_path(series, moved, path.scale), key=lambda model: model.priced(price))
    return best


def _first_scale(series: FloatArray, candidates: tuple[int, ...]) -> float:
    """Scale of the innovations, from the residuals of the richest model."""
    rough = float(series.std())
    innovations = fit(series, candidates, rough).innovations
    n = len(innovations)
    freedom = np.sqrt(n / max(n - len(candidates) - 2, 1))
    return rough * float(freedom) * _robust_scale(innovations)


def _robust_scale(innovations: FloatArray) -> float:
    robust = 1.4826 * float(np.median(np.abs(innovations - np.median(innovations))))
    # More than half the windows exactly alike (coarse clocks): the median says 0, the mean does not.
    return robust if robust > 1e-9 else max(float(innovations.std()), 1e-9)


def _path(series: FloatArray, shifts: tuple[int, ...], scale: float) -> tuple[ShiftModel, ...]:
    models = [fit(series, shifts, scale)]
    while models[-1].shifts:
        last = models[-1]
        # One at a time; of a long series' many candidates a twelfth, until MANY are left.
        n_dropped = 1 if len(last.shifts) <= MANY else len(last.shifts) // 12
        kept = np.sort(np.argsort(last.gains, kind="stable")[n_dropped:])
        models.append(fit(series, tuple(last.shifts[at] for at in kept), scale, near=last))
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


def _null_gains(base: ShiftModel, n: int, min_size: int, seed: int) -> FloatArray:
    """Best gain of a single shift in simulated series of ``n`` windows without any, shape (N_SIMULATED,)."""
    rng = np.random.default_rng(seed)
    pool = base.innovations - base.innovations.mean()
    burn_in = 60
    drawn = pool[rng.integers(0, len(pool), (N_SIMULATED, n + burn_in))]
    noise: FloatArray = np.asarray(signal.lfilter([1.0], [1.0, -base.rho], drawn, axis=1)[:, burn_in:])
    centred = noise - noise.mean(axis=1, keepdims=True)
    lag = (centred[:, 1:] * centred[:, :-1]).sum(axis=1) / np.maximum((centred**2).sum(axis=1), 1e-300)
    innovation = centred[:, 1:] - np.clip(lag, -0.5, 0.99)[:, None] * centred[:, :-1]
    middle = np.median(innovation, axis=1, keepdims=True)
    scale = 1.4826 * np.median(np.abs(innovation - middle), axis=1, keepdims=True)
    scale = np.where(scale > 1e-9, scale, np.maximum(innovation.std(axis=1, keepdims=True), 1e-9))
    without = np.full(N_SIMULATED, np.inf)
    with_one = without.copy()
    nearby = np.abs(CORRELATIONS - base.rho) <= 0.2  # a refit of so many windows strays no further
    for rho in CORRELATIONS[nearby]:
        loss, gain = scan(noise, scale, float(rho), min_size)
        without = np.minimum(without, loss)
        with_one = np.minimum(with_one, loss - gain.max(axis=1))
    gains: FloatArray = without - with_one
    return gains
