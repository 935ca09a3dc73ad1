# SPDX-License-Identifier: Apache-2.0
"""The kind of a failed request in words, from whatever columns a tool writes about it."""

from __future__ import annotations

import re

#: Kinds counted by name; what comes after them is counted together.
MOST_KINDS = 200
OTHER_KINDS = "other kinds"
_LONGEST = 160
_STATUS = re.compile(r"[1-9]\d\d")
_NO_ANSWER = "Non HTTP response code: "
_NO_MESSAGE = "Non HTTP response message: "


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


def add_kinds(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add ``more`` to ``counts`` in place; kinds beyond ``MOST_KINDS`` are counted as ``OTHER_KINDS``."""
    for kind, n in more.items():
        name = kind if kind in counts or len(counts) < MOST_KINDS else OTHER_KINDS
        counts[name] = counts.get(name, 0) + n


def _joined(first: str, second: str) -> str:
    return ": ".join(part for part in (first.strip(), second.strip()) if part)
