# SPDX-License-Identifier: Apache-2.0
"""PELT against somebody else's: the package ``ruptures``, every window a possible change (jump 1)."""

from __future__ import annotations

import warnings

import numpy as np

from harness.analysis.changepoints import detect_changepoints
from harness.errors import MissingTool


def segmentations_that_differ(sims: int, rng: np.random.Generator) -> int:
    """Return how many of ``sims`` random series of 40 to 120 windows the two cut differently.

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
    differ = 0
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
        differ += list(ours) != [int(at) for at in theirs]
    return differ
