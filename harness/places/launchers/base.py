# SPDX-License-Identifier: Apache-2.0
"""What the runner sees of a launcher: bring a variant up, watch it, stop it. Always stop it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

from pydantic import model_validator

from harness.errors import HostError, InputError
from harness.model import (
    BackingSettings,
    BuildRecord,
    Endpoint,
    Frozen,
    Implementation,
    InstanceRecord,
    Variant,
)
from harness.places.hosts.measuring import MeasuringHost

#: Environment variables whose values no record, log or data may hold.
SECRETS = frozenset({"PGPASSWORD"})
MASK = "***"


def masked(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as it may be written down."""
    return {name: MASK if name in SECRETS else value for name, value in environment.items()}


class LaunchSpec(Frozen):
    """One instance to be brought up. All its files go below ``folder``."""

    implementation: Implementation
    variant: Variant
    build: BuildRecord
    folder: Path
    cpus: tuple[int, ...] | None = None
    environment: Mapping[str, str] = {}

    @model_validator(mode="after")
    def _memory_is_known(self) -> Self:
        if (asked := self.variant.runtime.memory_asked) is not None:
            problem = (
                "is measured before the first trial of a session, and nothing can be started with it as it is"
            )
            place = f"runtime of {self.implementation.name}"
            raise InputError(problem, place=place, found=asked, allowed="a size, or rematch measure")
        return self


class Instance(ABC):
    """A running variant with its files in a folder of a host; the host is that of the measurement."""

    #: CPU time on the process's account before the program itself ran; to be taken off readings. What makes a
    #: container is on that account too and cannot be told apart.
    cpu_at_launch_s = 0.0

    def __init__(self, record: InstanceRecord, folder: Path, grace_s: float, host: MeasuringHost) -> None:
        self._record, self._folder, self._grace_s, self.host = record, folder, grace_s, host
        #: Where it listens, or will, once ready.
        self.endpoint = Endpoint(host=host.listen_address, port=record.port)

    @property
    def record(self) -> InstanceRecord:
        """What is known of it now; after ``stop`` with exit code and signal."""
        return self._record

    @property
    def stderr_file(self) -> Path:
        return self._folder / STDERR

    @abstractmethod
    def exited(self) -> int | None:
        """Return the exit code when it is gone (128 + n for signal n), else ``None``. Never blocks."""

    @abstractmethod
    def stop(self) -> InstanceRecord:
        """SIGTERM to its process group, SIGKILL after the grace period; idempotent; never raises
        because the process is already gone. Nothing of the group lives on when this returns."""

    def pod_endpoints(self) -> Mapping[str, Endpoint] | None:
        """Return pod -> where it alone listens; ``None``: it is no service of pods."""
        return None

    def port_taken(self) -> bool:
        """Whether it ended because somebody else had its port."""
        return self.exited() not in (None, 0) and PORT_TAKEN.search(self.tail(STDERR)) is not None

    def out_of_memory(self) -> str | None:
        """Return why it looks as if memory ran out, or ``None``. Ask after it ended or was stopped."""
        for name in (STDERR, STDOUT):  # SIGKILL alone tells nothing: anybody sends it
            for line in self.tail(name).splitlines():
                if any(word in line for word in OUT_OF_MEMORY_WORDS):
                    return line.strip()[:300]
        return None

    def tail(self, name: str) -> str:
        """Return the end of one of its files; empty: it cannot be read."""
        try:
            return self.host.read(self._folder / name, TAIL_BYTES).decode(errors="replace")
        except HostError:
            return ""


@runtime_checkable
class SweepsLeft(Protocol):
    """A launcher whose instances outlive a session that was killed, and that can remove them itself."""

    def sweep_left(self) -> None:
        """Remove what ended sessions of this project left, and return when it is gone. Raises RematchError: it cannot
        be removed."""


class Launcher(Protocol):
    """How variants come up in one kind of place."""

    @property
    def name(self) -> str:
        """``process``, ``container``, ..."""

    def unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        """Return why this variant cannot run here (missing JDK, no AOT cache before 24 ...), or ``None``."""

    def build(
        self, implementation: Implementation, variant: Variant, backing: BackingSettings | None = None
    ) -> BuildRecord:
        """Build the artifact (and its AOT cache) unless one of the same source content stands already. ``backing``:
        how the backing services are set up that a training start needs. Raises RematchError: the build failed; ends
        with the log's path."""

    def launch(self, spec: LaunchSpec) -> Instance:
        """Start a fresh process and return at once, before it is ready. Raises TrialFailure: it could not be started
        at all; HostError: what starts it is gone (a Docker daemon); nothing of it is left."""


STDOUT, STDERR = "service.stdout.txt", "service.stderr.txt"
#: No more than this is read of a stream: what matters stands at its end.
TAIL_BYTES = 65536
#: What runtimes say when memory is out; searched in stdout too, where the JVM writes its last word.
OUT_OF_MEMORY_WORDS = (
    "OutOfMemoryError",
    "runtime: out of memory",
    "runtime: cannot allocate memory",
    "MemoryError",
)
PORT_TAKEN = re.compile(r"already in use|port\b.* (is|was) (taken|in use)|EADDRINUSE", re.IGNORECASE)
