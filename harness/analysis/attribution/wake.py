# SPDX-License-Identifier: Apache-2.0
"""How long a service takes to drain what gathered behind a pause, and who started while it did.

All pauses of a trial are laid over each other at their ends, and time is counted in lengths of the pause before
it: a backlog is as long as the pause that made it. The wake ends where requests are no more often slow than those
clear of every pause. One length of wake for all pauses of a trial: who is in a wake is told by when it started
alone. A wake that lasted until its own requests were quick would swallow every slow request near a pause, and
pauses of microseconds would explain bursts that have nothing to do with them.

Source: the superposed epochs of Chree, Some phenomena of sunspots and of terrestrial magnetism (1913).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.analysis.attribution.spans import Span

FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

#: A wake ends at one of these, in lengths of its pause; the last one is that of a service 97 % busy.
_LENGTHS = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0])
#: Requests between two of them that are needed to tell; with fewer, more is taken together.
_FEW = 50
#: Who is clear decides what is slow, and what is slow decides who is clear: asked again so often.
_ROUNDS = 3
#: Fewer clear requests than this, and they tell nothing new.
_FEWEST_CLEAR = 100


def in_wake(start: FloatArray, latency: FloatArray, paused: FloatArray, spans: Sequence[Span]) -> Mask:
    """Return which requests started in a pause, or in the backlog behind it.

    Those that started before a pause and were caught by it are not among them: what the pause took from them is
    what they overlap, and to leave them out would leave out the long ones.

    Args:
        start, latency: of each request, shape (n,), seconds. paused: what the pauses took from it.
        spans: the pauses in time order, disjoint.
    """
    behind = np.zeros(len(start), dtype=bool)
    if not spans or not len(start):
        return behind
    own = latency - paused
    low, end = np.array(spans, dtype=np.float64).T
    since, where = _since_pause(start, low, end)
    clear = paused == 0
    clear = clear if clear.any() else ~clear
    for _ in range(_ROUNDS):
        high = np.quantile(own[clear], 0.75)
        lengths = _drained_after(since, own[where] > high, float(np.mean(own[clear] > high)))
        behind = _inside(start, low, end + lengths * (end - low))
        clear = ~behind
        if np.count_nonzero(clear) < _FEWEST_CLEAR:
            break
    return behind


def _since_pause(
    start: FloatArray, low: FloatArray, end: FloatArray
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """How long after the pause before it each request started, in lengths of that pause, ascending; and which."""
    last = np.searchsorted(end, start, side="right") - 1
    where = np.flatnonzero((last >= 0) & (start < np.append(low, np.inf)[last + 1]))
    pause = last[where]
    since = (start[where] - end[pause]) / np.maximum(end[pause] - low[pause], 1e-9)
    near = np.flatnonzero(since <= _LENGTHS[-1])
    order = near[np.argsort(since[near], kind="stable")]
    return since[order], where[order]


def _drained_after(since: FloatArray, slow: Mask, ordinary_share: float) -> float:
    """The first of ``_LENGTHS`` from which on requests are slow no more often than an ordinary share of them."""
    n_slow = np.append(0, np.cumsum(slow))
    edges = np.searchsorted(since, _LENGTHS)
    drained, first = 0.0, 0
    for length, last in zip(_LENGTHS[1:], edges[1:], strict=True):
        n = int(last) - first
        if n < _FEW:
            continue
        noise = np.sqrt(ordinary_share * (1 - ordinary_share) / n)
        if (n_slow[last] - n_slow[first]) / n <= ordinary_share + noise:
            break
        drained, first = float(length), int(last)
    return drained


def _inside(at: FloatArray, low: FloatArray, end: FloatArray) -> Mask:
    """Which moments lie in one of the spans [low, end], which may overlap: more have begun than have ended."""
    return np.asarray(np.searchsorted(low, at, side="right") > np.searchsorted(np.sort(end), at, side="left"))
