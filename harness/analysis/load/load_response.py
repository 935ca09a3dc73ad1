# SPDX-License-Identifier: Apache-2.0
"""What a load did to a service: its parts, and the rate of right answers that was kept up.

A load with pauses is cut by its schedule: a request belongs to the part in which it was due. A fixed amount of work
says how long it took, an offered rate which rate of right answers was kept up. An arrival that was never sent counts
as wanted and as failed; of a flow passes are counted, not requests, because a pass ends at its first wrong answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from harness.analysis.stats.quantiles import quantile_refused, rank
from harness.analysis.tables.resource_columns import cpu_in_window
from harness.errors import InputError
from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad

N_PARTS = 4
COLUMN = "part"
_QUANTILES = {"latency_p50_s": 0.50, "latency_p99_s": 0.99}


def parts_of(
    requests: pd.DataFrame, *, duration_s: float, begins_s: Sequence[float] = (0.0,), n_parts: int = N_PARTS,
    samples: pd.DataFrame | None = None, epoch_to_monotonic_s: float = 0.0,
) -> pd.DataFrame:  # fmt: skip
    """Return one row per part: ``part`` (1...), counts, latencies of right answers, rate, CPU, memory. Raises
    InputError: no request, no length, or a number of parts that the schedule cannot be cut into.

    Args:
        requests: of one trial. duration_s: of each part of the schedule; the first request begins it.
        begins_s: of each part, in seconds after the first. n_parts: how many to return, each part cut alike.
        samples: of the same trial, for ``service_cores`` and ``rss_max_bytes``; NaN without them.
        epoch_to_monotonic_s: what to add to an epoch time to be on the clock of the samples.
    """
    if duration_s <= 0 or n_parts < 1 or requests.empty:
        parts = f"{n_parts} of {duration_s} s, {len(requests)} requests"
        raise InputError("parts of a load need a length and requests", found=parts, allowed="above zero")
    if n_parts % (n := len(begins_s)):
        why = f"the load has {n} parts, each to be cut alike"
        raise InputError(why, found=n_parts, allowed=f"{n}, {2 * n}...")
    begin = float(requests["start_epoch_s"].min())
    since_s = requests["start_epoch_s"].to_numpy(dtype=np.float64) - begin
    n_each = n_parts // len(begins_s)
    length_s = duration_s / n_each
    # What began in a pause was due where it is nearer to.
    begins = np.asarray(begins_s, dtype=np.float64)
    scheduled = np.searchsorted((begins[:-1] + duration_s + begins[1:]) / 2, since_s, side="right")
    within = ((since_s - begins[scheduled]) / duration_s * n_each).astype(np.int64)
    place = scheduled * n_each + np.clip(within, 0, n_each - 1)
    rows = []
    for part in range(n_parts):
        start = begin + begins_s[part // n_each] + part % n_each * length_s + epoch_to_monotonic_s
        row = _latencies(requests[place == part], length_s) | _resources(samples, (start, start + length_s))
        rows.append({COLUMN: str(part + 1)} | row)
    return pd.DataFrame(rows)


def _latencies(segment: pd.DataFrame, length_s: float) -> dict[str, object]:
    ok = segment["ok"].to_numpy(dtype=np.bool_)
    right = np.sort(segment["latency_s"].to_numpy(dtype=np.float64)[ok])
    row: dict[str, object] = {
        "n_requests": len(segment), "n_errors": int(np.count_nonzero(~ok)), "throughput_per_s": right.size / length_s,
        "latency_mean_s": float(right.mean()) if right.size else np.nan,
        "latency_max_s": float(right[-1]) if right.size else np.nan,
    }  # fmt: skip
    for column, q in _QUANTILES.items():
        refused = quantile_refused(right.size, q) is not None
        row[column] = np.nan if refused else float(right[rank(right.size, q) - 1])
    return row


def _resources(samples: pd.DataFrame | None, window: tuple[float, float]) -> dict[str, object]:
    cpu_s, rss_bytes = None, np.nan
    if samples is not None:
        cpu_s = cpu_in_window(samples, "service", window)
        own = (samples["role"] == "service") & samples["monotonic_s"].between(*window)
        rss_bytes = float(samples["rss_bytes"][own].max())
    return {
        "service_cores": np.nan if cpu_s is None else cpu_s / (window[1] - window[0]),
        "rss_max_bytes": rss_bytes,
    }


#: Answers count from here on, as a share of the time in which requests are offered: before, first passes are under way.
STEADY_FROM = 0.5


def offered_for_s(profile: LoadProfile) -> float | None:
    """Return for how long a load offers a rate, seconds (users who come once, too); ``None``: none, or with pauses."""
    if isinstance(profile, OpenLoad):
        return profile.duration_s if profile.parts == 1 else None
    return profile.ramp_up_s if profile.loops == 1 and profile.ramp_up_s > 0 else None


def sustained_per_s(start_epoch_s: ArrayLike, latency_s: ArrayLike, ok: ArrayLike, offered_s: float) -> float:
    """Return right answers per second in the second half of the time in which requests were offered.

    Args:
        start_epoch_s, latency_s, ok: of every request, shape (n,), n > 0. offered_s: from the first one on.
    """
    start = np.asarray(start_epoch_s, dtype=np.float64)
    answered_s = start - start.min() + np.asarray(latency_s, dtype=np.float64)
    from_s = STEADY_FROM * offered_s
    within = (answered_s > from_s) & (answered_s <= offered_s) & np.asarray(ok, dtype=np.bool_)
    return float(np.count_nonzero(within) / (offered_s - from_s))


def serve_s(profile: LoadProfile, load: LoadSummary) -> float | None:
    """Return the seconds to serve a fixed amount of work; ``None``: it is none, or not all was answered rightly."""
    if not isinstance(profile, ClosedLoad) or profile.loops is None or load.duration_s <= 0:
        return None
    lost = load.n_errors or load.n_dropped or (load.n_flows_right != load.n_flows)
    return None if lost else load.duration_s


def failed_share(trials: pd.DataFrame) -> pd.Series:
    """Return (errors + dropped) / (requests + dropped) per trial, of a flow in passes; NaN: nothing was wanted."""
    return (_column(trials, "n_errors").fillna(0) + _column(trials, "n_dropped").fillna(0)) / wanted(trials)


def right_share(trials: pd.DataFrame) -> pd.Series:
    """Return the share of what was wanted that was answered rightly, of a flow in whole passes."""
    right = _column(trials, "n_requests") - _column(trials, "n_errors").fillna(0)
    return _column(trials, "n_flows_right").fillna(right) / wanted(trials)


def wanted(trials: pd.DataFrame) -> pd.Series:
    """Return how many requests, of a flow passes, each trial's load asked for: begun and never sent; NaN: none."""
    begun = _column(trials, "n_flows").fillna(_column(trials, "n_requests"))
    asked = begun + _column(trials, "n_dropped").fillna(0)
    return asked.where(asked > 0)


def _column(trials: pd.DataFrame, name: str) -> pd.Series:
    if name not in trials:
        return pd.Series(float("nan"), index=trials.index)
    return pd.to_numeric(trials[name]).astype("float64")
