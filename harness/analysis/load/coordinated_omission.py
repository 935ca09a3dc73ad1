# SPDX-License-Identifier: Apache-2.0
"""What a closed loop hides, and the figures with it.

A virtual user that waits for its answer sends nothing through a pause: the requests that
others would have sent then are missing, and with them the tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.stalls import detect_stalls
from harness.analysis.load.open_or_closed import judge_rhythm
from harness.analysis.stats.inputs import starts_and_latencies
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen

#: Pauses shorter than this are not restored by the expected interval: see ``verify omission``.
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
    flagged: bool = Field(
        description="latencies leave out what was never sent; do not read them as a service's tail"
    )
    evidence: tuple[str, ...]
    users: int | None = Field(
        default=None, description="given, or the most that ever waited at once where that stopped all sending"
    )
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
    resolution_s: float = 0.0,
    stalls: Sequence[Stall] | None = None,
) -> OmissionCheck:
    """Say whether a trial came from a closed loop, and correct its tail by the expected interval.

    Args:
        start_s, latency_s: every request of one trial, shapes (n,), seconds, in any order.
        users: how many virtual users sent them, each waiting for its answer; None: not known.
        planned_s: when each was to be sent by an open loop's schedule, shape (n,); None: not known.
        resolution_s: the smallest step of the load generator's clock.
        stalls: what ``detect_stalls`` found in these requests; None: it is asked.

    Without users or a plan the requests' rhythm has to tell: nothing sent while the most wait is a closed
    loop's, sending on while many wait is an open loop's, and calm requests are either's: it cannot be said.
    Where less is sent while many wait, requests are missing (``flagged``), but a generator that was held up
    itself leaves that out as well as users do.

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
    rhythm = judge_rhythm(start, latency, resolution_s)
    said: tuple[str, ...] = ()
    evidence = rhythm.waiting
    if users is None:
        if not evidence:
            return OmissionCheck(
                loop="open" if rhythm.open else "cannot say", flagged=False, evidence=rhythm.open,
                interval_s=None, measured_s=measured, corrected_s=None, n_added=0, warnings=(NO_SIGN,),
            )  # fmt: skip
        if rhythm.users is None:
            return OmissionCheck(
                loop="cannot say", flagged=True, evidence=evidence, interval_s=None, measured_s=measured,
                corrected_s=None, n_added=0, warnings=(HELD_UP,),
            )  # fmt: skip
        users = rhythm.users
        said = (
            f"the number of users, {users}, is taken from the largest number of requests that waited at once",
        )
    else:
        evidence = (f"{users} users, each waiting for its answer", *evidence)
    interval = cycle_s(start, users)
    corrected = with_missing_requests(latency, interval)
    return OmissionCheck(
        loop="closed",
        flagged=True,
        evidence=evidence,
        users=users,
        interval_s=interval,
        measured_s=measured,
        corrected_s=None if corrected is None else _quantiles(corrected),
        n_added=0 if corrected is None else len(corrected) - len(latency),
        warnings=(
            *said,
            *((TOO_MANY_ADDED,) if corrected is None else ()),
            *correction_warnings(detect_stalls(start, latency) if stalls is None else stalls),
        ),
    )


def with_missing_requests(latency_s: FloatArray, interval_s: float) -> FloatArray | None:
    """Return the latencies and those that waiting left out, in any order; ``None``: these would be far too many.

    Raises:
        InputError: the interval is not positive.
    """
    n_each = n_missing(latency_s, interval_s)
    if n_each.sum() > MOST_ADDED * len(latency_s):
        return None
    return np.concatenate([latency_s, _missing(latency_s, interval_s, n_each)])


def n_missing(latency_s: FloatArray, interval_s: float) -> npt.NDArray[np.int64]:
    """Return how many requests waiting for each latency left out, shape (n,).

    Raises:
        InputError: the interval is not positive.
    """
    if not interval_s > 0:
        raise InputError("the expected interval must be positive", found=interval_s, allowed="seconds > 0")
    return np.maximum(np.floor(latency_s / interval_s).astype(np.int64) - 1, 0)


def _missing(latency_s: FloatArray, interval_s: float, n_each: npt.NDArray[np.int64]) -> FloatArray:
    """The latencies that one sender's waiting left out: L - I, L - 2 I, ... down to I, for every L > I."""
    nth = np.arange(n_each.sum()) - np.repeat(np.cumsum(n_each) - n_each, n_each) + 1
    return np.asarray(np.repeat(latency_s, n_each) - nth * interval_s)


def _checked(start_s: FloatArray, latency_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    start, latency = starts_and_latencies(start_s, latency_s)
    if not len(start):
        raise InputError("no request to check", allowed="at least one")
    return start, latency


def _quantiles(latency: FloatArray) -> dict[str, float]:
    values = np.quantile(latency, (0.5, 0.99, 0.999))
    return dict(zip(("p50", "p99", "p99.9"), values.tolist(), strict=True))


def cycle_s(start: FloatArray, users: int) -> float:
    """Return one user's ordinary time from request to request: users over the rate, by the median over short windows.

    Args:
        start: of every request, ascending, shape (n,), seconds.
    """
    # The median over stretches of equally many requests does not see the pauses.
    typical = float(np.median(start[users:] - start[:-users])) if len(start) >= 10 * users else 0.0
    if typical > 0:
        return typical
    return float(np.ptp(start)) * users / len(start) or 1e-9


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


def correction_warnings(stalls: Sequence[Stall]) -> tuple[str, ...]:
    """Return why the correction by the expected interval may be off, given the stalls that were found."""
    lengths = [s.duration_s for s in stalls if s.kind == "stall"]
    if not lengths:
        return (
            "no stall was found, so the corrected percentiles count single slow requests several times; use the "
            "measured ones",
        )
    typical = float(np.median(lengths))
    if typical < SHORTEST_CORRECTED_S:
        return (
            f"stalls here last {max(typical * 1e3, 1):.0f} ms (median); for stalls shorter than "
            f"{SHORTEST_CORRECTED_S * 1e3:g} ms the corrected percentiles are too low; measure with an open loop",
        )
    return ()
