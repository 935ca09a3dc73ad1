# SPDX-License-Identifier: Apache-2.0
"""What a service that ended left behind in words, and what they mean: memory was out, or its port was taken."""

from __future__ import annotations

import re
from collections.abc import Callable

STDOUT, STDERR = "service.stdout.txt", "service.stderr.txt"
#: No more than this is read of a stream: what matters stands at its end.
TAIL_BYTES = 65536
#: What runtimes say when memory is out; searched in stdout too, where the JVM writes its last word.
OUT_OF_MEMORY_WORDS = (
    "OutOfMemoryError",
    "runtime: out of memory",
    "runtime: cannot allocate memory",
    "MemoryError",
)
PORT_TAKEN = re.compile(r"already in use|port\b.* (is|was) (taken|in use)|EADDRINUSE", re.IGNORECASE)


def memory_complaint(tail: Callable[[str], str]) -> str | None:
    """Return what it printed of memory that ran out, or ``None``. SIGKILL alone tells nothing: anybody can send it.

    Args:
        tail: returns the end of the stream of that name, or nothing.
    """
    for name in (STDERR, STDOUT):
        for line in tail(name).splitlines():
            if any(word in line for word in OUT_OF_MEMORY_WORDS):
                return line.strip()[:300]
    return None


def port_complaint(tail: Callable[[str], str], exit_code: int | None) -> bool:
    """Whether it ended because somebody else had its port."""
    return exit_code not in (None, 0) and PORT_TAKEN.search(tail(STDERR)) is not None
