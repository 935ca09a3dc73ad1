# SPDX-License-Identifier: Apache-2.0
"""The beginning of a run that is of another load, or of a cold service, and where it ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.formats.table import RequestTable, SideColumns
from harness.model.digits import plain
from harness.report.loop import Kind

#: Fewer requests tell no ramp: a tenth of them is too few for a rate.
FEWEST_FOR_RAMP = 1000
_SLICES, _FIRST = 20, 2
#: The first tenth of a run is a ramp below this share of the later rate, and cold above this multiple of the median.
_SLOW_START, _COLD_START = 0.7, 1.5
#: Medians that differ by fewer steps of the tool's clock may be alike.
_FEWEST_STEPS = 3
_ALL_USERS, _LONGEST_RAMP = 0.9, 0.05
#: A ramp has ended where the rate, or the latency, is as near as this to the later one.
_AS_LATER = 0.9


class Ramp(NamedTuple):
    """What the beginning has, and when it is over, in seconds from the first request."""

    text: str
    until_s: float

    @property
    def command(self) -> str:
        """The option that leaves it out."""
        step_s = 1.0 if self.until_s >= 10 else 0.1
        return f"--skip {np.ceil(self.until_s / step_s - 1e-9) * step_s:.10g}s"


def ramp_of(requests: RequestTable, *, sides: SideColumns | None, loop: Kind) -> Ramp | None:
    """Return what the first requests have that the later ones have not; ``None``: nothing, or too few requests.

    Args:
        requests: by start.
    """
    start, latency, ok = requests.start_epoch_s, requests.latency_s, requests.ok
    if len(start) < FEWEST_FOR_RAMP or start[-1] <= start[0]:
        return None
    span_s = float(start[-1] - start[0])
    place = np.minimum(((start - start[0]) / span_s * _SLICES).astype(np.int64), _SLICES - 1)
    counts = np.bincount(place, minlength=_SLICES)
    usual = float(np.median(counts[_FIRST:]))
    first = float(counts[:_FIRST].mean())

    def until_s(settled: np.ndarray) -> float:
        """The end of the slices before the first of ``settled``, shape (_SLICES,)."""
        return max(1, int(np.argmax(settled))) * span_s / _SLICES

    if first < _SLOW_START * usual:
        per_s = _SLICES / span_s
        text = f"begins with {plain(first * per_s)} requests/s and goes on with {plain(usual * per_s)}"
        return Ramp(text, until_s(counts >= _AS_LATER * usual))
    if loop == "closed" and sides is not None and sides.all_threads is not None:
        users = sides.all_threads
        most = float(np.nanmax(users)) if np.isfinite(users).any() else 0.0
        full = np.flatnonzero(users >= _ALL_USERS * most)
        if most and (full_s := float(sides.start_s[full[0]] - start[0])) > _LONGEST_RAMP * span_s:
            return Ramp(f"takes {plain(full_s)} s to reach all of its {most:.0f} users", full_s)
    cold, warm = latency[ok & (place < _FIRST)], latency[ok & (place >= _SLICES // 2)]
    step_s = _FEWEST_STEPS * requests.resolution_s
    if (
        len(cold)
        and len(warm)
        and np.median(cold) > max(_COLD_START * np.median(warm), np.median(warm) + step_s)
    ):
        times = plain(float(np.median(cold) / np.median(warm)), 2)
        slices = [latency[ok & (place == item)] for item in range(_SLICES)]
        medians = np.array([np.median(item) if len(item) else np.inf for item in slices])
        text = f"its first tenth has {times} times the p50 of its second half: the warm-up is included"
        return Ramp(text, until_s(medians <= np.median(warm) / _AS_LATER))
    return None
