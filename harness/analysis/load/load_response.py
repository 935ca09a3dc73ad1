# SPDX-License-Identifier: Apache-2.0
"""What a load did to a service: its parts, the backlog, the recovery, and the rate of right answers that was kept up.

Parts: the published measurement offered four loads of 20 s to one process, with pauses of unknown length between them.
A load with parts and pauses is cut by its schedule: a request belongs to the part in which it was due, however late it
was answered. A load without is cut into parts of equal length by when each request began.

Overload is a result, not a broken measurement, so these functions take every trial that has requests, excluded ones
too. For the recovery the load is cut into windows of equal length by when requests began. What those who came in a
window waited tells how the service was then; in an open loop that includes what they queued.

A fixed amount of work ends with its slowest user, so right answers over that time are no rate that a service could
keep up. Such a load says how long the work took. A load that offers a rate for a time says which rate of right answers
the service kept up in that time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from harness.analysis.stats.inputs import Floats, finite
from harness.analysis.stats.quantiles import quantile_refused, rank
from harness.analysis.tables.resource_columns import cpu_in_window
from harness.errors import InputError
from harness.formats.arrays import IntArray
from harness.model import ClosedLoad, LoadProfile, LoadSummary, OpenLoad
from harness.model.base import Frozen

N_PARTS = 4
COLUMN = "part"
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


def _latencies(segment: pd.DataFrame, length_s: float) -> dict[str, object]:
    ok = segment["ok"].to_numpy(dtype=np.bool_)
    right = np.sort(segment["latency_s"].to_numpy(dtype=np.float64)[ok])
    row: dict[str, object] = {
        "n_requests": len(segment),
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
    own = samples[(samples["role"] == "service") & samples["monotonic_s"].between(*window)]
    return {
        "service_cores": float("nan") if cpu_s is None else cpu_s / (window[1] - window[0]),
        "rss_max_bytes": float(own["rss_bytes"].max()) if len(own) else float("nan"),
    }


#: Recovered: the backlog is down to this share of its highest, or to the one request that is no queue.
RECOVERED_SHARE = 0.1


class Overload(Frozen):
    """One trial's requests as a queue. Times in seconds."""

    highest_backlog: int = Field(description="most requests under way at once")
    left_at_last_arrival: int = Field(description="under way when the last request began, itself included")
    drain_s: float = Field(description="from the last start to the last end: queueing after the load stopped")
    recovery_s: float | None = Field(
        description="from the highest backlog until a tenth of it is left for good; None: it was never more than one"
    )


def backlog(start_s: ArrayLike, latency_s: ArrayLike, at_s: ArrayLike) -> Floats:
    """Return how many requests are under way at each moment, shape of ``at_s``.

    A request is under way from its start, included, to its end, excluded.
    """
    start, at = finite(start_s, "start_s"), finite(at_s, "at_s")
    begun = np.searchsorted(np.sort(start), at, side="right")
    ended = np.searchsorted(np.sort(start + finite(latency_s, "latency_s")), at, side="right")
    return (begun - ended).astype(np.float64)


def overload(start_s: ArrayLike, latency_s: ArrayLike, ok: ArrayLike) -> Overload:
    """Return what one trial's requests say of its queue.

    Args:
        start_s, latency_s: shape (n,), of every request, errors included. ok: shape (n,), bool.

    Raises:
        InputError: no request, lengths that differ, or a latency below zero.
    """
    start, latency, _ = _checked(start_s, latency_s, ok)
    end = start + latency
    moments = np.unique(np.concatenate([start, end]))
    under_way = backlog(start, latency, moments)
    last = float(start.max())
    return Overload(
        highest_backlog=int(under_way.max()),
        left_at_last_arrival=int(backlog(start, latency, [last])[0]),
        drain_s=max(0.0, float(end.max()) - last),
        recovery_s=_recovery_s(moments, under_way),
    )


def _recovery_s(moments: Floats, under_way: Floats) -> float | None:
    highest = float(under_way.max())
    if highest <= 1:
        return None
    peak = int(np.argmax(under_way))
    above = np.flatnonzero(under_way > max(1.0, RECOVERED_SHARE * highest))
    return float(moments[int(above[-1]) + 1] - moments[peak])  # at the last moment nothing is under way


