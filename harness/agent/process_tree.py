# SPDX-License-Identifier: Apache-2.0
"""Resources of a process and its children, cheap enough to be read many times a second.

``/proc/PID/statm`` and ``stat`` are held open, and a read of a held descriptor fails once its process is gone. CPU time
comes from the process's CPU clock in nanoseconds. A JVM's counters come from the file that it maps:
``hsperfdata_USER/PID`` in its temporary folder, a prologue of 32 bytes, then entries with a name and a value
(``perfMemory.hpp``). A process in a container has another id in its own namespace and another ``/tmp``.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness.agent.cgroup import group_folders, group_throttled_s, read_folders
from harness.agent.processes import PROC, ProcessStat, parse_stat

MAGIC = b"\xca\xfe\xc0\xc0"
#: Wall time of all compilations so far, in ticks of ``FREQUENCY``.
COMPILE_TICKS, FREQUENCY = "java.ci.totalTime", "sun.os.hrt.frequency"
#: More than any JVM maps: 32 KiB by default.
MOST_BYTES = 1 << 20
_PROLOGUE, _ENTRY = "iiqii", "iii4Bi"


def compile_seconds(pid: int) -> float | None:
    """Return the wall time that a JVM's JIT compilers spent so far, in seconds. ``None``: it is no JVM with counters,
    or gone."""
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
    try:
        lines = (Path(f"{PROC}/{pid}") / "status").read_text("ascii", "replace").splitlines()
    except OSError:
        return None
    ids = next((line.split() for line in lines if line.startswith("NSpid:")), [str(pid)])
    inner = ids[-1]  # in its own namespace
    for folder in Path(f"{PROC}/{pid}/root/tmp").glob("hsperfdata_*"):
        content = read_file(folder / inner)
        if content is not None:
            return content
    return None


def read_file(file: Path) -> bytes | None:
    """Return a file's content; ``None``: it cannot be read, or is no plain file. A service may put anything in its
    place: a link leads out of its container, a pipe keeps its reader waiting."""
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


PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_clock(pid: int) -> int:
    """Return the id of the clock that counts the CPU time of all threads of ``pid``; see clock_getcpuclockid(3)."""
    return (~pid << 3) | 2


class ProcessReading(NamedTuple):
    """One reading. Summed over a tree, shared pages count once for each process that maps them."""

    rss_bytes: int
    cpu_s: float
    n_threads: int | None = None


class ProcessReader:
    """Descriptors of one process. Raises ProcessLookupError: it is gone, or the id has another owner by its start."""

    def __init__(self, pid: int, start_ticks: int | None = None) -> None:
        self.pid = pid
        self._clock = cpu_clock(pid)
        self._stat = self._statm = -1
        try:
            self._stat = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            self._statm = os.open(f"{PROC}/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass
        stat = self.stat() if self._statm >= 0 else None
        if stat is None or stat.ended or start_ticks not in (None, stat.start_ticks):
            self.close()
            raise ProcessLookupError(f"process {pid} is gone")
        self.start_ticks = stat.start_ticks

    def read(self) -> ProcessReading | None:
        """Return its memory and CPU time now, by two system calls, or ``None`` once it has ended (a zombie has)."""
        try:
            cpu_ns = time.clock_gettime_ns(self._clock)
            # last, because it proves that the clock was this process's: the address space, and its resident part
            fields = os.pread(self._statm, 64, 0).split(None, 2)
        except OSError:
            return None
        # an ended process has no address space; newer kernels count no resident pages of a very small one either
        if len(fields) < 2 or int(fields[0]) <= 0:
            return None
        return ProcessReading(int(fields[1]) * PAGE_BYTES, cpu_ns / 1e9)

    def n_threads(self) -> int:
        """Return how many threads it has; 0: it is gone."""
        try:
            # two links of a folder are its own
            return max(0, os.stat(f"{PROC}/{self.pid}/task").st_nlink - 2)
        except OSError:
            return 0

    def n_descriptors(self) -> int | None:
        """Return how many descriptors it has open; ``None``: it is gone, or we may not look."""
        try:
            # the size of their folder is their number since Linux 6.2, and 0 before
            folder = f"{PROC}/{self.pid}/fd"
            return os.stat(folder).st_size or len(os.listdir(folder))
        except OSError:
            return None

    def stat(self) -> ProcessStat | None:
        """Return its ``stat``, for which the kernel sums up every thread. ``None``: it is gone."""
        try:
            return parse_stat(os.pread(self._stat, 2048, 0))
        except OSError:
            return None

    def close(self) -> None:
        for descriptor in (self._stat, self._statm):
            if descriptor >= 0:
                os.close(descriptor)
        self._stat = self._statm = -1


class TreeReader:
    """A process with its children: one sum, in which the CPU time of ended children stays. ``discover`` looks for
    children (one file per thread). ``short_lived``: most children live too short to be discovered (a database's, one
    per connection), so the time of ended ones is what the kernel put on their parent's account. ``siblings``: id and
    start of further processes in the same sum (pods of a service), which ends with the first of them."""

    def __init__(
        self,
        pid: int,
        start_ticks: int,
        cpu_at_launch_s: float = 0.0,
        *,
        short_lived: bool = False,
        siblings: Sequence[Sequence[int]] = (),
    ) -> None:
        self._short_lived = short_lived
        self._readers: dict[int, ProcessReader] = {}
        try:
            for root, ticks in ((pid, start_ticks), *siblings):
                self._readers[root] = ProcessReader(root, ticks)
        except ProcessLookupError:
            self.close()
            raise
        self._roots = tuple(self._readers)
        self._last_cpu_s: dict[int, float] = {}
        self._ended_cpu_s = -cpu_at_launch_s

    def discover(self) -> None:
        """Take in every child, and theirs, that there is now."""
        to_look_at = list(self._readers)
        while to_look_at:
            for child in children(to_look_at.pop()):
                if child not in self._readers:
                    with contextlib.suppress(ProcessLookupError):
                        self._readers[child] = ProcessReader(child)
                        to_look_at.append(child)

    def read(self, *, threads: bool = True) -> ProcessReading | None:
        """Return the sum over the tree, or ``None`` once a process that is no child has ended; ``threads``: count them
        too."""
        stats = [reader.stat() for reader in self._readers.values()] if self._short_lived else []
        reaped_s = sum(stat.reaped_ticks for stat in stats if stat is not None) / TICKS_PER_S
        rss_bytes = 0
        for pid, reader in tuple(self._readers.items()):
            reading = reader.read()
            if reading is not None:
                rss_bytes += reading.rss_bytes
                self._last_cpu_s[pid] = reading.cpu_s
            elif pid in self._roots:
                return None
            else:
                last_s = self._last_cpu_s.pop(pid, 0.0)
                self._ended_cpu_s += 0.0 if self._short_lived else last_s
                self._readers.pop(pid).close()
        cpu_s = self._ended_cpu_s + reaped_s + sum(self._last_cpu_s.values())
        n_threads = sum(reader.n_threads() for reader in self._readers.values()) if threads else None
        return ProcessReading(rss_bytes, cpu_s, n_threads)

    def system_s(self) -> float | None:
        """Return the CPU time in the kernel of the processes that run, in its steps (often .01 s); ``None``: not known
        of one of them, or most of its children have ended already."""
        stats = [reader.stat() for reader in self._readers.values()]
        ticks = sum(stat.system_ticks for stat in stats if stat is not None)
        return None if self._short_lived or None in stats else ticks / TICKS_PER_S

    def wait_s(self) -> float | None:
        """Return for how long threads of the tree could have run and had no CPU, all together; ``None``: not known."""
        known = [wait_s for pid in self._readers if (wait_s := run_queue_wait_s(pid)) is not None]
        return sum(known) if len(known) == len(self._readers) else None

    def compile_s(self) -> float | None:
        """Return the wall time that JIT compilers spent so far, in seconds; ``None``: one of them is no JVM."""
        known = [spent_s for pid in self._roots if (spent_s := compile_seconds(pid)) is not None]
        return sum(known) if len(known) == len(self._roots) else None

    def n_descriptors(self) -> int | None:
        """Return how many descriptors the tree has open, or ``None`` when we may not look."""
        counts = [reader.n_descriptors() for reader in self._readers.values()]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def pss_bytes(self) -> int | None:
        """Return the proportional set size of the tree, or ``None`` when we may not look."""
        total = 0
        for pid in self._readers:
            try:
                text = Path(f"{PROC}/{pid}/smaps_rollup").read_text()
            except OSError:
                if pid in self._roots:
                    return None
                continue  # a child that has just ended has no memory
            total += sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
        return total

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
    compile_s: float | None = None
    system_s: float | None = None
    wait_s: float | None = None
    throttled_s: float | None = None


def read_tree(pid: int, start_ticks: int, *, pss: bool = True, **tree_of: Any) -> TreeResources:
    """Read the process and its children once, for the edge of a phase; ``tree_of``: see ``TreeReader``. PSS costs
    some 17 ms and holds the process's memory map for that long."""
    wall_epoch_s, monotonic_s = time.time(), time.monotonic()
    try:
        tree = TreeReader(pid, start_ticks, **tree_of)
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
            pss_bytes=tree.pss_bytes() if pss else None,
            cpu_s=reading.cpu_s,
            n_threads=reading.n_threads,
            n_descriptors=tree.n_descriptors(),
            compile_s=tree.compile_s(),
            system_s=tree.system_s(),
            wait_s=tree.wait_s(),
            throttled_s=group_throttled_s(pid),
        )
    finally:
        tree.close()


