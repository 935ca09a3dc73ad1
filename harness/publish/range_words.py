# SPDX-License-Identifier: Apache-2.0
"""A ratio inside a sentence, and words for one without a verdict."""

from __future__ import annotations

from harness.model import Estimate
from harness.model.formatting import show

#: Of ratios whose intervals leave out 1 and have no verdict: words for one, words for several.
TOO_FEW = ("has too few blocks for a verdict", "have too few blocks for a verdict")


def times(ratio: Estimate) -> str:
    """Return ``1.20 times, 1.10 to 1.30``, rounded for a sentence; without an interval the ratio alone."""
    shown = show(ratio, rounded=True)
    if shown.reason is not None:
        return shown.reason
    return f"{shown.text} times, {shown.bounds}" if shown.bounds else f"{shown.text} times"
