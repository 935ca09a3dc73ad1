# SPDX-License-Identifier: Apache-2.0
"""Control groups around plain processes: CPU time and memory limited by the kernel, version 1 and version 2.

A group is made for one instance and removed after it. It is named after the process that made it,
``rematch-<pid>-<its start>-<number>``, so that the next harness can sweep what a killed one left. Only groups that may
be made with the rights we have are made: nothing is switched on for them.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.agent.cgroup import group_folders, read_folders, text_of
from harness.agent.platforms import usable_cpus
from harness.agent.process_tree import read_group
from harness.agent.processes import alive, this_process
from harness.errors import HostError
from harness.model import GroupReading, LimitsRecord, RuntimeSettings

PREFIX = "rematch-"
PERIOD_US = 100_000
#: A group can be removed as soon as the kernel has put away the last process of it.
EMPTY_WITHIN_S = 5.0
_MEMORY_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}
_CONTROLLERS = ("cpu", "memory")


@dataclass(kw_only=True)
class ControlGroup:
    """What stands around one process: a group with its limits, or nothing. ``folders``: controller -> folder, ``""``
    for version 2; ``cpus``: what the process is pinned to, ``None``: not pinned. Whoever writes ``0`` into ``doors`` is
    in the group."""

    folders: dict[str, Path] = field(default_factory=dict)
    record: LimitsRecord | None = None
    cpus: tuple[int, ...] | None = None

    @property
    def doors(self) -> tuple[Path, ...]:
        return tuple(sorted({folder / "cgroup.procs" for folder in self.folders.values()}))

    def note(self, pid: int, start_ticks: int) -> None:
        """Read what the group was charged; call it before the process is stopped."""
        if self.folders and self.record is not None and self.record.at_stop is None:
            reading = read_group(pid, start_ticks) or read_folders(self.folders)
            self.record = self.record.model_copy(update={"at_stop": GroupReading.model_validate(reading)})

    def release(self) -> None:
        """Look whether memory ran out, and remove the group. Idempotent. Raises HostError: something in it does not
        end."""
        if self.folders and self.record is not None and self.record.out_of_memory is None:
            self.record = self.record.model_copy(update={"out_of_memory": self._out_of_memory()})
        self.remove()

    def _out_of_memory(self) -> bool:
        """Whether the kernel killed in it because its memory was used up."""
        memory = self.folders.get("memory")
        file = memory / "memory.oom_control" if memory else self.folders[""] / "memory.events"
        return re.search(r"^oom_kill [1-9]", text_of(file), re.MULTILINE) is not None

    def remove(self) -> None:
        """End whatever still runs in it, and remove it. Idempotent. Raises HostError: something in it does not end."""
        deadline = time.monotonic() + EMPTY_WITHIN_S
        for folder in set(self.folders.values()):
            while not _removed(folder):
                pids = [int(pid) for pid in text_of(folder / "cgroup.procs").split() if pid != "0"]
                if time.monotonic() > deadline:
                    raise HostError(f"the control group {folder} cannot be removed: processes {pids} in it")
                for pid in pids:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                time.sleep(0.005)


def find_parents(root: Path = Path("/")) -> dict[str, Path]:
    """Return where groups for CPU and memory may be made (controller -> folder, ``""`` for version 2). Version 1: below
    our own groups. Version 2: there processes stand in the leaves only, so beside our group or beside one above it,
    wherever both controllers are handed down and we may write. Raises HostError: nowhere, and why."""
    own = group_folders(os.getpid(), root)
    if not own:
        raise HostError("no control groups are mounted here")
    if "" in own:
        return {"": _parent_v2(own[""])}
    missing = [name for name in _CONTROLLERS if name not in own]
    if missing:
        raise HostError(f"no control group of ours limits {' and '.join(missing)}")
    for folder in own.values():
        if not os.access(folder, os.W_OK):
            raise HostError(f"no group may be made in {folder}")
    return own  # with ``cpuacct``, which limits nothing and is read beside the others


def _parent_v2(own: Path) -> Path:
    wanted = set(_CONTROLLERS)
    for folder in own.parents:
        if not (folder / "cgroup.procs").exists():
            break  # above the mount
        # whoever moves a process must be allowed to write here, above both the old group and the new one
        writable = all(os.access(place, os.W_OK) for place in (folder, folder / "cgroup.procs"))
        if writable and wanted <= set(text_of(folder / "cgroup.subtree_control").split()):
            return folder
    # the top group alone may have both processes and children
    if wanted <= set(text_of(own / "cgroup.subtree_control").split()) and os.access(own, os.W_OK):
        return own
    raise HostError(f"no group for CPU and memory may be made beside {own}")


def make_group(parents: Mapping[str, Path], *, cpus: float | None, memory_bytes: int) -> ControlGroup:
    """Make a group in which ``cpus`` CPUs' worth of time may be used and so much memory, without swap. Raises OSError:
    it may not be made, or the kernel refuses a limit; nothing is left of it."""
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
    swept: list[Path] = []
    with contextlib.suppress(HostError):  # none may be made: none is there
        for parent in dict.fromkeys(find_parents(root).values()):
            top = parent
            while (top.parent / "cgroup.procs").exists():  # the owner may have stood in another group
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


def _limits(folders: dict[str, Path], cpus: float | None, memory_bytes: int) -> list[tuple[Path, str]]:
    """Return file -> text, in the order in which the kernel takes them."""
    quota = None if cpus is None else str(round(cpus * PERIOD_US))
    if (unified := folders.get("")) is not None:
        most, swap, no_swap = unified / "memory.max", unified / "memory.swap.max", "0"
        cpu = [(unified / "cpu.max", f"{quota} {PERIOD_US}")]
    else:
        memory, no_swap = folders["memory"], str(memory_bytes)  # version 1 limits both together
        most, swap = memory / "memory.limit_in_bytes", memory / "memory.memsw.limit_in_bytes"
        cpu = [(folders["cpu"] / "cpu.cfs_period_us", str(PERIOD_US))]
        cpu += [(folders["cpu"] / "cpu.cfs_quota_us", str(quota))]
    limits = [(most, str(memory_bytes)), *([(swap, no_swap)] if swap.exists() else [])]
    return limits if quota is None else limits + cpu


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()  # the kernel's files in it go with it
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def enclose(runtime: RuntimeSettings, cpus: tuple[int, ...] | None, root: Path = Path("/")) -> ControlGroup:
    """Return what is to stand around a process with these settings. ``cpus``: what it is pinned to anyway; ``root``:
    where ``proc`` and ``sys`` are (tests bring their own)."""
    if runtime.memory_limit is None:
        return ControlGroup(cpus=cpus)
    memory_bytes = bytes_of(runtime.memory_limit)
    quota = runtime.cpu_limit or (float(runtime.cpus) if runtime.cpus else None)
    limits = LimitsRecord(cpu_quota=quota, memory_limit_bytes=memory_bytes)
    try:
        parents = find_parents(root)
        group = make_group(parents, cpus=quota, memory_bytes=memory_bytes)
    except (HostError, OSError) as problem:
        pinned = cpus if runtime.cpus is None else tuple(sorted(cpus or usable_cpus()))[: runtime.cpus]
        return ControlGroup(record=limits.model_copy(update={"why_not": str(problem)}), cpus=pinned)
    enforced_by = f"cgroup {'v2' if '' in parents else 'v1'}"
    group.record, group.cpus = limits.model_copy(update={"enforced_by": enforced_by}), cpus
    return group


def remark_on_limits(runtime: RuntimeSettings, root: Path = Path("/")) -> str | None:
    """Return what must be said before a process with these settings is measured here, or ``None``. A group is made
    and removed again: whether it may be is not told by looking."""
    around = enclose(runtime, None, root)
    around.release()
    if around.record is None or around.folders:
        return None
    return (
        f"no control group enforces the limits ({around.record.why_not}): pinned to {runtime.cpus or 'all'} CPU(s), of "
        "memory the heap alone is limited"
    )
