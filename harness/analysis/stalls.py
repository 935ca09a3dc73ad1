# SPDX-License-Identifier: Apache-2.0
"""Stalls: spans in which the instance completed nothing although requests waited.

The evidence for a stall is a gap between completions together with the requests that
were outstanding through it. For each of those, its latency must have been at least the
time from its start to the gap's end. Two ordinary explanations are weighed:

* every one of them was slow by itself (isolated outliers, independent of each other);
* the service was drifting slow: latencies follow each other (Gaussian copula of order 1)
  from the last request that was answered before the gap.

A gap is a stall when both together are less likely than ``ALPHA`` after Bonferroni over
all gaps. Because the arrivals that really happened enter, neither a lull in the load nor
a burst can make a stall, in an open or a closed loop. Thresholds come from the data of
the same trial; there is no tuned constant but ``ALPHA``.

Spans in which completions went on but far too many were slow are ``slow_period``: a scan
over windows of 5 to 100 ms whose counts are judged against the overdispersion that the
same trial shows elsewhere.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy import ndimage, special, stats

from harness.errors import InputError
from harness.model import Frozen

FloatArray = npt.NDArray[np.float64]

#: Chance of one false stall in a whole trial, shared among all its gaps.
ALPHA = 1e-3
#: Gaps shorter than this many expected completions are not looked at: they cannot pass.
MIN_EXPECTED = 4.0
#: Requests in the rolling median that defines the ordinary latency at a moment.
LEVEL_WINDOW = 1001
SCAN_WINDOWS_S = (0.005, 0.01, 0.02, 0.05, 0.1)
MIN_REQUESTS = 200


class Stall(Frozen):
    """A span in which nothing, or far too little, was completed. Times in seconds on the requests' clock."""

    start_s: float
    end_s: float
    kind: Literal["stall", "slow_period"]
    n_requests: int = Field(description="requests that waited through it, or were slow in it")
    log_p: float = Field(description="natural logarithm of its chance under the ordinary explanations")

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.end_s - self.start_s


def detect_stalls(start_s: FloatArray, latency_s: FloatArray, *, resolution_s: float = 0.0) -> list[Stall]:
    """Return the stalls and slow periods of one trial, in time order.

    Args:
        start_s: when each request was sent, shape (n,), any order, seconds on any clock.
        latency_s: how long each took, shape (n,), seconds, positive; failed requests left out.
        resolution_s: the smallest step of the load generator's clock.

    Raises:
        InputError: shapes differ, a value is not finite, or a latency is negative.
    """
    start, latency = _checked(start_s, latency_s)
    if len(start) < MIN_REQUESTS:
        return []
    order = np.argsort(start, kind="stable")
    trial = _Trial(start[order], latency[order], resolution_s)
    stalls = trial.stalls()
    return sorted([*stalls, *trial.slow_periods(stalls)], key=lambda stall: stall.start_s)


def detectability_limit(rate_per_s: float, latency_p99_s: float, *, n_blocked: float = 10.0) -> float:
    """Return the shortest pause in seconds that ``detect_stalls`` can be expected to see.

    Below about ten blocked requests (rate x pause), or twice the 99th percentile of the
    ordinary latency, a pause leaves no trace that chance would not; use the runtime's log.

    Raises:
        InputError: an argument is not positive.
    """
    if not (rate_per_s > 0 and latency_p99_s > 0):
        raise InputError(
            "rate and latency must be positive", found=(rate_per_s, latency_p99_s), allowed="> 0"
        )
    return max(n_blocked / rate_per_s, 2.0 * latency_p99_s)


