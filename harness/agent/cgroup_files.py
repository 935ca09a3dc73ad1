# SPDX-License-Identifier: Apache-2.0
"""Where the kernel shows control groups: what is mounted, which groups a process is in, what their files say.

Version 1, version 2, and mixtures of both. ``root`` is where ``proc`` and ``sys`` are (tests bring their own).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
        """Return where a group's files would be.

        In a container the group's path may be the host's, of which only a part (or nothing) is mounted here.
        """
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
    """One reading of ``cpu.stat``.

    ``n_throttled``: periods in which the group was stopped; ``throttled_s``: summed over its CPUs, so it
    may grow faster than time.
    """

    n_throttled: int
    throttled_s: float
    n_unknown: int
    unknown_examples: tuple[str, ...] = ()


def whole_number(text: str) -> int | None:
    """Return the number in a file of the kernel; ``None`` for anything but digits, and for more than it counts to."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else None


def parse_cpu_stat(text: str) -> CpuStat | None:
    """Parse ``cpu.stat``; ``None`` when the group has no CPU quota to speak of (the topmost group of version 2).

    Version 1 counts ``throttled_time`` in nanoseconds, version 2 ``throttled_usec`` in microseconds.
    """
    values: dict[str, int] = {}
    unknown: list[str] = []
    for line in text.splitlines():
        words = line.split()
        number = whole_number(words[1]) if len(words) == 2 else None
        if number is not None:
            values[words[0]] = number
        elif words:
            unknown.append(line[:200])
    if "nr_throttled" not in values or not values.keys() & {"throttled_time", "throttled_usec"}:
        return None
    throttled = (
        values["throttled_usec"] / 1e6 if "throttled_usec" in values else values["throttled_time"] / 1e9
    )
    return CpuStat(
        n_throttled=values["nr_throttled"],
        throttled_s=throttled,
        n_unknown=len(unknown),
        unknown_examples=tuple(unknown[:3]),
    )
