# SPDX-License-Identifier: Apache-2.0
"""What only Linux offers, with what stands in for it elsewhere, and the one sentence for Windows.

Reading, reporting and teaching work on every Unix. Measuring is made for Linux. Standard library only, Python >= 3.8:
the agent on a far host is built of this file too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_M_MMAP_THRESHOLD = -3  # of mallopt(3)
LARGE_BYTES = 128 << 10
_STATM = "/proc/self/statm"


def usable_cpus() -> tuple[int, ...]:
    """Return the numbers of the CPUs that this process may use, sorted; all there are where only Linux would tell."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def has_proc() -> bool:
    """Whether the kernel shows processes as files, which measuring takes."""
    return os.path.exists(_STATM)


def die_with_parent() -> None:
    """Linux: end this process when its parent dies without a word; elsewhere nothing can be asked for.

    For ``preexec_fn``: one system call, no lock and no allocation.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def return_large_blocks() -> None:
    """glibc: give blocks of ``LARGE_BYTES`` or more back to the kernel when they are freed; elsewhere nothing is
    done. By itself it stops doing so at the first one, and keeps them in a heap for each thread that works at the
    same time."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)


def refuse_windows() -> None:
    """End with one line and status 2 on Windows itself, before anything is imported that Windows lacks."""
    if sys.platform == "win32":
        print(
            "Rematch does not run on Windows itself: install WSL (wsl --install) and run the same command there",
            file=sys.stderr,
        )
        sys.exit(2)
