# SPDX-License-Identifier: Apache-2.0
"""The machine around the service: reasons to distrust a measurement. What is not to be had is ``None``."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from pathlib import Path

from harness.agent.cgroup import longest_throttling, text_of, throttling_folders
from harness.agent.process_tree import TICKS_PER_S


@dataclass(frozen=True)
class MachineReading:
    """One row of ``machine.csv``: counters since boot, summed over all CPUs, and the load average."""

    monotonic_s: float
    psi_cpu_some_s: float | None
    psi_memory_some_s: float | None
    psi_io_some_s: float | None
    steal_s: float | None
    idle_s: float | None
    total_cpu_s: float | None
    load_average_1m: float | None
    n_throttled: int | None
    throttled_s: float | None


MACHINE_COLUMNS = tuple(field.name for field in fields(MachineReading))


class MachineReader:
    """Reads the machine; its control groups are looked up once. ``n_begun``: processes and threads that were begun
    since boot, as of the last reading; ``None``: not known."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = root / "proc"
        self._groups = [folder / "cpu.stat" for folder in throttling_folders(root)]
        self.n_begun: int | None = None

    def read(self) -> MachineReading:
        """Read the machine. ``total_cpu_s``: user, nice, system and interrupts; ``idle_s``: with waiting for disks;
        ``steal_s``: what the hypervisor gave to others."""
        stat = text_of(self._proc / "stat")
        # user nice system idle iowait irq softirq steal ...
        fields_of_cpu = stat.partition("\n")[0].split()[1:] if stat.startswith("cpu ") else []
        cpu = [int(field) / TICKS_PER_S for field in fields_of_cpu]
        _, name, rest = stat.rpartition("\nprocesses ")  # forks and threads since boot
        self.n_begun = int(rest.split(None, 1)[0]) if name else None
        load = text_of(self._proc / "loadavg").split(None, 1)
        throttling = longest_throttling(text_of(group) for group in self._groups)
        return MachineReading(
            monotonic_s=time.monotonic(),
            psi_cpu_some_s=self._waited_s("cpu"),
            psi_memory_some_s=self._waited_s("memory"),
            psi_io_some_s=self._waited_s("io"),
            steal_s=cpu[7] if len(cpu) > 7 else None,
            idle_s=cpu[3] + cpu[4] if cpu else None,
            total_cpu_s=sum(cpu[:3]) + sum(cpu[5:7]) if cpu else None,
            load_average_1m=float(load[0]) if load else None,
            n_throttled=None if throttling is None else throttling.n_throttled,
            throttled_s=None if throttling is None else throttling.throttled_s,
        )

    def _waited_s(self, resource: str) -> float | None:
        """Return the seconds since boot in which a task waited for a resource; ``None``: not counted."""
        some = text_of(self._proc / "pressure" / resource).partition("\n")[0]
        return int(some.rpartition("total=")[2]) / 1e6 if some.startswith("some ") else None


def read_machine(root: Path = Path("/")) -> MachineReading:
    """Read the machine once."""
    return MachineReader(root).read()
