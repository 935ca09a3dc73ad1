# SPDX-License-Identifier: Apache-2.0
"""Slow periods: spans in which the instance went on answering, but far too much of it was slow.

Slow requests in windows of 5 to 100 ms are held against a beta-binomial law with the clustering of the trial's other
windows. Requests are slow by themselves, or because the service drifts: a Gaussian copula of order 1 over a law into
which each request enters no slower than the slower of its two neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.formats.arrays import FloatArray
from harness.model import Frozen

_PAIRS = 100_000


class Law:
    """An empirical law of positive numbers; nothing is ever rarer than half an observation."""

    def __init__(self, values: FloatArray) -> None:
        self._ordered = np.sort(values)

    def log_survival(self, value: FloatArray) -> FloatArray:
        """Log of the chance to be at least ``value``, same shape."""
        n = len(self._ordered)
        return np.asarray(np.log((n - self._ordered.searchsorted(value) + 0.5) / (n + 1)))

    def score(self, value: FloatArray) -> FloatArray:
        """Normal score, same shape; beyond the largest value seen it stays at the largest's."""
        chance = np.clip(np.exp(self.log_survival(value)), 1e-12, 1 - 1e-12)
        return np.asarray(-scipy.special.ndtri(chance))


class Baseline:
    """What is ordinary in one trial; ``ratio``: latency over the level of its moment, by start, shape (n,), n >= 3."""

    def __init__(self, ratio: FloatArray) -> None:
        self._ratio = ratio

    @cached_property
    def single(self) -> Law:
        """The law of requests by themselves."""
        return Law(self._ratio)

    @cached_property
    def _in_company(self) -> FloatArray:
        return in_company(self._ratio)

    @cached_property
    def run(self) -> Law:
        """The law of requests in runs: each enters no slower than the slower of its two neighbours."""
        return Law(self._in_company)

    @cached_property
    def rho(self) -> float:
        """How closely one follows the other in runs."""
        return _following(self.run, self._in_company)

    @cached_property
    def rho_all(self) -> float:
        """How closely one follows the other among all; a little less than in runs."""
        return _following(self.single, self._ratio)

    def log_unlucky(
        self, needed: FloatArray, reached: FloatArray, before: FloatArray, distance: npt.NDArray[np.intp],
        lift: FloatArray, *, edges: npt.NDArray[np.intp],
    ) -> FloatArray:  # fmt: skip
        """Return the log of the chance of each group that its requests, having lasted ``reached``, all last ``needed``.

        The oldest may be slow by themselves and the others by drift: chances of all divisions are added up. All of
        shape (m,) but ``edges`` of the groups, shape (g + 1,).

        Args:
            needed, reached: ratios. before: of the last request answered before each, ``distance`` requests earlier.
            lift: ratio that both of the last two had, at least 1.
        """
        groups = [slice(*pair) for pair in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
        last = self.run.score(before)
        chances = []
        for threshold in (needed, reached):
            single = self.single.log_survival(threshold / lift)
            a = self.run.score(threshold)
            # A run's first request counts no slower than its second: see ``in_company``.
            second = np.append(a[1:], a[-1])
            second[edges[1:] - 1] = a[edges[1:] - 1]
            opening = np.minimum(a, second)
            scores = (
                (rho**distance * last - opening) / np.sqrt(1 - rho ** (2 * distance))
                for rho in (self.rho, self.rho_all)
            )
            first = np.max([scipy.special.log_ndtr(score) for score in scores], axis=0)
            following = self._log_following(a, self.rho * last, distance, edges[:-1])
            chances.append([_log_divided(single[i], first[i], following[i], reached[i]) for i in groups])
        return np.asarray(np.minimum(np.array(chances[0]) - np.array(chances[1]), 0.0))

    def _log_following(
        self, a: FloatArray, last: FloatArray, distance: npt.NDArray[np.intp], begins: npt.NDArray[np.intp]
    ) -> FloatArray:
        """Log of the chance of each to exceed ``a`` when the one before it did, or was answered with a known ratio."""
        # Given that the previous one exceeded a: mean and variance of a truncated normal.
        hazard = np.exp(-0.5 * a**2 - 0.5 * np.log(2 * np.pi) - scipy.special.log_ndtr(-a))
        variance = np.clip(1 + a * hazard - hazard**2, 0.0, 1.0)
        step2 = 1 - self.rho**2
        known = distance == 1
        mean, spread2 = np.append(0.0, self.rho * hazard[:-1]), np.append(0.0, self.rho**2 * variance[:-1])
        mean[begins] = spread2[begins] = 0.0
        spread = np.sqrt(step2 + np.where(known, 0.0, spread2))
        return np.asarray(scipy.special.log_ndtr((np.where(known, last, mean) - a) / spread))


def _log_divided(single: FloatArray, first: FloatArray, following: FloatArray, reached: FloatArray) -> float:
    """Log of the sum over all divisions of one group into the oldest, slow by themselves, and the others."""
    oldest = int(np.count_nonzero(reached > 0)) + 1
    alone = np.concatenate([[0.0], np.cumsum(single)])
    rest = np.append(np.cumsum(following[::-1])[::-1][1:], 0.0)
    return log_sum(np.append((alone[:-1] + first + rest)[:oldest], alone[-1]))


def log_sum(values: FloatArray) -> float:
    """Return the log of the sum of exponentials; SciPy's own spends its time on which array library it was given."""
    most = float(values.max())
    return most + float(np.log(np.exp(values - most).sum())) if np.isfinite(most) else most


def _following(law: Law, values: FloatArray) -> float:
    """Correlation of the score of each value with the next one's, 0 to .99; of many pairs an even choice is taken."""
    step = max(1, (len(values) - 1) // _PAIRS)
    first, second = law.score(values[:-1:step]), law.score(values[1::step])
    if not (np.ptp(first) and np.ptp(second)):
        return 0.0
    return float(np.clip(np.corrcoef(first, second)[0, 1], 0.0, 0.99))


def in_company(ratio: FloatArray) -> FloatArray:
    """Return each value, but no larger than the larger of its two neighbours; shape (n,)."""
    if len(ratio) < 2:
        return ratio
    before, after = np.append(ratio[1], ratio[:-1]), np.append(ratio[1:], ratio[-2])
    return np.asarray(np.minimum(ratio, np.maximum(before, after)))


#: Chance of one false finding in a whole trial, shared among all places that are looked at.
ALPHA = 1e-3
SCAN_WINDOWS_S = (0.005, 0.01, 0.02, 0.05, 0.1)
#: Windows with fewer requests than this say nothing.
_FEWEST = 5
_FEWEST_WINDOWS = 50


class Stall(Frozen):
    """A span in which nothing, or far too little, was completed. Times in seconds on the requests' clock."""

    start_s: float
    end_s: float
    kind: Literal["stall", "slow_period"]
    n_requests: int  # requests that waited through it, or were slow in it
    log_p: float  # natural logarithm of its chance under the ordinary explanations

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.end_s - self.start_s


def under_way_in_each(
    start_s: FloatArray, latency_s: FloatArray, stalls: Sequence[Stall]
) -> Iterator[npt.NDArray[np.intp]]:
    """Yield for each stall the places of the requests that were under way in it; requests are in order of start."""
    longest_s = float(latency_s.max())
    for stall in stalls:
        first = int(np.searchsorted(start_s, stall.start_s - longest_s))
        last = int(np.searchsorted(start_s, stall.end_s, side="right"))
        yield first + np.flatnonzero(start_s[first:last] + latency_s[first:last] >= stall.start_s)


def slow_periods(
    start_s: FloatArray, ratio: FloatArray, quiet: npt.NDArray[np.bool_], stalls: Sequence[Stall]
) -> list[Stall]:
    """Return the slow periods of one trial outside its stalls and their backlogs, in time order.

    Args:
        start_s: ascending, shape (n,). ratio: latency over the level of the moment. quiet: touched none of ``stalls``.
    """
    if np.count_nonzero(quiet) < _FEWEST_WINDOWS:
        return []
    ordinary = Baseline(ratio[quiet])
    log_ratio = np.log(ratio)
    of_quiet = log_ratio[quiet]
    spread = 1.4826 * float(np.median(np.abs(of_quiet - np.median(of_quiet))))
    slow = (log_ratio > 3 * spread) & quiet  # far slower than ordinary
    if not slow.any():
        return []
    n_slow = np.append(0, np.cumsum(slow))
    periods = [period for width in SCAN_WINDOWS_S for period in _scan(start_s, width, n_slow, ordinary)]
    # What follows a stall at once is its backlog, not a finding of its own.
    wake_s = max(SCAN_WINDOWS_S)
    return [
        period
        for period in merged(periods, wake_s)
        if not any(period.start_s < s.end_s + wake_s and s.start_s < period.end_s for s in stalls)
    ]


def _scan(start_s: FloatArray, width_s: float, n_slow: npt.NDArray[np.int64], usual: Baseline) -> list[Stall]:
    """Return the windows of one width with too many slow requests; ``n_slow``: before each request, shape (n + 1,)."""
    every = ((start_s - float(start_s[0])) / width_s).astype(np.int64)  # ascending, as the starts are
    edges = np.append(np.flatnonzero(np.append(True, np.diff(every) > 0)), len(every))
    window = every[edges[:-1]]  # the number of each that has requests
    n = np.diff(edges)
    k = np.diff(n_slow[edges]).astype(np.float64)
    busy = n >= _FEWEST
    if busy.sum() < _FEWEST_WINDOWS:
        return []
    suspects = busy & (k >= 0.5 * n)
    if not suspects.any():
        return []
    bound = np.log(ALPHA / (busy.sum() * len(SCAN_WINDOWS_S)))
    length = n.astype(np.float64)
    # running sums of counts and of their products, so that leaving some of them out costs nothing
    columns = (length, k, length**2, length * k, k**2)
    up_to = np.array([np.append(0.0, np.cumsum(busy * column)) for column in columns])
    origin, typical_n, places = float(start_s[0]), int(np.median(n[busy])), np.flatnonzero(suspects)
    results: list[Stall] = []
    for group in np.split(places, np.flatnonzero(np.diff(window[places]) > 2) + 1):
        # A slow period must not make itself ordinary: it is held against the trial but for it and what touches it.
        first = int(np.searchsorted(window, window[group[0]] - 1))
        after = int(np.searchsorted(window, window[group[-1]] + 1, side="right"))
        rest = (up_to[:, -1] - (up_to[:, after] - up_to[:, first])).tolist()
        share, law = _law_of(rest, typical_n, usual.rho)
        for i in group:
            as_many = np.arange(k[i], n[i] + 1)
            # Summed up from the far end: one minus the rest would lose every digit of so small a chance.
            log_p = log_sum(_log_chance(as_many, int(n[i]), law, share))
            if log_p < bound:
                low, high = (float(origin + (window[i] + by) * width_s) for by in (0, 1))
                period = Stall(
                    start_s=low, end_s=high, kind="slow_period", n_requests=int(k[i]), log_p=max(log_p, -1e6)
                )
                results.append(period)
    return results


def _law_of(sums: list[float], typical_n: int, rho: float) -> tuple[float, tuple[float, float] | None]:
    """Return the share of slow requests in windows of these sums, and its beta law over windows; None: it is the same.
    How alike two requests of a window are: what the counts' excess over the binomial variance shows, or ``rho``
    implies."""
    n, k, nn, nk, kk = sums
    share = (k + 0.5) / (n + 1)
    excess = kk - 2 * share * nk + share**2 * nn - n * share * (1 - share)
    pairs = (nn - n) * share * (1 - share)
    within = max(excess / pairs if pairs > 0 else 0.0, _alike(typical_n, share, rho))
    if within <= 0:
        return share, None
    size = (1 - min(within, 0.99)) / min(within, 0.99)
    return share, (share * size, (1 - share) * size)


def _log_chance(
    k: npt.NDArray[np.int64], n: int, law: tuple[float, float] | None, share: float
) -> FloatArray:
    """Log of the chance of each ``k`` among ``n``, beta-binomial or binomial; scipy.stats takes too long to load."""
    if law is None:
        gammaln = scipy.special.gammaln
        choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return np.asarray(choose + scipy.special.xlogy(k, share) + scipy.special.xlog1py(n - k, -share))
    a, b = law
    choose = -np.log(n + 1) - scipy.special.betaln(n - k + 1, k + 1)
    return np.asarray(choose + scipy.special.betaln(k + a, n - k + b) - scipy.special.betaln(a, b))


def _alike(n: int, share: float, rho: float) -> float:
    """Mean correlation of being slow over all pairs among ``n`` consecutive requests."""
    if n < 2 or rho <= 0:
        return 0.0
    a = -scipy.special.ndtri(share)
    hazard = np.exp(-0.5 * a**2) / np.sqrt(2 * np.pi) / share
    variance = np.clip(1 + a * hazard - hazard**2, 0.0, 1.0)
    lag = np.arange(1, n)
    r = rho**lag
    joint = scipy.special.ndtr((r * hazard - a) / np.sqrt(1 - r**2 + r**2 * variance))
    return float(np.sum((n - lag) * np.maximum(joint - share, 0.0)) / (n * (n - 1) / 2) / (1 - share))


def merged(stalls: Sequence[Stall], distance_s: float) -> list[Stall]:
    """Join neighbours that are no farther apart than ``distance_s``; in time order."""
    joined: list[Stall] = []
    for stall in sorted(stalls, key=lambda s: s.start_s):
        last = joined[-1] if joined else None
        if last is not None and stall.start_s - last.end_s <= distance_s:
            whole = {"end_s": max(last.end_s, stall.end_s), "n_requests": last.n_requests + stall.n_requests}
            joined[-1] = last.model_copy(update=whole | {"log_p": min(last.log_p, stall.log_p)})
        else:
            joined.append(stall)
    return joined
