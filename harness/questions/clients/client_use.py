# SPDX-License-Identifier: Apache-2.0
"""What a service used at most, and its latency by percentile: of one trial, pure."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import finite
from harness.analysis.stats.quantiles import quantile_refused, rank

#: column -> quantile: those that the published comparison of clients prints.
PERCENTILES = {
    "p50_s": 0.50,
    "p75_s": 0.75,
    "p90_s": 0.90,
    "p99_s": 0.99,
    "p999_s": 0.999,
    "p9999_s": 0.9999,
    "p99999_s": 0.99999,
}
#: A busy moment shorter than this is no load on a machine; a system monitor shows about as much.
BUSY_OVER_S = 1.0


def percentiles_of(latency_s: ArrayLike) -> dict[str, float]:
    """Return ``PERCENTILES`` of one trial's right answers; NaN for what so few requests cannot tell."""
    ordered = np.sort(finite(latency_s, "latency_s"))
    n = ordered.size
    return {
        column: float(ordered[rank(n, q) - 1]) if quantile_refused(n, q) is None else float("nan")
        for column, q in PERCENTILES.items()
    }


def most_cores(
    samples: pd.DataFrame, window: tuple[float, float], *, over_s: float = BUSY_OVER_S
) -> float | None:
    """Return the most CPUs that the service kept busy for ``over_s`` within a window of the samples' clock.

    ``None``: the window is shorter than that, or holds fewer than two readings.
    """
    rows = samples[(samples["role"] == "service") & samples["cpu_s"].notna()]
    at, used = rows["monotonic_s"].to_numpy(dtype=np.float64), rows["cpu_s"].to_numpy(dtype=np.float64)
    inside = (at >= window[0]) & (at <= window[1] - over_s)
    if at.size < 2 or not inside.any() or at[-1] < window[0] + over_s:
        return None
    begins = at[inside]
    return float(np.max(np.interp(begins + over_s, at, used) - np.interp(begins, at, used)) / over_s)


__all__ = ["BUSY_OVER_S", "PERCENTILES", "most_cores", "percentiles_of"]
