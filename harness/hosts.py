# SPDX-License-Identifier: Apache-2.0
"""Where commands run. A host runs, spawns, and moves files; it measures, and tells what time it is.

A command is plain data (no callables, no shell), so that a host reached over SSH can
carry out the very same one. What a host is asked for is split into small interfaces; ``Station``
is all of them together, and is what a trial has one or two of.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from harness.engine import EngineReply, EngineRequest
from harness.first_answer import FirstAnswer
from harness.loadgen.base import Endpoint
from harness.model import ClockReading, Frozen, GroupReading, HostClock, ResourceReading
from harness.sampling import MachineReading, SamplerSummary, TreeResources, Watched


class Command(Frozen):
    """One program to be started. Its environment is ``environment`` on top of a small base, nothing else."""

    argv: tuple[str, ...] = Field(min_length=1)
    folder: Path = Field(description="working directory; exists")
    environment: dict[str, str] = Field(default_factory=dict)
    cpus: tuple[int, ...] | None = Field(default=None, description="pinned to these; None: not pinned")
    stdout: Path | None = Field(
        default=None, description="appended to; below folder when relative; None: dropped"
    )
    stderr: Path | None = None
    run_as: tuple[int, int] | None = Field(
        default=None, description="user and group id; only root may start as somebody else. None: as we are"
    )
    groups: tuple[Path, ...] = Field(
        default=(),
        description="doors (cgroup.procs) of the control groups it enters before the program starts",
    )


StopSignal = Literal["SIGTERM", "SIGINT", "SIGQUIT"]


class Completed(Frozen):
    """A command that ended by itself."""

    exit_code: int = Field(description="128 + n when signal n ended it, as a shell has it")
    stdout: str
    stderr: str
    duration_s: float


class Stopped(Frozen):
    """How a spawned process ended."""

    exit_code: int
    signal: Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGKILL", "exited"]
    stop_s: float = Field(description="from the first signal until nothing of its group was left")


class Process(Protocol):
    """A spawned process, leader of a group of its own; it dies with the harness."""

    @property
    def pid(self) -> int: ...

    @property
    def start_ticks(self) -> int:
        """Field 22 of ``/proc/PID/stat``: with the id it names this process and no other."""
        ...

    @property
    def launched(self) -> ClockReading:
        """Right before the program was executed."""
        ...

    @property
    def cpu_at_launch_s(self) -> float:
        """CPU time already on the process's account at ``launched``; not the program's own."""
        ...

    def exited(self) -> int | None:
        """Return the exit code once it has ended, else ``None``. Never blocks."""
        ...

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit code, or ``None`` when it still runs after ``timeout_s``."""
        ...

    def cpu_s(self) -> float | None:
        """Return the CPU time of it and its children as last seen: once it has ended, nobody can tell."""
        ...

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Stopped:
        """``first`` to the group, SIGKILL after ``grace_s``; nothing of the group is left. Idempotent."""
        ...


class Host(Protocol):
    """A place where commands run."""

    @property
    def name(self) -> str: ...

    def run(self, command: Command, timeout_s: float) -> Completed:
        """Run to the end and return what it said (``stdout`` and ``stderr`` of the command are not used).

        Raises:
            HostError: it cannot be started, or took longer than ``timeout_s`` (its group is gone then).
        """
        ...

    def spawn(self, command: Command) -> Process:
        """Start and return as soon as the program itself runs.

        Raises:
            HostError: it cannot be started.
        """
        ...

    def put(self, source: Path, target: Path) -> None:
        """Copy a file from here to the host."""
        ...

    def get(self, source: Path, target: Path) -> None:
        """Copy a file from the host to here."""
        ...

    def read(self, path: Path, last_bytes: int | None = None) -> bytes:
        """Return a file's content, or no more than its last bytes.

        Raises:
            HostError: it cannot be read.
        """
        ...


class Sampling(Protocol):
    """A sampler at work on a host."""

    def add(self, role: str, watched: Watched) -> None:
        """Sample one more process from the next tick on."""
        ...

    def stop(self) -> SamplerSummary:
        """Stop and write everything out. Idempotent.

        Raises:
            OSError, HostError: the files could not be written.
        """
        ...


