# SPDX-License-Identifier: Apache-2.0
"""Instants as ISO 8601 and RFC 3339 write them, with up to nine decimals."""

from __future__ import annotations

import re
from datetime import datetime

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)", re.ASCII)


def epoch_s(text: str) -> float:
    """Return an instant as epoch seconds.

    Raises:
        ValueError: it is not one.
    """
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise ValueError(f"not an instant: {text!r}")
    try:
        whole = datetime.fromisoformat(found[1] + found[3].replace("Z", "+00:00")).timestamp()
    except OverflowError as error:
        raise ValueError(f"not an instant: {text!r}") from error
    return whole + float(f"0.{found[2] or 0}")
