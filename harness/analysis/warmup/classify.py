# SPDX-License-Identifier: Apache-2.0
"""When a trial has warmed up, whether it ever does, and when that cannot be said; with change points by PELT, exact.

Classes of Barrett et al. 2017 (OOPSLA), and ``undecidable``. Candidates are change points in mean or variance that
minimise the Gaussian cost ``n log(variance)`` plus penalty (Killick, Fearnhead & Eckley 2012), as
``ruptures.Pelt(model="normal", jump=1)``; where windows follow each other, each point is asked again.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.analysis.warmup.level_shifts import ShiftModel, select, shift_path
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen

#: Default penalty in units of log(number of windows).
PENALTY_PER_LOG_N = 15.0
#: Added to the variance of a segment, in units of the whole series' variance: without it
#: a constant segment (whole-millisecond data) would be infinitely good.
VARIANCE_FLOOR = 1e-6


def detect_changepoints(
    values: npt.ArrayLike, *, penalty: float | None = None, min_size: int = 2
) -> tuple[int, ...]:
    """Return the first window of each segment but the first, by least Gaussian cost plus penalty; none for a constant
    series. Raises InputError: not one-dimensional, a value is not finite, penalty <= 0 or min_size < 2.

    Args:
        values: one number per window, shape (n,), any unit; equal windows in time order.
        penalty: > 0; default 15 log n, which supposes independent windows. min_size: shortest segment, at least 2.
    """
    series = checked_series(values)
    if min_size < 2:
        raise InputError("a segment needs two windows for a variance", found=min_size, allowed=">= 2")
    n = len(series)
    if penalty is None:
        penalty = PENALTY_PER_LOG_N * float(np.log(max(n, 2)))
    if not (np.isfinite(penalty) and penalty > 0):
        raise InputError("the penalty of a change point must be positive", found=penalty, allowed="> 0")
    unit, _, _ = standardised(series)
    return () if unit is None or n < 2 * min_size else _optimal_partition(unit, penalty, min_size)


def checked_series(values: npt.ArrayLike) -> FloatArray:
    """Return ``values`` as finite floats, shape (n,). Raises InputError: other shapes; or names the window."""
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1:
        raise InputError("a series has one number per window", found=series.shape, allowed="shape (n,)")
    bad = np.flatnonzero(~np.isfinite(series))
    if len(bad):
        why = "a window has no finite value (no request completed in it?); use longer windows or throughput"
        place, value = f"window {bad[0]} and {len(bad) - 1} more", float(series[bad[0]])
        raise InputError(why, place=place, found=value, allowed="finite numbers")
    return series


def standardised(series: FloatArray) -> tuple[FloatArray | None, float, float]:
    """Return the series with mean 0 and variance 1, None: it is constant but for rounding; mean and spread."""
    peak = float(np.abs(series).max(initial=0.0))
    if peak == 0.0:
        return None, 0.0, 0.0
    near_one = series / peak  # so that nothing overflows
    mean, spread = peak * float(near_one.mean()), peak * float(near_one.std())
    if near_one.std() <= 1e-13:  # rounding of the mean alone leaves about 1e-16
        return None, mean, 0.0
    return np.asarray(series / spread - mean / spread), mean, spread


def _optimal_partition(unit: FloatArray, penalty: float, min_size: int) -> tuple[int, ...]:
    n = len(unit)
    total = np.concatenate([[0.0], np.cumsum(unit)]).tolist()
    squares = np.concatenate([[0.0], np.cumsum(unit * unit)]).tolist()
    best = [np.inf] * (n + 1)
    best[0] = -penalty
    previous = [0] * (n + 1)
    # A column for each start that may still win: its place, sum and sum of squares before it, best cost up to it, and
    # the end from which on it is left out.
    starts = np.empty((5, n + 1))
    starts[:, 0] = 0.0, 0.0, 0.0, -penalty, n + 1
    n_starts, next_retires = 1, n + 1
    for end in range(min_size, n + 1):
        if end >= next_retires:
            alive = np.flatnonzero(starts[4, :n_starts] > end)
            n_starts = len(alive)
            starts[:, :n_starts] = starts[:, alive]
            next_retires = int(starts[4, :n_starts].min(initial=n + 1))
        start, total_before, squares_before, best_before, retires = starts[:, :n_starts]
        length = end - start
        mean = (total[end] - total_before) / length
        variance = np.maximum((squares[end] - squares_before) / length - mean * mean, 0.0)
        cost = best_before + length * np.log(variance + VARIANCE_FLOOR)
        chosen = int(cost.argmin())
        best[end] = float(cost[chosen]) + penalty
        previous[end] = int(start[chosen])
        # A start that loses even without paying a penalty can never win again, but only once
        # ``end`` itself may be a start: min_size windows later. Sooner would not be exact.
        lost = cost > best[end]
        if lost.any():
            np.minimum(retires, end + min_size, out=retires, where=lost)
            next_retires = min(next_retires, end + min_size)
        if (begin := end + 1 - min_size) >= min_size:
            starts[:, n_starts] = begin, total[begin], squares[begin], best[begin], n + 1
            n_starts += 1
    indices: list[int] = []
    at = previous[n]
    while at > 0:
        indices.append(at)
        at = previous[at]
    return tuple(reversed(indices))


#: Below this n (1 - rho) a random walk, which has no level at all, is not excluded at 5 %
#: (Dickey & Fuller 1979, coefficient test with a constant).
UNIT_ROOT_5_PERCENT = 14.1
#: Innovations that still follow each other at this p: the noise is not what was fitted.
WHITENESS_P = 1e-3
WHITENESS_LAGS = 10
#: Distance of the first windows from their level, in stationary standard deviations of the noise.
START_LIMIT = 2.6


def doubts(model: ShiftModel, n: int) -> tuple[str, ...]:
    """Return reasons why the fitted noise does not allow an answer, each a sentence."""
    notes: tuple[str, ...] = ()
    if n * (1.0 - model.rho) < UNIT_ROOT_5_PERCENT:
        alike = f"neighbouring windows correlate at {model.rho:.2f}, so {n} of them do not tell a level"
        notes += (f"cannot say: {alike} from a random walk; measure longer or use longer windows",)
    if _whiteness_p(model.innovations / _noise_of_each(model, n)) < WHITENESS_P:
        noise = "the noise within segments is not autoregressive of order 1"
        notes += (f"cannot say: {noise}; use longer windows",)
    return notes


def gradual_start(unit: FloatArray, model: ShiftModel, scale: float, *, n_first: int) -> tuple[str, ...]:
    """Return a doubt where the first ``n_first`` windows lie farther from their level than a stationary series'."""
    start = abs(float(unit[:n_first].mean() - model.levels[0]))
    louder = max(float(_noise_of_each(model, len(unit))[0]), 1.0)
    stationary = louder * scale / float(np.sqrt(1.0 - model.rho**2))
    if start <= START_LIMIT * stationary:
        return ()
    off = f"the first {n_first} windows lie {start / stationary:.1f} standard deviations off their level"
    return (f"cannot say: {off}: a gradual start that cannot be told from the noise; use longer windows",)


