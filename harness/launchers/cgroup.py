# SPDX-License-Identifier: Apache-2.0
"""Control groups around plain processes: CPU time and memory limited by the kernel, version 1 and version 2.

A group is made for one instance and removed after it. It is named after the process that made it,
``rematch-<pid>-<its start>-<number>``, so that what a killed harness left is known for what it is and swept by
the next one. Only groups that may be made with the rights we have are made: nothing is switched on for them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from harness.agent.cgroup import group_folders, pairs_in, read_folders, read_group, text_of
from harness.agent.platforms import usable_cpus
from harness.agent.processes import alive, this_process
from harness.errors import HostError
from harness.model import GroupReading, LimitsRecord, RuntimeSettings

PREFIX = "rematch-"
PERIOD_US = 100_000
#: A group can be removed as soon as the kernel has put away the last process of it.
EMPTY_WITHIN_S = 5.0
_MEMORY_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}
_V1 = ("cpu", "memory")
#: Read beside the others where it is a group of its own; it limits nothing.
_ACCOUNT = "cpuacct"


@dataclass(kw_only=True)
class ControlGroup:
    """A group with its limits. Whoever writes ``0`` into ``doors`` is in it."""

    folders: dict[str, Path]

    @property
    def version(self) -> Literal["v1", "v2"]:
        return "v2" if "" in self.folders else "v1"

    @property
    def doors(self) -> tuple[Path, ...]:
        return tuple(sorted({folder / "cgroup.procs" for folder in self.folders.values()}))

    def out_of_memory(self) -> bool:
        """Whether the kernel killed in it because its memory was used up."""
        memory = self.folders.get("memory")
        file = memory / "memory.oom_control" if memory else self.folders[""] / "memory.events"
        return pairs_in(text_of(file)).get("oom_kill", "0").strip() != "0"

    def remove(self) -> None:
        """End whatever still runs in it, and remove it. Idempotent.

        Raises HostError: something in it does not end.
        """
        deadline = time.monotonic() + EMPTY_WITHIN_S
        for folder in set(self.folders.values()):
            while not _removed(folder):
                inmates = [int(pid) for pid in text_of(folder / "cgroup.procs").split() if pid != "0"]
                if time.monotonic() > deadline:
                    raise HostError(
                        f"the control group {folder} cannot be removed: processes {inmates} in it"
                    )
                for pid in inmates:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.005)


def find_parents(root: Path = Path("/")) -> dict[str, Path] | str:
    """Return where groups for CPU and memory may be made (controller -> folder, ``""`` for version 2), or why
    nowhere. Version 1: below our own groups. Version 2: there processes stand in the leaves only, so beside our group
    or beside one above it, wherever both controllers are handed down and we may write."""
    own = group_folders(os.getpid(), root)
    if not own:
        return "no control groups are mounted here"
    if "" in own:
        return _parents_v2(own[""])
    missing = [name for name in _V1 if name not in own]
    if missing:
        return f"no control group of ours limits {' and '.join(missing)}"
    folders = {name: folder for name, folder in own.items() if name in (*_V1, _ACCOUNT)}
    closed = next((folder for folder in folders.values() if not os.access(folder, os.W_OK)), None)
    return folders if closed is None else f"no group may be made in {closed}"


def make_group(parents: Mapping[str, Path], *, cpus: float | None, memory_bytes: int) -> ControlGroup:
    """Make a group in which ``cpus`` CPUs' worth of time may be used and so much memory, without swap.

    Raises OSError: it may not be made, or the kernel refuses a limit; nothing is left of it.
    """
    pid, ticks = this_process()
    name = f"{PREFIX}{pid}-{ticks}-{secrets.token_hex(4)}"
    group = ControlGroup(folders={key: folder / name for key, folder in parents.items()})
    try:
        for folder in dict.fromkeys(group.folders.values()):
            folder.mkdir()
        for file, text in _limits(group.folders, cpus, memory_bytes):
            file.write_text(text)
        return group
    except BaseException:
        for folder in set(group.folders.values()):
            _removed(folder)
        raise


def sweep_groups(root: Path = Path("/")) -> tuple[Path, ...]:
    """Remove the empty groups of owners that are gone; return their folders."""
    parents = find_parents(root)
    if isinstance(parents, str):
        return ()
    swept: list[Path] = []
    for parent in dict.fromkeys(parents.values()):
        top = parent  # who made it may have stood in another group than we do
        while (top.parent / "cgroup.procs").exists():
            top = top.parent
        for folder in sorted(top.rglob(f"{PREFIX}*-*-*")):
            pid, ticks = folder.name.removeprefix(PREFIX).split("-")[:2]
            own = pid.isdigit() and ticks.isdigit()
            if own and not alive(int(pid), int(ticks)) and _removed(folder):
                swept.append(folder)
    return tuple(swept)


def bytes_of(text: str) -> int:
    """Return ``256m`` as a number of bytes."""
    return int(text[:-1]) * _MEMORY_UNITS[text[-1].lower()]


def _parents_v2(own: Path) -> dict[str, Path] | str:
    wanted = set(_V1)
    for folder in own.parents:
        handed_down = text_of(folder / "cgroup.subtree_control").split()
        if not (folder / "cgroup.procs").exists():
            break  # above the mount
        # whoever moves a process must be allowed to write here, above both the old group and the new one
        writable = all(os.access(place, os.W_OK) for place in (folder, folder / "cgroup.procs"))
        if writable and wanted <= set(handed_down):
            return {"": folder}
    root_is_ours = wanted <= set(text_of(own / "cgroup.subtree_control").split())
    if root_is_ours and os.access(own, os.W_OK):  # the top group alone may have both processes and children
        return {"": own}
    return f"no group for CPU and memory may be made beside {own}"


def _limits(folders: dict[str, Path], cpus: float | None, memory_bytes: int) -> list[tuple[Path, str]]:
    quota = None if cpus is None else round(cpus * PERIOD_US)
    unified = folders.get("")
    if unified is not None:
        limits = [(unified / "memory.max", str(memory_bytes))]
        swap = unified / "memory.swap.max"
        limits += [(swap, "0")] if swap.exists() else []
        return limits + ([] if quota is None else [(unified / "cpu.max", f"{quota} {PERIOD_US}")])
    cpu, memory = folders["cpu"], folders["memory"]
    limits = [(memory / "memory.limit_in_bytes", str(memory_bytes))]
    swap_too = memory / "memory.memsw.limit_in_bytes"
    limits += [(swap_too, str(memory_bytes))] if swap_too.exists() else []
    if quota is not None:
        limits += [(cpu / "cpu.cfs_period_us", str(PERIOD_US)), (cpu / "cpu.cfs_quota_us", str(quota))]
    return limits


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()  # the kernel's files in it go with it
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@dataclass(kw_only=True)
class Enclosure:
    """What stands around one process: nothing without ``record``. ``cpus``: what it is pinned to; ``None``: not
    pinned."""

    group: ControlGroup | None = None
    record: LimitsRecord | None = None
    cpus: tuple[int, ...] | None

    @property
    def doors(self) -> tuple[Path, ...]:
        return () if self.group is None else self.group.doors

    def note(self, pid: int, start_ticks: int) -> None:
        """Read what the group was charged; call it before the process is stopped."""
        if self.group is None or self.record is None or self.record.at_stop is not None:
            return
        result = read_group(pid, start_ticks) or read_folders(
            self.group.folders, rss_bytes=None, process_cpu_s=None
        )
        reading = GroupReading.model_validate(asdict(result))
        self.record = self.record.model_copy(update={"at_stop": reading})

    def release(self) -> None:
        """Look whether memory ran out, and remove the group. Idempotent.

        Raises HostError: something in it does not end.
        """
        if self.group is None or self.record is None:
            return
        if self.record.out_of_memory is None:
            self.record = self.record.model_copy(update={"out_of_memory": self.group.out_of_memory()})
        self.group.remove()


def enclose(runtime: RuntimeSettings, cpus: tuple[int, ...] | None, root: Path = Path("/")) -> Enclosure:
    """Return what is to stand around a process with these settings. ``cpus``: what it is pinned to anyway; ``root``:
    where ``proc`` and ``sys`` are (tests bring their own)."""
    if runtime.memory_limit is None:
        return Enclosure(cpus=cpus)
    memory_bytes = bytes_of(runtime.memory_limit)
    quota = runtime.cpu_limit or (float(runtime.cpus) if runtime.cpus else None)
    limits = LimitsRecord(cpu_quota=quota, memory_limit_bytes=memory_bytes)
    parents = find_parents(root)
    why = parents if isinstance(parents, str) else None
    if not isinstance(parents, str):
        try:
            group = make_group(parents, cpus=quota, memory_bytes=memory_bytes)
        except OSError as problem:
            why = f"{problem.strerror}: {problem.filename}" if problem.filename else str(problem)
        else:
            enforced = limits.model_copy(update={"enforced_by": f"cgroup {group.version}"})
            return Enclosure(group=group, record=enforced, cpus=cpus)
    return Enclosure(
        record=limits.model_copy(update={"why_not": why}),
        cpus=cpus if runtime.cpus is None else tuple(sorted(cpus or usable_cpus()))[: runtime.cpus],
    )


def remark_on_limits(runtime: RuntimeSettings, root: Path = Path("/")) -> str | None:
    """Return what must be said before a process with these settings is measured here, or ``None``. A group is made
    and removed again: whether it may be is not told by looking."""
    around = enclose(runtime, None, root)
    around.release()
    if around.record is None or around.group is not None:
        return None
    return (
        f"no control group enforces the limits ({around.record.why_not}): pinned to {runtime.cpus or 'all'} CPU(s), of "
        "memory the heap alone is limited"
    )
