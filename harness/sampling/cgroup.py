# SPDX-License-Identifier: Apache-2.0
"""CPU throttling of our own control group, version 1 and version 2, and mixtures of both.

Memory and CPU of services are read per process; the control group tells only whether
somebody outside limits us.

Standard library only, Python >= 3.8: the agent on a far host is built of this file too.
"""

from __future__ import annotations

from pathlib import Path

from harness.formats.cpu_stat import CpuStat, parse_cpu_stat


def read_throttling(root: Path = Path("/")) -> CpuStat | None:
    """Return how often and how long our group, or one above it, was denied CPU it wanted.

    ``None``: no group counts here. ``root`` is where ``proc`` and ``sys`` are (tests bring their own).
    """
    return throttling_of(throttling_folders(root))


def throttling_of(folders: list[Path]) -> CpuStat | None:
    """Of some groups take the one with the longest time: the limit may be set on any of those on the
    way up, and one wait may be counted by several."""
    readings = [
        reading for folder in folders if (reading := parse_cpu_stat(_text(folder / "cpu.stat"))) is not None
    ]
    return max(readings, key=lambda reading: reading.throttled_s, default=None)


def throttling_folders(root: Path = Path("/")) -> list[Path]:
    """Our groups that may count CPU, each with those above it up to the mount."""
    mounts = _mounts(root)
    folders: list[Path] = []
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        wanted = "cpu" if "cpu" in controllers.split(",") else "" if controllers == "" else None
        if wanted is None or wanted not in mounts:
            continue
        mount, mounted = mounts[wanted]
        # in a container the path may be the host's, of which only a part (or nothing) is mounted here
        inner = path[len(mounted) :] if mounted != "/" and path.startswith(mounted) else path
        here = mount / inner.lstrip("/")
        if not here.is_dir():
            here = mount
        while True:
            folders.append(here)
            if here == mount:
                break
            here = here.parent
    return folders


def _mounts(root: Path) -> dict[str, tuple[Path, str]]:
    """ "cpu" (version 1) and "" (version 2) -> where it is mounted, and which part of it."""
    found: dict[str, tuple[Path, str]] = {}
    for line in _lines(root / "proc/self/mountinfo"):
        fields = line.split(" ")
        kind, _, options = fields[fields.index("-") + 1 :][:3]
        place = (root / fields[4].lstrip("/"), fields[3])
        if kind == "cgroup2":
            found.setdefault("", place)
        elif kind == "cgroup" and "cpu" in options.split(","):
            found.setdefault("cpu", place)
    return found


def _lines(file: Path) -> list[str]:
    return _text(file).splitlines()


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
