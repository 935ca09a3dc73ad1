# SPDX-License-Identifier: Apache-2.0
"""The control group of another process: memory and CPU as the kernel charges them, version 1 and version 2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.agent.cgroup_files import (
    groups_of,
    is_folder,
    lines_of,
    mounts,
    pairs_of,
    parse_cpu_stat,
    text_of,
    whole_number,
)
from harness.agent.process_tree import ProcessReader


@dataclass(frozen=True)
class GroupNumbers:
    """What ``model.GroupReading`` has, as plain data; see there."""

    version: str
    memory_bytes: int | None
    memory_max_bytes: int | None
    cpu_s: float | None
    n_throttled: int | None
    throttled_s: float | None
    rss_bytes: int | None
    process_cpu_s: float | None


def read_group(pid: int, start_ticks: int, root: Path = Path("/")) -> GroupNumbers | None:
    """Return what the groups of ``pid`` were charged, beside the process's own numbers.

    ``None``: the process is gone, or its groups cannot be seen from here. ``root`` is where ``proc``
    and ``sys`` are (tests bring their own).
    """
    folders = group_folders(pid, root)
    if not folders:
        return None
    rss_bytes = cpu_s = None
    try:
        reader = ProcessReader(pid, start_ticks)
    except ProcessLookupError:
        return None
    try:
        reading = reader.read()
        if reading is not None:
            rss_bytes, cpu_s = reading.rss_bytes, reading.cpu_s
    finally:
        reader.close()
    return read_folders(folders, rss_bytes=rss_bytes, process_cpu_s=cpu_s)


def read_folders(
    folders: dict[str, Path], *, rss_bytes: int | None, process_cpu_s: float | None
) -> GroupNumbers:
    """Read the group's files: ``folders`` is controller -> folder, ``""`` for version 2."""
    unified = folders.get("")
    if unified is not None:
        throttling, usage = (
            parse_cpu_stat(text_of(unified / "cpu.stat")),
            _named(unified / "cpu.stat", "usage_usec"),
        )
        return GroupNumbers(
            version="v2",
            memory_bytes=_number(unified / "memory.current"),
            memory_max_bytes=_number(unified / "memory.peak"),
            cpu_s=None if usage is None else usage / 1e6,
            n_throttled=throttling.n_throttled if throttling else None,
            throttled_s=throttling.throttled_s if throttling else None,
            rss_bytes=rss_bytes,
            process_cpu_s=process_cpu_s,
        )
    memory, cpu, account = (folders.get(name) for name in ("memory", "cpu", "cpuacct"))
    throttling = parse_cpu_stat(text_of(cpu / "cpu.stat")) if cpu else None
    usage = _number(account / "cpuacct.usage") if account else None
    return GroupNumbers(
        version="v1",
        memory_bytes=_number(memory / "memory.usage_in_bytes") if memory else None,
        memory_max_bytes=_number(memory / "memory.max_usage_in_bytes") if memory else None,
        cpu_s=None if usage is None else usage / 1e9,
        n_throttled=throttling.n_throttled if throttling else None,
        throttled_s=throttling.throttled_s if throttling else None,
        rss_bytes=rss_bytes,
        process_cpu_s=process_cpu_s,
    )


def group_folders(pid: int, root: Path = Path("/")) -> dict[str, Path]:
    """Return controller -> the folder of the process's group: ``memory``, ``cpu``, ``cpuacct``, or ``""``
    alone on a system of version 2. Empty: not to be seen from here."""
    mounted = mounts(root)
    results: dict[str, Path] = {}
    for controllers, path in groups_of(str(pid), root):
        for controller in controllers:
            if controller in mounted:
                folder = mounted[controller].folder_of(path)
                if is_folder(folder):
                    results[controller] = folder
    if "memory" in results or "cpu" in results:
        results.pop("", None)  # a mixture: version 1 has the controllers, version 2 only the names
    return results


def _number(file: Path) -> int | None:
    lines = lines_of(file)
    return whole_number(lines[0]) if lines else None


def _named(file: Path, name: str) -> int | None:
    return whole_number(pairs_of(file).get(name, ""))
