# SPDX-License-Identifier: Apache-2.0
"""Does a series grow with the number of trials?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType
from typing import Literal

from pydantic import Field
from scipy import stats

from harness.model import Frozen

#: What builds up once, such as pools and caches, is no leak: this share of the trials is left out.
WARM_UP_SHARE = 0.2
#: Readings that follow each other are alike: the slope and its interval are of one value in each of so many windows.
WINDOWS = 16
#: Of these the least value of a window counts: what is left when a trial has ended. A median would change with the
#: share of its time that a trial has a service and a sampler, and so with the load of the machine.
LEFT_BEHIND = frozenset({"memory", "descriptors", "threads", "files left on disk"})
CONFIDENCE = 0.95
#: The most that 1,000 trials may add, by what is read. An eight-hour session has fewer trials.
LIMITS: Mapping[str, float] = MappingProxyType(
    {
        "memory": 2.0 * 2**20,
        "descriptors": 1.0,
        "threads": 1.0,
        "files left on disk": 64.0 * 2**10,
        "record of a trial": 1024.0,
        "log a trial": 64.0,
    }
)
Judged = Literal["flat", "grows", "undecided"]


class Growth(Frozen):
    """One series. Memory, disk and logs are in bytes, the others are counts."""

    who: str
    what: str
    first: float = Field(description="value of the first window after the warm-up")
    last: float = Field(description="value of the last window")
    per_1000_trials: float = Field(description="slope by Theil and Sen")
    low: float = Field(description="lower end of the 95 % interval of the slope")
    high: float = Field(description="upper end of the 95 % interval of the slope")
    windows: tuple[float, ...] = Field(default=(), description="least value or median of each window")

    @property
    def judged(self) -> Judged:
        """``flat``: the whole interval is within the limit; ``grows``: the whole interval is beyond it."""
        limit = LIMITS[self.what]
        return "flat" if self.high <= limit else "grows" if self.low > limit else "undecided"


def growth(who: str, what: str, series: Sequence[tuple[float, float]]) -> Growth | None:
    """Return how a series of (trials done, value) grows; ``None``: it is too short to tell.

    The slope is Theil and Sen's, of ``WINDOWS`` windows with as many trials each, however long these took: of the
    least value of what is ``LEFT_BEHIND``, of the median of the others. Its interval is Sen's (Journal of the American
    Statistical Association 63, 1968), as ``scipy.stats.theilslopes`` has it.
    """
    if not series:
        return None
    first, last = series[0][0], series[-1][0]
    begin = first + (last - first) * WARM_UP_SHARE
    windows: list[list[tuple[float, float]]] = [[] for _ in range(WINDOWS)]
    for x, y in series:
        if begin <= x < last:
            windows[int((x - begin) / (last - begin) * WINDOWS)].append((x, y))
    if not all(windows):
        return None
    trials = [median(x for x, _ in one) for one in windows]
    values = tuple((min if what in LEFT_BEHIND else median)([y for _, y in one]) for one in windows)
    slope, _, low, high = (float(1000 * one) for one in stats.theilslopes(values, trials, CONFIDENCE))
    return Growth(
        who=who,
        what=what,
        first=values[0],
        last=values[-1],
        per_1000_trials=slope,
        low=low,
        high=high,
        windows=values,
    )


__all__ = ["CONFIDENCE", "LEFT_BEHIND", "LIMITS", "WARM_UP_SHARE", "WINDOWS", "Growth", "growth"]
