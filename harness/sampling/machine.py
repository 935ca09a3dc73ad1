# SPDX-License-Identifier: Apache-2.0
"""The machine around the service: reasons to distrust a measurement. What is not to be had is ``None``."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, fields
from pathlib import Path

from harness.model import MachineWindow
from harness.sampling.cgroup import read_throttling

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True, slots=True)
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


def read_machine(root: Path = Path("/")) -> MachineReading:
    """Read the machine now.

    ``total_cpu_s`` is CPU time spent on anything (user, nice, system, interrupts); ``idle_s`` holds
    waiting for disks too; ``steal_s`` is what the hypervisor gave to others.
    ``root`` is where ``proc`` and ``sys`` are (tests bring their own).
    """
    cpu = _cpu_times(root / "proc/stat")
    throttling = read_throttling(root)
    return MachineReading(
        monotonic_s=time.monotonic(),
        psi_cpu_some_s=_pressure(root / "proc/pressure/cpu"),
        psi_memory_some_s=_pressure(root / "proc/pressure/memory"),
        psi_io_some_s=_pressure(root / "proc/pressure/io"),
        steal_s=cpu[7] if cpu is not None and len(cpu) > 7 else None,
        idle_s=cpu[3] + cpu[4] if cpu is not None else None,
        total_cpu_s=sum(cpu[:3]) + sum(cpu[5:7]) if cpu is not None else None,
        load_average_1m=_load_average(root / "proc/loadavg"),
        n_throttled=throttling.n_throttled if throttling is not None else None,
        throttled_s=throttling.throttled_s if throttling is not None else None,
    )


def machine_window(
    before: MachineReading,
    after: MachineReading,
    service_cpu_s: float | None,
    generator_cpu_s: float | None,
    backing_cpu_s: float | None = 0.0,
) -> MachineWindow:
    """Return what happened between two readings. The load average is the later one.

    ``other_cpu_s`` is what nobody of the trial used, the harness's own sampling included;
    the kernel counts it in hundredths of a second, so a small negative difference is zero.
    """
    busy_s = _difference(before.total_cpu_s, after.total_cpu_s)
    ours = (service_cpu_s, generator_cpu_s, backing_cpu_s)
    used_s = None if None in ours else sum(used for used in ours if used is not None)
    return MachineWindow(
        psi_cpu_some_s=_difference(before.psi_cpu_some_s, after.psi_cpu_some_s),
        psi_memory_some_s=_difference(before.psi_memory_some_s, after.psi_memory_some_s),
        psi_io_some_s=_difference(before.psi_io_some_s, after.psi_io_some_s),
        steal_s=_difference(before.steal_s, after.steal_s),
        idle_s=_difference(before.idle_s, after.idle_s),
        throttled_s=_difference(before.throttled_s, after.throttled_s),
        n_throttled=(
            None
            if before.n_throttled is None or after.n_throttled is None
            else after.n_throttled - before.n_throttled
        ),
        load_average_1m=after.load_average_1m,
        other_cpu_s=None if busy_s is None or used_s is None else max(0.0, busy_s - used_s),
    )


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _cpu_times(file: Path) -> tuple[float, ...] | None:
    """Seconds as in the first line of ``/proc/stat``: user nice system idle iowait irq softirq steal ..."""
    text = _text(file)
    if text is None or not text.startswith("cpu "):
        return None
    times = tuple(int(field) / TICKS_PER_S for field in text.split("\n", 1)[0].split()[1:])
    return times if len(times) >= 7 else None


def _pressure(file: Path) -> float | None:
    """Seconds in which at least one task waited for the resource, since boot."""
    for line in (_text(file) or "").splitlines():
        if line.startswith("some "):
            return int(line.rpartition("total=")[2]) / 1e6
    return None


def _load_average(file: Path) -> float | None:
    text = _text(file)
    return float(text.split()[0]) if text else None


def _text(file: Path) -> str | None:
    try:
        return file.read_text()
    except OSError:  # an old kernel, or pressure accounting is switched off
        return None
