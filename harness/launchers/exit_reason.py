# SPDX-License-Identifier: Apache-2.0
"""What a service that ended left behind in words, and what they mean: memory was out, or its port was taken."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.model import InstanceRecord

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


def memory_complaint(tail: Callable[[str], str], exit_code: int | None, record: InstanceRecord) -> str | None:
    """Return why it looks as if memory ran out, or ``None``.

    Args:
        tail: returns the end of the stream of that name, or nothing.
        exit_code: 128 + n for signal n; ``None``: it has not ended.
        record: tells whether the signal was ours.
    """
    for name in (STDERR, STDOUT):
        for line in tail(name).splitlines():
            if any(word in line for word in OUT_OF_MEMORY_WORDS):
                return line.strip()[:300]
    if exit_code == 137 and record.stop_signal != "SIGKILL":
        return "killed by SIGKILL, and not by us: the kernel does that when memory is out"
    return None


def port_complaint(tail: Callable[[str], str], exit_code: int | None) -> bool:
    """Whether it ended because somebody else had its port."""
    return exit_code not in (None, 0) and PORT_TAKEN.search(tail(STDERR)) is not None
