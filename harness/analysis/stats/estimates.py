# SPDX-License-Identifier: Apache-2.0
"""From bounds over trials to an estimate: what cannot be had becomes ``None``, and a warning says why."""

from __future__ import annotations

import numpy as np

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import Bounds
from harness.model import Estimate, Support, support_of

CONSTANT = "no variation between trials (below the resolution?): no interval"
BEYOND = "the interval reaches beyond what can be: too noisy for this method, no interval"
ONE_TRIAL = "one trial: a value without an interval; repeat it with a fresh process"

#: An interval that holds both of these says nothing: nearly none and nearly all; a half less and twice as much.
_BOTH_WAYS = {Support.SHARE: (0.1, 0.9), Support.REDUCTION: (-1.0, 0.5)}


def withheld(estimate: Estimate) -> Estimate:
    """Return the estimate, without value and interval where the interval leaves open which way it goes.

    Of a share: from below 10 % to above 90 %. Of a reduction: from below -100 % (twice as much) to above 50 %
    (half as much). A value beside such an interval reads as a finding and is none. Other supports have no such ends.
    """
    ends = _BOTH_WAYS.get(estimate.support)
    if ends is None or estimate.low is None or estimate.high is None:
        return estimate
    if estimate.low >= ends[0] or estimate.high <= ends[1]:
        return estimate
    reach = f"from below {ends[0]:.0%} to above {ends[1]:.0%}"
    why = f"cannot be said: the interval over {estimate.n_trials} trials reaches {reach}"
    return estimate.model_copy(
        update={"value": None, "low": None, "high": None, "warnings": (*estimate.warnings, why)}
    )


def widest(values: Floats, support: Support) -> Support:
    """Return the support, or a wider one where values are given that lie outside of it."""
    wider = (support, Support.NOT_NEGATIVE, Support.REAL)
    ends = (float(values.min()), float(values.max())) if values.size else ()
    return next(one for one in wider if all(map(one.has, ends)))


def nothing(
    *warnings: str, estimand: str, unit: str, level: float = 0.95, method: str = "none", n_trials: int = 0,
    inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return an estimate without a value, and the reasons."""
    return Estimate(
        value=None, level=level, unit=unit, method=method, estimand=estimand, n_trials=n_trials, inputs=inputs,
        warnings=warnings,
    )  # fmt: skip


def from_bounds(
    back: np.ufunc | None,
    bounds: Bounds,
    *,
    method: str,
    estimand: str,
    unit: str,
    n_trials: int,
    level: float,
    inputs: tuple[str, ...],
    constant: bool,
    seed: int | None = None,
    n_requests: int | None = None,
    extra: tuple[str, ...] = (),
    unbounded: str = "too few trials for an interval",
    support: Support | None = None,
) -> Estimate:
    """Turn bounds into an estimate: NaN or meaningless bounds become ``None``, and a warning says why.

    Bounds outside of the support (absent: by the unit) are meaningless, too: they are withheld, never cut.
    """
    centre, low, high = (
        float(v if back is None else back(v)) for v in (bounds.centre, bounds.low, bounds.high)
    )
    warnings = extra
    has_ends = bool(np.isfinite(low) and np.isfinite(high))
    # Ties may leave both ends of a rank interval on one value: that is the resolution, not certainty.
    constant = constant or (has_ends and low == high)
    kept = support_of(unit) if support is None else support
    possible = not has_ends or (kept.has(low) and kept.has(high))
    has_interval = has_ends and not constant and possible
    if not possible and not constant:
        warnings += (BEYOND,)
    elif not has_interval and not extra:
        warnings += (CONSTANT if constant and n_trials > 1 else ONE_TRIAL if n_trials < 2 else unbounded,)
    elif constant and n_trials > 1:
        warnings += (CONSTANT,)
    return Estimate(
        value=centre,
        low=low if has_interval else None,
        high=high if has_interval else None,
        level=level,
        unit=unit,
        support=kept,
        method=method,
        estimand=estimand,
        n_trials=n_trials,
        n_requests=n_requests,
        seed=seed,
        inputs=inputs,
        warnings=warnings,
    )
