# SPDX-License-Identifier: Apache-2.0
"""Control groups, version 1, version 2 and mixtures: where they are mounted, memory and CPU as the kernel charges them.

``root`` is where ``proc`` and ``sys`` are (tests bring their own).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.process_tree import ProcessReader

if TYPE_CHECKING:
    from collections.abc import Iterable


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
    """Return what the groups of ``pid`` were charged, beside the process's own numbers. ``None``: the process is
    gone, or its groups cannot be seen from here."""
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
        throttling, usage = text_of(unified / "cpu.stat"), _named(unified / "cpu.stat", "usage_usec")
        memory, most, per_s = _number(unified / "memory.current"), _number(unified / "memory.peak"), 1e6
    else:
        throttling = text_of(folders["cpu"] / "cpu.stat") if "cpu" in folders else ""
        usage = _number(folders["cpuacct"] / "cpuacct.usage") if "cpuacct" in folders else None
        memory = most = None
        if "memory" in folders:
            memory = _number(folders["memory"] / "memory.usage_in_bytes")
            most = _number(folders["memory"] / "memory.max_usage_in_bytes")
        per_s = 1e9
    limited = parse_cpu_stat(throttling)
    return GroupNumbers(
        version="v1" if unified is None else "v2",
        memory_bytes=memory,
        memory_max_bytes=most,
        cpu_s=None if usage is None else usage / per_s,
        n_throttled=limited.n_throttled if limited else None,
        throttled_s=limited.throttled_s if limited else None,
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


#: What is read of version 1. Version 2 has one hierarchy for all controllers, which goes by an empty name.
_CONTROLLERS = frozenset({"memory", "cpu", "cpuacct"})
#: Fields of a line of mountinfo up to its mount point.
_BEFORE_OPTIONS = 5


@dataclass(frozen=True)
class Mount:
    """Where a hierarchy of groups is mounted, and which part of it is."""

    folder: Path
    part: str

    def folder_of(self, group: str) -> Path:
        """Return where a group's files would be. In a container the group's path may be the host's, of which only a
        part (or nothing) is mounted here."""
        inner = group[len(self.part) :] if self.part != "/" and group.startswith(self.part) else group
        return self.folder / inner.lstrip("/")


def mounts(root: Path) -> dict[str, Mount]:
    """Return controller (version 1) or ``""`` (version 2) -> where its groups are to be seen."""
    results: dict[str, Mount] = {}
    for line in lines_of(root / "proc/self/mountinfo"):
        head, dash, tail = line.partition(" - ")
        fields, (kind, _, options, *_) = head.split(" "), (*tail.split(" "), "", "", "")
        if not dash or len(fields) < _BEFORE_OPTIONS:
            continue  # no line of the kernel
        mount = Mount(root / fields[4].lstrip("/"), fields[3])
        if kind == "cgroup2":
            results.setdefault("", mount)
        elif kind == "cgroup":
            for controller in _CONTROLLERS & set(options.split(",")):
                results.setdefault(controller, mount)
    return results


def groups_of(process: str, root: Path) -> list[tuple[list[str], str]]:
    """Return the groups of a process (its id, or ``self``): controllers (``""``: version 2), path."""
    results = []
    for line in lines_of(root / f"proc/{process}/cgroup"):
        _, first, rest = line.partition(":")
        controllers, second, path = rest.partition(":")
        if first and second:
            results.append((controllers.split(","), path))
    return results


def pairs_of(file: Path) -> dict[str, str]:
    """Return name -> value of a file with both on each line."""
    pairs = (line.partition(" ") for line in lines_of(file) if " " in line)
    return {name: value for name, _, value in pairs}


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; a name that no folder can have is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def lines_of(file: Path) -> list[str]:
    return text_of(file).splitlines()


def text_of(file: Path) -> str:
    """Return what a group's file says; nothing where there is none, or it is not for us."""
    try:
        return file.read_text(errors="replace")
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return ""


#: Digits of the largest counter: 64 bits.
LONGEST_NUMBER = 20


@dataclass(frozen=True)
class CpuStat:
    """One reading of ``cpu.stat``. ``n_throttled``: periods in which the group was stopped; ``throttled_s``: summed
    over its CPUs, so it may grow faster than time."""

    n_throttled: int
    throttled_s: float


def whole_number(text: str) -> int | None:
    """Return the number in a file of the kernel; ``None`` for anything but digits, and for more than it counts to."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else None


def parse_cpu_stat(text: str) -> CpuStat | None:
    """Parse ``cpu.stat`` of either version; ``None`` when the group has no CPU quota to speak of (the topmost group
    of version 2)."""
    pairs = (line.split() for line in text.splitlines())
    values = {
        words[0]: number
        for words in pairs
        if len(words) == 2 and (number := whole_number(words[1])) is not None
    }
    if "nr_throttled" not in values or not values.keys() & {"throttled_time", "throttled_usec"}:
        return None
    throttled_s = (
        values["throttled_usec"] / 1e6 if "throttled_usec" in values else values["throttled_time"] / 1e9
    )
    return CpuStat(n_throttled=values["nr_throttled"], throttled_s=throttled_s)


def longest_throttling(texts: Iterable[str]) -> CpuStat | None:
    """Of the ``cpu.stat`` of some groups take the one with the longest time: the limit may be set on any of
    those on the way up, and one wait may be counted by several."""
    readings = [reading for text in texts if (reading := parse_cpu_stat(text)) is not None]
    return max(readings, key=lambda reading: reading.throttled_s, default=None)


def throttling_folders(root: Path = Path("/")) -> list[Path]:
    """Our groups that may count CPU, each with those above it up to the mount."""
    mounted = mounts(root)
    folders: list[Path] = []
    for controllers, path in groups_of("self", root):
        wanted = "cpu" if "cpu" in controllers else "" if controllers == [""] else None
        if wanted is None or wanted not in mounted:
            continue
        mount = mounted[wanted].folder
        folder_of_group = mounted[wanted].folder_of(path)
        if not is_folder(folder_of_group):
            folder_of_group = mount
        while True:
            folders.append(folder_of_group)
            if folder_of_group == mount:
                break
            folder_of_group = folder_of_group.parent
    return folders
