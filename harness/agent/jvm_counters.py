# SPDX-License-Identifier: Apache-2.0
"""A JVM's own performance counters, read from the file that it maps: nothing is asked of the JVM.

HotSpot keeps ``hsperfdata_USER/PID`` in its temporary folder, unless ``-XX:-UsePerfData`` is set. The layout is that of
``perfMemory.hpp``: a prologue of 32 bytes, then entries with a name and a value. A process in a container has another
id in its own namespace and another ``/tmp``; both are found by ``/proc``.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from harness.agent.processes import PROC

FOLDERS = "hsperfdata_*"
MAGIC = b"\xca\xfe\xc0\xc0"
#: Of its two JIT compilers: wall time of all compilations so far, in ticks of ``FREQUENCY``.
COMPILE_TICKS, FREQUENCY = "java.ci.totalTime", "sun.os.hrt.frequency"
#: More than any JVM maps: 32 KiB unless it is told otherwise.
MOST_BYTES = 1 << 20
_PROLOGUE, _ENTRY = "iiqii", "iii4Bi"


def compile_seconds(pid: int) -> float | None:
    """Return the time that a JVM's JIT compilers spent so far, in seconds.

    Compilers work in threads of their own: on a busy machine this is longer than the CPU time they used. ``None``: it
    is no JVM with counters, or it is gone.
    """
    data = _mapped(pid)
    counters = {} if data is None else read_counters(data)
    frequency = counters.get(FREQUENCY, 0)
    return counters[COMPILE_TICKS] / frequency if COMPILE_TICKS in counters and frequency > 0 else None


def read_counters(data: bytes) -> dict[str, int]:
    """Return the whole-number counters of a file's content; empty: it is no such file, or a part of one."""
    if data[:4] != MAGIC or len(data) < 32:
        return {}
    order = "<" if data[4] == 1 else ">"
    _used, _overflow, _stamp, at, n_entries = struct.unpack_from(order + _PROLOGUE, data, 8)
    results: dict[str, int] = {}
    for _ in range(n_entries):
        try:
            length, name_at, n_values, kind, *_flags, value_at = struct.unpack_from(order + _ENTRY, data, at)
            if kind == ord("J") and n_values == 0:
                end = data.index(b"\0", at + name_at)
                name = data[at + name_at : end].decode("ascii", "replace")
                (results[name],) = struct.unpack_from(order + "q", data, at + value_at)
        except (struct.error, ValueError):  # cut short, or being written
            break
        if length <= 0:
            break
        at += length
    return results


def _mapped(pid: int) -> bytes | None:
    inner = _inner_pid(pid)
    if inner is None:
        return None
    for folder in Path(f"{PROC}/{pid}/root/tmp").glob(FOLDERS):  # pathlib keeps each pattern that it has seen
        content = read_file(folder / str(inner))
        if content is not None:
            return content
    return None


def read_file(file: Path) -> bytes | None:
    """Return what the file holds; ``None``: it cannot be read, or is no plain file.

    A service may put anything in its place: a link leads out of its container, a pipe keeps its reader waiting.
    """
    try:
        descriptor = os.open(str(file), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        result = os.fstat(descriptor)
        # no more room than it needs: malloc keeps a large buffer for each thread that ever had one
        return os.read(descriptor, min(result.st_size, MOST_BYTES)) if stat.S_ISREG(result.st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _inner_pid(pid: int) -> int | None:
    """Return the id that a process has in its own namespace."""
    try:
        lines = (Path(f"{PROC}/{pid}") / "status").read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    ids = next((line.split() for line in lines if line.startswith("NSpid:")), None)
    return int(ids[-1]) if ids else pid
