# SPDX-License-Identifier: Apache-2.0
"""How many requests a service says that it has answered, in the Prometheus text format."""

from __future__ import annotations

import re

_COUNTED = re.compile(r"^http_requests_total(?P<labels>\{.*\})? (?P<value>\S+)(?: -?\d+)?\s*$", re.MULTILINE)
_OF_METRICS = re.compile(r'\bpath="/metrics"')


def answered(text: str) -> int | None:
    """Return the sum of ``http_requests_total`` over all labels, requests for ``/metrics`` left out.

    ``None``: the service has no such counter, or one of its numbers cannot be read.
    """
    found = [
        one["value"] for one in _COUNTED.finditer(text) if not _OF_METRICS.search(one["labels"] or "")
    ]
    try:
        return sum(round(float(value)) for value in found) if found else None
    except (ValueError, OverflowError):
        return None


__all__ = ["answered"]
