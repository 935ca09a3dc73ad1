# SPDX-License-Identifier: Apache-2.0
"""What runs where in a trial of ``verify bound``, and what everybody had used at one moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from harness.agent.machine_counters import MachineReading, read_machine
from harness.agent.platforms import usable_cpus
from harness.agent.process_tree import read_tree
from harness.analysis.tables.bound import AroundIt, Asked, Connections, Part, PartName, Seen
from harness.errors import RematchError
from harness.hosts.base import Process

USERS_PER_CPU = 8
#: Of a service that waits for a database: more than there are users, so that no request waits for a connection.
POOL_SIZE = 40


@dataclass(frozen=True)
class Kind:
    """What runs where, and what is asked of it."""

    service: tuple[int, ...]
    generator: tuple[int, ...]
    slowed_wrk: bool = False
    behind: tuple[int, ...] = ()  # CPUs of what the service waits for; empty: for nothing
    database: Literal["grown", "locked"] | None = None  # None: an upstream
    path: str = "/"
    rate_per_s: float | None = None

    @property
    def users(self) -> int:
        """Of a closed loop."""
        return USERS_PER_CPU * len(self.generator)


@dataclass(frozen=True, kw_only=True)
class Behind:
    """What the service waits for. ``wait`` takes so many seconds and returns what was seen of its connections."""

    environment: Mapping[str, str]
    cpu_s: Callable[[], float]
    wait: Callable[[float], Connections | None]


@dataclass(frozen=True)
class Counters:
    """What everybody had used at one moment."""

    machine: MachineReading
    used_s: Mapping[PartName, float]

    @classmethod
    def read(cls, parts: Mapping[PartName, Callable[[], float]]) -> Counters:
        """Read all of them now."""
        return cls(machine=read_machine(), used_s={name: used_s() for name, used_s in parts.items()})

    def since(self, before: Counters, made: Kind, asked: Asked, connections: Connections | None) -> Seen:
        """Return what was seen between two moments."""
        span = self.machine.monotonic_s - before.machine.monotonic_s
        where: dict[PartName, tuple[int, ...]] = {
            "service": made.service,
            "generator": made.generator,
            "backing": made.behind,
        }
        parts = tuple(
            Part(
                name=name,
                cores=(used_s - before.used_s[name]) / span,
                cpus=frozenset(("here", cpu) for cpu in where[name]),
                most=1.0 if made.rate_per_s and name == "generator" else None,
            )
            for name, used_s in self.used_s.items()
        )

        def rate(name: str) -> float | None:
            now, then = getattr(self.machine, name), getattr(before.machine, name)
            return None if now is None or then is None else max(0.0, now - then) / span

        busy = rate("total_cpu_s")
        own = sum(part.cores or 0.0 for part in parts)
        around = AroundIt(
            n_cpus=len(usable_cpus()),
            stolen_cores=rate("steal_s"),
            other_cores=None if busy is None else max(0.0, busy - own),
            idle_cores=rate("idle_s"),
        )
        return Seen(parts=parts, asked=asked, around=around, connections=connections)


def cpu_s(process: Process) -> float:
    """Return the CPU time that a process and its children used so far.

    Raises:
        RematchError: it ended.
    """
    read = read_tree(process.pid, process.start_ticks, cpu_at_launch_s=process.cpu_at_launch_s, pss=False)
    if read.cpu_s is None:
        raise RematchError(f"process {process.pid} ended while its CPU time was read")
    return read.cpu_s


__all__ = ["POOL_SIZE", "Behind", "Counters", "Kind", "cpu_s"]
