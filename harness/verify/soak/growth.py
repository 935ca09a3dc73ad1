# SPDX-License-Identifier: Apache-2.0
"""Does a series grow with the number of trials?"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType

from pydantic import Field

from harness.model import Frozen

#: What builds up once, such as pools and caches, is no leak: this share of the trials is left out.
WARM_UP_SHARE = 0.2
WINDOWS = 8
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


class Growth(Frozen):
    """One series. Memory, disk and logs are in bytes, the others are counts."""

    who: str
    what: str
    first: float = Field(description="median of the first window after the warm-up")
    last: float = Field(description="median of the last window")
    per_1000_trials: float
    windows: tuple[float, ...] = Field(default=(), description="the median of each window")

    @property
    def flat(self) -> bool:
        return self.per_1000_trials <= LIMITS[self.what]


def growth(who: str, what: str, series: Sequence[tuple[float, float]]) -> Growth | None:
    """Return how a series of (trials done, value) grows; ``None``: it is too short to tell.

    The slope is Theil and Sen's, of the medians of eight windows with as many readings each.
    """
    if not series:
        return None
    begin = series[0][0] + (series[-1][0] - series[0][0]) * WARM_UP_SHARE
    kept = [one for one in series if one[0] >= begin]
    size = len(kept) // WINDOWS
    if size < 1:
        return None
    windows = [kept[i * size : (i + 1) * size] for i in range(WINDOWS)]
    points = [(median(x for x, _ in one), median(y for _, y in one)) for one in windows]
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in itertools.combinations(points, 2) if x2 > x1]
    if not slopes:
        return None
    medians = tuple(y for _, y in points)
    return Growth(
        who=who,
        what=what,
        first=medians[0],
        last=medians[-1],
        per_1000_trials=1000 * median(slopes),
        windows=medians,
    )


__all__ = ["LIMITS", "WARM_UP_SHARE", "WINDOWS", "Growth", "growth"]
