# SPDX-License-Identifier: Apache-2.0
"""Stalls: spans in which the instance completed nothing although requests waited.

Each request outstanding through a gap between completions must have lasted from its start to the gap's end. A gap is a
stall when this is less likely than ``ALPHA`` (Bonferroni over all gaps) both if each was slow by itself and if the
service drifted (Gaussian copula of order 1). The arrivals that really happened enter, so neither a lull nor a burst
makes a stall, in an open or a closed loop. Thresholds come from the data of the same trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.analysis.attribution.slow_periods import (
    ALPHA,
    Baseline,
    Stall,
    merged,
    slow_periods,
    under_way_in_each,
)
from harness.analysis.attribution.spans import CauseName, Span, attribute_latency, under_way_in
from harness.analysis.stats.inputs import by_start, starts_and_latencies
from harness.errors import InputError
from harness.formats.arrays import BoolArray, FloatArray

#: Gaps shorter than this many expected completions are not looked at: they cannot pass.
MIN_EXPECTED = 4.0
#: Requests in the rolling median that defines the ordinary latency at a moment.
LEVEL_WINDOW = 1001
MIN_REQUESTS = 200
#: Requests whose rolling median is computed in one go: a few milliseconds.
_PART = 50_000
#: Rounds of telling stalls from what is ordinary; it settles in two or three.
ROUNDS = 5


def detect_stalls(start_s: FloatArray, latency_s: FloatArray, *, resolution_s: float = 0.0) -> list[Stall]:
    """Return the stalls and slow periods of one trial, in time order. Raises InputError: shapes differ, a value is not
    finite, or a latency is negative.

    Args:
        start_s, latency_s: of each successful request, shape (n,), any order, seconds.
        resolution_s: the smallest step of the load generator's clock.
    """
    trial = _Trial(*starts_and_latencies(start_s, latency_s), resolution_s)
    stalls = trial.stalls()
    if len(trial.start) < MIN_REQUESTS:
        return stalls
    low, high = (np.array([getattr(s, edge) for s in stalls]) for edge in ("start_s", "end_s"))
    quiet = ~under_way_in(trial.start, trial.end, low, high)
    periods = slow_periods(trial.start, trial.ratio, quiet, stalls)
    return sorted([*stalls, *periods], key=lambda stall: stall.start_s)


def ordinary_p99(
    start_s: FloatArray, latency_s: FloatArray, events: Mapping[CauseName, Sequence[Span]]
) -> float:
    """Return the 99th percentile of requests that no known pause touched; of all where none is clear; above 0."""
    start, latency = starts_and_latencies(start_s, latency_s)
    paused = sum(attribute_latency(start, latency, events).values(), start=np.zeros_like(latency))
    clear = latency[paused == 0]
    return max(float(np.quantile(clear if len(clear) else latency, 0.99)), 1e-9)


def detectability_limit(rate_per_s: float, latency_p99_s: float) -> float:
    """Return the shortest pause that ``detect_stalls`` can see, seconds: ten blocked requests, or twice the p99."""
    if not (0 < rate_per_s < np.inf and 0 < latency_p99_s < np.inf):
        pair = (rate_per_s, latency_p99_s)
        raise InputError("rate and latency must be positive", found=pair, allowed="above 0 and finite")
    return max(10.0 / rate_per_s, 2.0 * latency_p99_s)


class _Trial:
    """One trial's requests in start order, with what is ordinary for it."""

    def __init__(self, start: FloatArray, latency: FloatArray, resolution_s: float) -> None:
        self.start, latency = by_start(start, latency)
        self.latency = np.maximum(latency, max(resolution_s / 2, 1e-9))
        self.resolution_s = resolution_s
        self.end = self.start + latency
        self._log_latency = np.log(self.latency)

    def take_level(self, calm: npt.NDArray[np.bool_]) -> None:
        """Set the ordinary latency at each moment from the ``calm`` requests around it."""
        every = np.count_nonzero(calm) < MIN_REQUESTS
        used = np.arange(len(calm)) if every else np.flatnonzero(calm)
        log_level = np.empty(len(calm))
        window = min(LEVEL_WINDOW, len(used) // 4 * 2 + 1)
        smooth = _rolling_median(self._log_latency[used], window)
        log_level[used] = smooth
        if len(used) < len(calm):
            rest = np.flatnonzero(~calm)
            log_level[rest] = np.interp(rest, used, smooth)
        self.level = np.exp(log_level)
        self.ratio = self.latency / self.level

    def _long_gaps(self) -> tuple[_Gaps, float]:
        done = np.sort(self.end, kind="stable")  # nearly in order already, which only this kind makes use of
        gaps, rate = np.diff(done), _local_rate(done)
        long = np.flatnonzero((gaps * rate >= MIN_EXPECTED) & (gaps > 2 * self.resolution_s))
        return _Gaps(self, done[long], done[long + 1], 1 / rate[long]), float(np.median(rate))

    def stalls(self) -> list[Stall]:
        if len(self.start) < MIN_REQUESTS:
            return []
        gaps, rate = self._long_gaps()
        self.take_level(np.ones(len(self.start), dtype=bool))
        if not len(gaps.end):
            return []
        alone = gaps.log_p_alone(Baseline(self.ratio))
        bound = min(float(np.log(ALPHA / (len(self.start) - 1))), -1e-9)
        # What waited through a stall must not define what is ordinary. To begin with, that is whatever
        # cannot be many requests each slow by itself; then what was a stall in the last round.
        hit = alone < bound
        if not hit.any():
            return []  # a round would find the same: nothing is left out
        log_p = np.zeros(len(alone))
        for _ in range(ROUNDS):
            calm = ~under_way_in(self.start, self.end, gaps.start[hit], gaps.drained()[hit])
            self.take_level(calm)
            usual = self.ratio[calm] if np.count_nonzero(calm) >= MIN_REQUESTS else self.ratio
            log_p = gaps.log_p(Baseline(usual), bound)
            before, hit = hit, log_p < bound
            if np.array_equal(before, hit):
                break
        accepted = [gaps.stall(int(i), float(log_p[i])) for i in np.flatnonzero(hit)]
        return merged(accepted, 2 * self.resolution_s + 2 / rate)


class _Gaps:
    """Gaps between completions, every ``every_s`` there, with the requests outstanding at the end of each."""

    def __init__(self, trial: _Trial, start: FloatArray, end: FloatArray, every_s: FloatArray) -> None:
        self.trial, self.start, self.end, self.every_s = trial, start, end, every_s
        waited = np.flatnonzero(under_way_in(trial.start, trial.end, end, end))
        first = np.searchsorted(end, trial.start[waited])
        n_each = np.searchsorted(end, trial.end[waited], side="right") - first
        request = np.repeat(waited, n_each)
        nth = np.arange(len(request)) - np.repeat(np.cumsum(n_each) - n_each, n_each)
        gap = np.repeat(first, n_each) + nth
        order = np.argsort(gap, kind="stable")
        self.gap, self.request = gap[order], request[order]
        self.edges = np.searchsorted(self.gap, np.arange(len(end) + 1))
        sent = trial.start[self.request]
        self.needed_s = end[self.gap] - trial.resolution_s - sent
        self.reached_s = start[self.gap] - sent

    def log_p_alone(self, ordinary: Baseline) -> FloatArray:
        """Log of each gap's chance if every request were slow by itself only."""
        needed, reached = self._relative()
        each = ordinary.single.log_survival(needed) - ordinary.single.log_survival(reached)
        return np.bincount(self.gap, weights=each, minlength=len(self.end)).astype(np.float64)

    def log_p(self, ordinary: Baseline, bound: float) -> FloatArray:
        """Log of each gap's chance; those beyond ``bound`` only from below, which is enough to dismiss them."""
        log_p = self.log_p_alone(ordinary)
        chosen = log_p < bound
        if not chosen.any():
            return log_p
        n_each = np.diff(self.edges)
        rows = np.flatnonzero(np.repeat(chosen, n_each))  # all who waited through the gaps that are left
        edges = np.append(0, np.cumsum(n_each[chosen]))
        needed, reached = (item[rows] for item in self._relative())
        before = self._before(self.request[rows], edges[:-1])
        log_p[chosen] = ordinary.log_unlucky(needed, reached, *before, edges=edges)
        return np.maximum(log_p, -1e6)

    def drained(self) -> FloatArray:
        """When the last request that had waited through each gap, or through one before it, was answered."""
        last = self.end.copy()
        np.maximum.at(last, self.gap, self.trial.end[self.request])
        return np.asarray(np.maximum.accumulate(last))

    def _relative(self) -> tuple[FloatArray, FloatArray]:
        """What each request had to last until the gap's end and had lasted at its start, over its level."""
        level = self.trial.level[self.request]
        return self.needed_s / level, self.reached_s / level

    def _before(
        self, waiting: npt.NDArray[np.intp], begins: npt.NDArray[np.intp]
    ) -> tuple[FloatArray, npt.NDArray[np.intp], FloatArray]:
        """Return of each waiting request the ratio of the last one before it that did not wait, its distance, and what
        the last two had. ``begins``: of the requests of each gap."""
        place = np.arange(len(waiting))
        opens_run = np.append(True, np.diff(waiting) > 1)
        opens_run[begins] = True
        distance = place - np.maximum.accumulate(np.where(opens_run, place, 0)) + 1
        previous = waiting - distance
        ratio = self.trial.ratio
        last = np.where(previous >= 0, ratio[previous], 1.0)
        lift = np.maximum(np.minimum(last, np.where(previous >= 1, ratio[previous - 1], 1.0)), 1.0)
        return last, distance, lift

    def stall(self, gap: int, log_p: float) -> Stall:
        """Return the stall of a gap, from one usual distance of answers before the first who waited."""
        waiting = self.request[self.edges[gap] : self.edges[gap + 1]]
        first_s = float(self.trial.start[waiting].min()) - float(self.every_s[gap])
        start_s, end_s = max(float(self.start[gap]), first_s), float(self.end[gap])
        return Stall(start_s=start_s, end_s=end_s, kind="stall", n_requests=len(waiting), log_p=log_p)


def _rolling_median(values: FloatArray, window: int) -> FloatArray:
    """Return the running median, shape (n,); in parts, because SciPy's filter keeps Python's lock."""
    half, result = window // 2, np.empty_like(values)
    for begin in range(0, len(values), _PART):
        end = min(begin + _PART, len(values))
        first, last = max(begin - half, 0), min(end + half, len(values))
        part = scipy.ndimage.median_filter(values[first:last], size=window, mode="nearest")
        result[begin:end] = part[begin - first : end - first]
    return result


def _local_rate(done: FloatArray) -> FloatArray:
    """Completions per second around each gap: the smaller of the second before and the second after."""
    n = len(done)
    left, right = done[:-1], done[1:]
    span_before = np.minimum(1.0, np.maximum(left - done[0], 1e-9))
    span_after = np.minimum(1.0, np.maximum(done[-1] - right, 1e-9))
    before = (np.arange(n - 1) - np.searchsorted(done, left - 1.0)) / span_before
    after = (np.searchsorted(done, right + 1.0, side="right") - 1 - np.arange(1, n)) / span_after
    enough_before, enough_after = span_before > 0.25, span_after > 0.25
    overall = (n - 1) / max(float(done[-1] - done[0]), 1e-9)
    one_side = np.where(enough_before, before, np.where(enough_after, after, overall))
    both_sides = np.where(enough_before & enough_after, np.minimum(before, after), one_side)
    return np.asarray(np.maximum(both_sides, 1e-9))


#: Fewer short stalls than this say nothing of how long they become by chance.
_FEWEST_SHORT = 10
#: So many stalls a minute that are jitter may be as long as the limit.
_JITTER_PER_MINUTE = 0.5


def shortest_visible_s(
    start_s: FloatArray, latency_s: FloatArray, stalls: Sequence[Stall], known: Mapping[CauseName, Sequence[Span]]
) -> float | None:  # fmt: skip
    """Return the ``detectability_limit`` of one trial in seconds; ``None``: its requests began at one moment.

    The lowest limit that agrees with itself where requests touched by a known pause or a longer stall are not ordinary;
    no lower than what the short stalls, if many, reach by themselves (:func:`jitter_reach_s`).

    Args:
        start_s, latency_s: shape (n,), n > 0. known: pauses of the runtime's log, on the same clock.
    """
    start_s, latency_s = by_start(start_s, latency_s)
    end_s = start_s + latency_s
    window_s = float(end_s.max() - start_s.min())
    if window_s <= 0:
        return None
    paused = np.zeros(len(start_s), dtype=np.bool_)
    if any(known.values()):
        for taken_s in attribute_latency(start_s, latency_s, known).values():
            paused |= taken_s > 0
    rate_per_s = len(start_s) / window_s
    above = sorted(stalls, key=lambda stall: stall.start_s)
    while True:
        clear = latency_s[~(paused | _touched(start_s, end_s, above))]
        ordinary = float(np.quantile(clear if len(clear) else latency_s, 0.99))
        # A tool's zero is a latency below its resolution.
        limit_s = detectability_limit(rate_per_s, max(ordinary, 1e-9))
        left = [stall for stall in above if stall.duration_s >= limit_s]
        if len(left) == len(above):
            break
        above = left
    # Once only: with a limit that it raised itself, pauses that have a cause would be counted as jitter, too.
    return max(limit_s, jitter_reach_s([stall.duration_s for stall in stalls], limit_s, window_s))


def jitter_reach_s(durations_s: Sequence[float], limit_s: float, window_s: float) -> float:
    """Return which length short stalls exceed half a time a minute, seconds; 0: they are few. Their lengths beyond the
    shortest are taken for exponential, cut off at ``limit_s``."""
    short = np.sort([duration_s for duration_s in durations_s if duration_s < limit_s])
    if len(short) < _FEWEST_SHORT:
        return 0.0
    least, cut = float(short[0]), limit_s - float(short[0])
    mean = _uncut_mean(float(short[1:].mean()) - least, cut)
    per_minute = len(short) / (window_s / 60) / -np.expm1(-cut / mean)
    return least + mean * float(np.log(max(per_minute / _JITTER_PER_MINUTE, 1.0)))


def _uncut_mean(seen: float, cut: float) -> float:
    """Return the mean of an exponential law whose part below ``cut`` has the mean ``seen``; at most ``cut`` itself."""
    if seen <= 0:
        return 1e-9
    low, high = seen, max(cut, seen)
    for _ in range(60):
        middle = (low + high) / 2
        part = middle - cut / float(np.expm1(min(cut / middle, 700.0)))
        low, high = (middle, high) if part < seen else (low, middle)
    return high


def harm_of(start_s: FloatArray, latency_s: FloatArray, stalls: Sequence[Stall]) -> FloatArray:
    """Return the seconds beyond the median that the requests under way in each stall took, shape (stalls,)."""
    if not stalls:
        return np.zeros(0)
    start, latency = by_start(start_s, latency_s)
    beyond = np.maximum(latency - np.median(latency), 0.0)
    return np.array([float(beyond[its].sum()) for its in under_way_in_each(start, latency, stalls)])


def _touched(start_s: FloatArray, end_s: FloatArray, stalls: Sequence[Stall]) -> BoolArray:
    """Which requests were outstanding in a stall, or for as long after it, while its backlog was answered."""
    if not stalls:
        return np.zeros(len(start_s), dtype=np.bool_)
    low = np.array([stall.start_s for stall in stalls])
    high = np.maximum.accumulate(np.array([stall.end_s + stall.duration_s for stall in stalls]))
    return under_way_in(start_s, end_s, low, high)
