# SPDX-License-Identifier: Apache-2.0
"""How many requests a service says that it has answered, in the Prometheus text format."""

from __future__ import annotations

import re

_COUNTED = re.compile(r"^http_requests_total(?P<labels>\{.*\})? (?P<value>\S+)(?: -?\d+)?\s*$", re.MULTILINE)
#: A client library leaves a counter with labels out until it has counted; the histogram beside it is there at once.
_NONE_YET = re.compile(
    r"^# TYPE http_request(?:s_total counter|_duration_seconds histogram)\s*$", re.MULTILINE
)
_OF_METRICS = re.compile(r'\bpath="/metrics"')


def answered(text: str) -> int | None:
    """Return the sum of ``http_requests_total`` over all labels, requests for ``/metrics`` left out.

    0: the service has such metrics, and has counted nothing yet. ``None``: it has none, or one of its numbers cannot
    be read.
    """
    found = [one["value"] for one in _COUNTED.finditer(text) if not _OF_METRICS.search(one["labels"] or "")]
    if not found and not _COUNTED.search(text):
        return 0 if _NONE_YET.search(text) else None
    try:
        return sum(round(float(value)) for value in found)
    except (ValueError, OverflowError):
        return None


__all__ = ["answered"]
