# SPDX-License-Identifier: Apache-2.0
"""The numbers of a report in words, the same on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.digits import decimals, fixed, interval, plain, spoken

CANNOT_SAY = "cannot say"


def latency_cells(value: float | None, bounds: tuple[float, float] | None) -> tuple[str, str]:
    """Return a latency and its interval as two cells, with the digits that the interval leaves."""
    if value is None:
        return CANNOT_SAY, ""
    low, high = bounds or (None, None)
    places = decimals(value, low, high)
    return fixed(value, places), interval(low, high, places)


def latency_cell(value: float | None) -> str:
    """Return a latency without an interval."""
    return CANNOT_SAY if value is None else plain(value)


def share_words(share: Mapping[str, float | None]) -> str:
    """Return ``value``, ``low`` and ``high`` of a share as a percentage with its interval."""
    value, low, high = (
        None if (part := share[name]) is None else 100 * part for name in ("value", "low", "high")
    )
    return CANNOT_SAY if value is None else spoken(value, low, high, " %")
