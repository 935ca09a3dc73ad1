# SPDX-License-Identifier: Apache-2.0
"""CPU throttling of our own control group, version 1 and version 2, and mixtures of both.

Memory and CPU of services are read per process; the control group tells only whether
somebody outside limits us.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.cgroup_files import CpuStat, groups_of, is_folder, mounts, parse_cpu_stat, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_throttling(root: Path = Path("/")) -> CpuStat | None:
    """Return how often and how long our group, or one above it, was denied CPU it wanted.

    ``None``: no group counts here. ``root`` is where ``proc`` and ``sys`` are (tests bring their own).
    """
    return longest_throttling(text_of(folder / "cpu.stat") for folder in throttling_folders(root))


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
        here = mounted[wanted].folder_of(path)
        if not is_folder(here):
            here = mount
        while True:
            folders.append(here)
            if here == mount:
                break
            here = here.parent
    return folders
