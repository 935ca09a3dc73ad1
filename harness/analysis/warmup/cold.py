# SPDX-License-Identifier: Apache-2.0
"""From the first request to warm: how long it takes, how many requests, and what it costs in CPU time."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from harness.model import WarmUpRecord, WarmUpWindow

#: Warm is this close to the throughput of the settled windows.
NEAR = 0.10
#: A window counts with those after it, so many together: a single quick one is not the end of cold. What is slow later
#: is the machine's, not the service's: a service that was warm stays so.
TOGETHER = 3


@dataclass(frozen=True, kw_only=True)
class ColdStart:
    """What a process needed to become warm. ``None``: it did not within its warm-up, or it cannot be told.

    ``seconds``, ``n_requests`` and ``cpu_s`` are of the windows before the first one whose throughput is within 10 %
    of warm, alone and in the median with the next two; 0: that was the first window, so less than ``resolution_s``.
    ``extra_cpu_s`` is what all windows used beyond the warm CPU time of as many requests.
    """

    resolution_s: float
    seconds: float | None = None
    n_requests: int | None = None
    cpu_s: float | None = None
    extra_cpu_s: float | None = None
    warm_per_s: float | None = None


def cold_start(record: WarmUpRecord) -> ColdStart:
    """Return what the process of a warm-up needed to become warm."""
    windows, n = record.windows, record.spec.n_windows
    resolution_s = float(record.spec.window_s)
    if record.end != "settled" or len(windows) < n:
        return ColdStart(resolution_s=resolution_s)
    warm_per_s = statistics.median(window.per_s for window in windows[-n:])
    first = _first_warm(windows, (1 - NEAR) * warm_per_s)
    before = windows[:first]
    cpu_s = [window.cpu_s for window in before]
    return ColdStart(
        resolution_s=resolution_s,
        # the first window begins with the first request, or a moment after it
        seconds=windows[first].start_s if first else 0.0,
        n_requests=sum(window.n_requests for window in before),
        cpu_s=None if None in cpu_s else sum(used for used in cpu_s if used is not None),
        extra_cpu_s=_extra_cpu_s(windows, n),
        warm_per_s=warm_per_s,
    )


def _first_warm(windows: tuple[WarmUpWindow, ...], enough_per_s: float) -> int:
    """Return the index of the first window that is fast enough, itself and in the median with those after it."""
    rates = [window.per_s for window in windows]
    for at, rate in enumerate(rates):
        if min(rate, statistics.median(rates[at : at + TOGETHER])) >= enough_per_s:
            return at
    return len(rates) - 1  # the settled windows themselves scatter so widely


def _extra_cpu_s(windows: tuple[WarmUpWindow, ...], n: int) -> float | None:
    warm = [window.cpu_s_per_request for window in windows[-n:]]
    used = [window.cpu_s for window in windows]
    known = [one for one in warm if one is not None]
    if len(known) < n or None in used:
        return None
    n_requests = sum(window.n_requests for window in windows)
    total_s = sum(one for one in used if one is not None)
    return max(0.0, total_s - n_requests * statistics.median(known))


__all__ = ["NEAR", "ColdStart", "cold_start"]
