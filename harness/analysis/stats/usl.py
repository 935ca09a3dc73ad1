# SPDX-License-Identifier: Apache-2.0
"""How throughput grows with cores: the universal scalability law, with intervals over blocks of trials.

Gunther 2007: X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)). ``lambda`` is the throughput
of one core, ``sigma`` the share that is serial (contention), ``kappa`` what cores pay to agree with
each other (coherency). A law fitted to few sizes says little beyond them: nothing is extrapolated here.
"""

from __future__ import annotations

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.inputs import Floats, fraction
from harness.errors import InputError
from harness.model import Estimate
from harness.model.base import Frozen

N_RESAMPLES = 1000
#: Three numbers are fitted, so fewer sizes leave nothing to check the law with.
FEWEST_SIZES = 3
BAND_POINTS = 41


class BandPoint(Frozen):
    """The fitted law at one number of cores. Bounds: of the resampled laws there; None: too few blocks."""

    cores: float
    value: float
    low: float | None
    high: float | None


class ScalingFit(Frozen):
    """The law's numbers, each with its interval. ``peak_cores``: where throughput is highest, if within the sizes."""

    per_core_per_s: Estimate
    contention: Estimate
    coherency: Estimate
    peak_cores: Estimate
    worst_residual: float = Field(description="largest |measured / fitted - 1| of the mean of a size")
    band: tuple[BandPoint, ...] = Field(
        default=(), description="from the fewest cores to the most, no further"
    )


def usl(cores: ArrayLike, per_core: float, contention: float, coherency: float) -> Floats:
    """Return the law's throughput at these numbers of cores, shape of ``cores``."""
    n = np.asarray(cores, dtype=np.float64)
    return np.asarray(per_core * n / (1 + contention * (n - 1) + coherency * n * (n - 1)))


def fit_usl(
    cores: ArrayLike,
    throughput_per_s: ArrayLike,
    blocks: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    inputs: tuple[str, ...] = (),
) -> ScalingFit:
    """Fit the law to one value per trial, by least squares of logarithms; intervals by the cluster bootstrap.

    Args:
        cores, throughput_per_s, blocks: shape (n,), one entry per trial. Whole blocks are resampled,
            because the trials of a block share the machine's state.

    Returns:
        The fit. Intervals are percentiles over resampled blocks, none with fewer than three blocks;
        with a handful of blocks they are too narrow, and the estimates say so.

    Raises:
        InputError: fewer than three sizes, shapes that differ, or a throughput that is not positive.
    """
    n, x, block = _checked(cores, throughput_per_s, blocks)
    fraction(level, "level")
    values = _with_peak(_fit(n, x), float(n.max()))
    groups = np.unique(block)
    resampled = np.full((n_resamples if len(groups) >= FEWEST_SIZES else 0, 4), np.nan)
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(block == one) for one in groups]
    for row in resampled:
        chosen = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        if len(np.unique(n[chosen])) >= FEWEST_SIZES:
            row[:] = _with_peak(_fit(n[chosen], x[chosen]), float(n.max()))
    names = (
        ("throughput of one core", "1/s"),
        ("contention", "share"),
        ("coherency", "share"),
        ("peak", "cores"),
    )
    few = ("few blocks: the percentile interval is too narrow",) if len(groups) < 10 else ()
    estimates = [
        _estimate(value, resampled[:, place], what, unit, level, len(n), seed, inputs, few)
        for place, (value, (what, unit)) in enumerate(zip(values, names, strict=True))
    ]
    means = [(size, float(np.exp(np.log(x[n == size]).mean()))) for size in np.unique(n)]
    worst = max(abs(mean / float(usl(size, *values[:3])) - 1) for size, mean in means)
    return ScalingFit(
        per_core_per_s=estimates[0],
        contention=estimates[1],
        coherency=estimates[2],
        peak_cores=estimates[3],
        worst_residual=worst,
        band=_band(n, values, resampled, level),
    )


