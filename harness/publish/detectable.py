# SPDX-License-Identifier: Apache-2.0
"""The smallest differences that a session tells, as shares of the reference."""

from __future__ import annotations

from harness.analysis.stats.detectable import PowerCurve
from harness.model import Estimate
from harness.model.digits import percent


def smallest_differences(curve: PowerCurve) -> list[str]:
    """Return the smallest difference at each number of blocks, as a share of the reference; a dash: cannot be said."""
    return [_difference(one.ratio) for one in curve.smallest]


def _difference(ratio: Estimate) -> str:
    return "–" if ratio.value is None else percent(ratio.value - 1)
