# SPDX-License-Identifier: Apache-2.0
"""What a closed loop hides, and two ways to count it: corrected and metered figures.

A virtual user that waits for its answer sends nothing through a pause: the requests that
others would have sent then are missing, and with them the tail.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field
from scipy import stats

from harness.analysis.inputs import starts_and_latencies
from harness.analysis.stalls import detect_stalls
from harness.errors import InputError
from harness.model import Frozen

FloatArray = npt.NDArray[np.float64]

#: Pauses shorter than this are not restored by the expected interval: see ``verify omission``.
SHORTEST_CORRECTED_S = 0.1
#: Evidence for a closed loop is one that an open one shows once in a million.
_ALPHA = 1e-6
_SENDS_PER_BIN = 10.0


class OmissionCheck(Frozen):
    """Whether requests are missing because their senders were waiting, and what the tail is with them."""

    loop: Literal["open", "closed", "cannot say"]
    flagged: bool = Field(
        description="latencies leave out what was never sent; do not read them as a service's tail"
    )
    evidence: tuple[str, ...]
    interval_s: float | None = Field(
        description="expected time between two requests of one user; None: users unknown"
    )
    measured_s: dict[str, float] = Field(description="p50, p99, p99.9 as measured")
    corrected_s: dict[str, float] | None = Field(
        description="the same with the expected interval's missing requests"
    )
    n_added: int
    warnings: tuple[str, ...] = ()


def coordinated_omission_check(
    start_s: FloatArray,
    latency_s: FloatArray,
    *,
    users: int | None = None,
    planned_s: FloatArray | None = None,
) -> OmissionCheck:
    """Say whether a trial came from a closed loop, and correct its tail by the expected interval.

    Args:
        start_s, latency_s: every request of one trial, shapes (n,), seconds, in any order.
        users: how many virtual users sent them, each waiting for its answer; None: not known.
        planned_s: when each was to be sent by an open loop's schedule, shape (n,); None: not known.

    The correction adds, for every latency longer than one user's ordinary cycle, the requests
    that user would have sent meanwhile (HdrHistogram's recordValueWithExpectedInterval, G. Tene).

    Raises:
        InputError: shapes differ, there is no request, users is not positive, or both users and a plan are given.
    """
    start, latency = _checked(start_s, latency_s)
    if users is not None and (users < 1 or planned_s is not None):
        raise InputError("either users or a plan", found=users, allowed="users >= 1, and no plan beside it")
    order = np.argsort(start, kind="stable")
    start, latency = start[order], latency[order]
    measured = _quantiles(latency)
    if planned_s is not None:
        return _against_plan(start, latency, np.sort(np.asarray(planned_s, dtype=np.float64)), measured)
    evidence = _signs_of_waiting(start, latency)
    if users is None:
        known = len(start) >= 10 * _SENDS_PER_BIN
        loop: Literal["open", "closed", "cannot say"] = (
            "closed" if evidence else "open" if known else "cannot say"
        )
        said = (
            ()
            if evidence
            else (
                "without users or a plan only the requests' rhythm speaks; short stalls leave no sign in it",
            )
        )
        return OmissionCheck(
            loop=loop, flagged=bool(evidence), evidence=evidence, interval_s=None, measured_s=measured,
            corrected_s=None, n_added=0, warnings=said,
        )  # fmt: skip
    interval = _cycle_s(start, users)
    added = missing_requests(latency, interval)
    return OmissionCheck(
        loop="closed",
        flagged=True,
        evidence=(f"{users} users, each waiting for its answer", *evidence),
        interval_s=interval,
        measured_s=measured,
        corrected_s=_quantiles(np.concatenate([latency, added])),
        n_added=len(added),
        warnings=_doubts(start, latency),
    )


def missing_requests(latency_s: FloatArray, interval_s: float) -> FloatArray:
    """Return the latencies that one sender's waiting left out: L - I, L - 2 I, ... down to I, for every L > I.

    Raises:
        InputError: the interval is not positive.
    """
    if not interval_s > 0:
        raise InputError("the expected interval must be positive", found=interval_s, allowed="seconds > 0")
    n_each = np.maximum(np.floor(latency_s / interval_s).astype(int) - 1, 0)
    nth = np.arange(n_each.sum()) - np.repeat(np.cumsum(n_each) - n_each, n_each) + 1
    return np.asarray(np.repeat(latency_s, n_each) - nth * interval_s)


def metered_latency(
    start_s: FloatArray, latency_s: FloatArray, *, window_s: float | None = None
) -> FloatArray:
    """Return latencies as if requests had queued at a metered rate, shape (n,), in the order given.

    Each request gets a metered start: its start smoothed over ``window_s``, or evenly spaced over
    the whole run (None). One that was sent later than that had been held up by others, and its
    latency counts from the metered start. Source: Blackburn et al. 2025 (DaCapo Chopin),
    after their description.

    Raises:
        InputError: shapes differ, there is no request, or the window is not positive.
    """
    start, latency = _checked(start_s, latency_s)
    if window_s is not None and not window_s > 0:
        raise InputError("the window must be positive", found=window_s, allowed="seconds > 0, or None")
    order = np.argsort(start, kind="stable")
    ordered = start[order]
    if window_s is None:
        metered = np.linspace(ordered[0], ordered[-1], len(ordered))
    else:
        rate = len(ordered) / max(float(ordered[-1] - ordered[0]), 1e-9)
        half = max(1, int(window_s * rate / 2))
        total = np.concatenate([[0.0], np.cumsum(ordered)])
        place = np.arange(len(ordered))
        # The same reach on both sides, or the ends of the run would be drawn inwards.
        reach = np.minimum(half, np.minimum(place, len(ordered) - 1 - place))
        metered = (total[place + reach + 1] - total[place - reach]) / (2 * reach + 1)
    result = np.empty_like(latency)
    result[order] = ordered + latency[order] - np.minimum(ordered, metered)
    return result


def _checked(start_s: FloatArray, latency_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    start, latency = starts_and_latencies(start_s, latency_s)
    if not len(start):
        raise InputError("no request to check", allowed="at least one")
    if not (np.isfinite(start).all() and np.isfinite(latency).all() and (latency >= 0).all()):
        raise InputError("start and latency must be finite, latency not negative", allowed="seconds, no NaN")
    return start, latency


def _quantiles(latency: FloatArray) -> dict[str, float]:
    values = np.quantile(latency, (0.5, 0.99, 0.999))
    return dict(zip(("p50", "p99", "p99.9"), values.tolist(), strict=True))


def _cycle_s(start: FloatArray, users: int) -> float:
    """One user's ordinary time from request to request: users over the rate, by the median over short windows."""
    if len(start) < 10 * users:
        return max(float(np.ptp(start)) * users / len(start), 1e-9)
    # The median over stretches of equally many requests does not see the pauses.
    return max(float(np.median(start[users:] - start[:-users])), 1e-9)


def _signs_of_waiting(start: FloatArray, latency: FloatArray) -> tuple[str, ...]:
    """Evidence in the rhythm alone: nothing is sent while everybody waits, or less the more wait."""
    n = len(start)
    span = float(np.ptp(start))
    if n < 10 * _SENDS_PER_BIN or span <= 0:
        return ()
    rate = n / span
    moments = np.concatenate([start + latency, start])
    change = np.concatenate([np.full(n, -1), np.full(n, 1)])
    # An answer comes before the request that it allows, even at the same instant.
    order = np.lexsort((change, moments))
    moments, waiting = moments[order], np.cumsum(change[order])
    said = []
    full = waiting[:-1] == waiting.max()
    # A wait of one ordinary interval between requests is nobody's waiting.
    silent = np.maximum(np.diff(moments)[full] * rate - 1.0, 0.0)
    if silent.sum() > -np.log(_ALPHA):
        said.append(
            f"nothing is ever sent while {int(waiting.max())} requests wait, where {silent.sum():.0f} would be"
        )
    width = _SENDS_PER_BIN / rate
    edges = start[0] + width * np.arange(int(span / width) + 1)
    sent = np.diff(np.searchsorted(start, edges))
    before = waiting[np.maximum(np.searchsorted(moments, edges[:-1], side="right") - 1, 0)]
    crowded = before >= max(0.5 * float(before.max()), float(np.quantile(before, 0.98)))
    if crowded.sum() >= 5 and not crowded.all():
        share = float(sent[crowded].mean() / sent[~crowded].mean())
        p = float(stats.mannwhitneyu(sent[crowded], sent[~crowded], alternative="less").pvalue)
        if share < 0.8 and p < _ALPHA:
            said.append(
                f"while many requests are outstanding, only {share:.0%} as many are sent as otherwise"
            )
    return tuple(said)


def _against_plan(
    start: FloatArray, latency: FloatArray, planned: FloatArray, measured: dict[str, float]
) -> OmissionCheck:
    if planned.shape != start.shape:
        raise InputError(
            "the plan needs one time for each request", found=planned.shape, allowed=str(start.shape)
        )
    late = start - planned
    from_plan = latency + np.maximum(late, 0.0)
    worst = float(np.quantile(late, 0.999))
    held_up = worst > measured["p50"]
    return OmissionCheck(
        loop="closed" if held_up else "open",
        flagged=held_up,
        evidence=(f"one request in a thousand was sent {worst * 1e3:.1f} ms or more after its planned time",)
        if held_up
        else (),
        interval_s=None,
        measured_s=measured,
        corrected_s=_quantiles(from_plan),
        n_added=0,
        warnings=("latencies are counted from the planned times",) if held_up else (),
    )


def _doubts(start: FloatArray, latency: FloatArray) -> tuple[str, ...]:
    lengths = [s.duration_s for s in detect_stalls(start, latency) if s.kind == "stall"]
    if not lengths:
        return ("no stall was found: what is corrected are single slow requests, which need no correction",)
    typical = float(np.median(lengths))
    if typical < SHORTEST_CORRECTED_S:
        return (
            f"stalls of {typical * 1e3:.0f} ms: below {SHORTEST_CORRECTED_S * 1e3:g} ms the expected interval "
            "restores too little; measure in an open loop",
        )
    return ()