def _band(
    n: Floats, values: tuple[float, float, float, float], resampled: Floats, level: float
) -> tuple[BandPoint, ...]:
    at = np.linspace(n.min(), n.max(), BAND_POINTS)
    laws = resampled[np.isfinite(resampled[:, :3]).all(axis=1), :3]
    curves = np.asarray([usl(at, *law) for law in laws])
    enough = 0 < 0.9 * len(resampled) <= len(laws)
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0) if enough else (None, None)
    return tuple(
        BandPoint(
            cores=float(at[i]),
            value=value,
            low=None if low is None else float(low[i]),
            high=None if high is None else float(high[i]),
        )
        for i, value in enumerate(usl(at, *values[:3]).tolist())
    )


def _checked(
    cores: ArrayLike, throughput_per_s: ArrayLike, blocks: ArrayLike
) -> tuple[Floats, Floats, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    n, x = np.asarray(cores, dtype=np.float64), np.asarray(throughput_per_s, dtype=np.float64)
    block = np.asarray(blocks)
    if n.ndim != 1 or n.shape != x.shape or n.shape != block.shape:
        raise InputError(
            "one value per trial each",
            found=f"{n.shape}, {x.shape}, {block.shape}",
            allowed="three of shape (n,)",
        )
    if len(np.unique(n)) < FEWEST_SIZES:
        raise InputError(
            "too few numbers of cores for the law",
            found=f"{len(np.unique(n))}",
            allowed=f"{FEWEST_SIZES} or more",
        )
    if not (np.isfinite(x).all() and (x > 0).all() and np.isfinite(n).all() and (n >= 1).all()):
        raise InputError("throughput must be positive, and cores at least one", found="other values")
    return n, x, block


def _fit(n: Floats, x: Floats) -> tuple[float, float, float]:
    first = float(np.exp(np.mean(np.log(x[n == n.min()])))) / float(n.min())
    logs = np.log(x)

    def residuals(p: Floats) -> Floats:
        return np.asarray(np.log(usl(n, float(np.exp(p[0])), p[1], p[2])) - logs)

    start = [float(np.log(first)), 0.05, 0.001]
    found = scipy.optimize.least_squares(
        residuals, start, bounds=([-np.inf, 0, 0], [np.inf, 1, 1]), x_scale=[1, 0.1, 0.01]
    )
    return float(np.exp(found.x[0])), float(found.x[1]), float(found.x[2])


def _with_peak(fit: tuple[float, float, float], most: float) -> tuple[float, float, float, float]:
    """The peak lies at sqrt((1 - sigma) / kappa); beyond the sizes that were measured it is not known."""
    _, sigma, kappa = fit
    peak = float(np.sqrt((1 - sigma) / kappa)) if kappa > 0 else np.inf
    return (*fit, peak if peak <= most else np.nan)


def _estimate(
    value: float,
    resampled: Floats,
    what: str,
    unit: str,
    level: float,
    n_trials: int,
    seed: int,
    inputs: tuple[str, ...],
    warnings: tuple[str, ...],
) -> Estimate:
    usable = resampled[np.isfinite(resampled)]
    known = bool(np.isfinite(value))
    enough = known and usable.size >= 0.9 * resampled.size > 0
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2]) if enough else (None, None)
    if low is not None and low == high:  # no resample moves it: a bound of the law, or values without noise
        low = high = None
        warnings = (*warnings, "every resample gives the same value: no interval")
    if not known:
        warnings = (*warnings, "beyond the numbers of cores that were measured")
    elif not enough:
        warnings = (*warnings, "too few blocks for an interval")
    return Estimate(
        value=value if known else None,
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        level=level,
        unit=unit,
        method="least squares of logarithms; cluster bootstrap over blocks",
        estimand=f"{what} of the universal scalability law",
        n_trials=n_trials,
        seed=seed,
        inputs=inputs,
        warnings=warnings,
    )
