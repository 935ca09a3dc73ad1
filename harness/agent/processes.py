# SPDX-License-Identifier: Apache-2.0
"""Processes as the kernel shows them, and how to end a group.

Ids are used again, so a process is named by its id together with its start time, field 22 of ``/proc/PID/stat`` (clock
ticks since boot).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")

#: How long the members of a group may take to vanish after SIGKILL.
GONE_WITHIN_S = 30.0


@dataclass(frozen=True)
class ProcessStat:
    """Fields of ``/proc/PID/stat``."""

    state: str
    parent: int
    group: int
    session: int
    n_threads: int
    start_ticks: int
    reaped_ticks: int = 0  # CPU time of children that ended and were waited for
    system_ticks: int = 0  # CPU time in the kernel, of its own threads

    @property
    def ended(self) -> bool:
        """It is a zombie or dead: it has no memory and will never run again."""
        return self.state in "ZXx"


def parse_stat(text: bytes) -> ProcessStat:
    """Parse one line of ``/proc/PID/stat``; the command in brackets may hold blanks and brackets."""
    fields = text[text.rindex(b")") + 2 :].split()
    return ProcessStat(
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        n_threads=int(fields[17]),
        start_ticks=int(fields[19]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        system_ticks=int(fields[12]),
    )


def read_stat(pid: int) -> ProcessStat | None:
    """Return the fields of ``pid`` now, or ``None`` when there is no such process."""
    try:
        return parse_stat((PROC / str(pid) / "stat").read_bytes())
    except (OSError, ValueError, IndexError):  # it went while we looked
        return None


def this_process() -> tuple[int, int]:
    """Return the id and the start time of the process that asks."""
    stat = read_stat(os.getpid())
    return os.getpid(), stat.start_ticks if stat is not None else 0


def alive(pid: int, start_ticks: int) -> bool:
    """Return whether exactly this process still runs; a zombie does not, nor does a later owner of the id."""
    stat = read_stat(pid)
    return stat is not None and stat.start_ticks == start_ticks and not stat.ended


def group_members(group: int, start_ticks: int) -> tuple[int, ...]:
    """Return the ids of the running members of the process group that ``group`` once led. ``start_ticks``: the
    leader's, which tells a later group of the same id apart: members cannot be older."""
    leader = read_stat(group)
    if leader is not None and leader.start_ticks != start_ticks:
        return ()  # the id has a new owner, so the old group is gone: ids in use as groups are not given out
    stats = ((int(entry), read_stat(int(entry))) for entry in os.listdir(PROC) if entry.isdigit())
    return tuple(
        pid
        for pid, stat in stats
        if stat is not None and stat.group == group and stat.start_ticks >= start_ticks and not stat.ended
    )


def signal_group(group: int, start_ticks: int, number: int) -> bool:
    """Send a signal to the group; return whether it had a running member."""
    if group_members(group, start_ticks):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)
            return True
    return False


def kill_group(group: int, start_ticks: int) -> tuple[int, ...]:
    """SIGKILL the group until no member runs; return those that do not end in time."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while True:
        members = group_members(group, start_ticks)
        if not members or time.monotonic() > deadline:
            return members
        signal_group(group, start_ticks, signal.SIGKILL)
        time.sleep(0.002)
