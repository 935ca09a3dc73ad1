# SPDX-License-Identifier: Apache-2.0
"""What follows from tests: p-values adjusted over their family, margins, the four verdicts, and grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from harness.analysis.inputs import Floats
from harness.errors import InputError
from harness.model import Estimate, Verdict

Grade = Literal["too few", "exploratory", "confirmatory"]
Family = Literal["exploratory", "confirmatory"]

#: Below this number of blocks no p-value is printed; from the second on a claim may be confirmatory.
FEWEST_FOR_P = 5
FEWEST_FOR_CONFIRMATORY = 10

#: What counts as negligible where nothing else is said: a share of the reference.
DEFAULT_MARGIN = 0.05
TAIL_MARGIN = 0.10
#: A margin widened to more than this would call things equal that nobody would.
MOST_NOISE = 0.25


def adjust_pvalues(
    p_values: Sequence[float | None], *, method: Literal["holm", "bh"] = "holm"
) -> tuple[float | None, ...]:
    """Return p-values adjusted over their family, in the same order; ``None`` stays and is not counted.

    ``holm`` bounds the chance of any false claim (confirmatory claims); ``bh`` the share of false
    ones among those made (the exploratory grid; Benjamini & Hochberg 1995).

    Raises:
        InputError: a p-value outside [0, 1] or NaN, or an unknown method.
    """
    present = [(i, p) for i, p in enumerate(p_values) if p is not None]
    for i, p in present:
        if not 0.0 <= p <= 1.0:
            raise InputError("not a p-value", place=f"p_values[{i}]", found=p, allowed="a number in [0, 1]")
    if method not in ("holm", "bh"):
        raise InputError("no such adjustment", place="method", found=method, allowed="holm, bh")
    family = np.array([p for _, p in present])
    adjusted = _holm(family) if method == "holm" else _benjamini_hochberg(family)
    out: list[float | None] = [None] * len(p_values)
    for (i, _), value in zip(present, adjusted, strict=True):
        out[i] = float(value)
    return tuple(out)


def _holm(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def _benjamini_hochberg(p: Floats) -> Floats:
    order = np.argsort(p, kind="stable")[::-1]
    stepped = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    out = np.empty_like(p)
    out[order] = np.minimum(stepped, 1.0)
    return out


def default_margin(metric: str, noise: float | None = None) -> float:
    """Return what counts as negligible for a metric: 10 % in the tail (p99 and beyond, maxima), 5 %
    elsewhere, and never less than the measured noise of the reference against its duplicate."""
    tail = any(word in metric for word in ("p99", "p999", "max"))
    margin = TAIL_MARGIN if tail else DEFAULT_MARGIN
    return margin if noise is None else max(margin, noise)


def verdict(difference: Estimate, equivalence: Estimate, *, margin: float) -> Verdict:
    """Return which of the four things a comparison says.

    Args:
        difference: the ratio with its 95 % interval; "different" when that leaves out 1.
        equivalence: the same ratio with its 90 % interval; "equivalent" when that lies within
            [1 / (1 + margin), 1 + margin].

    Missing bounds say nothing: inconclusive.
    """
    check_margin(margin)
    different = (
        difference.low is not None
        and difference.high is not None
        and not (difference.low <= 1.0 <= difference.high)
    )
    equivalent = (
        equivalence.low is not None
        and equivalence.high is not None
        and (equivalence.low >= 1 / (1 + margin) and equivalence.high <= 1 + margin)
    )
    if different and equivalent:
        return Verdict.DIFFERENT_BUT_NEGLIGIBLE
    if different:
        return Verdict.DIFFERENT
    return Verdict.EQUIVALENT if equivalent else Verdict.INCONCLUSIVE


def without_equality(said: Verdict) -> Verdict:
    """Return what remains of a verdict where the noise forbids calling anything equal."""
    if said is Verdict.EQUIVALENT:
        return Verdict.INCONCLUSIVE
    return Verdict.DIFFERENT if said is Verdict.DIFFERENT_BUT_NEGLIGIBLE else said


def grade(n_blocks: int, family: Family) -> Grade:
    """Return what a comparison over ``n_blocks`` may be called (5-9: exploratory whatever was planned)."""
    if n_blocks < FEWEST_FOR_P:
        return "too few"
    return (
        "confirmatory" if family == "confirmatory" and n_blocks >= FEWEST_FOR_CONFIRMATORY else "exploratory"
    )


def check_margin(margin: float) -> None:
    """Raise when a margin is not positive and finite."""
    if not 0 < margin < float("inf"):
        raise InputError(
            "a margin is a share of the reference",
            place="margin",
            found=margin,
            allowed="above 0, such as 0.05",
        )
