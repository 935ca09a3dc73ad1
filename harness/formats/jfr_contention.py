# SPDX-License-Identifier: Apache-2.0
"""What ``jfr view contention-by-class`` prints (JDK 21 to 25): waits for monitors, counted by the class of the lock."""

from __future__ import annotations

import re

from pydantic import Field

from harness.errors import InputError
from harness.model import Frozen

#: The file in a trial's folder.
CONTENTION = "contention.txt"
_TITLE = "Contention by Lock Class"
_NOTHING = "No events found"
_DURATION = r"([0-9][0-9,]{0,15}(?:\.[0-9]{1,9})?) (ns|us|μs|µs|ms|s|m|h)"
_ROW = re.compile(
    rf"^(?P<lock>\S.*?)\s+(?P<n>[0-9][0-9,]{{0,15}})\s+{_DURATION}\s+{_DURATION}\s+{_DURATION}\s*$"
)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "μs": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Contention(Frozen):
    """The waits for all locks of one class."""

    lock: str = Field(description="the class")
    n: int = Field(ge=0)
    mean_s: float = Field(ge=0)


def parse_contention(text: str) -> tuple[Contention, ...]:
    """Return the classes of locks that threads waited for; empty: nobody waited.

    Raises:
        InputError: it is not that view, or a line of it cannot be read.
    """
    if _NOTHING in text:
        return ()
    if _TITLE not in text:
        raise InputError("no view of waits by class of lock", found=text.strip()[:60], allowed=_TITLE)
    _, _, table = text.partition("----")
    rows = [line for line in table.splitlines()[1:] if line.strip()]
    return tuple(_row(line) for line in rows)


def _row(line: str) -> Contention:
    found = _ROW.match(line)
    if found is None:
        raise InputError(
            "a line that cannot be read", found=line.strip()[:80], allowed="class, count, mean, p90, longest"
        )
    return Contention(
        lock=found["lock"].strip(),
        n=int(found["n"].replace(",", "")),
        mean_s=float(found[3].replace(",", "")) * _SECONDS[found[4]],
    )
