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
from harness.analysis.tables.resource_columns import SERVICE, at_other_speed
from harness.errors import InputError

#: The reason of trials that are left out here.
UNREAD = "machine: the speed of its CPUs was not read"
#: Where a larger share of the trials would be left out for their speed, all count at equal speed.
SLOWED_SHARE = 1 / 3
#: Metrics that take the time of the service's CPUs. Latency does too, but not in proportion: requests queue.
OF_SPEED = ("throughput_per_s", "cpu_s_per_request")
#: Metrics that the speed during the load has no part in: memory, and what was measured before the load.
_NOT_OF_SPEED = ("rss_", "pss_", "time_to_", "cold_", "warm_up_")


def beside_neighbours(
    trials: pd.DataFrame, *metrics: str, by: Sequence[str] = (), share: float = SLOWED_SHARE
) -> pd.DataFrame:
    """Return the trials for metrics of a session in which a neighbour slowed more than a ``share`` of them: none is
    left out for its speed then, and those of ``OF_SPEED`` are at equal speed; 0: of a session without a block to spare.
    Where fewer were slowed, where a metric depends on speed in another way, as latencies do, and where the speed cannot
    be adjusted for, the trials are returned as they are; each combination of ``by`` is decided on its own."""
    adjustable = [metric for metric in metrics if metric in OF_SPEED]
    as_measured = [metric for metric in metrics if metric not in OF_SPEED]
    unadjusted = [metric for metric in as_measured if not metric.startswith(_NOT_OF_SPEED)]
    if unadjusted or not at_other_speed(trials).any():
        return trials
    cells = [cell for _, cell in trials.groupby(list(by), dropna=False, sort=False)] if by else [trials]
    return pd.concat([_decided(cell, adjustable, share) for cell in cells]).loc[trials.index]


def _decided(cell: pd.DataFrame, metrics: Sequence[str], share: float) -> pd.DataFrame:
    if at_other_speed(cell).mean() <= share:
        return cell
    try:
        return at_equal_speed(cell, *metrics)
    except InputError:
        return cell


def slowed_note(trials: pd.DataFrame, adjusted: pd.DataFrame) -> str | None:
    """Return a warning with the number of trials that count in ``adjusted`` alone; ``None``: no trial does."""
    number = int((trials["excluded"].astype(bool) & ~adjusted["excluded"].astype(bool)).sum())
    if not number:
        return None
    slowed = f"a neighbour slowed the CPUs in {number} of {len(trials)} trials"
    return f"{slowed}; all count, rates and CPU times at the speed usual in the session"


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
    arms = np.asarray(counted.groupby(["variant", *by]).ngroup(), dtype=object)
    adjusted: dict[str, pd.Series] = {}
    for metric in metrics:
        read = counted[metric].notna().to_numpy()
        logs = np.log(counted[metric].to_numpy(dtype=np.float64)[read])
        slope = slope_within(steps[read], logs, arms[read])
        if slope is None:
            problem = "too few trials to adjust for the speed of the CPUs"
            raise InputError(problem, found=f"{read.sum()} trials")
        adjusted[metric] = restored[metric].astype("float64") * np.exp(-slope.value * distance)
    return restored.assign(**adjusted)


def _restored(trials: pd.DataFrame) -> pd.DataFrame:
    """Count the trials that were left out for their speed, but for those whose speed was not read."""
    slowed = at_other_speed(trials)
    excluded = trials["excluded"].astype(bool) & ~slowed
    unread = ~excluded & trials[SERVICE].isna()
    reasons = trials["exclusion_reason"].mask(slowed).mask(unread, UNREAD)
    return trials.assign(excluded=excluded | unread, exclusion_reason=reasons)
