# SPDX-License-Identifier: Apache-2.0
"""A machine as a trial has it: a host that also measures, tells what time it is, and keeps files and ports.

Every moment that a host returns is on this machine's clocks. A host that does not answer is a ``HostError``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from harness.agent.cpu_speed import READINGS_PER_S
from harness.agent.http_exchange import FirstAnswer
from harness.agent.machine_counters import MachineReading
from harness.agent.process_tree import TreeResources
from harness.agent.sampler import SamplerSummary, Subject
from harness.model import ClockReading, CpuSpeed, Endpoint, HostClock, ResourceReading
from harness.places.hosts.base import Host


class Sampling(Protocol):
    """A sampler at work on a host."""

    def add(self, role: str, watched: Subject) -> None:
        """Sample one more process from the next tick on."""

    def pace(self, hz: float) -> None:
        """Take so many samples a second, 1 to 1000, from the next tick on."""

    def stop(self) -> SamplerSummary:
        """Stop and write everything out. Idempotent. Raises OSError, HostError: the files could not be written."""


@dataclass(frozen=True)
class SpeedMeter:
    """A meter of the speed of CPUs, at work on a host; ``ended``: ends it, and returns its readings as plain data."""

    ended: Callable[[], Iterable[Mapping[str, Any]]]

    def stop(self) -> tuple[CpuSpeed, ...]:
        """Stop, and return what was read, CPUs in order; those that could not be read are left out."""
        return tuple(CpuSpeed.model_validate(read) for read in self.ended())


@dataclass(frozen=True)
class Started:
    """The first answer of a service, with its resources at that moment."""

    first: FirstAnswer
    resources: TreeResources


class MeasuringHost(Host):
    """All that a trial needs of a machine. What is not abstract is so where this is the harness's own machine."""

    #: Whether this is the machine that the harness itself runs on.
    is_local: bool
    #: Where its services listen.
    listen_address: str
    #: Who we are there, as ``uid:gid``.
    user: str

    @abstractmethod
    def resources(self, watched: Subject, *, pss: bool = True) -> ResourceReading:
        """Read a process and its children once; of one that has ended everything is ``None``."""

    @abstractmethod
    def machine(self) -> MachineReading:
        """Read the machine around the processes."""

    @abstractmethod
    def sampler(self, samples: Path, machine: Path, hz: float) -> Sampling:
        """Start sampling into two files on the host."""

    @abstractmethod
    def speed_meter(self, cpus: Sequence[int], *, per_s: float = READINGS_PER_S) -> SpeedMeter:
        """Start reading how fast these CPUs are, so many times a second in all."""

    @abstractmethod
    def first_answer(
        self, endpoint: Endpoint, request: bytes, watched: Subject, launched: ClockReading, deadline_s: float
    ) -> Started:
        """Poll for the first final answer of a service just launched there."""

    def clock(self) -> HostClock | None:
        """Compare the clocks now; ``None``: they are the same clocks."""
        return None

    @abstractmethod
    def free_port(self, address: str) -> int:
        """Return a port of it that can be bound right now. Raises HostError: none of many was free."""

    def reach(self, endpoint: Endpoint) -> Endpoint:
        """Return how somebody on this machine reaches what listens there."""
        return endpoint

    def open_folder(self, local: Path) -> Path:
        """Return the folder on the host that stands for one of ours, with what is in ours. Raises HostError: there is
        no room for it."""
        return local

    def close_folder(self, local: Path) -> None:
        """Bring back everything that is in the host's folder, checked by hash, and remove it there. Raises HostError:
        it cannot be had whole."""

    @abstractmethod
    def folder_bytes(self, folder: Path) -> int | None:
        """Return the size of all files below a folder of the host; links count as nothing."""

    def install(self, folder: Path, *, without: tuple[str, ...] = ()) -> Path:
        """Return where the host keeps a copy of a finished folder; it is sent once per content. ``without``: files
        whose relative names begin so stay here. Raises HostError: there is no room for it."""
        return folder
