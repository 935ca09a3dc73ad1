# SPDX-License-Identifier: Apache-2.0
"""Slow periods: spans in which the instance went on answering, but far too much of it was slow.

A scan over windows of 5 to 100 ms. Slow requests come in clusters when latencies follow
each other, so their count in a window is held against a beta-binomial law with the
clustering that the same trial shows in its other windows, never against a binomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy import stats

from harness.model import Frozen

FloatArray = npt.NDArray[np.float64]

#: Chance of one false finding in a whole trial, shared among all places that are looked at.
ALPHA = 1e-3
SCAN_WINDOWS_S = (0.005, 0.01, 0.02, 0.05, 0.1)
#: Windows with fewer requests than this say nothing.
_FEWEST = 5
_FEWEST_WINDOWS = 50


class Stall(Frozen):
    """A span in which nothing, or far too little, was completed. Times in seconds on the requests' clock."""

    start_s: float
    end_s: float
    kind: Literal["stall", "slow_period"]
    n_requests: int = Field(description="requests that waited through it, or were slow in it")
    log_p: float = Field(description="natural logarithm of its chance under the ordinary explanations")

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.end_s - self.start_s


def slow_periods(
    start_s: FloatArray, ratio: FloatArray, quiet: npt.NDArray[np.bool_], stalls: Sequence[Stall]
) -> list[Stall]:
    """Return the slow periods of one trial outside its stalls and their backlogs, in time order.

    Args:
        start_s: when each request was sent, ascending, shape (n,).
        ratio: its latency over the level of the moment, shape (n,).
        quiet: whether it touched none of ``stalls``, shape (n,).
    """
    if np.count_nonzero(quiet) < _FEWEST_WINDOWS:
        return []
    log_ratio = np.log(ratio[quiet])
    spread = 1.4826 * float(np.median(np.abs(log_ratio - np.median(log_ratio))))
    slow = (np.log(ratio) > max(3 * spread, float(np.quantile(log_ratio, 0.99)))) & quiet
    found = [period for width in SCAN_WINDOWS_S for period in _scan(start_s, slow, width)]
    # What follows a stall at once is its backlog, not a finding of its own.
    wake_s = max(SCAN_WINDOWS_S)
    return [
        period
        for period in merged(found, wake_s)
        if not any(period.start_s < s.end_s + wake_s and s.start_s < period.end_s for s in stalls)
    ]


def _scan(start_s: FloatArray, slow: npt.NDArray[np.bool_], width_s: float) -> list[Stall]:
    origin = float(start_s[0])
    window, inverse = np.unique(((start_s - origin) / width_s).astype(np.int64), return_inverse=True)
    n = np.bincount(inverse)
    k = np.bincount(inverse, weights=slow).astype(np.float64)
    share = float(slow.mean())
    busy = n >= _FEWEST
    if share == 0 or busy.sum() < _FEWEST_WINDOWS:
        return []
    suspects = busy & (k >= 0.5 * n)
    if not suspects.any():
        return []
    law = _clustered(n[busy].astype(np.float64), k[busy], share)
    bound = np.log(ALPHA / (busy.sum() * len(SCAN_WINDOWS_S)))
    found = []
    for i in np.flatnonzero(suspects):
        log_p = (
            float(stats.betabinom.logsf(k[i] - 1, n[i], *law))
            if law
            else float(stats.binom.logsf(k[i] - 1, n[i], share))
        )
        if log_p < bound:
            found.append(
                Stall(
                    start_s=float(origin + window[i] * width_s),
                    end_s=float(origin + (window[i] + 1) * width_s),
                    kind="slow_period",
                    n_requests=int(k[i]),
                    log_p=max(log_p, -1e6),
                )
            )
    return found


def _clustered(n: FloatArray, k: FloatArray, share: float) -> tuple[float, float] | None:
    """Both parameters of the beta law of each window's share of slow requests; None: it does not vary.

    From the excess of the counts' variance over the binomial one (method of moments).
    """
    excess = float(np.sum((k - n * share) ** 2 - n * share * (1 - share)))
    pairs = float(np.sum(n * (n - 1.0))) * share * (1 - share)
    within = excess / pairs if pairs > 0 else 0.0
    if within <= 0:
        return None
    size = (1 - within) / within
    return share * size, (1 - share) * size


def merged(found: Sequence[Stall], distance_s: float) -> list[Stall]:
    """Join neighbours that are no farther apart than ``distance_s``; in time order."""
    joined: list[Stall] = []
    for stall in sorted(found, key=lambda s: s.start_s):
        last = joined[-1] if joined else None
        if last is not None and stall.start_s - last.end_s <= distance_s:
            joined[-1] = last.model_copy(
                update={
                    "end_s": max(last.end_s, stall.end_s),
                    "n_requests": last.n_requests + stall.n_requests,
                    "log_p": min(last.log_p, stall.log_p),
                }
            )
        else:
            joined.append(stall)
    return joined
