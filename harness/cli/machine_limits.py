# SPDX-License-Identifier: Apache-2.0
"""One line for what a machine has no more of, wherever it was noticed: descriptors, processes, memory, disk, ports."""

from __future__ import annotations

import errno

#: What the system says -> what to do about it. Other errors of the system are faults of ours, with a traceback.
_HELP = {
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "close what holds many files open on this machine",
    errno.EAGAIN: "raise the limit of processes (ulimit -u, or that of the control group)",
    errno.ENOMEM: "free some memory, or raise the limit",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space of your quota",
    errno.EROFS: "make it writable",
    errno.EADDRINUSE: "close what uses the ports (ss -ltn lists it)",
    errno.EADDRNOTAVAIL: "close what uses the ports (ss -tn lists it)",
    errno.EIO: "check the disk",
}
#: As Python words it, without a number.
_NO_THREAD = "can't start new thread"


def at_a_limit(error: BaseException) -> str | None:
    """Return the line for an error that says that the machine has no more of something; ``None``: it says else."""
    if isinstance(error, MemoryError):
        return _line("out of memory", errno.ENOMEM)
    if isinstance(error, RuntimeError) and _NO_THREAD in str(error):
        return _line("no further thread can be started", errno.EAGAIN)
    if not isinstance(error, OSError) or error.errno not in _HELP:
        return None
    where = f"{error.filename}: " if isinstance(error.filename, str) else ""
    return _line(f"{where}{error.strerror or error}", error.errno)


def _line(what: str, number: int) -> str:
    return f"{what}; {_HELP[number]}, then give the same command again: finished trials are kept"
