# SPDX-License-Identifier: Apache-2.0
"""The parts of a load: how a fresh process changes from the first to the last of them.

The published measurement offered four loads of 20 s to one process, with pauses of unknown length between
them. A load with parts and pauses is cut by its schedule: a request belongs to the part in which it was due,
however late it was answered. A load without is cut into parts of equal length by when each request began.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.quantiles import quantile_refused, rank
from harness.analysis.tables.resource_columns import cpu_in_window
from harness.errors import InputError
from harness.formats.arrays import IntArray

N_PARTS = 4
COLUMN = "part"
METRICS = ("latency_mean_s", "latency_p50_s", "latency_p99_s", "latency_max_s", "throughput_per_s")
_QUANTILES = {"latency_p50_s": 0.50, "latency_p99_s": 0.99}


def parts_of(
    requests: pd.DataFrame,
    *,
    duration_s: float,
    begins_s: Sequence[float] = (0.0,),
    n_parts: int = N_PARTS,
    samples: pd.DataFrame | None = None,
    epoch_to_monotonic_s: float = 0.0,
) -> pd.DataFrame:
    """Return one row per part: ``part`` (1...), counts, latencies of right answers, rate, CPU, memory.

    Args:
        requests: of one trial, as ``docs/data.md`` has them.
        duration_s: for how long requests were sent in each part of the schedule; the first request begins it.
        begins_s: when each part of the schedule begins, in seconds after the first one.
        n_parts: how many to return: each part of the schedule is cut into equally many of equal length.
        samples: of the same trial, for ``service_cores`` and ``rss_max_bytes``; NaN without them.
        epoch_to_monotonic_s: what to add to an epoch time to be on the clock of the samples.

    Raises:
        InputError: no request, a duration that is not above zero, fewer than one part, or a number of parts
            that the parts of the schedule cannot be cut into.
    """
    if duration_s <= 0 or n_parts < 1:
        raise InputError(
            "parts of a load need a length", found=f"{n_parts} of {duration_s} s", allowed="above zero"
        )
    if n_parts % len(begins_s):
        n = len(begins_s)
        raise InputError(
            f"the load has {n} parts, each to be cut alike", found=n_parts, allowed=f"{n}, {2 * n}..."
        )
    if requests.empty:
        raise InputError("no request to cut", found="0", allowed="at least one")
    begin = float(requests["start_epoch_s"].min())
    since_s = requests["start_epoch_s"].to_numpy(dtype=np.float64) - begin
    n_each = n_parts // len(begins_s)
    length_s = duration_s / n_each
    place = _places(since_s, np.asarray(begins_s, dtype=np.float64), duration_s, n_each)
    rows = []
    for part in range(n_parts):
        start = begin + begins_s[part // n_each] + part % n_each * length_s + epoch_to_monotonic_s
        rows.append(
            {COLUMN: str(part + 1)}
            | _latencies(requests[place == part], length_s)
            | _resources(samples, (start, start + length_s))
        )
    return pd.DataFrame(rows)


def _places(since_s: Floats, begins_s: Floats, duration_s: float, n_each: int) -> IntArray:
    """The part of each request. What began in a pause was due where it is nearer to: before it when a late
    generator sent it late, after it when the first request of all, from which is counted, was late."""
    ends_s = begins_s[:-1] + duration_s
    scheduled = np.searchsorted((ends_s + begins_s[1:]) / 2, since_s, side="right")
    within = ((since_s - begins_s[scheduled]) / duration_s * n_each).astype(np.int64)
    return np.asarray(scheduled * n_each + np.clip(within, 0, n_each - 1), dtype=np.int64)


def _latencies(mine: pd.DataFrame, length_s: float) -> dict[str, object]:
    ok = mine["ok"].to_numpy(dtype=np.bool_)
    right = np.sort(mine["latency_s"].to_numpy(dtype=np.float64)[ok])
    row: dict[str, object] = {
        "n_requests": len(mine),
        "n_errors": int(np.count_nonzero(~ok)),
        "throughput_per_s": right.size / length_s,
    }
    row |= dict.fromkeys(("latency_mean_s", "latency_max_s", *_QUANTILES), float("nan"))
    if right.size:
        row |= {"latency_mean_s": float(right.mean()), "latency_max_s": float(right[-1])}
    for column, q in _QUANTILES.items():
        if quantile_refused(right.size, q) is None:
            row[column] = float(right[rank(right.size, q) - 1])
    return row


def _resources(samples: pd.DataFrame | None, window: tuple[float, float]) -> dict[str, object]:
    if samples is None:
        return {"service_cores": float("nan"), "rss_max_bytes": float("nan")}
    cpu_s = cpu_in_window(samples, "service", window)
    mine = samples[(samples["role"] == "service") & samples["monotonic_s"].between(*window)]
    return {
        "service_cores": float("nan") if cpu_s is None else cpu_s / (window[1] - window[0]),
        "rss_max_bytes": float(mine["rss_bytes"].max()) if len(mine) else float("nan"),
    }
