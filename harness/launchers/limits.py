# SPDX-License-Identifier: Apache-2.0
"""Limits of a plain process: enforced by a control group of its own where one may be made, else told and no more.

Without a group the process is pinned to as many CPUs as it may use, and of its memory only the heap is limited, by
what its variant tells the runtime. The record says which of the two it was, and why.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from harness.agent.cgroup import read_group
from harness.agent.platforms import usable_cpus
from harness.launchers.cgroup import ControlGroup, bytes_of, find_parents, make_group
from harness.model import GroupReading, LimitsRecord, RuntimeSettings

NOT_ENFORCED = (
    "no control group enforces the limits ({}): pinned to {} CPU(s), of memory the heap alone is limited"
)


@dataclass(kw_only=True)
class Enclosure:
    """What stands around one process. ``cpus``: what it is pinned to; ``None``: not pinned."""

    group: ControlGroup | None
    record: LimitsRecord
    cpus: tuple[int, ...] | None

    @property
    def doors(self) -> tuple[Path, ...]:
        return () if self.group is None else self.group.doors

    def note(self, pid: int, start_ticks: int) -> None:
        """Read what the group was charged; call it before the process is stopped."""
        if self.group is not None and self.record.at_stop is None:
            result = read_group(pid, start_ticks)
            reading = self.group.read() if result is None else GroupReading.model_validate(asdict(result))
            self.record = self.record.model_copy(update={"at_stop": reading})

    def release(self) -> None:
        """Look whether memory ran out, and remove the group. Idempotent.

        Raises:
            HostError: something in it does not end.
        """
        if self.group is None:
            return
        if self.record.out_of_memory is None:
            self.record = self.record.model_copy(update={"out_of_memory": self.group.out_of_memory()})
        self.group.remove()


def enclose(
    runtime: RuntimeSettings, cpus: tuple[int, ...] | None, root: Path = Path("/")
) -> Enclosure | None:
    """Return what is to stand around a process with these settings; ``None``: no memory limit is wanted.

    Args:
        cpus: what it is pinned to anyway.
        root: where ``proc`` and ``sys`` are (tests bring their own).
    """
    if runtime.memory_limit is None:
        return None
    memory_bytes = bytes_of(runtime.memory_limit)
    quota = runtime.cpu_limit or (float(runtime.cpus) if runtime.cpus else None)
    parents = find_parents(root)
    why = parents if isinstance(parents, str) else None
    if not isinstance(parents, str):
        try:
            group = make_group(parents, cpus=quota, memory_bytes=memory_bytes)
        except OSError as problem:
            why = f"{problem.strerror}: {problem.filename}" if problem.filename else str(problem)
        else:
            return Enclosure(
                group=group,
                record=LimitsRecord(
                    enforced_by="cgroup v1" if group.version == "v1" else "cgroup v2",
                    cpu_quota=quota,
                    memory_limit_bytes=memory_bytes,
                ),
                cpus=cpus,
            )
    return Enclosure(
        group=None,
        record=LimitsRecord(why_not=why, cpu_quota=quota, memory_limit_bytes=memory_bytes),
        cpus=_narrowed(cpus, runtime.cpus),
    )


def remark_on_limits(runtime: RuntimeSettings, root: Path = Path("/")) -> str | None:
    """Return what must be said before a process with these settings is measured here, or ``None``.

    A group is made and removed again: whether it may be is not told by looking.
    """
    around = enclose(runtime, None, root)
    if around is None:
        return None
    around.release()
    if around.group is not None:
        return None
    return NOT_ENFORCED.format(around.record.why_not, runtime.cpus or "all")


def _narrowed(cpus: tuple[int, ...] | None, wanted: int | None) -> tuple[int, ...] | None:
    if wanted is None:
        return cpus
    return tuple(sorted(cpus or usable_cpus()))[:wanted]
