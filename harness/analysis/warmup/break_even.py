# SPDX-License-Identifier: Apache-2.0
"""After how many requests a program that starts slowly has caught up with one that starts fast.

A course is what one process had spent (seconds since launch, or CPU seconds) when it had answered so many requests.
Beyond its last point it goes on at the process's warm cost. Two courses break even where the one that was ahead last
is overtaken for good: earlier crossings that turn back do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Course:
    """What one process spent.

    ``n_requests``, rising, and ``spent``: the same length of at least one, the first point that of the first answer.
    ``warm_cost``: of each request after the last point.
    """

    n_requests: tuple[float, ...]
    spent: tuple[float, ...]
    warm_cost: float

    def at(self, n_requests: float) -> float:
        """Return what was spent when so many requests had been answered; none before the first answer."""
        beyond = n_requests - self.n_requests[-1]
        if beyond > 0:
            return self.spent[-1] + beyond * self.warm_cost
        return float(np.interp(n_requests, self.n_requests, self.spent))


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """Where the later one has caught up.

    ``n_requests``: ``None`` where it never does, or was never behind. ``first_ahead``: whether the first course is
    ahead at the beginning and until then. ``within``: whether it lies within what was measured of both.
    """

    n_requests: float | None
    first_ahead: bool
    within: bool = True


def break_even(first: Course, second: Course) -> BreakEven:
    """Return after how many requests ``second`` has caught up with ``first`` for good.

    >>> fast_start = Course(n_requests=(1,), spent=(0.1,), warm_cost=2e-3)
    >>> slow_start = Course(n_requests=(1,), spent=(1.1,), warm_cost=1e-3)
    >>> round(break_even(fast_start, slow_start).n_requests or 0)
    1001
    """
    places = sorted({*first.n_requests, *second.n_requests})
    last, end = places[-1], min(first.n_requests[-1], second.n_requests[-1])
    leads = [second.at(n) - first.at(n) for n in places]  # positive: the first one is ahead
    gained = first.warm_cost - second.warm_cost  # by the second, with each request after the last place
    if leads[-1] > 0:
        if gained <= 0:
            return BreakEven(n_requests=None, first_ahead=True)
        return BreakEven(n_requests=last + leads[-1] / gained, first_ahead=True, within=False)
    if gained < 0:  # the second one is ahead now, and will lose that again: nobody has caught up for good
        return BreakEven(n_requests=None, first_ahead=True, within=False)
    return _crossing(places, leads, end)


def _crossing(places: Sequence[float], leads: Sequence[float], end: float) -> BreakEven:
    """The last place at which the first one was ahead, and the point after it at which it no longer was."""
    ahead = [at for at, lead in enumerate(leads) if lead > 0]
    if not ahead:
        return BreakEven(n_requests=None, first_ahead=False)
    at = ahead[-1]
    share = leads[at] / (leads[at] - leads[at + 1])
    n_requests = places[at] + share * (places[at + 1] - places[at])
    return BreakEven(n_requests=n_requests, first_ahead=True, within=n_requests <= end)


__all__ = ["BreakEven", "Course", "break_even"]
