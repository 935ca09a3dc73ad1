# SPDX-License-Identifier: Apache-2.0
"""Readings as they stand in records. The readers below this module are plain and know no records."""

from __future__ import annotations

from pathlib import Path

from harness.agent.machine_counters import MachineReading
from harness.agent.process_tree import TreeResources, read_tree
from harness.model import ClockReading, MachineWindow, ResourceReading
from harness.sampling.here import tree_here


def as_reading(read: TreeResources) -> ResourceReading:
    """Return a plain reading as a record has it."""
    return ResourceReading(
        at=ClockReading(wall_epoch_s=read.wall_epoch_s, monotonic_s=read.monotonic_s),
        rss_bytes=read.rss_bytes,
        pss_bytes=read.pss_bytes,
        cpu_s=read.cpu_s,
        n_threads=read.n_threads,
        n_descriptors=read.n_descriptors,
        compile_s=read.compile_s,
        system_s=read.system_s,
        wait_s=read.wait_s,
    )


def read_resources(
    pid: int, start_ticks: int, *, cpu_at_launch_s: float = 0.0, pss: bool = True, short_lived: bool = False
) -> ResourceReading:
    """Read a process of this machine and its children once; see ``read_tree``."""
    return as_reading(
        read_tree(
            pid,
            start_ticks,
            cpu_at_launch_s=cpu_at_launch_s,
            pss=pss,
            short_lived=short_lived,
            reader=tree_here(),
        )
    )


def machine_window(
    before: MachineReading,
    after: MachineReading,
    *used_cpu_s: float | None,
) -> MachineWindow:
    """Return what happened between two readings. The load average is the later one.

    ``used_cpu_s``: CPU seconds of each part of the trial: service, generator, and what stood beside them.

    ``other_cpu_s`` is what nobody of the trial used, the harness's own sampling included;
    the kernel counts it in hundredths of a second, so a small negative difference is zero.
    """
    busy_s = _difference(before.total_cpu_s, after.total_cpu_s)
    used_s = None if None in used_cpu_s else sum(used for used in used_cpu_s if used is not None)
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


def on_our_clock(file: Path, offset_s: float) -> None:
    """Take the offset (far minus ours) off the first column, which is ``monotonic_s``; no file, no rows."""
    if not file.is_file():
        return
    head, *rows = file.read_text("utf-8").splitlines()
    shifted = [_shifted(row, offset_s) for row in rows]
    file.write_text("\n".join([head, *shifted, ""]), "utf-8")


def merge(file: Path, other: Path) -> None:
    """Put the other file's rows into the first, in the order of time, and remove the other."""
    if not other.is_file():
        return
    lines = file.read_text("utf-8").splitlines()
    more = other.read_text("utf-8").splitlines()[1:]
    rows = sorted([*lines[1:], *more], key=lambda row: float(row.partition(",")[0]))
    file.write_text("\n".join([lines[0], *rows, ""]), "utf-8")
    other.unlink()


def as_earlier(file: Path, until_s: float) -> None:
    """Mark the samples of load generators before a moment, on the samples' own clock, as those of earlier loads.

    The role ``generator`` becomes ``earlier-generator``: the CPU time of a role is that of one process.
    """
    if not file.is_file():
        return
    head, *rows = file.read_text("utf-8").splitlines()
    marked = [_as_earlier(row) if float(row.partition(",")[0]) < until_s else row for row in rows]
    file.write_text("\n".join([head, *marked, ""]), "utf-8")


def _as_earlier(row: str) -> str:
    at, comma, rest = row.partition(",")
    return f"{at}{comma}earlier-{rest}" if rest.startswith("generator") else row


def _shifted(row: str, offset_s: float) -> str:
    at, comma, rest = row.partition(",")
    n_decimals = len(at.partition(".")[2])
    return f"{float(at) - offset_s:.{n_decimals}f}{comma}{rest}"