def read_group(pid: int, start_ticks: int, root: Path = Path("/")) -> dict[str, Any] | None:
    """Return what the groups of ``pid`` were charged, beside the process's own numbers; see ``read_folders``. ``None``:
    the process is gone, or its groups cannot be seen from here."""
    folders = group_folders(pid, root)
    try:
        reader = ProcessReader(pid, start_ticks)
    except ProcessLookupError:
        return None
    reading = reader.read()
    reader.close()
    if not folders:
        return None
    if reading is None:
        return read_folders(folders)
    return read_folders(folders, rss_bytes=reading.rss_bytes, process_cpu_s=reading.cpu_s)


def run_queue_wait_s(pid: int) -> float | None:
    """Return for how long the threads that a process has now could have run and had no CPU, seconds in all. ``None``:
    it is gone, or the kernel has no such count."""
    waited_ns = 0
    try:
        os.stat(f"{PROC}/{pid}/schedstat")
        for task in os.listdir(f"{PROC}/{pid}/task"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
                waited_ns += int(Path(f"{PROC}/{pid}/task/{task}/schedstat").read_text().split()[1])
    except (OSError, IndexError):
        return None
    return waited_ns / 1e9


def children(pid: int) -> set[int]:
    """Return the ids of its children now, those of all its threads. Dear: one file for each thread."""
    results: set[int] = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"{PROC}/{pid}/task"):
            with contextlib.suppress(OSError):
                text = Path(f"{PROC}/{pid}/task/{task}/children").read_text()
                results.update(int(child) for child in text.split())
    return results
