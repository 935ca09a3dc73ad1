# SPDX-License-Identifier: Apache-2.0
"""One long load cut into equal parts: how a fresh process changes from the first to the last of them.

The published measurement offered four loads of 20 s to one process; here one load of four times the
length is cut into four parts by when each request began. Between published loads was a pause of unknown
length, here there is none, so what a service does when it is left alone does not show.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.analysis.quantiles import quantile_refused, rank
from harness.analysis.trial_resources import cpu_in_window
from harness.errors import InputError

N_PARTS = 4
COLUMN = "part"
METRICS = ("latency_mean_s", "latency_p50_s", "latency_p99_s", "latency_max_s", "throughput_per_s")
_QUANTILES = {"latency_p50_s": 0.50, "latency_p99_s": 0.99}


def parts_of(
    requests: pd.DataFrame,
    *,
    duration_s: float,
    n_parts: int = N_PARTS,
    samples: pd.DataFrame | None = None,
    epoch_to_monotonic_s: float = 0.0,
) -> pd.DataFrame:
    """Return one row per part: ``part`` (1...), counts, latencies of right answers, rate, CPU, memory.

    Args:
        requests: of one trial, as ``docs/data.md`` has them.
        duration_s: for how long requests were sent; the first one begins the first part.
        samples: of the same trial, for ``service_cores`` and ``rss_max_bytes``; NaN without them.
        epoch_to_monotonic_s: what to add to an epoch time to be on the clock of the samples.

    Raises:
        InputError: no request, a duration that is not above zero, or fewer than one part.
    """
    if duration_s <= 0 or n_parts < 1:
        raise InputError(
            "parts of a load need a length", found=f"{n_parts} of {duration_s} s", allowed="above zero"
        )
    if requests.empty:
        raise InputError("no request to cut", found="0", allowed="at least one")
    begin = float(requests["start_epoch_s"].min())
    since = requests["start_epoch_s"].to_numpy(dtype=np.float64) - begin
    place = np.minimum((since / duration_s * n_parts).astype(int), n_parts - 1)
    length_s = duration_s / n_parts
    rows = []
    for part in range(n_parts):
        start = begin + part * length_s + epoch_to_monotonic_s
        rows.append(
            {COLUMN: str(part + 1)}
            | _latencies(requests[place == part], length_s)
            | _resources(samples, (start, start + length_s))
        )
    return pd.DataFrame(rows)


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
