# SPDX-License-Identifier: Apache-2.0
"""The law of one trial's ordinary latencies: how slow a request may be, alone or while the service drifts.

Two things make requests slow without any stall. Some are slow by themselves, independent of
their neighbours. And the service drifts: latencies follow each other. An isolated slow
request says nothing about drift, so each request enters the drift's law no slower than the
slower of its two neighbours; for a run of slow requests that changes nothing, and a lone
one vanishes. Drift is then a Gaussian copula of order 1 over that law.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.formats.arrays import FloatArray

_PAIRS = 100_000


class Law:
    """An empirical law of positive numbers; nothing is ever rarer than half an observation."""

    def __init__(self, values: FloatArray) -> None:
        ordered = np.sort(values)
        self._n = len(ordered)
        # Each value once: a clock of whole milliseconds knows few, which are quicker to search.
        first = np.flatnonzero(np.append(True, ordered[1:] > ordered[:-1]))
        self._values, self._n_below = ordered[first], np.append(first, self._n)

    def log_survival(self, value: FloatArray) -> FloatArray:
        """Log of the chance to be at least ``value``, same shape."""
        # Of these values only: of a million that were seen, a few thousand are asked for.
        n_below = self._n_below[self._values.searchsorted(value)]
        return np.asarray(np.log((self._n - n_below + 0.5) / (self._n + 1)))

    def score(self, value: FloatArray) -> FloatArray:
        """Normal score, same shape; beyond the largest value seen it stays at the largest's."""
        chance = np.clip(np.exp(self.log_survival(value)), 1e-12, 1 - 1e-12)
        return np.asarray(-scipy.special.ndtri(chance))


class Ordinary:
    """What is ordinary in one trial, from its requests' latencies relative to the level of their moment.

    Each part is computed when it is first asked for: the drift is needed only where single requests do not explain it.

    Args:
        ratio: latency over level, in start order, shape (n,), n >= 3.
    """

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
        """The law of requests in runs."""
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
        self,
        needed: FloatArray,
        reached: FloatArray,
        before: FloatArray,
        distance: npt.NDArray[np.intp],
        lift: FloatArray,
        *,
        edges: npt.NDArray[np.intp],
    ) -> FloatArray:
        """Log of the chance of each group that its requests, having lasted ``reached``, all last ``needed``.

        The oldest may be slow by themselves and the others because the service drifts: the
        chances of all such divisions are added up, for ``needed`` as for ``reached``.

        Args:
            needed, reached: ratios, group after group, in each in start order, shape (m,).
            before: ratio of the last request sent before each that was answered by then, shape (m,).
            distance: how many requests before it that was, shape (m,).
            lift: ratio that both of the last two had, at least 1, shape (m,): who is slow by itself is so
                on top of that.
            edges: where each group begins, and where the last one ends, shape (g + 1,); none is empty.

        Returns:
            Shape (g,).
        """
        groups = [slice(*both) for both in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
        last = self.run.score(before)
        chances = []
        for threshold in (needed, reached):
            single = self.single.log_survival(threshold / lift)
            a = self.run.score(threshold)
            # A run's first request counts no slower than its second: see ``in_company``.
            second = np.append(a[1:], a[-1])
            second[edges[1:] - 1] = a[edges[1:] - 1]
            opening = np.minimum(a, second)
            first = np.maximum(
                *(
                    scipy.special.log_ndtr(
                        (rho**distance * last - opening) / np.sqrt(1 - rho ** (2 * distance))
                    )
                    for rho in (self.rho, self.rho_all)
                )
            )
            following = self._log_following(a, self.rho * last, distance, edges[:-1])
            chances.append([_log_divided(single[i], first[i], following[i], reached[i]) for i in groups])
        return np.asarray(np.minimum(np.array(chances[0]) - np.array(chances[1]), 0.0))

    def _log_following(
        self,
        a: FloatArray,
        last: FloatArray,
        distance: npt.NDArray[np.intp],
        begins: npt.NDArray[np.intp],
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
    """Correlation of the score of each value with the next one's, between 0 and .99.

    Of more than ``_PAIRS`` pairs an even choice is taken: it tells the correlation to two or three thousandths.
    """
    step = max(1, (len(values) - 1) // _PAIRS)
    first, second = law.score(values[:-1:step]), law.score(values[1::step])
    if not (np.ptp(first) and np.ptp(second)):
        return 0.0
    return float(np.clip(np.corrcoef(first, second)[0, 1], 0.0, 0.99))


def in_company(ratio: FloatArray) -> FloatArray:
    """Return each value, but no larger than the larger of its two neighbours; shape (n,)."""
    if len(ratio) < 2:
        return ratio
    found = np.empty_like(ratio)
    np.maximum(ratio[:-2], ratio[2:], out=found[1:-1])
    found[0], found[-1] = ratio[1], ratio[-2]
    return np.asarray(np.minimum(ratio, found, out=found))
