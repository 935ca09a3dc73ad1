# SPDX-License-Identifier: Apache-2.0
"""A ratio over several sessions: its mean for machines like these, and the range for one more session.

An interval of one session says how well that session's ratio is known. It does not say what another machine, or another
day, gives. Random effects do: each session has a true ratio of its own, and these vary with variance tau squared around
the mean. Tau squared is estimated by Paule and Mandel (1982), and the interval of the mean by Hartung and Knapp (2001)
and Sidik and Jonkman (2002), never narrower than without tau.

The range for another session is Student's prediction interval for one more measured ratio, over the logarithms of the
measured ones: it needs no estimate of tau. The usual one (Higgins, Thompson and Spiegelhalter 2009) held 90 % in place
of 95 % for six sessions whose true ratios vary as much as their errors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.inputs import Floats, fraction
from harness.analysis.stats.intervals import t_critical
from harness.errors import InputError
from harness.model import Estimate
from harness.model.base import Frozen

#: With fewer sessions the degrees of freedom of a prediction interval leave it without a meaning.
FEWEST_TO_PREDICT = 4
METHOD = "random effects over sessions (Paule-Mandel, Hartung-Knapp)"
PREDICTION = "Student's prediction interval over sessions"


class BetweenSessions(Frozen):
    """The mean ratio over sessions, the range of the ratio in another session, and how much sessions differ."""

    mean: Estimate
    predicted: Estimate = Field(
        description="value: the mean; interval: of a ratio measured in another session"
    )
    tau: float = Field(ge=0, description="standard deviation of the sessions' true log ratios")
    i2: float = Field(
        ge=0, le=1, description="share of the variance between sessions that their own errors do not make"
    )
    n_sessions: int


def between_sessions(
    ratios: ArrayLike,
    standard_errors: ArrayLike,
    *,
    estimand: str,
    level: float = 0.95,
    inputs: Sequence[str] = (),
    n_trials: int = 0,
) -> BetweenSessions:
    """Combine the ratio of each session.

    Args:
        ratios: one a session, shape (k,), above 0. standard_errors: of their logarithms, shape (k,), above 0.
        estimand: what the ratio is of. level: of both intervals.

    Raises:
        InputError: fewer than two sessions, other shapes, or values that are not above 0.
    """
    fraction(level, "level")
    logs, errors = _checked(ratios, standard_errors)
    k = len(logs)
    tau2 = _paule_mandel(logs, errors)
    weights = 1 / (errors**2 + tau2)
    mean = float(np.average(logs, weights=weights))
    spread = float((weights * (logs - mean) ** 2).sum() / (k - 1))
    error = float(np.sqrt(max(1.0, spread) / weights.sum()))
    fixed = 1 / errors**2
    cochran = float((fixed * (logs - np.average(logs, weights=fixed)) ** 2).sum())

    def estimate(centre: float, half: float, method: str, what: str) -> Estimate:
        if not np.isfinite(half):
            return nothing(
                f"{k} sessions: a prediction needs {FEWEST_TO_PREDICT}",
                estimand=what,
                unit="ratio",
                level=level,
                n_trials=n_trials,
                inputs=tuple(inputs),
            )
        value, low, high = (float(np.exp(log)) for log in (centre, centre - half, centre + half))
        return Estimate(
            value=value,
            low=low,
            high=high,
            level=level,
            unit="ratio",
            method=method,
            estimand=what,
            n_trials=n_trials,
            inputs=tuple(inputs),
        )

    critical = float(t_critical(level, k - 1))
    another = float(np.std(logs, ddof=1)) * float(np.sqrt(1 + 1 / k)) if k >= FEWEST_TO_PREDICT else np.nan
    return BetweenSessions(
        mean=estimate(mean, critical * error, METHOD, f"mean of {estimand} over {k} sessions"),
        predicted=estimate(
            float(logs.mean()), critical * another, PREDICTION, f"{estimand}, measured in another session"
        ),
        tau=float(np.sqrt(tau2)),
        i2=max(0.0, 1 - (k - 1) / cochran) if cochran > 0 else 0.0,
        n_sessions=k,
    )


def _paule_mandel(logs: Floats, errors: Floats) -> float:
    """Return the variance between sessions that makes the weighted squares as large as they are on average."""

    def surplus(tau2: float) -> float:
        weights = 1 / (errors**2 + tau2)
        centre = np.average(logs, weights=weights)
        return float((weights * (logs - centre) ** 2).sum()) - (len(logs) - 1)

    if surplus(0.0) <= 0:
        return 0.0
    upper = float(np.var(logs, ddof=1)) + 1e-12
    while surplus(upper) > 0:
        upper *= 2
    return float(scipy.optimize.brentq(surplus, 0.0, upper, xtol=1e-16))


def _checked(ratios: ArrayLike, standard_errors: ArrayLike) -> tuple[Floats, Floats]:
    values, errors = (np.asarray(given, dtype=np.float64) for given in (ratios, standard_errors))
    if values.shape != errors.shape or values.ndim != 1 or len(values) < 2:
        raise InputError(
            "ratios and standard errors are not of the same sessions",
            found=f"{values.shape} and {errors.shape}",
            allowed="two sequences of one length, of at least two sessions",
        )
    for name, given in (("ratio", values), ("standard error", errors)):
        wrong = given[~(np.isfinite(given) & (given > 0))]
        if len(wrong):
            raise InputError(f"a {name} that is not above 0", found=str(wrong[0]), allowed="above 0")
    return np.log(values), errors
