# SPDX-License-Identifier: Apache-2.0
"""Where commands run. A host runs, spawns, and moves files.

A command is plain data (no callables, no shell), so that a host reached over SSH can carry out the very same one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from harness.agent.spawn import Completed, Exit
from harness.model import ClockReading, Frozen


class Command(Frozen):
    """One program to be started. Its environment is ``environment`` on top of a small base, nothing else."""

    argv: tuple[str, ...] = Field(min_length=1)
    folder: Path = Field(description="working directory; exists")
    environment: dict[str, str] = Field(default_factory=dict)
    cpus: tuple[int, ...] | None = Field(default=None, description="pinned to these; None: not pinned")
    stdout: Path | None = Field(default=None, description="appended; below folder if relative; None: dropped")
    stderr: Path | None = None
    run_as: tuple[int, int] | None = Field(
        default=None,
        description="user and group id; only root may start as another user. None: the harness's own",
    )
    groups: tuple[Path, ...] = Field(
        default=(),
        description="doors (cgroup.procs) of the control groups it enters before the program starts",
    )


StopSignal = Literal["SIGTERM", "SIGINT", "SIGQUIT"]


class Process(Protocol):
    """A spawned process, leader of a group of its own; it dies with the harness."""

    @property
    def pid(self) -> int: ...

    @property
    def start_ticks(self) -> int:
        """Field 22 of ``/proc/PID/stat``: with the id it names this process and no other."""

    @property
    def launched(self) -> ClockReading:
        """Right before the program was executed."""

    @property
    def cpu_at_launch_s(self) -> float:
        """CPU time already on the process's account at ``launched``; not the program's own."""

    def exited(self) -> int | None:
        """Return the exit code once it has ended, else ``None``. Never blocks."""

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit code, or ``None`` when it still runs after ``timeout_s``."""

    def cpu_s(self) -> float | None:
        """Return the CPU time of it and its children as last seen: once it has ended, nobody can tell."""

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Exit:
        """``first`` to the group, SIGKILL after ``grace_s``; nothing of the group is left. Idempotent."""


class Host(Protocol):
    """A place where commands run."""

    name: str

    def run(self, command: Command, timeout_s: float) -> Completed:
        """Run to the end and return what it said (``stdout`` and ``stderr`` of the command are not used). Raises
        HostError: it cannot be started, or took longer than ``timeout_s`` (its group is gone then)."""

    def spawn(self, command: Command) -> Process:
        """Start and return as soon as the program itself runs. Raises HostError: it cannot be started."""

    def put(self, source: Path, target: Path) -> None:
        """Copy a file from here to the host."""

    def get(self, source: Path, target: Path) -> None:
        """Copy a file from the host to here."""

    def read(self, path: Path, last_bytes: int | None = None) -> bytes:
        """Return a file's content, or no more than its last bytes. Raises HostError: it cannot be read."""


def run_words(
    host: Host, *words: str, environment: Mapping[str, str] | None = None, within_s: float = 60.0
) -> Completed:
    """Run a program that needs no folder of its own to its end; raises as ``Host.run``."""
    return host.run(Command(argv=words, folder=Path("/"), environment=dict(environment or {})), within_s)


def now() -> ClockReading:
    """Read both clocks together."""
    return ClockReading(wall_epoch_s=time.time(), monotonic_s=time.monotonic())


__all__ = ["Command", "Completed", "Exit", "Host", "Process", "StopSignal", "now", "run_words"]