@dataclass(frozen=True)
class Started:
    """The first answer of a service, with its resources at that moment."""

    first: FirstAnswer
    resources: TreeResources


class Meter(Protocol):
    """What is measured on the host itself. Every moment it returns is on this machine's clocks."""

    def resources(self, watched: Watched, *, pss: bool = True) -> ResourceReading:
        """Read a process and its children once; of one that has ended everything is ``None``."""
        ...

    def machine(self) -> MachineReading:
        """Read the machine around the processes."""
        ...

    def sampler(self, samples: Path, machine: Path, hz: float) -> Sampling:
        """Start sampling into two files on the host."""
        ...

    def first_answer(
        self,
        endpoint: Endpoint,
        request: bytes,
        watched: Watched,
        *,
        launched: ClockReading,
        deadline_s: float,
    ) -> Started:
        """Poll for the first final answer of a service just launched there."""
        ...


class Timepiece(Protocol):
    """A host's clocks, held against ours."""

    def clock(self) -> HostClock | None:
        """Compare the clocks now; ``None``: they are the same clocks.

        Raises:
            HostError: the host does not answer.
        """
        ...


class Place(Protocol):
    """Where a host stands in the network."""

    @property
    def here(self) -> bool:
        """Whether this is the machine that the harness itself runs on."""
        ...

    @property
    def listen_address(self) -> str:
        """Where its services listen."""
        ...

    def free_port(self, address: str) -> int:
        """Return a port of it that can be bound right now.

        Raises:
            HostError: none of many was free.
        """
        ...

    def reach(self, endpoint: Endpoint) -> Endpoint:
        """Return how somebody on this machine reaches what listens there."""
        ...


class Shelf(Protocol):
    """A host's files, where they are not ours."""

    def open_folder(self, ours: Path) -> Path:
        """Return the folder on the host that stands for one of ours, with what is in ours.

        Raises:
            HostError: there is no room for it.
        """
        ...

    def close_folder(self, ours: Path) -> None:
        """Bring back everything that is in the host's folder, checked by hash, and remove it there.

        Raises:
            HostError: it cannot be had whole.
        """
        ...

    def folder_bytes(self, folder: Path) -> int | None:
        """Return the size of all files below a folder of the host; links count as nothing."""
        ...

    def install(self, folder: Path, *, without: tuple[str, ...] = ()) -> Path:
        """Return where the host keeps a copy of a finished folder; it is sent once per content.

        ``without``: files whose relative names begin so stay here.

        Raises:
            HostError: there is no room for it.
        """
        ...

    def discard(self, folder: Path) -> None:
        """Remove such a copy again; a folder that is ours stays."""
        ...


class Dock(Protocol):
    """A host's Docker daemon, and the processes that it, and not we, started there."""

    @property
    def user(self) -> str:
        """Who we are there, as ``uid:gid``."""
        ...

    def docker(
        self, requests: Sequence[EngineRequest], *, address: str | None = None, timeout_s: float = 60.0
    ) -> tuple[EngineReply, ...]:
        """Ask the daemon there, one request right after the other; see ``engine.exchange_in_a_row``.

        Moments are on this machine's clocks. ``address``: the daemon's; ``None``: the host's usual one.

        Raises:
            HostError: no daemon answers there.
        """
        ...

    def start_ticks(self, pid: int) -> int | None:
        """Return the start time of a running process there (see ``Process``); ``None``: it does not run."""
        ...

    def group(self, pid: int, start_ticks: int) -> GroupReading | None:
        """Read the control group of a process there; ``None``: it is gone, or its group is not to be seen."""
        ...


class Station(Host, Meter, Timepiece, Place, Shelf, Dock, Protocol):
    """All that a trial needs of a machine."""


def now() -> ClockReading:
    """Read both clocks together."""
    return ClockReading(wall_epoch_s=time.time(), monotonic_s=time.monotonic())


__all__ = [
    "Command",
    "Completed",
    "Dock",
    "Host",
    "Meter",
    "Place",
    "Process",
    "Sampling",
    "Shelf",
    "Started",
    "Station",
    "StopSignal",
    "Stopped",
    "Timepiece",
    "now",
]
