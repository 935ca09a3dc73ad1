# SPDX-License-Identifier: Apache-2.0
"""Readings of ``harness.agent`` as they stand in records, and rows of samples put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.agent.machine_counters import MachineReading
from harness.agent.process_tree import TreeResources
from harness.model import ClockReading, MachineWindow, ResourceReading
from harness.model.started import difference

#: What a window has the differences of.
COUNTED = (
    "psi_cpu_some_s", "psi_memory_some_s", "psi_io_some_s", "steal_s", "idle_s", "throttled_s", "n_throttled",
)  # fmt: skip


def as_reading(read: TreeResources) -> ResourceReading:
    """Return a plain reading as a record has it."""
    fields = asdict(read)
    at = ClockReading(wall_epoch_s=fields.pop("wall_epoch_s"), monotonic_s=fields.pop("monotonic_s"))
    return ResourceReading(at=at, **fields)


def machine_window(before: MachineReading, after: MachineReading, *used_cpu_s: float | None) -> MachineWindow:
    """Return what happened between two readings. The load average is the later one. ``used_cpu_s``: CPU seconds of
    each part of the trial; ``other_cpu_s`` is what none of them used, the harness's own sampling included: the kernel
    counts it in hundredths of a second, so a small negative difference is zero."""
    busy_s = difference(before.total_cpu_s, after.total_cpu_s)
    used_s = None if None in used_cpu_s else sum(used for used in used_cpu_s if used is not None)
    other_cpu_s = None if busy_s is None or used_s is None else max(0.0, busy_s - used_s)
    used: dict[str, Any] = {name: difference(getattr(before, name), getattr(after, name)) for name in COUNTED}
    return MachineWindow(**used, load_average_1m=after.load_average_1m, other_cpu_s=other_cpu_s)


def on_our_clock(file: Path, offset_s: float) -> None:
    """Take the offset (far minus ours) off the first column, which is ``monotonic_s``; no file, no rows."""

    def shifted(at: str, rest: str) -> str:
        return f"{float(at) - offset_s:.{len(at.partition('.')[2])}f},{rest}"

    _rewrite(file, shifted)


def _rewrite(file: Path, change: Callable[[str, str], str]) -> None:
    """Change each row, of which ``change`` gets the first cell and the rest."""
    if file.is_file():
        head, *rows = file.read_text("utf-8").splitlines()
        changed = [change(*row.split(",", 1)) for row in rows]
        file.write_text("\n".join([head, *changed, ""]), "utf-8")


def merge(file: Path, second: Path) -> None:
    """Put the other file's rows into the first, in the order of time, and remove the other."""
    if not second.is_file():
        return
    lines = file.read_text("utf-8").splitlines()
    more = second.read_text("utf-8").splitlines()[1:]
    rows = sorted([*lines[1:], *more], key=lambda row: float(row.partition(",")[0]))
    file.write_text("\n".join([lines[0], *rows, ""]), "utf-8")
    second.unlink()


def as_earlier(file: Path, until_s: float) -> None:
    """Mark the samples of load generators before a moment, on the samples' own clock, as those of earlier loads: the
    role ``generator`` becomes ``earlier-generator``, for the CPU time of a role is that of one process."""

    def marked(at: str, rest: str) -> str:
        is_earlier = float(at) < until_s and rest.startswith("generator")
        return f"{at},{'earlier-' if is_earlier else ''}{rest}"

    _rewrite(file, marked)
