# SPDX-License-Identifier: Apache-2.0
"""How a service came back while requests kept coming: after its last error, and after its latency had risen.

The load is cut into windows of equal length by when requests began. What those who came in a window
waited tells how the service was then; in an open loop that includes what they queued.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from harness.analysis.stats.inputs import Floats, finite
from harness.errors import InputError
from harness.model.base import Frozen

N_WINDOWS = 20
#: Slow: the p99 of a window is above so many times that of the calm ones.
SLOW_FACTOR = 3.0
#: The calm windows: this share of them, those with the lowest p99.
CALM_SHARE = 0.25
#: A window with fewer requests tells nothing, and a load with fewer windows that tell has no recovery to speak of.
FEWEST_REQUESTS, FEWEST_WINDOWS = 5, 4


class Recovery(Frozen):
    """What happened while requests still arrived. Times in seconds.

    Without errors the first two are ``None``; without a slow window the last two are.
    """

    window_s: float
    threshold_s: float | None = Field(
        description="a window whose p99 is above it is slow; None: too few to tell"
    )
    first_error_s: float | None = Field(description="from the first request to the first that went wrong")
    calm_after_error_s: float | None = Field(
        description="from the end of the last wrong answer to the last request: so long all went well under load"
    )
    slow_s: float | None = Field(
        description="from the start of the first slow window to the end of the last one"
    )
    recovery_s: float | None = Field(
        description="from the start of the worst window until none was slow any more; None also when the last one was"
    )
    recovered: bool | None = Field(
        description="whether the load went on after the last slow window; None: none was"
    )


def recovery(
    start_s: ArrayLike,
    latency_s: ArrayLike,
    ok: ArrayLike,
    *,
    threshold_s: float | None = None,
    n_windows: int = N_WINDOWS,
) -> Recovery:
    """Return how one trial's service came back under load.

    Args:
        start_s, latency_s: shape (n,), of every request, errors included. ok: shape (n,), bool.
        threshold_s: what is slow; default: three times the median p99 of the calmest quarter of the windows.

    Raises:
        InputError: no request, lengths that differ, a latency below zero, or less than one window.
    """
    start, latency = finite(start_s, "start_s"), finite(latency_s, "latency_s")
    right = np.asarray(ok, dtype=np.bool_)
    if not start.shape == latency.shape == right.shape:
        raise InputError("one latency and one verdict per start", found=f"{latency.shape}, {right.shape}")
    if (latency < 0).any() or n_windows < 1:
        raise InputError("a latency is never negative, and there is a window at least", found=n_windows)
    begin, last = float(start.min()), float(start.max())
    window_s = (last - begin) / n_windows
    found = Recovery(
        window_s=window_s, threshold_s=None, first_error_s=None, calm_after_error_s=None, slow_s=None,
        recovery_s=None, recovered=None,
    )  # fmt: skip
    if not right.all():
        ended = float((start + latency)[~right].max())
        found = found.model_copy(
            update={
                "first_error_s": float(start[~right].min()) - begin,
                "calm_after_error_s": max(0.0, last - ended),
            }
        )
    return found.model_copy(update=_by_windows(start - begin, latency, window_s, n_windows, threshold_s))


def _by_windows(
    start: Floats, latency: Floats, window_s: float, n_windows: int, threshold_s: float | None
) -> dict[str, object]:
    if window_s <= 0:
        return {}
    number = np.minimum((start / window_s).astype(np.int64), n_windows - 1)
    p99 = np.full(n_windows, np.nan)
    for window in range(n_windows):
        mine = latency[number == window]
        if mine.size >= FEWEST_REQUESTS:
            p99[window] = np.quantile(mine, 0.99, method="higher")
    told = np.sort(p99[~np.isnan(p99)])
    if told.size < FEWEST_WINDOWS:
        return {}
    calm = told[: max(1, int(told.size * CALM_SHARE))]
    limit = SLOW_FACTOR * float(np.median(calm)) if threshold_s is None else threshold_s
    slow = np.flatnonzero(p99 > limit)
    if slow.size == 0:
        return {"threshold_s": limit}
    worst = int(np.nanargmax(p99))
    after = bool(np.any(~np.isnan(p99[slow[-1] + 1 :])))
    end = float(slow[-1] + 1) * window_s
    return {
        "threshold_s": limit,
        "slow_s": end - float(slow[0]) * window_s,
        "recovery_s": end - worst * window_s if after else None,
        "recovered": after,
    }
