# SPDX-License-Identifier: Apache-2.0
"""What a running session holds: read from outside, from /proc and its folders."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.agent.processes import read_stat

_SAID = re.compile(r": (\d+)/(\d+) trials(?:, \d+ not ok)?(?:, about ([^:]+) left)?: ")
_UNITS = {"h": 3600, "min": 60, "s": 1}


@dataclass(frozen=True, kw_only=True)
class Said:
    """The last line of progress."""

    done: int
    total: int
    left_s: float | None


def held(pid: int) -> dict[str, float] | None:
    """Return memory in bytes, descriptors and threads of a process; ``None``: it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        n_descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, IndexError):
        return None
    stat = read_stat(pid)
    if stat is None or stat.ended:
        return None
    return {
        "memory": float(pages * os.sysconf("SC_PAGE_SIZE")),
        "descriptors": float(n_descriptors),
        "threads": float(stat.n_threads),
    }


def bytes_below(folders: Iterable[Path]) -> float:
    """Return the size of all files below some folders, links not followed."""
    return float(sum(_sizes(folders)))


def _sizes(folders: Iterable[Path]) -> Iterator[int]:
    for folder in folders:
        for base, _, names in os.walk(folder):
            for name in names:
                with contextlib.suppress(OSError):  # it went while we looked
                    yield os.lstat(os.path.join(base, name)).st_size


def last_said(text: str) -> Said | None:
    """Return what the lines of progress said last."""
    found = None
    for match in _SAID.finditer(text):
        found = match
    if found is None:
        return None
    done, total, left = found.groups()
    return Said(done=int(done), total=int(total), left_s=None if left is None else in_seconds(left))


def in_seconds(words: str) -> float:
    """``1 min 15 s`` -> 75."""
    parts = words.split()
    return float(sum(int(n) * _UNITS[unit] for n, unit in zip(parts[::2], parts[1::2], strict=True)))


__all__ = ["Said", "bytes_below", "held", "in_seconds", "last_said"]
