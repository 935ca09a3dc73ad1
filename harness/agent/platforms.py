# SPDX-License-Identifier: Apache-2.0
"""Calls that only Linux offers, with their substitutes elsewhere. Measuring is made for Linux; reading, reporting and
teaching work on every Unix."""

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
    """Return the numbers of the CPUs that this process may use, sorted; elsewhere than on Linux, of all."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def has_proc() -> bool:
    """Return whether the kernel shows processes as files, which measuring takes."""
    return os.path.exists(_STATM)


def die_with_parent() -> None:
    """End this process when its parent dies (Linux). For ``preexec_fn``: one system call, no lock, no allocation."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def return_large_blocks() -> None:
    """Give blocks of ``LARGE_BYTES`` or more back to the kernel when they are freed (glibc), which by itself keeps them
    in a heap for each thread."""
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