def _checked(
    start_s: ArrayLike, latency_s: ArrayLike, ok: ArrayLike
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    start, latency = finite(start_s, "start_s"), finite(latency_s, "latency_s")
    right = np.asarray(ok, dtype=np.bool_)
    if not start.shape == latency.shape == right.shape:
        raise InputError("one latency and one verdict per start", found=f"{latency.shape}, {right.shape}")
    if (latency < 0).any():
        raise InputError("a latency is never negative", found=float(latency.min()), allowed="0 or more")
    return start, latency, right


N_WINDOWS = 20
#: Slow: the p99 of a window is above so many times that of the calm ones.
SLOW_FACTOR = 3.0
#: The calm windows: this share of them, those with the lowest p99.
CALM_SHARE = 0.25
#: A window with fewer requests tells nothing, and a load with fewer windows that tell has no recovery to speak of.
FEWEST_REQUESTS, FEWEST_WINDOWS = 5, 4


class Recovery(Frozen):
    """What happened while requests still arrived. Times in seconds; ``None``: nothing was wrong, or slow."""

    window_s: float
    calm_after_error_s: float | None = Field(
        default=None,
        description="from the end of the last wrong answer to the last request: so long all went well under load",
    )
    slow_s: float | None = Field(
        default=None, description="from the start of the first slow window to the end of the last one"
    )
    recovery_s: float | None = Field(
        default=None,
        description="from the start of the worst window until none was slow any more; None also when the last one was",
    )
    recovered: bool | None = Field(
        default=None, description="whether the load went on after the last slow window; None: none was"
    )


def recovery(start_s: ArrayLike, latency_s: ArrayLike, ok: ArrayLike) -> Recovery:
    """Return how one trial's service came back under load.

    A window is slow whose p99 is above three times the median p99 of the calmest quarter of the windows.

    Args:
        start_s, latency_s: shape (n,), of every request, errors included. ok: shape (n,), bool.

    Raises:
        InputError: no request, lengths that differ, or a latency below zero.
    """
    start, latency, right = _checked(start_s, latency_s, ok)
    begin, last = float(start.min()), float(start.max())
    results: dict[str, object] = {"window_s": (last - begin) / N_WINDOWS}
    if not right.all():
        ended = float((start + latency)[~right].max())
        results["calm_after_error_s"] = max(0.0, last - ended)
    return Recovery.model_validate(results | _by_windows(start - begin, latency, (last - begin) / N_WINDOWS))


def _by_windows(start: Floats, latency: Floats, window_s: float) -> dict[str, object]:
    if window_s <= 0:
        return {}
    number = np.minimum((start / window_s).astype(np.int64), N_WINDOWS - 1)
    p99 = np.full(N_WINDOWS, np.nan)
    for window in range(N_WINDOWS):
        inside = latency[number == window]
        if inside.size >= FEWEST_REQUESTS:
            p99[window] = np.quantile(inside, 0.99, method="higher")
    known = np.sort(p99[~np.isnan(p99)])
    if known.size < FEWEST_WINDOWS:
        return {}
    calm = known[: max(1, int(known.size * CALM_SHARE))]
    slow = np.flatnonzero(p99 > SLOW_FACTOR * float(np.median(calm)))
    if slow.size == 0:
        return {}
    after = bool(np.any(~np.isnan(p99[slow[-1] + 1 :])))
    end = float(slow[-1] + 1) * window_s
    return {
        "slow_s": end - float(slow[0]) * window_s,
        "recovery_s": end - int(np.nanargmax(p99)) * window_s if after else None,
        "recovered": after,
    }


#: Answers count from here on, as a share of the time in which requests are offered: before, first passes are under way.
STEADY_FROM = 0.5


def offered_for_s(profile: LoadProfile) -> float | None:
    """Return for how long a load offers a rate, in seconds; ``None``: it offers none, or with pauses between.

    Users who come once, spread over a ramp, are arrivals.
    """
    if isinstance(profile, OpenLoad):
        return profile.duration_s if profile.parts == 1 else None
    return profile.ramp_up_s if profile.loops == 1 and profile.ramp_up_s > 0 else None


def sustained_per_s(start_epoch_s: ArrayLike, latency_s: ArrayLike, ok: ArrayLike, offered_s: float) -> float:
    """Return right answers per second in the second half of the time in which requests were offered.

    Args:
        start_epoch_s, latency_s, ok: of every request of the load, shape (n,), n above zero.
        offered_s: for how long requests were offered, from the first one on.
    """
    start = np.asarray(start_epoch_s, dtype=np.float64)
    answered_s = start - start.min() + np.asarray(latency_s, dtype=np.float64)
    from_s = STEADY_FROM * offered_s
    within = (answered_s > from_s) & (answered_s <= offered_s) & np.asarray(ok, dtype=np.bool_)
    return float(np.count_nonzero(within) / (offered_s - from_s))


def serve_s(profile: LoadProfile, load: LoadSummary) -> float | None:
    """Return the time to serve a fixed amount of work, in seconds: first request to last answer.

    ``None``: the load is no fixed amount of work, or not all of it was answered rightly. A service that refuses is done
    sooner, and has served nothing.
    """
    if not isinstance(profile, ClosedLoad) or profile.loops is None or load.duration_s <= 0:
        return None
    lost = load.n_errors or load.n_dropped or (load.n_flows_right != load.n_flows)
    return None if lost else load.duration_s
