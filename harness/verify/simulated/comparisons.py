# SPDX-License-Identifier: Apache-2.0
"""Verifications of comparisons of two variants: coverage and false positives.

For the scale of a mean, trials come from laws that are not normal on it and have their mean on it in closed form: gamma
for what is not negative and for what is left of a reduction, beta for shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used
from scipy import special, stats

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.summaries import Scale, mean_ci
from harness.analysis.stats.verdicts import sign_flip_exact
from harness.verify.simulated.result import Cells, VerifyResult, contains

LEVEL = 0.95
TRUE_RATIO = 1.1
_N_TRIALS = (5, 10)
_GAMMA, _BETA = 6.0, (4.0, 12.0)
_GEOMETRIC = float(np.exp(special.digamma(_GAMMA)))
#: Scale -> what it is called, what draws trials of a shape, and their true mean on the scale.
_SCALES: Mapping[Scale, tuple[str, Callable[[np.random.Generator, tuple[int, int]], Floats], float]] = {
    "log": ("log-t, gamma trials", lambda rng, shape: rng.gamma(_GAMMA, 1.0, shape), _GEOMETRIC),
    "logit": (
        "logit-t of shares, beta trials",
        lambda rng, shape: rng.beta(*_BETA, shape),
        float(special.expit(special.digamma(_BETA[0]) - special.digamma(_BETA[1]))),
    ),
    "reduction": (
        "log-t of what is left of a reduction, gamma trials",
        lambda rng, shape: 1 - rng.gamma(_GAMMA, 1.0, shape) / _GAMMA,
        1 - _GEOMETRIC / _GAMMA,
    ),
}


def add_scales(cells: Cells, sims: int, seed: int) -> None:
    """Add the coverage of each scale for five and ten trials."""
    for number, (scale, (name, draw, truth)) in enumerate(_SCALES.items()):
        for k in _N_TRIALS:
            trials = draw(np.random.default_rng([seed, 11, number, k]), (sims, k))
            results = [mean_ci(row, scale=scale, level=LEVEL, unit="relative") for row in trials]
            hits = sum(contains(item, truth) for item in results)
            cells.share(f"{name}, k = {k}", hits / sims, at_least=0.93, at_most=0.97)


Law = Literal["normal", "skew", "bimodal", "mixed"]
LAWS: tuple[Law, ...] = ("normal", "skew", "bimodal", "mixed")
Drift = Literal["none", "linear", "ar", "shift"]
DRIFTS: tuple[Drift, ...] = ("none", "linear", "ar", "shift")

#: How far each drift moves over a session, in standard deviations of a trial.
_DRIFT_SIZE: Mapping[Drift, float] = {"none": 0.0, "linear": 3.0, "ar": 1.5, "shift": 2.0}


def trial_effects(rng: np.random.Generator, law: Law, shape: tuple[int, ...], *, sd: float = 0.04) -> Floats:
    """Return what a fresh process adds to the logarithm of every request of its trial."""
    if law == "normal":
        return rng.normal(0.0, sd, shape)
    if law == "skew":
        return np.asarray(sd * (rng.gamma(2.0, 1.0, shape) - 2.0) / np.sqrt(2.0), dtype=np.float64)
    if law == "bimodal":
        return rng.choice([-sd, sd], shape) + rng.normal(0.0, sd / 4, shape)
    return rng.normal(0.0, 1.0, shape) * np.where(rng.random(shape) < 0.2, 2 * sd, sd / 2)


def ar_series(rng: np.random.Generator, shape: tuple[int, ...], coefficient: float) -> Floats:
    """Return stationary AR(1) series of unit variance along the last axis."""
    noise = rng.standard_normal(shape) * np.sqrt(1 - coefficient**2)
    noise[..., 0] /= np.sqrt(1 - coefficient**2)
    return np.asarray(scipy.signal.lfilter([1.0], [1.0, -coefficient], noise, axis=-1), dtype=np.float64)


def drift(rng: np.random.Generator, kind: Drift, sims: int, n: int) -> Floats:
    """Return how the machine changes over the n trials of a session, shape (sims, n), unit trial noise."""
    size, when = _DRIFT_SIZE[kind], np.arange(n)
    if kind == "linear":
        return np.broadcast_to(size * when / (n - 1), (sims, n)).copy()
    if kind == "ar":
        return size * ar_series(rng, (sims, n), 0.9)
    if kind == "shift":
        at = rng.integers(n // 4, n - n // 4, (sims, 1))
        return np.asarray(size * (when >= at), dtype=np.float64)
    return np.zeros((sims, n))


def covered(bounds: intervals.Bounds, truth: float) -> float:
    """Return the share of intervals that hold the truth."""
    return float(np.mean((bounds.low <= truth) & (truth <= bounds.high)))


def coverage(sims: int, seed: int) -> VerifyResult:
    """Paired log-t over trials of correlated requests, four laws of trials; control: an interval over requests."""
    cells = Cells(
        "coverage", sims, seed,
        bar="coverage of log-t and logit-t in [.93, .97] in every cell",
        control="per-request interval < .70",
    )  # fmt: skip
    per_request: list[float] = []
    for number, law in enumerate(LAWS):
        rng = np.random.default_rng([seed, number])
        mean, p99, naive = _two_arms(rng, law, sims, k=20, n=400)
        per_request.append(naive)
        for what, values in (("mean", mean), ("p99", p99)):
            for k in (10, 20):
                bounds = intervals.student(values[0][:, :k] - values[1][:, :k], LEVEL)
                name = f"{law}, {what}, k = {k}"
                cells.share(name, covered(bounds, log(TRUE_RATIO)), at_least=0.93, at_most=0.97)
    add_scales(cells, sims, seed)
    cells.share("per-request interval, worst law", max(per_request), at_most=0.7, control=True)
    return cells.result()


def _two_arms(
    rng: np.random.Generator, law: Law, sims: int, *, k: int, n: int
) -> tuple[Floats, Floats, float]:
    """Return log mean and log p99 of every trial, shapes (2, sims, k), and the per-request coverage."""
    mean, p99 = np.empty((2, sims, k)), np.empty((2, sims, k))
    log_mean, log_variance = np.empty((2, sims)), np.empty((2, sims))
    truth = (log(TRUE_RATIO), 0.0)
    rank = int(np.ceil(0.99 * n)) - 1
    for arm in range(2):
        for start in range(0, sims, 100):  # bounds the memory at 100 x k x n requests
            size = min(100, sims - start)
            logs = 0.5 * ar_series(rng, (size, k, n), 0.7)
            logs += (truth[arm] + trial_effects(rng, law, (size, k)))[..., None]
            part = slice(start, start + size)
            mean[arm, part] = np.log(np.exp(logs).mean(axis=-1))
            p99[arm, part] = np.partition(logs, rank, axis=-1)[..., rank]
            # the interval that takes the k n requests of an arm for independent ones
            log_mean[arm, part] = logs.mean(axis=(1, 2))
            log_variance[arm, part] = logs.var(axis=(1, 2), ddof=1) / (k * n)
    gap = np.abs(log_mean[0] - log_mean[1] - log(TRUE_RATIO))
    naive = float(np.mean(gap <= stats.norm.ppf(0.5 + LEVEL / 2) * np.sqrt(log_variance.sum(axis=0))))
    return mean, p99, naive


def aa(sims: int, seed: int) -> VerifyResult:
    """False positives of equal arms under drift, in random blocks; control: first all of A, then all of B."""
    k = 10
    cells = Cells(
        "aa", sims, seed,
        bar="false positives in [.035, .065] under every drift",
        control="sequential order > .30 under drift",
    )  # fmt: skip
    for number, kind in enumerate(DRIFTS):
        rng = np.random.default_rng([seed, number])
        values = drift(rng, kind, sims, 2 * k) + rng.standard_normal((sims, 2 * k))
        swapped = rng.random((sims, k)) < 0.5
        d = np.where(swapped, values[:, 1::2] - values[:, 0::2], values[:, 0::2] - values[:, 1::2])
        t = float(np.mean(paired_p(d) <= 0.05))
        flips = float(np.mean([sign_flip_exact(row) <= 0.05 for row in d]))
        cells.share(f"paired t, random blocks, drift {kind}", t, at_least=0.035, at_most=0.065)
        cells.share(f"sign flip, random blocks, drift {kind}", flips, at_least=0.035, at_most=0.065)
        if kind != "none":
            bounds = intervals.two_sample(values[:, :k], values[:, k:], LEVEL)
            wrong = 1 - covered(bounds, 0.0)
            cells.share(f"Welch, sequential order, drift {kind}", wrong, at_least=0.3, control=True)
    return cells.result()


def paired_p(differences: Floats) -> Floats:
    """Return the two-sided p of the paired t test of each row, shape (sims,)."""
    centre, error, df = intervals.mean_and_error(differences)
    return intervals.t_two_sided_p(centre / error, df)
