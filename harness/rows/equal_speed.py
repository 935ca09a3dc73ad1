# SPDX-License-Identifier: Apache-2.0
"""Trials at one speed of the CPUs: metrics measured beside a busy neighbour, adjusted by the speed measured meanwhile.

A guest on the other hardware thread of a core makes the same work take up to twice the CPU time. Where it rests most
of the time, the trials beside it are left out (:mod:`harness.analysis.tables.resource_columns`). Where it never rests,
too few would remain. Here all of them count, and each metric is moved to the usual speed of its session along

    log(metric) = variant + slope * log(CPU time of a step of the fixed calculation on the service's CPUs).

The slope is estimated within variants, so that differences between them have no part in it. This is an analysis of
covariance whose covariate is measured during the load and influenced by no variant (Cochran, Biometrics 13, 1957).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.analysis.audit.session_checks import slope_within
from harness.analysis.stats.pairing import counting
from harness.analysis.tables.bound import FULL_SHARE, TIE
from harness.analysis.tables.resource_columns import SERVICE, at_other_speed
from harness.errors import InputError

#: The reason of trials that are left out here.
UNREAD = "machine: the speed of its CPUs was not read"


def at_equal_speed(
    trials: pd.DataFrame, *metrics: str, by: Sequence[str] = (), usual_s: float | None = None
) -> pd.DataFrame:
    """Return the trials with metrics moved to one speed of the CPUs; those left out for their speed count again.

    Args:
        trials: of one session, with ``service_step_s``; those without a reading are left out.
        metrics: columns of positive numbers that depend on the speed of the service's CPUs.
        by: factor columns; each variant has a mean of its own at each combination of levels.
        usual_s: CPU time of a step to move to, in seconds; default: the median of the counted trials.

    Raises:
        InputError: too few trials of each variant, or all of them at one speed.
    """
    restored = _restored(trials)
    counted = counting(restored)
    steps = np.log(counted[SERVICE].to_numpy(dtype=np.float64))
    usual = float(counted[SERVICE].median()) if usual_s is None else usual_s
    distance = np.log(restored[SERVICE].astype("float64") / usual)
    arms = counted.groupby(["variant", *by]).ngroup().to_numpy(dtype=object)
    adjusted = {}
    for metric in metrics:
        read = counted[metric].notna().to_numpy()
        slope = slope_within(
            steps[read],
            np.log(counted[metric].to_numpy(dtype=np.float64)[read]),
            arms[read],
        )
        if slope is None:
            raise InputError("too few trials to adjust for the speed of the CPUs", found=f"{read.sum()} trials")
        adjusted[metric] = restored[metric].astype("float64") * np.exp(-slope.value * distance)
    return restored.assign(**adjusted)


def _restored(trials: pd.DataFrame) -> pd.DataFrame:
    """Count the trials left out for their speed, and name what bounded them by the shares of their CPUs that were used.

    The rule is that of :mod:`harness.analysis.tables.bound`: the part with the largest share, if that is full.
    """
    slowed = at_other_speed(trials)
    shares = trials[["service_share", "generator_share"]].astype("float64").fillna(0.0)
    service, generator = shares["service_share"], shares["generator_share"]
    by_service = slowed & (service >= FULL_SHARE) & (service >= generator - TIE)
    by_generator = slowed & ~by_service & (generator >= FULL_SHARE)
    excluded = trials["excluded"].astype(bool) & ~slowed
    unread = ~excluded & trials[SERVICE].isna()
    return trials.assign(
        excluded=excluded | unread,
        exclusion_reason=trials["exclusion_reason"].mask(slowed).mask(unread, UNREAD),
        bound_by=trials["bound_by"].mask(by_service, "service").mask(by_generator, "generator"),
    )
