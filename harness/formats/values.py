# SPDX-License-Identifier: Apache-2.0
"""Values that several formats have: instants as ISO 8601 and RFC 3339 write them, with up to nine decimals, and the
kind of a failed request in words, from whatever columns a tool writes about it."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

_LONGEST = 160
_STATUS = re.compile(r"[1-9]\d\d")
_NO_ANSWER = "Non HTTP response code: "
_NO_MESSAGE = "Non HTTP response message: "
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)", re.ASCII)


def error_kind(code: str, message: str, failure: str, error: str) -> str:
    """Return the kind of one failed request, such as ``HTTP 500 Internal Server Error``.

    Args:
        code: the status, or what JMeter writes in its place. message: the phrase beside it.
        failure: of a failed assertion. error: the tool's own text. Each may be empty.
    """
    if code.startswith(_NO_ANSWER):
        kind = _joined(code.removeprefix(_NO_ANSWER), message.removeprefix(_NO_MESSAGE))
    elif _STATUS.fullmatch(code):
        phrase = (message or error).removeprefix(code).strip()
        kind = f"HTTP {code} {phrase}".rstrip()
        if code[0] in "23":
            kind = _joined(f"HTTP {code}", failure or error or "refused by a check")
    else:
        kind = _joined(error or failure, "") or _joined(code, message) or "no reason given"
    return " ".join(kind.split())[:_LONGEST]


def _joined(first: str, second: str) -> str:
    return ": ".join(part for part in (first.strip(), second.strip()) if part)


def epoch_s(text: str) -> float:
    """Return an instant as epoch seconds.

    Raises:
        ValueError: it is not one.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(f"not an instant: {text!r}")
    return _whole_s(match[1], match[3]) + float(f"0.{match[2] or 0}")


@lru_cache(maxsize=256)
def _whole_s(second: str, zone: str) -> float:
    """Return whole epoch seconds; lines of one second share them."""
    try:
        return datetime.fromisoformat(second + zone.replace("Z", "+00:00")).timestamp()
    except OverflowError as error:
        raise ValueError(f"not an instant: {second}{zone}") from error
