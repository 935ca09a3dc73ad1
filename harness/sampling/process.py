# SPDX-License-Identifier: Apache-2.0
"""Resources of a process and its children, cheap enough to be read many times a second.

``/proc/PID/statm`` and ``/proc/PID/stat`` are held open, and a read of a held descriptor fails
once its process is gone, whoever owns the id by then. CPU time comes from the process's CPU
clock in nanoseconds; ``stat`` would give whole hundredths of a second.

Standard library only, Python >= 3.8: the agent on a far host is built of this file too.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.processes import PROC, ProcessStat, parse_stat, read_stat

if TYPE_CHECKING:
    #: What the kernel says of one process, not yet understood: CPU clock and ``statm``; ``None``: it is gone.
    Glance = tuple[float, bytes] | None

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_clock(pid: int) -> int:
    """Return the id of the clock that counts the CPU time of all threads of ``pid``; see clock_getcpuclockid(3)."""
    return (~pid << 3) | 2


@dataclass(frozen=True)
class ProcessReading:
    """One reading. Summed over a tree, shared pages count once for each process that maps them."""

    rss_bytes: int | None
    cpu_s: float | None
    n_threads: int | None = None


class ProcessReader:
    """Holds the descriptors of one process. Construct with the start time to be sure who it is.

    Raises:
        ProcessLookupError: it is gone, or the id has another owner.
    """

    def __init__(self, pid: int, start_ticks: int | None = None) -> None:
        self.pid = pid
        self._clock = cpu_clock(pid)
        self._stat = self._statm = -1
        try:
            self._stat = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            self._statm = os.open(f"{PROC}/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
            stat = parse_stat(os.pread(self._stat, 2048, 0))
        except OSError as problem:
            self.close()
            raise ProcessLookupError(f"process {pid} is gone") from problem
        if stat.ended or start_ticks not in (None, stat.start_ticks):
            self.close()
            raise ProcessLookupError(f"process {pid} is gone")
        self.start_ticks = stat.start_ticks

    def glance(self) -> Glance:
        """Take the raw readings and nothing more: two system calls."""
        try:
            cpu_s = time.clock_gettime(self._clock)
            # last, because it proves that the clock was this process's
            return cpu_s, os.pread(self._statm, 64, 0)
        except OSError:
            return None

    def read(self) -> ProcessReading | None:
        """Return its memory and CPU time now, or ``None`` once it has ended (a zombie has ended)."""
        return understand(self.glance())

    def stat(self) -> ProcessStat | None:
        """Return its ``stat``, which is dear: the kernel sums up every thread for it. ``None``: it is gone."""
        try:
            return parse_stat(os.pread(self._stat, 2048, 0))
        except OSError:
            return None

    def close(self) -> None:
        for descriptor in (self._stat, self._statm):
            if descriptor >= 0:
                os.close(descriptor)
        self._stat = self._statm = -1


def understand(glance: Glance) -> ProcessReading | None:
    """Return what a glance says. What has ended and was not reaped has given its whole address space back.

    (Resident pages alone would not tell: newer kernels count those of a very small process as none.)
    """
    if glance is None:
        return None
    cpu_s, statm = glance
    fields = statm.split(None, 2)  # the whole address space, what of it is resident, the rest
    if len(fields) < 2 or fields[0] == b"0":
        return None
    return ProcessReading(rss_bytes=int(fields[1]) * PAGE_BYTES, cpu_s=cpu_s)


class TreeReader:
    """A process with its children: one sum. CPU time of ended children stays in the sum.

    ``discover`` looks for children and is dear (one file per thread), so the caller says when.
    ``short_lived``: most children live too short to be discovered (a database's, one per connection),
    so the time of ended ones is what the kernel put on their parent's account when it waited for them.

    A tick of a sampler takes a ``glance``; ``account`` makes sense of it, then or later, but in that order.
    """

    def __init__(
        self, pid: int, start_ticks: int, cpu_at_launch_s: float = 0.0, *, short_lived: bool = False
    ) -> None:
        self._short_lived = short_lived
        self._readers = {pid: ProcessReader(pid, start_ticks)}
        self._root = pid
        self._last_cpu_s: dict[int, float] = {}
        self._ended_cpu_s = -cpu_at_launch_s

    def discover(self) -> None:
        for pid in list(self._readers):
            for child in _children(pid):
                if child not in self._readers:
                    with contextlib.suppress(ProcessLookupError):
                        self._readers[child] = ProcessReader(child)

    def glance(self) -> list[tuple[int, Glance]]:
        """Take the raw readings of every process of the tree: id and glance."""
        return [(pid, reader.glance()) for pid, reader in self._readers.items()]

    def account(self, glances: list[tuple[int, Glance]], reaped_s: float = 0.0) -> ProcessReading | None:
        """Return the sum over the tree, or ``None`` once the first process of it has ended.

        Args:
            reaped_s: CPU time of ended children on their parents' account, where that is what counts.
        """
        rss_bytes = 0
        for pid, glance in glances:
            reading = understand(glance)
            if reading is not None:
                rss_bytes += reading.rss_bytes or 0
                self._last_cpu_s[pid] = reading.cpu_s or 0.0
            elif pid == self._root:
                return None
            elif pid in self._readers:  # else an earlier glance has told
                last_s = self._last_cpu_s.pop(pid, 0.0)
                self._ended_cpu_s += 0.0 if self._short_lived else last_s
                self._readers.pop(pid).close()
        cpu_s = self._ended_cpu_s + reaped_s + sum(self._last_cpu_s.values())
        return ProcessReading(rss_bytes=rss_bytes, cpu_s=cpu_s)

    def read(self) -> ProcessReading | None:
        """Return the sum over the tree with its threads, or ``None`` once the first process has ended."""
        stats = [stat for reader in self._readers.values() if (stat := reader.stat()) is not None]
        reaped_s = sum(stat.reaped_ticks for stat in stats) / TICKS_PER_S if self._short_lived else 0.0
        reading = self.account(self.glance(), reaped_s)
        return None if reading is None else replace(reading, n_threads=sum(stat.n_threads for stat in stats))

    def n_descriptors(self) -> int | None:
        """Return how many descriptors the tree has open, or ``None`` when we may not look."""
        counts = [_count_descriptors(pid) for pid in self._readers]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()


@dataclass(frozen=True)
class TreeResources:
    """A process with its children at one moment, on both clocks. Of one that has ended, all is ``None``."""

    wall_epoch_s: float
    monotonic_s: float
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    cpu_s: float | None = None
    n_threads: int | None = None
    n_descriptors: int | None = None


def read_tree(
    pid: int, start_ticks: int, *, cpu_at_launch_s: float = 0.0, pss: bool = True, short_lived: bool = False
) -> TreeResources:
    """Read the process and its children once, for the edge of a phase; ``short_lived``: see ``TreeReader``.

    PSS costs some 17 ms and holds the process's memory map for that long, so say ``pss=False``
    where time counts.
    """
    wall_epoch_s, monotonic_s = time.time(), time.monotonic()
    try:
        tree = TreeReader(pid, start_ticks, cpu_at_launch_s, short_lived=short_lived)
    except ProcessLookupError:
        return TreeResources(wall_epoch_s, monotonic_s)
    try:
        tree.discover()
        reading = tree.read()
        if reading is None:
            return TreeResources(wall_epoch_s, monotonic_s)
        return TreeResources(
            wall_epoch_s=wall_epoch_s,
            monotonic_s=monotonic_s,
            rss_bytes=reading.rss_bytes,
            pss_bytes=_pss_bytes(tuple(tree._readers)) if pss else None,
            cpu_s=reading.cpu_s,
            n_threads=reading.n_threads,
            n_descriptors=tree.n_descriptors(),
        )
    finally:
        tree.close()


def _children(pid: int) -> set[int]:
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"{PROC}/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"{PROC}/{pid}/task/{task}/children").read_text()
                found.update(int(child) for child in text.split())
    return found


def _count_descriptors(pid: int) -> int | None:
    try:
        return len(os.listdir(f"{PROC}/{pid}/fd"))
    except OSError:
        return None


def _pss_bytes(pids: tuple[int, ...]) -> int | None:
    total = 0
    for pid in pids:
        try:
            text = Path(f"{PROC}/{pid}/smaps_rollup").read_text()
        except OSError:
            if pid == pids[0]:
                return None
            continue  # a child that has just ended has no memory
        total += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
    return total


__all__ = [
    "ProcessReader",
    "ProcessReading",
    "ProcessStat",
    "TreeReader",
    "TreeResources",
    "cpu_clock",
    "read_stat",
    "read_tree",
]
