# SPDX-License-Identifier: Apache-2.0
"""Verification of the warm-up classes, on series the thresholds were not tuned on.

Tuning used Gaussian innovations, steps of three standard deviations and segments of 60
windows. Here innovations are log-normal (skewed, heavy-tailed), steps are 2.5 to 4.5
standard deviations of the noise, in either order, and segments have 60 to 110 windows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy  # loads its slow submodules when they are first used

from harness.analysis.warmup.classify import SteadyState, classify_warmup, detect_changepoints
from harness.formats.arrays import FloatArray
from harness.verify.simulated.result import Cells, VerifyResult

Noise = Callable[[np.random.Generator, int], FloatArray]

BASE, NOISE_SD = 100.0, 4.0
SHORTEST, LONGEST = 60, 110
MODERATE, STRONG = (0.0, 0.3, 0.6), 0.9


class Score(NamedTuple):
    """How often a class of true series was recognised, left open, and how many changes were made up."""

    right: float
    undecidable: float
    spurious: float

    @property
    def wrong(self) -> float:
        """Share that got a class which is not theirs."""
        return max(1.0 - self.right - self.undecidable, 0.0)


def simulate_warmup(sims: int, seed: int) -> VerifyResult:
    """Classify ``sims`` series a cell; control: a fixed penalty of 15 log n at AR .9.

    Where windows correlate by .9 no class but flat and no steady state has a bar (``docs/warm-up.md``).
    """
    cells = Cells(
        "warmup", sims, seed,
        bar="AR <= .6: classes >= .93, spurious <= .05 a series; AR .9: flat >= .95, no steady state >= .80",
        control="a fixed penalty makes up changes at AR .9",
    )  # fmt: skip
    for rho in MODERATE:
        for kind in LEVELS:
            score = score_class(kind, rho, sims, seed)
            cells.share(f"AR {rho:g}, {kind}: recognised", score.right, at_least=0.93)
            if kind is SteadyState.FLAT:
                n_spurious = round(score.spurious * sims)
                cells.frequency(f"AR {rho:g}, flat: spurious a series", n_spurious, sims, at_most=0.05)
    strong = {kind: score_class(kind, STRONG, sims, seed) for kind in LEVELS}
    for kind, score in strong.items():
        bar = {SteadyState.FLAT: 0.95, SteadyState.NO_STEADY_STATE: 0.80}.get(kind)
        cells.share(f"AR .9, {kind}: recognised", score.right, at_least=bar)
        cells.share(f"AR .9, {kind}: undecidable", score.undecidable)
        cells.share(f"AR .9, {kind}: another class", score.wrong)
    n_spurious = round(fixed_penalty_spurious(STRONG, sims, seed) * sims)
    name = "AR .9, flat, fixed penalty 15 log n: spurious a series"
    cells.frequency(name, n_spurious, sims, at_least=0.3, control=True)
    return cells.result()


def score_class(kind: SteadyState, rho: float, sims: int, seed: int, noise: Noise | None = None) -> Score:
    """Classify ``sims`` series whose true class is ``kind`` in noise of correlation ``rho``."""
    rng = np.random.default_rng([seed, round(100 * rho), list(SteadyState).index(kind)])
    results = [classify_warmup(held_out_series(rng, kind, rho, noise or log_normal)) for _ in range(sims)]
    return Score(
        right=sum(item.kind is kind for item in results) / sims,
        undecidable=sum(item.kind is SteadyState.UNDECIDABLE for item in results) / sims,
        spurious=sum(len(item.changepoints) for item in results) / sims,
    )


def fixed_penalty_spurious(rho: float, sims: int, seed: int) -> float:
    """Return change points a flat series that PELT finds at its fixed penalty of 15 log n."""
    rng = np.random.default_rng([seed, 17])
    series = (held_out_series(rng, SteadyState.FLAT, rho, log_normal) for _ in range(sims))
    return sum(len(detect_changepoints(item)) for item in series) / sims


def held_out_series(rng: np.random.Generator, kind: SteadyState, rho: float, noise: Noise) -> FloatArray:
    """Return windows of one simulated trial, shape (n,), n between 300 and about 770."""
    level = LEVELS[kind](rng)
    innovations = noise(rng, len(level) + 200) * np.sqrt(1.0 - rho * rho)
    correlated = np.asarray(scipy.signal.lfilter([1.0], [1.0, -rho], innovations)[200:], dtype=np.float64)
    windows: FloatArray = BASE + NOISE_SD * (level + correlated)
    return windows


def log_normal(rng: np.random.Generator, n: int) -> FloatArray:
    """Innovations of mean 0 and variance 1, skewness 1.3 and excess kurtosis 3.3."""
    shape = 0.4
    drawn = rng.lognormal(0.0, shape, n)
    mean, variance = np.exp(shape**2 / 2), np.expm1(shape**2) * np.exp(shape**2)
    return np.asarray((drawn - mean) / np.sqrt(variance), dtype=np.float64)


def _warm_up(rng: np.random.Generator) -> FloatArray:
    """One or two steps down, then the rest of the series."""
    steps = [_segment_length(rng) for _ in range(rng.integers(1, 3))]
    level = 0.0
    parts = []
    for length in reversed(steps):
        level += _size(rng)
        parts.append(np.full(length, level))
    tail = np.zeros(int(rng.integers(max(300 - sum(steps), sum(steps)), 401)))
    return np.concatenate([*reversed(parts), tail])


def _no_steady_state(rng: np.random.Generator) -> FloatArray:
    """Five to eight segments; each step goes up or down, the last segment is short."""
    lengths = [_segment_length(rng) for _ in range(rng.integers(4, 8))]
    lengths.append(SHORTEST + int(rng.integers(0, 11)))
    level, parts = 0.0, []
    for length in lengths:
        parts.append(np.full(length, level))
        # Towards the middle when far from it, so that levels return as they do in reality.
        sign = -np.sign(level) if abs(level) > 3.0 else rng.choice([-1.0, 1.0])
        level += sign * _size(rng)
    while sum(map(len, parts)) < 300:
        parts.insert(0, np.full(_segment_length(rng), parts[0][0] + _size(rng)))
    return np.concatenate(parts)


def _segment_length(rng: np.random.Generator) -> int:
    return int(rng.integers(SHORTEST, LONGEST + 1))


def _size(rng: np.random.Generator) -> float:
    """Size of a step in standard deviations of the noise."""
    return float(rng.uniform(2.5, 4.5))


LEVELS: Mapping[SteadyState, Callable[[np.random.Generator], FloatArray]] = MappingProxyType(
    {
        SteadyState.FLAT: lambda rng: np.zeros(int(rng.integers(300, 701))),
        SteadyState.WARM_UP: _warm_up,
        SteadyState.SLOWDOWN: lambda rng: -_warm_up(rng),
        SteadyState.NO_STEADY_STATE: _no_steady_state,
    }
)
