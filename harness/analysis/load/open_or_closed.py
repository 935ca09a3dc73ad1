# SPDX-License-Identifier: Apache-2.0
"""Open or closed, by nothing but when requests began and ended: do senders wait for answers?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.formats.arrays import FloatArray

#: Evidence for a closed loop is one that an open one shows once in a million.
_ALPHA = 1e-6
_SENDS_PER_BIN = 10.0
#: So many requests sent while many others waited, at the usual rate, are evidence of an open loop.
_FEWEST_SENT_IN_CROWD = 100


class Rhythm(NamedTuple):
    """What the times alone tell. Empty: they tell nothing. ``users``: the most that waited while nothing was sent."""

    waiting: tuple[str, ...]
    open: tuple[str, ...]
    users: int | None


def judge_rhythm(start: FloatArray, latency: FloatArray, resolution_s: float) -> Rhythm:
    """Return the evidence in the times alone: nothing is sent while everybody waits, or less the more wait, or as much.

    Args:
        start, latency: of every request of one trial, by start, shapes (n,), seconds.
        resolution_s: the smallest step of the load generator's clock.
    """
    n = len(start)
    span = float(np.ptp(start))
    if n < 10 * _SENDS_PER_BIN or span <= 0:
        return Rhythm((), (), None)
    rate = n / span
    # An answer and the request that it allows may stand in the file a step of the clock apart, either way.
    # None ends before it begins, which at today's epoch takes a microsecond to be told apart.
    end = start + np.maximum(latency - 1.5 * resolution_s, 0.01 * latency + 1e-6)
    moments = np.concatenate([end, start])
    change = np.concatenate([np.full(n, -1), np.full(n, 1)])
    # An answer comes before the request that it allows, even at the same instant.
    order = np.lexsort((change, moments))
    moments, waiting = moments[order], np.cumsum(change[order])
    said, users = [], None
    # After the last request nothing is sent because the load is over, whoever waits.
    full = (waiting[:-1] == waiting.max()) & (moments[:-1] < start[-1])
    # A wait of one ordinary interval between requests is nobody's waiting.
    silent = np.maximum(np.diff(moments)[full] * rate - 1.0, 0.0)
    if silent.sum() > -np.log(_ALPHA):
        users = int(waiting.max())
        said.append(
            f"no request is sent while {users} others wait; at the average rate there would have been "
            f"{silent.sum():,.0f} in that time"
        )
    width = _SENDS_PER_BIN / rate
    edges = start[0] + width * np.arange(int(span / width) + 1)
    sent = np.diff(np.searchsorted(start, edges))
    before = waiting[np.maximum(np.searchsorted(moments, edges[:-1], side="right") - 1, 0)]
    crowded = before >= max(0.5 * float(before.max()), float(np.quantile(before, 0.98)))
    if crowded.sum() < 5 or crowded.all():
        return Rhythm(tuple(said), (), users)
    share = float(sent[crowded].mean() / max(float(sent[~crowded].mean()), 1e-9))
    if share < 0.8 and _p_fewer(sent[crowded], sent[~crowded]) < _ALPHA:
        said.append(
            f"while many requests are outstanding, new ones are sent at only {share:.0%} of the usual rate"
        )
    least = int(before[crowded].min())
    stands_out = least >= max(5.0, 3.0 * float(np.median(before)))
    if said or share < 0.8 or not stands_out or sent[crowded].sum() < _FEWEST_SENT_IN_CROWD:
        return Rhythm(tuple(said), (), users)
    went_on = (
        f"while {least} or more requests are outstanding, new ones are sent at {share:.0%} of the usual rate"
    )
    return Rhythm((), (f"{went_on}: the sender does not wait for them",), None)


def _p_fewer(few: npt.NDArray[np.int64], many: npt.NDArray[np.int64]) -> float:
    """One-sided p of the rank-sum test (Mann & Whitney 1947), normal approximation with ties and continuity.

    Written out, because the module of laws takes as long to load as all else that a report needs.
    """
    pooled = np.concatenate([few, many])
    _, codes, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    a, b, n = float(len(few)), float(len(many)), float(len(pooled))
    above = float(ranks[: len(few)].sum()) - a * (a + 1) / 2
    ties = float((counts.astype(np.float64) ** 3 - counts).sum()) / (n * (n - 1))
    spread = float(np.sqrt(a * b / 12 * (n + 1 - ties)))
    return float(scipy.special.ndtr((above - a * b / 2 + 0.5) / spread)) if spread > 0 else 1.0
