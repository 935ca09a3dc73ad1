# SPDX-License-Identifier: Apache-2.0
"""How simulated trials and requests vary. Written for the verifications, and used by nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used

from harness.analysis.stats.inputs import Floats

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
