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
#: What of a process only the process can give back. Pages of files, such as those of programs and libraries, are left
#: out: the kernel takes them when memory is short, and maps them when they are used.
_OWN_MEMORY = ("RssAnon", "RssShmem", "VmSwap")
_UNITS = {"h": 3600, "min": 60, "s": 1}


@dataclass(frozen=True, kw_only=True)
class Said:
    """The last line of progress."""

    done: int
    total: int
    left_s: float | None


def held(pid: int) -> dict[str, float] | None:
    """Return memory in bytes, descriptors and threads of a process; ``None``: it has ended.

    Memory is what the process has written to, in RAM or swapped out, without the pages of files.
    """
    try:
        memory = own_memory(Path(f"/proc/{pid}/status").read_text("utf-8", errors="replace"))
        n_descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
    stat = read_stat(pid)
    if stat is None or stat.ended or memory is None:
        return None
    return {
        "memory": memory,
        "descriptors": float(n_descriptors),
        "threads": float(stat.n_threads),
    }


def own_memory(status: str) -> float | None:
    """Return the bytes of ``_OWN_MEMORY`` in the text of ``/proc/PID/status``; ``None``: it has no memory any more."""
    found = dict(line.partition(":")[::2] for line in status.splitlines())
    if not found.keys() >= set(_OWN_MEMORY):
        return None
    return float(sum(int(found[name].split()[0]) << 10 for name in _OWN_MEMORY))


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


__all__ = ["Said", "bytes_below", "held", "in_seconds", "last_said", "own_memory"]
