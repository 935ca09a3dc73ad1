# SPDX-License-Identifier: Apache-2.0
"""PELT against somebody else's: the package ``ruptures``, every window a possible change (jump 1).

ruptures 1.1 discards a start as soon as it loses, before the segment that beats it may
itself be followed by another, and so now and then misses the optimum by one short
segment. Such a series is no disagreement when the total cost shows that ours is the
better cut; it is counted apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.analysis.warmup.changepoints import detect_changepoints
from harness.errors import MissingTool


class Comparison(NamedTuple):
    """How many series were cut alike, differently although theirs is as good, and better by us."""

    alike: int
    differently: int
    better_by_us: int


def compare_with_ruptures(sims: int, rng: np.random.Generator) -> Comparison:
    """Cut ``sims`` random series of 40 to 120 windows with both.

    Both see the standardised series: ruptures adds 1e-6 to each variance whatever the unit.

    Raises:
        MissingTool: ruptures is not installed.
    """
    try:
        import ruptures  # type: ignore[import-untyped]  # it has no types
    except ImportError as error:
        raise MissingTool(
            "ruptures", why="to check our change points against", how_to_get="make setup"
        ) from error
    alike = better = 0
    for _ in range(sims):
        lengths = rng.integers(10, 41, rng.integers(2, 4))
        series = np.concatenate([rng.normal(rng.normal(0, 3), rng.uniform(0.5, 2), n) for n in lengths])
        series = np.concatenate([series, rng.normal(0, 1, max(40 - len(series), 0))])
        unit = (series - series.mean()) / series.std()
        penalty, min_size = float(rng.uniform(3.0, 25.0)), int(rng.integers(2, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it announces the 1e-6 each time
            theirs = ruptures.Pelt(model="normal", jump=1, min_size=min_size).fit(unit).predict(penalty)[:-1]
        ours = detect_changepoints(series, penalty=penalty, min_size=min_size).indices
        if list(ours) == [int(at) for at in theirs]:
            alike += 1
        elif total_cost(unit, ours, penalty) < total_cost(unit, theirs, penalty) - 1e-9:
            better += 1
    return Comparison(alike=alike, differently=sims - alike - better, better_by_us=better)


def total_cost(unit: npt.NDArray[np.float64], indices: Sequence[int], penalty: float) -> float:
    """Return Gaussian cost plus penalties, computed segment by segment."""
    parts = np.split(unit, [int(at) for at in indices])
    return sum(len(part) * float(np.log(part.var() + 1e-6)) for part in parts) + penalty * len(indices)
