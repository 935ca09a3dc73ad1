# SPDX-License-Identifier: Apache-2.0
"""Processes and machine through psutil, for systems without ``/proc``: the same classes, the same rows.

It costs several times the CPU time of the kernel's files (``docs/benchmarks.md``). CPU time has the system's own
steps, often hundredths of a second. What is not told stays empty: proportional memory, pressure, throttling, and
steal outside of Linux.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from harness.agent.machine_counters import MachineReader, MachineReading
from harness.agent.process_tree import ProcessReader, ProcessReading, TreeReader
from harness.agent.processes import ProcessStat, ProcFiles
from harness.agent.sampler import PythonTicks

#: A start time as a number of these after 1970, in the place of the kernel's ticks since boot.
START_STEPS_PER_S = 100


class PsutilProcesses(ProcFiles):
    """The processes of this machine as psutil finds them. Start times are those of ``start_of``."""

    def stat(self, pid: int) -> ProcessStat | None:
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                return ProcessStat(
                    state="Z" if process.status() == psutil.STATUS_ZOMBIE else "R",
                    parent=process.ppid(),
                    group=os.getpgid(pid),
                    session=os.getsid(pid),
                    n_threads=0,
                    start_ticks=start_of(process),
                )
        except (psutil.Error, OSError):
            return None

    def pids(self) -> Iterable[int]:
        return psutil.pids()


def start_of(process: psutil.Process) -> int:
    """Return what names a process together with its id: when it began, in hundredths of a second after 1970."""
    return int(process.create_time() * START_STEPS_PER_S)


class PortableProcess(ProcessReader):
    """One process; see ``ProcessReader``. Raises ProcessLookupError: it is gone, or the id has another owner."""

    def __init__(self, pid: int, start_ticks: int | None = None) -> None:
        self.pid = pid
        try:
            self._process = psutil.Process(pid)
            self.start_ticks = start_of(self._process)
        except psutil.Error as problem:
            raise ProcessLookupError(f"process {pid} is gone") from problem
        if start_ticks not in (None, self.start_ticks) or self.read() is None:
            raise ProcessLookupError(f"process {pid} is gone")

    def read(self) -> ProcessReading | None:
        try:
            if not self._process.is_running():  # the id may have another owner by now
                return None
            with self._process.oneshot():
                memory, times = self._process.memory_info(), self._process.cpu_times()
        except psutil.Error:
            return None
        # what has ended and was not reaped has given its address space back
        return ProcessReading(memory.rss, times.user + times.system) if memory.vms > 0 else None

    def children(self) -> set[int]:
        try:
            return {child.pid for child in self._process.children()}
        except psutil.Error:
            return set()

    def n_threads(self) -> int:
        try:
            return self._process.num_threads()
        except psutil.Error:
            return 0

    def n_descriptors(self) -> int | None:
        try:
            return self._process.num_fds()
        except psutil.Error:
            return None

    def reaped_s(self) -> float:
        with suppress(psutil.Error):
            times = self._process.cpu_times()
            return float(times.children_user + times.children_system)
        return 0.0

    def system_s(self) -> float | None:
        with suppress(psutil.Error):
            return float(self._process.cpu_times().system)
        return None

    def stat(self) -> ProcessStat | None:
        return PsutilProcesses().stat(self.pid)

    def close(self) -> None:
        """Nothing is held open."""


class PortableTree(TreeReader):
    """A process with its children; see ``TreeReader``."""

    process = PortableProcess

    def pss_bytes(self) -> int | None:
        return None


class PortableMachine(MachineReader):
    """The machine; see ``MachineReader``. Who begins is not counted, so children are looked for each time."""

    def __init__(self, _root: Path = Path("/")) -> None:
        self.n_begun = None

    def read(self) -> MachineReading:
        times = psutil.cpu_times()
        spent = ("user", "nice", "system", "irq", "softirq")
        return MachineReading(
            monotonic_s=time.monotonic(),
            psi_cpu_some_s=None,
            psi_memory_some_s=None,
            psi_io_some_s=None,
            steal_s=getattr(times, "steal", None),
            idle_s=times.idle + getattr(times, "iowait", 0.0),
            total_cpu_s=sum(getattr(times, name, 0.0) for name in spent),
            load_average_1m=os.getloadavg()[0],
            n_throttled=None,
            throttled_s=None,
        )


class PortableTicks(PythonTicks):
    """Takes ticks as the interpreter's does, of what psutil reads."""

    name = "portable"
    tree = PortableTree
    machine = PortableMachine
