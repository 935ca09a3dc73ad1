# SPDX-License-Identifier: Apache-2.0
"""Two audits: does the arithmetic of a load test hold together, and does the machine tell equals apart."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.randomization import randomization_test
from harness.model import Estimate
from harness.model.base import Frozen


class AATest(Frozen):
    """The same thing measured twice in each block. It must not differ."""

    ratio: Estimate
    p_value: float | None
    noise: float | None = Field(description="smallest margin at which the 90 % interval says equivalent")
    passed: bool | None = Field(description="the interval holds 1; None: cannot be said")
    warnings: tuple[str, ...] = ()


def aa_test(a: ArrayLike, duplicate: ArrayLike, *, paired: bool = True, level: float = 0.95) -> AATest:
    """Return whether a variant differs from its own duplicate, and the noise below which nothing can be told.

    Args:
        a, duplicate: one value per block of the same variant, shapes (k,).

    Raises:
        InputError, PseudoReplicationError: as :func:`harness.analysis.stats.effects.effect_size_ci`.
    """
    estimator: Literal["log_t", "welch_log_t"] = "log_t" if paired else "welch_log_t"
    ratio = effect_size_ci(a, duplicate, paired=paired, estimator=estimator, level=level)
    noise = noise_of(effect_size_ci(a, duplicate, paired=paired, estimator=estimator, level=0.90))
    says = ratio.low is not None and ratio.high is not None
    p_value = randomization_test(a, duplicate, paired=paired).p_value if ratio.value is not None else None
    return AATest(
        ratio=ratio,
        p_value=p_value,
        noise=noise,
        passed=(ratio.low or 0.0) <= 1.0 <= (ratio.high or 0.0) if says else None,
        warnings=ratio.warnings,
    )


def noise_of(inner: Estimate) -> float | None:
    """Return the smallest equivalence margin that a 90 % interval of a ratio fits into; ``None``: no interval."""
    if inner.low is None or inner.high is None:
        return None
    return max(inner.high, 1 / inner.low) - 1
