# SPDX-License-Identifier: Apache-2.0
"""This machine as a host: commands are spawned here, and the kernel is asked directly."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.agent.cpu_speed import READINGS_PER_S, CpuSpeedMeter
from harness.agent.files import folder_bytes
from harness.agent.http_exchange import gone_check, poll_first_answer
from harness.agent.machine_counters import MachineReading, read_machine
from harness.agent.ports import free_port
from harness.agent.process_tree import read_group, read_tree
from harness.agent.processes import read_stat
from harness.agent.sampler import Sampler, Subject
from harness.agent.spawn import Spawned, Spawner
from harness.errors import HostError
from harness.model import ClockReading, Endpoint, GroupReading, ResourceReading
from harness.places.hosts.base import Command, Completed, Exit, StopSignal
from harness.places.hosts.measuring import MeasuringHost, Sampling, SpeedMeter, Started
from harness.places.sampling import as_reading

STUB = Path(__file__).resolve().parents[2] / "agent" / "spawn_stub.py"


class LocalHost(MeasuringHost):
    """This machine."""

    name = "local"
    is_local = True
    #: Whether a service's address is translated on its way, so that early refusals are remembered there.
    translates = False

    def __init__(self, listen_address: str = "127.0.0.1") -> None:
        self.listen_address, self.user = listen_address, f"{os.getuid()}:{os.getgid()}"
        self._spawner = Spawner(STUB, host=self.name, make=LocalProcess)

    def run(self, command: Command, timeout_s: float) -> Completed:
        return self._spawner.run(order_of(command), timeout_s)

    def spawn(self, command: Command) -> LocalProcess:
        process: LocalProcess = self._spawner.spawn(order_of(command))
        return process

    def put(self, source: Path, target: Path) -> None:
        try:
            shutil.copy2(source, target)
        except OSError as problem:
            raise HostError(f"{source} -> {target} on {self.name}: {problem.strerror}") from problem

    get = put

    def read(self, path: Path, last_bytes: int | None = None) -> bytes:
        try:
            with path.open("rb") as stream:
                if last_bytes is not None:
                    stream.seek(max(0, stream.seek(0, 2) - last_bytes))
                return stream.read()
        except OSError as problem:
            raise HostError(f"{path} on {self.name}: cannot be read: {problem.strerror}") from problem

    def resources(self, watched: Subject, *, pss: bool = True) -> ResourceReading:
        return as_reading(read_tree(**asdict(watched), pss=pss))

    def machine(self) -> MachineReading:
        return read_machine()

    def sampler(self, samples: Path, machine: Path, hz: float) -> Sampling:
        sampler = Sampler(samples, machine, hz)
        sampler.start()
        return sampler

    def speed_meter(self, cpus: Sequence[int], *, per_s: float = READINGS_PER_S) -> SpeedMeter:
        meter = CpuSpeedMeter(cpus, per_s)
        meter.start()
        return SpeedMeter(meter.stop)

    def first_answer(
        self, endpoint: Endpoint, request: bytes, watched: Subject, launched: ClockReading, deadline_s: float
    ) -> Started:
        first = poll_first_answer(
            endpoint,
            request,
            launched_monotonic_s=launched.monotonic_s,
            deadline_s=deadline_s,
            gone=gone_check(watched.pid, watched.start_ticks),
            from_outside=self.translates,
        )
        return Started(first, read_tree(**asdict(watched), pss=False))

    def free_port(self, address: str) -> int:
        return free_port(address)

    def folder_bytes(self, folder: Path) -> int | None:
        return folder_bytes(folder)


def start_ticks_of(pid: int) -> int | None:
    """Return the start time of a running process (see ``Process``); ``None``: it does not run."""
    stat = read_stat(pid)
    return None if stat is None or stat.ended else stat.start_ticks


def group_of(pid: int, start_ticks: int) -> GroupReading | None:
    """Read the control group of a process; ``None``: it is gone, or its group is not to be seen."""
    result = read_group(pid, start_ticks)
    return None if result is None else GroupReading.model_validate(result)


class LocalProcess(Spawned):
    """A process on this machine; see ``Process``."""

    @property
    def launched(self) -> ClockReading:
        return ClockReading(wall_epoch_s=self.launched_wall_epoch_s, monotonic_s=self.launched_monotonic_s)

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Exit:
        return self.end(grace_s, first)


def order_of(command: Command) -> dict[str, object]:
    """Return a command as plain data; see ``Spawner``."""
    return command.model_dump(mode="json")
