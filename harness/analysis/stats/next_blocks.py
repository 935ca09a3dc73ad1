# SPDX-License-Identifier: Apache-2.0
"""Blocks to the undecided: which comparisons need more blocks.

A comparison is undecided while its interval holds an end of the band of equivalence: what is inside of it is
negligible, what is outside of it is not, and blocks are spent until the interval says which. Whether the interval holds
1 is never asked: stopping as soon as it does not would find a difference where there is none
(``rematch verify undecided``).
"""

from __future__ import annotations

import numpy as np

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.verdicts import FEWEST_FOR_P


def undecided(low: Floats, high: Floats, margin: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which intervals of log ratios hold an end of the band from 1/(1 + margin) to 1 + margin.

    Args:
        low, high: of any one shape; logarithms.
    """
    end = float(np.log1p(margin))
    return np.asarray(((low < end) & (end < high)) | ((low < -end) & (-end < high)))


def wants_more(one: Comparison) -> bool:
    """Tell whether a comparison about the services is undecided; too few blocks are always undecided."""
    ratio = one.ratio
    if not one.about_services or ratio.value is None:
        return False
    if one.n_blocks < FEWEST_FOR_P or ratio.low is None or ratio.high is None:
        return True
    if one.margin is None:  # the noise is wider than any band: no number of blocks decides
        return False
    low, high = (np.asarray(np.log(end)) for end in (ratio.low, ratio.high))
    return bool(undecided(low, high, one.margin))
