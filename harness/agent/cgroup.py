# SPDX-License-Identifier: Apache-2.0
"""Control groups, version 1, version 2 and mixtures: where they are mounted, memory and CPU as the kernel charges them.

``root`` is where ``proc`` and ``sys`` are (tests bring their own).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

#: What is read of version 1. Version 2 has one hierarchy for all controllers, which goes by an empty name.
_CONTROLLERS = frozenset({"memory", "cpu", "cpuacct"})
#: Fields of a line of mountinfo up to its mount point.
_BEFORE_OPTIONS = 5
#: Digits of the largest counter: 64 bits.
LONGEST_NUMBER = 20


def read_folders(
    folders: dict[str, Path], *, rss_bytes: int | None = None, process_cpu_s: float | None = None
) -> dict[str, Any]:
    """Read the group's files: ``folders`` is controller -> folder, ``""`` for version 2. Return the fields of
    ``model.GroupReading``; the others are of its process."""
    v2 = "" in folders

    def text(controller: str, name: str) -> str:
        folder = folders.get("" if v2 else controller)
        return "" if folder is None else text_of(folder / name)

    stat = text("cpu", "cpu.stat")
    used = whole_number(pairs_in(stat).get("usage_usec", "") if v2 else text("cpuacct", "cpuacct.usage"))
    limited = parse_cpu_stat(stat)
    now, most = ("current", "peak") if v2 else ("usage_in_bytes", "max_usage_in_bytes")
    return {
        "version": "v2" if v2 else "v1",
        "memory_bytes": whole_number(text("memory", f"memory.{now}")),
        "memory_max_bytes": whole_number(text("memory", f"memory.{most}")),
        "cpu_s": None if used is None else used / (1e6 if v2 else 1e9),
        "n_throttled": limited.n_throttled if limited else None,
        "throttled_s": limited.throttled_s if limited else None,
        "rss_bytes": rss_bytes,
        "process_cpu_s": process_cpu_s,
    }


def group_throttled_s(pid: int, root: Path = Path("/")) -> float | None:
    """Return for how long the process's group was denied CPU since it was made, in seconds, summed over its CPUs.
    ``None``: it cannot be seen from here, or can have no quota."""
    folders = group_folders(pid, root)
    folder = folders.get("cpu", folders.get(""))
    limited = None if folder is None else parse_cpu_stat(text_of(folder / "cpu.stat"))
    return None if limited is None else limited.throttled_s


def group_folders(pid: int, root: Path = Path("/")) -> dict[str, Path]:
    """Return controller -> the folder of the process's group: ``memory``, ``cpu``, ``cpuacct``, or ``""``
    alone on a system of version 2. Empty: not to be seen from here."""
    mounted = mounts(root)
    results: dict[str, Path] = {}
    for controllers, path in groups_of(str(pid), root):
        for controller in controllers:
            if controller in mounted and is_folder(folder := mounted[controller].folder_of(path)):
                results[controller] = folder
    if "memory" in results or "cpu" in results:
        results.pop("", None)  # a mixture: version 1 has the controllers, version 2 only the names
    return results


class Mount(NamedTuple):
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
    for line in text_of(root / "proc/self/mountinfo").splitlines():
        head, dash, tail = line.partition(" - ")
        fields, (kind, _, options, *_) = head.split(" "), (*tail.split(" "), "", "", "")
        if not dash or len(fields) < _BEFORE_OPTIONS:
            continue  # no line of the kernel
        mount = Mount(root / fields[4].lstrip("/"), fields[3])
        own = {"cgroup2": {""}, "cgroup": _CONTROLLERS & set(options.split(","))}.get(kind, ())
        for controller in own:
            results.setdefault(controller, mount)
    return results


def groups_of(process: str, root: Path) -> list[tuple[list[str], str]]:
    """Return the groups of a process (its id, or ``self``): controllers (``""``: version 2), path."""
    rows = (line.split(":", 2) for line in text_of(root / f"proc/{process}/cgroup").splitlines())
    return [(row[1].split(","), row[2]) for row in rows if len(row) == 3]


def throttling_folders(root: Path = Path("/")) -> list[Path]:
    """Return our groups that may count CPU, each with those above it up to the mount."""
    mounted = mounts(root)
    folders: list[Path] = []
    for controllers, path in groups_of("self", root):
        wanted = "cpu" if "cpu" in controllers else "" if controllers == [""] else None
        if wanted is None or wanted not in mounted:
            continue
        top, own = mounted[wanted].folder, mounted[wanted].folder_of(path)
        above = own.relative_to(top).parts if is_folder(own) else ()
        folders += [top.joinpath(*above[:depth]) for depth in range(len(above), -1, -1)]
    return folders


class CpuStat(NamedTuple):
    """Periods in which a group was stopped, and for how long: summed over its CPUs, so it may grow faster than time."""

    n_throttled: int
    throttled_s: float


def parse_cpu_stat(text: str) -> CpuStat | None:
    """Parse ``cpu.stat`` of either version; ``None`` when the group has no CPU quota to speak of (the topmost group
    of version 2)."""
    get = pairs_in(text).get
    n, us, ns = (whole_number(get(name, "")) for name in ("nr_throttled", "throttled_usec", "throttled_time"))
    if n is None or (us is None and ns is None):
        return None
    return CpuStat(n, us / 1e6 if us is not None else (ns or 0) / 1e9)


def longest_throttling(texts: Iterable[str]) -> CpuStat | None:
    """Of the ``cpu.stat`` of some groups take the one with the longest time: the limit may be set on any of
    those on the way up, and one wait may be counted by several."""
    readings = [reading for text in texts if (reading := parse_cpu_stat(text)) is not None]
    return max(readings, key=lambda reading: reading.throttled_s, default=None)


def whole_number(text: str) -> int | None:
    """Return the number in a file of the kernel; ``None`` for anything but digits, and for more than it counts to."""
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER else None


def pairs_in(text: str) -> dict[str, str]:
    """Return name -> value of a text with both on each line."""
    pairs = (line.partition(" ") for line in text.splitlines() if " " in line)
    return {name: value for name, _, value in pairs}


def is_folder(path: Path) -> bool:
    """Return whether there is such a folder; a name that no folder can have is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def text_of(file: Path) -> str:
    """Return the text of a group's file; empty where there is none, or it may not be read."""
    try:
        return file.read_text(errors="replace")
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return ""
