# SPDX-License-Identifier: Apache-2.0
"""How many blocks, in what order, and where the variation comes from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.inputs import Floats, arms, finite, fraction, trial_values
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.errors import InputError
from harness.model.base import Frozen

PILOT_BLOCKS = 5
MOST_BLOCKS = 100_000
#: The chance with which ``n_blocks_assured`` suffices, given what a small pilot knows of the variation.
ASSURANCE = 0.8


class PlannedRepetitions(Frozen):
    """How many blocks a ratio's interval needs to become as narrow as wanted."""

    n_blocks: int = Field(description="if the pilot's variation is the true one")
    n_blocks_assured: int | None = Field(
        description="enough with 80 % confidence in view of the small pilot; None: no pilot was given"
    )
    half_width: float = Field(description="wanted, as a share of the ratio")
    level: float
    sd_log_ratio: float = Field(description="of one block's log ratio")
    n_pilot: int
    warnings: tuple[str, ...] = ()


class VarianceComponents(Frozen):
    """One-way random effects: between trials, and between the windows (or requests) within them."""

    between: float = Field(ge=0, description="variance of the trials' true values")
    within: float = Field(ge=0)
    between_unclipped: float = Field(
        description="negative when trials differ less than chance alone makes them"
    )
    intraclass_correlation: float | None
    n_trials: int
    n_values: int
    warnings: tuple[str, ...] = ()


def plan_repetitions(
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    *,
    cv: float | None = None,
    half_width: float = 0.02,
    level: float = 0.95,
) -> PlannedRepetitions:
    """Return how many blocks make the half-width of the ratio's interval ``half_width`` or less.

    Args:
        a, b: a pilot of about five blocks, one value per block, shapes (k,): both arms give the variation
            of their paired log ratio; one arm alone is taken to be like the other and independent of it.
        cv: instead of a pilot: the run-to-run coefficient of variation of each arm.
        half_width: as a share: 0.02 is +-2 %.

    Stopping early is allowed on the interval's width, never on a p-value.

    Raises:
        InputError: neither or both of a pilot and ``cv``; a pilot of one block, or not positive.
    """
    fraction(half_width, "half_width")
    fraction(level, "level")
    if (a is None) == (cv is None):
        raise InputError(
            "give a pilot or cv", found="both" if a is not None else "neither", allowed="one of them"
        )
    warnings: tuple[str, ...] = ()
    if a is None:
        assert cv is not None  # one of the two is there
        if not 0 < cv < 10:
            raise InputError("cv out of range", place="cv", found=cv, allowed="above 0, such as 0.03")
        sd, n_pilot = float(np.sqrt(2 * np.log1p(cv**2))), 0
    else:
        sd, n_pilot = _pilot_sd(a, b)
        if n_pilot < PILOT_BLOCKS:
            warnings += (
                f"a pilot of {n_pilot} blocks knows little of the variation; {PILOT_BLOCKS} are usual",
            )
        if sd == 0:
            warnings += (
                "every block of the pilot shows the same: it is coarser than what is to be known "
                "(whole milliseconds?), so this number of blocks is a guess",
            )
    assured = None
    if n_pilot:
        upper = sd * np.sqrt((n_pilot - 1) / float(scipy.special.chdtri(n_pilot - 1, ASSURANCE)))
        assured = _blocks(float(upper), half_width, level)
    return PlannedRepetitions(
        n_blocks=_blocks(sd, half_width, level),
        n_blocks_assured=assured,
        half_width=half_width,
        level=level,
        sd_log_ratio=sd,
        n_pilot=n_pilot,
        warnings=warnings,
    )


def _pilot_sd(a: ArrayLike, b: ArrayLike | None) -> tuple[float, int]:
    if b is None:
        left = trial_values(a, "a")
        logs, scale = np.log(left) if left.min() > 0 else None, np.sqrt(2.0)
    else:
        left, right = arms(a, b, paired=True)
        logs, scale = (np.log(left / right) if min(left.min(), right.min()) > 0 else None), 1.0
    if logs is None:
        raise InputError("a pilot needs positive values", found="zero or less", allowed="above 0")
    if left.size < 2:
        raise InputError(
            "a pilot of one block has no variation", found="1 block", allowed=f"about {PILOT_BLOCKS}"
        )
    return float(scale * logs.std(ddof=1)), left.size


def _blocks(sd: float, half_width: float, level: float) -> int:
    """Return the fewest blocks (never below 5) with t sd / sqrt(k) <= log(1 + half_width)."""
    enough = _widths(level) * sd <= np.log1p(half_width)
    if not enough.any():
        raise InputError(
            "no practical number of blocks is enough",
            found=f"standard deviation {sd:.3g}",
            allowed="a wider half_width",
        )
    return FEWEST_FOR_P + int(np.argmax(enough))


@cache  # a hundred thousand critical values; every comparison of a session asks for the same
def _widths(level: float) -> Floats:
    """Return half-widths of an interval, in standard deviations, of ``FEWEST_FOR_P`` blocks and each number above."""
    k = np.arange(FEWEST_FOR_P, MOST_BLOCKS)
    return t_critical(level, k - 1) / np.sqrt(k)


def variance_components(trials: Sequence[ArrayLike]) -> VarianceComponents:
    """Split variation into between and within trials (one-way random effects, analysis of variance).

    Args:
        trials: one array per trial of window means (or requests), shapes (n_i,), in any sizes.

    Raises:
        InputError: fewer than two trials, or no trial with two values.
    """
    parts = [finite(trial, f"trial {i}") for i, trial in enumerate(trials)]
    sizes = np.array([part.size for part in parts])
    k, n = len(parts), int(sizes.sum())
    if k < 2 or n == k:
        raise InputError(
            "components need two trials, and one with two values",
            found=f"{k} trials, {n} values",
            allowed="more",
        )
    means = np.array([part.mean() for part in parts])
    grand = float(np.concatenate(parts).mean())
    within = float(sum(((part - mean) ** 2).sum() for part, mean in zip(parts, means, strict=True)) / (n - k))
    between_square = float((sizes * (means - grand) ** 2).sum() / (k - 1))
    n0 = (n - float((sizes**2).sum()) / n) / (k - 1)
    raw = (between_square - within) / n0
    between = max(raw, 0.0)
    total = between + within
    said: tuple[str, ...] = (
        ("trials differ less than chance alone makes them: between set to 0",) if raw < 0 else ()
    )
    if total <= 0:
        said += ("all values are equal: there is no variation to split",)
    return VarianceComponents(
        between=between,
        within=within,
        between_unclipped=raw,
        intraclass_correlation=between / total if total > 0 else None,
        n_trials=k,
        n_values=n,
        warnings=said,
    )