def _checked(start_s: FloatArray, latency_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    start = np.asarray(start_s, dtype=np.float64)
    latency = np.asarray(latency_s, dtype=np.float64)
    if start.ndim != 1 or start.shape != latency.shape:
        raise InputError(
            "start and latency must be two arrays of one length", found=(start.shape, latency.shape)
        )
    if not (np.isfinite(start).all() and np.isfinite(latency).all()):
        raise InputError("start and latency must be finite", allowed="seconds, no NaN")
    if (latency < 0).any():
        raise InputError("a latency is negative", found=float(latency.min()), allowed="seconds >= 0")
    return start, latency


class _Trial:
    """One trial's requests in start order, with what is ordinary for it."""

    def __init__(self, start: FloatArray, latency: FloatArray, resolution_s: float) -> None:
        self.start, self.latency = start, np.maximum(latency, max(resolution_s / 2, 1e-9))
        self.resolution_s = resolution_s
        self.end = start + latency
        window = min(LEVEL_WINDOW, len(start) // 4 * 2 + 1)
        self.level = np.exp(ndimage.median_filter(np.log(self.latency), size=window, mode="nearest"))
        self.ratio = self.latency / self.level
        self.longest_s = float(self.latency.max())

    # ---- gaps -----------------------------------------------------------------

    def stalls(self) -> list[Stall]:
        done = np.sort(self.end)
        gaps = np.diff(done)
        rate = _local_rate(done)
        expected = gaps * rate
        candidates = np.flatnonzero((expected >= MIN_EXPECTED) & (gaps > 2 * self.resolution_s))
        if not len(candidates):
            return []
        bound = np.log(ALPHA / len(gaps))
        # Whatever overlaps a gap that is long beyond doubt must not define what is ordinary.
        doubtless = candidates[expected[candidates] >= 3 * MIN_EXPECTED]
        found = [(done[i], done[i + 1]) for i in doubtless]
        accepted: list[Stall] = []
        for _ in range(2):
            ordinary = _Ordinary(self.ratio[~self._overlapping(found)], self.ratio)
            accepted = [
                s for i in candidates if (s := self._judge(done[i], done[i + 1], ordinary)).log_p < bound
            ]
            found = [(s.start_s, s.end_s) for s in accepted]
        return _merged(accepted, 2 * self.resolution_s + 2 / float(np.median(rate)))

    def _overlapping(self, spans: list[tuple[float, float]]) -> npt.NDArray[np.bool_]:
        hit = np.zeros(len(self.start), dtype=bool)
        for low, high in spans:
            first, last = self._reach(low, high)
            hit[first:last] |= self.end[first:last] >= low
        return hit

    def _reach(self, low: float, high: float) -> tuple[int, int]:
        """Index range of requests that could be outstanding somewhere in [low, high]."""
        first = int(np.searchsorted(self.start, low - self.longest_s))
        return first, int(np.searchsorted(self.start, high))

    def _judge(self, gap_start: float, gap_end: float, ordinary: _Ordinary) -> Stall:
        first, last = self._reach(gap_start, gap_end)
        waiting = first + np.flatnonzero(self.end[first:last] >= gap_end)
        if not len(waiting):
            return Stall(start_s=gap_start, end_s=gap_end, kind="stall", n_requests=0, log_p=0.0)
        needed = (gap_end - self.resolution_s - self.start[waiting]) / self.level[waiting]
        reached = (gap_start - self.start[waiting]) / self.level[waiting]
        previous = waiting[0] - 1
        while previous >= 0 and self.end[previous] >= gap_end:
            previous -= 1
        before = ordinary.score(self.ratio[previous]) if previous >= 0 else 0.0
        alone = ordinary.log_alone(needed, reached)
        drifting = ordinary.log_drifting(needed, float(before)) - ordinary.log_drifting(
            reached, float(before)
        )
        log_p = max(min(float(np.logaddexp(alone, drifting)), 0.0), -1e6)
        return Stall(
            start_s=float(gap_start), end_s=float(gap_end), kind="stall", n_requests=len(waiting), log_p=log_p
        )

    # ---- slow periods ----------------------------------------------------------

    def slow_periods(self, stalls: list[Stall]) -> list[Stall]:
        quiet = ~self._overlapping([(s.start_s, s.end_s) for s in stalls])
        log_ratio = np.log(self.ratio[quiet])
        spread = 1.4826 * float(np.median(np.abs(log_ratio - np.median(log_ratio))))
        slow = (np.log(self.ratio) > max(3 * spread, float(np.quantile(log_ratio, 0.99)))) & quiet
        found: list[Stall] = []
        for width in SCAN_WINDOWS_S:
            found += self._scan(slow, width)
        # What follows a stall at once is its backlog, not a finding of its own.
        wake_s = max(SCAN_WINDOWS_S)
        joined = _merged(found, wake_s)
        return [
            p for p in joined if not any(p.start_s < s.end_s + wake_s and s.start_s < p.end_s for s in stalls)
        ]

    def _scan(self, slow: npt.NDArray[np.bool_], width: float) -> list[Stall]:
        origin = self.start[0]
        bins = ((self.start - origin) / width).astype(np.int64)
        n = np.bincount(bins)
        k = np.bincount(bins, weights=slow)
        share = slow.mean()
        busy = n >= 5
        if share == 0 or busy.sum() < 50:
            return []
        spread = n * share * (1 - share)
        # Overdispersion: how much wider than binomial the counts are anyway (autocorrelated latencies).
        phi = max(1.0, float(np.mean((k[busy] - n[busy] * share) ** 2 / spread[busy])))
        log_p = np.zeros(len(n))
        log_p[busy] = stats.binom.logsf(
            np.ceil(k[busy] / phi) - 1, np.maximum(n[busy] / phi, 1).astype(int), share
        )
        bound = np.log(ALPHA / (busy.sum() * len(SCAN_WINDOWS_S)))
        return [
            Stall(
                start_s=float(origin + i * width),
                end_s=float(origin + (i + 1) * width),
                kind="slow_period",
                n_requests=int(k[i]),
                log_p=max(float(log_p[i]), -1e6),
            )
            for i in np.flatnonzero((log_p < bound) & (k >= 0.5 * n) & busy)
        ]


class _Ordinary:
    """The law of ordinary latencies, relative to the level of their moment."""

    def __init__(self, ordinary: FloatArray, everything: FloatArray) -> None:
        base = ordinary if len(ordinary) >= MIN_REQUESTS else everything
        self.sorted = np.sort(base)
        scores = self.score(base)
        self.rho = (
            float(np.clip(np.corrcoef(scores[:-1], scores[1:])[0, 1], 0.0, 0.99)) if len(base) > 2 else 0.0
        )

    def log_survival(self, ratio: FloatArray) -> FloatArray:
        n = len(self.sorted)
        above = n - np.searchsorted(self.sorted, ratio, side="left")
        return np.asarray(np.log((above + 0.5) / (n + 1)))

    def score(self, ratio: FloatArray | np.float64) -> FloatArray:
        """Normal score of a latency ratio; beyond the largest seen it stays at the largest's."""
        survival = np.exp(self.log_survival(np.atleast_1d(np.asarray(ratio, dtype=np.float64))))
        return np.asarray(-special.ndtri(np.clip(survival, 1e-12, 1 - 1e-12))).reshape(np.shape(ratio))

    def log_alone(self, needed: FloatArray, reached: FloatArray) -> float:
        """Log of the chance that each, having lasted ``reached``, lasts ``needed``, independent of each other."""
        return float((self.log_survival(needed) - self.log_survival(reached)).sum())

    def log_drifting(self, needed: FloatArray, before: float) -> float:
        """Log of the chance that consecutive requests all exceed ``needed``, the last one seen at ``before``."""
        a = -special.ndtri(np.exp(self.log_survival(needed)))
        step = np.sqrt(1 - self.rho**2)
        first = special.log_ndtr(-(a[0] - self.rho * before) / step)
        # Given that the previous one exceeded a: mean and variance of a truncated normal.
        hazard = np.exp(-0.5 * a**2 - 0.5 * np.log(2 * np.pi) - special.log_ndtr(-a))
        variance = np.clip(1 + a * hazard - hazard**2, 0.0, 1.0)
        mean, spread = self.rho * hazard[:-1], np.sqrt(step**2 + self.rho**2 * variance[:-1])
        return float(first + special.log_ndtr(-(a[1:] - mean) / spread).sum())


def _local_rate(done: FloatArray) -> FloatArray:
    """Completions per second around each gap: the smaller of the second before and the second after."""
    n = len(done)
    left, right = done[:-1], done[1:]
    span_before = np.minimum(1.0, np.maximum(left - done[0], 1e-9))
    span_after = np.minimum(1.0, np.maximum(done[-1] - right, 1e-9))
    before = (np.arange(n - 1) - np.searchsorted(done, left - 1.0)) / span_before
    after = (np.searchsorted(done, right + 1.0, side="right") - 1 - np.arange(1, n)) / span_after
    enough_before, enough_after = span_before > 0.25, span_after > 0.25
    both = np.minimum(before, after)
    overall = (n - 1) / max(float(done[-1] - done[0]), 1e-9)
    rate = np.where(
        enough_before & enough_after,
        both,
        np.where(enough_before, before, np.where(enough_after, after, overall)),
    )
    return np.asarray(np.maximum(rate, 1e-9))


def _merged(found: list[Stall], distance_s: float) -> list[Stall]:
    """Join neighbours of one kind that are closer than ``distance_s``."""
    joined: list[Stall] = []
    for stall in sorted(found, key=lambda s: s.start_s):
        last = joined[-1] if joined else None
        if last is not None and stall.start_s - last.end_s <= distance_s:
            joined[-1] = last.model_copy(
                update={
                    "end_s": max(last.end_s, stall.end_s),
                    "n_requests": last.n_requests + stall.n_requests,
                    "log_p": min(last.log_p, stall.log_p),
                }
            )
        else:
            joined.append(stall)
    return joined
