# SPDX-License-Identifier: Apache-2.0
"""Native memory tracking: what ``jcmd PID VM.native_memory summary`` prints (JDK 17 to 25).

The JVM's own account of its memory, category by category. Reserved is address space;
committed is backed by memory or swap, and may still be untouched.
"""

from __future__ import annotations

import re

from pydantic import Field

from harness.errors import InputError
from harness.model import Frozen

_TOTAL = re.compile(r"Total: reserved=([0-9]{1,19})([KMG]?B), committed=([0-9]{1,19})([KMG]?B)")
_CATEGORY = re.compile(
    r"-\s+(?P<name>\S.*?) \(reserved=(?P<reserved>[0-9]{1,19})(?P<ru>[KMG]?B), "
    r"committed=(?P<committed>[0-9]{1,19})(?P<cu>[KMG]?B)"
    r"(?:, readonly=\d+[KMG]?B)?\)"
)
#: Lines inside a category, the header, and the totals' parts: read by eye, needed by nobody yet.
_DETAIL = re.compile(r"\(|malloc: |mmap: |Native Memory Tracking:|\d+:$|$")
_UNITS = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}


class Committed(Frozen):
    """One category."""

    reserved_bytes: int
    committed_bytes: int


class NativeMemory(Frozen):
    """A summary, with the categories in the order they were printed."""

    total: Committed
    categories: dict[str, Committed]
    n_unknown: int = Field(description="lines that could not be read; shown, never fatal")
    unknown_examples: tuple[str, ...] = ()


def parse_nmt(text: str) -> NativeMemory:
    """Parse one summary.

    Raises:
        InputError: there is no total: tracking was off, or this is something else.
    """
    total: Committed | None = None
    categories: dict[str, Committed] = {}
    unknown: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if match := _TOTAL.fullmatch(stripped):
            total = Committed(
                reserved_bytes=_bytes(match[1], match[2]), committed_bytes=_bytes(match[3], match[4])
            )
        elif match := _CATEGORY.fullmatch(stripped):
            categories[match["name"]] = Committed(
                reserved_bytes=_bytes(match["reserved"], match["ru"]),
                committed_bytes=_bytes(match["committed"], match["cu"]),
            )
        elif not _DETAIL.match(stripped):
            unknown.append(stripped[:200])
    if total is None:
        raise InputError(
            "no total of native memory", found=next((line for line in text.splitlines() if line.strip()), "")[:80],
            allowed="jcmd PID VM.native_memory summary of a JVM started with -XX:NativeMemoryTracking=summary",
        )  # fmt: skip
    return NativeMemory(
        total=total, categories=categories, n_unknown=len(unknown), unknown_examples=tuple(unknown[:3])
    )


def _bytes(number: str, unit: str) -> int:
    return int(number) * _UNITS[unit]