def _noise_of_each(model: ShiftModel, n: int) -> FloatArray:
    """Standard deviation of the innovations of each window's segment, in their common scale, shape (n - 1,)."""
    noise = np.ones(n - 1)
    edges = (0, *model.shifts, n)
    for first, end in pairwise(edges):
        own = model.innovations[first : end - 1]
        spread = 1.4826 * float(np.median(np.abs(own - np.median(own))))
        noise[max(first - 1, 0) : end - 1] = spread if spread > 1e-9 else 1.0
    return noise


def _whiteness_p(innovations: FloatArray) -> float:
    """Ljung-Box p of the innovations, clipped so that single spikes do not hide the rest."""
    clipped = np.clip(innovations, -3.0, 3.0)
    clipped = clipped - clipped.mean()
    n, power = len(clipped), float(clipped @ clipped)
    if power == 0.0:
        return 1.0
    lags = np.arange(1, WHITENESS_LAGS + 1)
    correlation = np.array([clipped[lag:] @ clipped[:-lag] for lag in lags]) / power
    statistic = n * (n + 2) * float((correlation**2 / (n - lags)).sum())
    return float(scipy.stats.chi2.sf(statistic, WHITENESS_LAGS - 1))


MIN_WINDOWS = 300
#: Shortest segment, in windows.
MIN_SIZE = 15
#: Candidates: PELT at a price far below the usual, so that no true shift is lost here.
CANDIDATE_PENALTY_PER_LOG_N = 4.0
MAX_CANDIDATES = 120
#: Chance that a series without any shift is said to have one.
CALL_LEVEL = 0.002
#: A class must survive this more lenient level as well, or it is undecidable.
DOUBT_LEVEL = 0.01
#: Levels within this share of the last one are the same level.
TOLERANCE = 0.05
#: Share of the windows that the last level must fill (Barrett et al.: 500 of 2000).
STEADY_SHARE = 0.25


