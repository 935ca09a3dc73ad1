# SPDX-License-Identifier: Apache-2.0
"""Instants as ISO 8601 and RFC 3339 write them, with up to nine decimals."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)", re.ASCII)


def epoch_s(text: str) -> float:
    """Return an instant as epoch seconds.

    Raises:
        ValueError: it is not one.
    """
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise ValueError(f"not an instant: {text!r}")
    return _whole_s(found[1], found[3]) + float(f"0.{found[2] or 0}")


@lru_cache(maxsize=256)
def _whole_s(second: str, zone: str) -> float:
    """Return whole epoch seconds; lines of one second share them."""
    try:
        return datetime.fromisoformat(second + zone.replace("Z", "+00:00")).timestamp()
    except OverflowError as error:
        raise ValueError(f"not an instant: {second}{zone}") from error
