# SPDX-License-Identifier: Apache-2.0
"""The promise of every reader, held against what it does with a file.

A file is read, or refused by a ``RematchError`` with exit status 2 whose message is one line and names the file.
Broken it is by anything else: another exception, a message of two lines or without the file, memory or CPU time
beyond what one file may take, or a file written outside of the reader's folder.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from harness.errors import RematchError
from harness.tests.chaos.files.readers import Reader

#: CPU time of one file. The largest hostile file takes some seconds; what takes this long has no end.
LONGEST_CPU_S = 30.0
#: Resident memory that one file may add while it is read.
MOST_BYTES = 1 << 30
_STATUS, _CLEAR = "/proc/self/status", "/proc/self/clear_refs"
_PEAK = b"\nVmHWM:"


class TookTooLong(BaseException):
    """CPU time of one file is used up; no reader catches it."""


def broken_promise(one: Reader, data: bytes, folder: Path, rng: random.Random) -> str | None:
    """Return what a reader did that it must not, and where; ``None``: it read the file, or refused it in one line."""
    outside = _beside(folder)
    before_bytes = _reset_peak()
    try:
        with _cpu_limit(LONGEST_CPU_S):
            one.read(data, folder, rng)
    except RematchError as refused:
        wrong = promise_broken(refused, one.names)
        if wrong is not None:
            return f"{wrong} ({_where(refused)})"
    except TookTooLong as late:
        return f"time: over {LONGEST_CPU_S:g} s of CPU time ({_where(late)})"
    except MemoryError as full:
        return f"memory: no more can be had ({_where(full)})"
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:120]} ({_where(error)})"
    added = max(0, _peak() - before_bytes)
    if added > MOST_BYTES:
        return f"memory: {added >> 20} MiB for a file of {len(data):,} bytes"
    return "wrote outside of its folder" if _beside(folder) != outside else None


def promise_broken(refused: RematchError, names: str | None) -> str | None:
    """Return what a refusal lacks; ``None``: it is as promised."""
    text = str(refused)
    if "\n" in text:
        return "refusal: more than one line"
    if refused.exit_code != 2:
        return f"refusal: exit status {refused.exit_code}"
    if names is not None and names not in text:
        return "refusal: does not name the file"
    return None


def _where(error: BaseException) -> str:
    """The last place of our own source in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        frame for frame in frames if "/harness/" in frame.filename and "/tests/chaos/" not in frame.filename
    ]
    if not ours:
        return "?"
    return f"harness/{ours[-1].filename.rpartition('/harness/')[2]}: {ours[-1].name}"


def _beside(folder: Path) -> tuple[str, ...]:
    """What stands beside the reader's folder, and where hostile archives want to write."""
    return (*sorted(os.listdir(folder.parent)), str(os.path.exists("/tmp/rematch-fuzz-outside")))


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raise ``TookTooLong`` in the main thread after so much CPU time; elsewhere there is no limit."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong

    try:
        before = signal.signal(signal.SIGVTALRM, end)
    except ValueError:  # not the main thread
        yield
        return
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _reset_peak() -> int:
    """Forget the peak of resident memory, where the kernel can; return what is resident now."""
    with suppress(OSError):
        clear = os.open(_CLEAR, os.O_WRONLY)
        try:
            os.write(clear, b"5")
        finally:
            os.close(clear)
    return _peak()


def _peak() -> int:
    """The peak of resident memory so far, in bytes."""
    with suppress(OSError):
        status = os.open(_STATUS, os.O_RDONLY)
        try:
            _, found, rest = os.read(status, 1 << 16).partition(_PEAK)
        finally:
            os.close(status)
        if found:
            return int(rest.split(None, 1)[0]) << 10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10
