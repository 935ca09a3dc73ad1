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
    found: dict[str, Mount] = {}
    for line in lines_of(root / "proc/self/mountinfo"):
        head, dash, tail = line.partition(" - ")
        fields, (kind, _, options, *_) = head.split(" "), (*tail.split(" "), "", "", "")
        if not dash or len(fields) < _BEFORE_OPTIONS:
            continue  # no line of the kernel
        mount = Mount(root / fields[4].lstrip("/"), fields[3])
        if kind == "cgroup2":
            found.setdefault("", mount)
        elif kind == "cgroup":
            for controller in _CONTROLLERS & set(options.split(",")):
                found.setdefault(controller, mount)
    return found


def groups_of(process: str, root: Path) -> list[tuple[list[str], str]]:
    """Return the groups of a process (its id, or ``self``): controllers (``""``: version 2), path."""
    found = []
    for line in lines_of(root / f"proc/{process}/cgroup"):
        _, first, rest = line.partition(":")
        controllers, second, path = rest.partition(":")
        if first and second:
            found.append((controllers.split(","), path))
    return found


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