class SteadyState(StrEnum):
    """What a trial's windows do over time."""

    FLAT = "flat"
    WARM_UP = "warm-up"
    SLOWDOWN = "slowdown"
    NO_STEADY_STATE = "no steady state"
    UNDECIDABLE = "undecidable"


class Segment(Frozen):
    """Windows ``first`` to ``end`` (not included) at one level, in the unit of the series."""

    first: int
    end: int
    level: float


class WarmUp(Frozen):
    """The class of one trial, with what it rests on."""

    kind: SteadyState
    steady_from: int | None = None  # first window of the steady state; None when there is none
    changepoints: tuple[int, ...] = ()  # first window of each new level, ascending
    segments: tuple[Segment, ...] = ()
    warnings: tuple[str, ...] = ()


def classify_warmup(values: npt.ArrayLike) -> WarmUp:
    """Return whether a trial is flat, warms up, slows down, has no steady state, or cannot be judged, and why not.
    ``values``: latency per window, shape (n,), equal windows in time order; fewer than 300: ``undecidable``. Raises
    InputError: not one-dimensional, or a value is not finite."""
    series = checked_series(values)
    n = len(series)
    if n < MIN_WINDOWS:
        why = f"cannot say: {n} windows, at least {MIN_WINDOWS} are needed"
        return WarmUp(kind=SteadyState.UNDECIDABLE, warnings=(why,))
    unit, _, _ = standardised(series)
    if unit is None:
        whole = (Segment(first=0, end=n, level=float(series[0])),)
        why = "all windows are equal: is the clock fine enough?"
        return WarmUp(kind=SteadyState.FLAT, steady_from=0, segments=whole, warnings=(why,))
    path = shift_path(unit, _candidates(unit), min_size=MIN_SIZE)
    called, doubted = select(unit, path, levels=(CALL_LEVEL, DOUBT_LEVEL), min_size=MIN_SIZE)
    segments = _segments(series, called)
    kind, steady_from = _judge(segments, n)
    lenient, _ = _judge(_segments(series, doubted), n)
    warnings = (*doubts(called, n), *gradual_start(unit, called, path.scale, n_first=MIN_SIZE))
    if lenient is not kind:
        warnings = (*warnings, f"cannot say: {kind} at level {CALL_LEVEL}, {lenient} at {DOUBT_LEVEL}")
    if warnings:
        kind, steady_from = SteadyState.UNDECIDABLE, None
    return WarmUp(
        kind=kind, steady_from=steady_from, changepoints=called.shifts, segments=segments, warnings=warnings
    )


def _candidates(unit: FloatArray) -> tuple[int, ...]:
    penalty = CANDIDATE_PENALTY_PER_LOG_N * float(np.log(len(unit)))
    while len(result := detect_changepoints(unit, penalty=penalty, min_size=MIN_SIZE)) > MAX_CANDIDATES:
        penalty *= 1.5
    return result


def _segments(series: FloatArray, model: ShiftModel) -> tuple[Segment, ...]:
    """Segments with levels in the unit of the series (the model was fitted to the standardised one)."""
    _, mean, spread = standardised(series)
    edges = (0, *model.shifts, len(series))
    return tuple(
        Segment(first=first, end=end, level=mean + spread * float(level))
        for (first, end), level in zip(pairwise(edges), model.levels, strict=True)
    )


def _judge(segments: tuple[Segment, ...], n: int) -> tuple[SteadyState, int | None]:
    last = segments[-1].level
    unlike = [at for at, item in enumerate(segments) if not abs(item.level - last) <= TOLERANCE * abs(last)]
    if not unlike:
        return SteadyState.FLAT, 0
    steady_from = segments[unlike[-1] + 1].first
    if n - steady_from < STEADY_SHARE * n:
        return SteadyState.NO_STEADY_STATE, None
    faster = all(segments[at].level > last for at in unlike)
    return SteadyState.WARM_UP if faster else SteadyState.SLOWDOWN, steady_from
