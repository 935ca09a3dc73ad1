# SPDX-License-Identifier: Apache-2.0
"""What a closed loop hides: a user that waits for its answer sends nothing through a pause, so the requests that others
would have sent are missing. The figures with them; and whether a loop is closed, by when requests began and ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy  # loads its slow submodules when they are first used

from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.stalls import detect_stalls
from harness.analysis.stats.inputs import by_start, starts_and_latencies
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen

#: Evidence for a closed loop is one that an open one shows once in a million.
_ALPHA = 1e-6
_SENDS_PER_BIN = 10.0
#: So many requests sent while many others waited, at the usual rate, are evidence of an open loop.
_FEWEST_SENT_IN_CROWD = 100


def judge_rhythm(
    start: FloatArray, latency: FloatArray, resolution_s: float
) -> tuple[tuple[str, ...], tuple[str, ...], int | None]:
    """Return the evidence in the times alone for users who wait (nothing is sent while everybody waits, or less the
    more wait), that for an open loop (as much is), and the most that waited while nothing was sent.

    Args:
        start, latency: of every request of one trial, by start, shapes (n,), seconds. resolution_s: of their clock.
    """
    n = len(start)
    span = float(np.ptp(start))
    if n < 10 * _SENDS_PER_BIN or span <= 0:
        return (), (), None
    rate = n / span
    # An answer and the request that it allows may stand in the file a step of the clock apart, either way.
    # None ends before it begins, which at today's epoch takes a microsecond to be told apart.
    end = start + np.maximum(latency - 1.5 * resolution_s, 0.01 * latency + 1e-6)
    moments = np.concatenate([end, start])
    change = np.repeat([-1, 1], n)
    # An answer comes before the request that it allows, even at the same instant.
    order = np.lexsort((change, moments))
    moments, waiting = moments[order], np.cumsum(change[order])
    notes: tuple[str, ...] = ()
    users = None
    # After the last request nothing is sent because the load is over, whoever waits.
    full = (waiting[:-1] == waiting.max()) & (moments[:-1] < start[-1])
    # A wait of one ordinary interval between requests is nobody's waiting.
    silent = np.maximum(np.diff(moments)[full] * rate - 1.0, 0.0)
    if silent.sum() > -np.log(_ALPHA):
        users = int(waiting.max())
        notes += (
            f"no request is sent while {users} others wait; at the average rate there would have been "
            f"{silent.sum():,.0f} in that time",
        )
    width = _SENDS_PER_BIN / rate
    edges = start[0] + width * np.arange(int(span / width) + 1)
    sent = np.diff(np.searchsorted(start, edges))
    before = waiting[np.maximum(np.searchsorted(moments, edges[:-1], side="right") - 1, 0)]
    crowded = before >= max(0.5 * float(before.max()), float(np.quantile(before, 0.98)))
    if crowded.sum() < 5 or crowded.all():
        return notes, (), users
    share = float(sent[crowded].mean() / max(float(sent[~crowded].mean()), 1e-9))
    if share < 0.8:
        fewer = scipy.stats.mannwhitneyu(
            sent[crowded], sent[~crowded], alternative="less", method="asymptotic"
        )
        if fewer.pvalue < _ALPHA:
            words = "while many requests are outstanding, new ones are sent at only"
            notes += (f"{words} {share:.0%} of the usual rate",)
    least = int(before[crowded].min())
    stands_out = least >= max(5.0, 3.0 * float(np.median(before)))
    if notes or share < 0.8 or not stands_out or sent[crowded].sum() < _FEWEST_SENT_IN_CROWD:
        return notes, (), users
    rate_words = f"new ones are sent at {share:.0%} of the usual rate: the sender does not wait for them"
    return (), (f"while {least} or more requests are outstanding, {rate_words}",), None


#: Pauses shorter than this are not restored by the expected interval.
SHORTEST_CORRECTED_S = 0.1
#: More added requests than this for each measured one are no correction, but a sign of wrong units.
MOST_ADDED = 20
HELD_UP = (
    "fewer requests are sent while many are outstanding: users who wait do that, and so does an open-loop generator "
    "that is delayed itself (by its own pauses, or because it shares the service's machine)"
)
TOO_MANY_ADDED = (
    f"not corrected: it would add more than {MOST_ADDED} requests for each measured one; "
    "are the latencies in another unit, or are there more users than the file says?"
)
NO_SIGN = (
    "neither the number of users nor a plan is known, so only the times of the requests can tell the loop, and they "
    "show it only around long stalls"
)


class OmissionCheck(Frozen):
    """Whether requests are missing because their senders were waiting, and what the tail is with them."""

    loop: Literal["open", "closed", "cannot say"]
    flagged: bool  # latencies leave out what was never sent; do not read them as a service's tail
    evidence: tuple[str, ...]
    users: int | None = None  # given, or the most that ever waited at once where that stopped all sending
    interval_s: float | None  # expected time between two requests of one user; None: users unknown
    measured_s: dict[str, float]  # p50, p99, p99.9 as measured
    corrected_s: dict[str, float] | None  # the same with the expected interval's missing requests
    warnings: tuple[str, ...] = ()


def coordinated_omission_check(
    start_s: FloatArray, latency_s: FloatArray, *, users: int | None = None, resolution_s: float = 0.0,
    stalls: Sequence[Stall] | None = None,
) -> OmissionCheck:  # fmt: skip
    """Say whether a trial came from a closed loop; correct its tail by the expected interval (G. Tene, HdrHistogram).

    Without users the requests' rhythm has to tell. Where less is sent while many wait, requests are missing
    (``flagged``), but a generator that was held up itself leaves that out as well as users do.

    Args:
        start_s, latency_s: every request of one trial, shapes (n,), seconds, in any order. users: None: unknown.
        resolution_s: of the load generator's clock. stalls: of ``detect_stalls``; None: it is asked.

    Raises:
        InputError: shapes differ, there is no request, or users is not positive.
    """
    start, latency = by_start(*starts_and_latencies(start_s, latency_s))
    if not len(start):
        raise InputError("no request to check", allowed="at least one")
    if users is not None and users < 1:
        raise InputError("no user", place="users", found=users, allowed="1 or more")
    measured = _quantiles(latency)
    evidence, of_open_loop, most_waiting = judge_rhythm(start, latency, resolution_s)
    notes: tuple[str, ...] = ()
    if users is None:
        if not evidence or most_waiting is None:
            return OmissionCheck(
                loop="open" if of_open_loop and not evidence else "cannot say", flagged=bool(evidence),
                evidence=evidence or of_open_loop, interval_s=None, measured_s=measured, corrected_s=None,
                warnings=(HELD_UP if evidence else NO_SIGN,),
            )  # fmt: skip
        users = most_waiting
        why = "is taken from the largest number of requests that waited at once"
        notes = (f"the number of users, {users}, {why}",)
    else:
        evidence = (f"{users} users, each waiting for its answer", *evidence)
    interval = cycle_s(start, users)
    corrected = with_missing_requests(latency, interval)
    notes += (TOO_MANY_ADDED,) if corrected is None else ()
    notes += correction_warnings(detect_stalls(start, latency) if stalls is None else stalls)
    return OmissionCheck(
        loop="closed", flagged=True, evidence=evidence, users=users, interval_s=interval, measured_s=measured,
        corrected_s=None if corrected is None else _quantiles(corrected), warnings=notes,
    )  # fmt: skip


def with_missing_requests(latency_s: FloatArray, interval_s: float) -> FloatArray | None:
    """Return the latencies and those that waiting left out; ``None``: far too many. Raises InputError: an interval <=
    0."""
    if not interval_s > 0:
        raise InputError("the expected interval must be positive", found=interval_s, allowed="seconds > 0")
    n_each = np.maximum(np.floor(latency_s / interval_s).astype(np.int64) - 1, 0)
    if n_each.sum() > MOST_ADDED * len(latency_s):
        return None
    # L - I, L - 2 I, ... down to I, for every L > I
    nth = np.arange(n_each.sum()) - np.repeat(np.cumsum(n_each) - n_each, n_each) + 1
    return np.concatenate([latency_s, np.repeat(latency_s, n_each) - nth * interval_s])


def _quantiles(latency: FloatArray) -> dict[str, float]:
    values = np.quantile(latency, (0.5, 0.99, 0.999))
    return dict(zip(("p50", "p99", "p99.9"), values.tolist(), strict=True))


def cycle_s(start: FloatArray, users: int) -> float:
    """Return one user's time from request to request, seconds: the median over short windows of ascending starts."""
    # The median over stretches of equally many requests does not see the pauses.
    typical = float(np.median(start[users:] - start[:-users])) if len(start) >= 10 * users else 0.0
    if typical > 0:
        return typical
    return float(np.ptp(start)) * users / len(start) or 1e-9


def correction_warnings(stalls: Sequence[Stall]) -> tuple[str, ...]:
    """Return why the correction by the expected interval may be off, given the stalls that were found."""
    lengths = [s.duration_s for s in stalls if s.kind == "stall"]
    if not lengths:
        why = "no stall was found, so the corrected percentiles count single slow requests several times"
        return (f"{why}; use the measured ones",)
    typical = float(np.median(lengths))
    if typical >= SHORTEST_CORRECTED_S:
        return ()
    lasted = f"stalls here last {max(typical * 1e3, 1):.0f} ms (median)"
    low = f"for stalls shorter than {SHORTEST_CORRECTED_S * 1e3:g} ms the corrected percentiles are too low"
    return (f"{lasted}; {low}; measure with an open loop",)
