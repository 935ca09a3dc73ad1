# SPDX-License-Identifier: Apache-2.0
"""The parties of verifications with real processes: the project's Go services, and the CPU time that each has used."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.agent.machine_counters import MachineReading, read_machine
from harness.agent.platforms import usable_cpus
from harness.agent.process_tree import read_tree
from harness.analysis.tables.bound import AroundIt, Asked, Connections, Part, PartName, Seen
from harness.errors import RematchError
from harness.hosts.base import Command, Process
from harness.hosts.local import LocalHost
from harness.model import BoundBy
from harness.project import find_root
from harness.toolchains import Surroundings, Tool, build_environment

_READY_WITHIN_S = 30.0


def build_go_service(source: str, target: Path, go: Tool, around: Surroundings) -> None:
    """Build ``services/<source>`` into a file, with the flags of its own build: Go compiles libraries for each set.

    Raises:
        RematchError: it does not build.
    """
    command = (str(go.require()), "build", "-trimpath", "-tags", "netgo,osusergo", "-o", str(target), ".")
    folder = find_root() / "services" / source
    build = Command(argv=command, folder=folder, environment=build_environment(around))
    done = LocalHost().run(build, timeout_s=300.0)
    if done.exit_code != 0:
        raise RematchError(
            f"services/{source}: go build ended with {done.exit_code}: {done.stderr.strip()[:300]}"
        )


def wait_until_ready(port: int, path: str, name: str) -> None:
    """Ask a service of this machine until it answers.

    Raises:
        RematchError: it does not within half a minute.
    """
    until = time.monotonic() + _READY_WITHIN_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2.0)
        try:
            connection.request("GET", path)
            if connection.getresponse().status < 500:
                return
        except OSError as error:
            if time.monotonic() > until:
                raise RematchError(f"{name} does not answer on port {port}: {error}") from error
        finally:
            connection.close()
        time.sleep(0.05)


class SteadyRate(threading.Thread):
    """Asks every so often; a question that is late is asked at once."""

    def __init__(self, port: int, rate_per_s: float) -> None:
        super().__init__(name="steady-rate", daemon=True)
        self._port, self._every_s = port, 1 / rate_per_s
        self._over = threading.Event()
        self._n, self._lasted_s = 0, 0.0

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5.0)
        began = time.monotonic()
        while not self._over.wait(max(0.0, began + self._n * self._every_s - time.monotonic())):
            connection.request("GET", "/")
            connection.getresponse().read()
            self._n += 1
        self._lasted_s = time.monotonic() - began
        connection.close()

    def stop(self) -> None:
        self._over.set()
        self.join()

    def rate_per_s(self) -> float:
        return self._n / self._lasted_s if self._lasted_s else 0.0


USERS_PER_CPU = 8
#: Of a service that waits for a database: more than there are users, so that no request waits for a connection.
POOL_SIZE = 40


@dataclass(frozen=True)
class Kind:
    """What runs where, what is asked of it, and what bounds it in truth."""

    truth: BoundBy
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

    def since(self, before: Counters, kind: Kind, asked: Asked, connections: Connections | None) -> Seen:
        """Return what was seen between two moments."""
        span = self.machine.monotonic_s - before.machine.monotonic_s
        cpus = {"service": kind.service, "generator": kind.generator, "backing": kind.behind}
        parts = tuple(
            Part(
                name=name,
                cores=(used_s - before.used_s[name]) / span,
                cpus=frozenset(("here", cpu) for cpu in cpus[name]),
                most=1.0 if kind.rate_per_s and name == "generator" else None,
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
    return tree_cpu_s(process.pid, process.start_ticks, process.cpu_at_launch_s)


def tree_cpu_s(pid: int, start_ticks: int, cpu_at_launch_s: float, *, short_lived: bool = False) -> float:
    """Return what a process and its descendants used, those that ended among them; raises as ``cpu_s``."""
    read = read_tree(pid, start_ticks, cpu_at_launch_s=cpu_at_launch_s, short_lived=short_lived, pss=False)
    if read.cpu_s is None:
        raise RematchError(f"process {pid} ended while its CPU time was read")
    return read.cpu_s
