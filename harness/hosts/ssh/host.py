# SPDX-License-Identifier: Apache-2.0
"""A machine reached over SSH; a ``MeasuringHost`` like this one. Every moment it tells is on our clocks."""

from __future__ import annotations

import base64
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.agent.cpu_speed import READINGS_PER_S
from harness.agent.docker_api import DockerReply, DockerRequest
from harness.agent.http_exchange import Answer
from harness.agent.machine_counters import MachineReading
from harness.agent.process_tree import TreeResources
from harness.agent.readiness_probe import FirstAnswer
from harness.agent.sampler import Watched
from harness.errors import HostError
from harness.hosts.base import Command, Completed, now
from harness.hosts.local import order_of
from harness.hosts.measuring import Started
from harness.hosts.ssh.agent_start import Agent, start_agent
from harness.hosts.ssh.clock import Offset, offset_by_asking
from harness.hosts.ssh.files import get_file, put_file
from harness.hosts.ssh.processes import SshProcess, SshSampling, SshSpeedMeter
from harness.hosts.ssh.settings import HostSettings
from harness.hosts.ssh.tunnel import Tunnel, why_no_forwarding
from harness.hosts.ssh.workspace import MIN_FREE_BYTES, RemoteWorkspace
from harness.model import ClockReading, GroupReading, HostClock, Machine, ResourceReading
from harness.model.endpoint import Endpoint
from harness.sampling import as_reading

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class SshHost:
    """A host over SSH. Close it: the agent there ends what it started and removes its folder."""

    here = False

    def __init__(
        self,
        name: str,
        settings: HostSettings,
        *,
        alone: bool = True,
        min_free_bytes: int = MIN_FREE_BYTES,
        listen_address: str | None = None,
    ) -> None:
        """Connect and start the agent.

        Raises:
            HostError: it cannot be reached or used; says why and what to do.
            OrphanError: another session measures there.
        """
        self.name = name
        self.listen_address = listen_address or settings.service_address
        self.agent: Agent = start_agent(name, settings, alone=alone)
        self._ask = self.agent.channel.ask
        self._shelf = RemoteWorkspace(self.agent, host=name, min_free_bytes=min_free_bytes)
        self._lock = threading.Lock()
        self._tunnels: dict[tuple[str, int], Tunnel] = {}
        self._docker, self.postgres = settings.docker, settings.postgres
        self._forwards = False
        try:
            self.offset = offset_by_asking(self._ask)
            facts = self._ask("facts")
        except BaseException:
            self.close()
            raise
        self.machine_facts = Machine.model_validate(facts["machine"])
        self.cpus: tuple[int, ...] = tuple(facts["cpus"])
        self.cores = tuple(tuple(core) for core in facts["cores"])
        self.free_bytes: int = facts["free_bytes"]
        self.environment: dict[str, str] = facts["environment"]
        self.user: str = facts["user"]
        self.architecture: str = facts["architecture"]

    def close(self) -> None:
        """End everything over there and the connection. Never raises."""
        for tunnel in self._tunnels.values():
            tunnel.close()
        self.agent.channel.close()

    def run(self, command: Command, timeout_s: float) -> Completed:
        return Completed.model_validate(self._ask("run", order=order_of(command), timeout_s=timeout_s))

    def spawn(self, command: Command) -> SshProcess:
        answer = self._ask("spawn", order=order_of(command))
        return SshProcess(self._ask, answer, self._ours)

    def put(self, source: Path, target: Path) -> None:
        put_file(self.agent.channel, source, target, host=self.name)

    def get(self, source: Path, target: Path) -> None:
        get_file(self.agent.channel, source, target, host=self.name)

    def read(self, path: Path, last_bytes: int | None = None) -> bytes:
        return base64.b64decode(self._ask("read", path=str(path), last_bytes=last_bytes)["content"])

    def resources(self, watched: Watched, *, pss: bool = True) -> ResourceReading:
        answer = TreeResources(**self._ask("resources", watched=asdict(watched), pss=pss))
        reading = as_reading(answer)
        return reading.model_copy(update={"at": self._ours(reading.at)})

    def machine(self) -> MachineReading:
        answer = self._ask("machine")
        return MachineReading(**{**answer, "monotonic_s": answer["monotonic_s"] - self.offset.monotonic_s})

    def sampler(self, samples: Path, machine: Path, hz: float) -> SshSampling:
        answer = self._ask("sampler_start", samples=str(samples), machine=str(machine), hz=hz)
        self._shelf.note_samples(samples, machine)
        return SshSampling(self._ask, answer["sampler"])

    def speed_meter(self, cpus: Sequence[int], *, per_s: float = READINGS_PER_S) -> SshSpeedMeter:
        answer = self._ask("speed_start", cpus=list(cpus), per_s=per_s)
        return SshSpeedMeter(self._ask, answer["meter"])

    def first_answer(
        self,
        endpoint: Endpoint,
        request: bytes,
        watched: Watched,
        *,
        launched: ClockReading,
        deadline_s: float,
    ) -> Started:
        answer = self._ask(
            "first_answer",
            address=endpoint.host,
            port=endpoint.port,
            request=base64.b64encode(request).decode(),
            watched=asdict(watched),
            launched_monotonic_s=launched.monotonic_s + self.offset.monotonic_s,
            deadline_s=deadline_s,
        )
        first = FirstAnswer(
            _answer(answer["answer"], self.offset), answer["waited_s"], answer["polls"], answer["gone"]
        )
        return Started(first, TreeResources(**answer["resources"]))

    def clock(self) -> HostClock:
        self.offset = offset = offset_by_asking(self._ask)
        return HostClock(
            host=self.name,
            at=now(),
            wall_offset_s=offset.wall_s,
            monotonic_offset_s=offset.monotonic_s,
            uncertainty_s=offset.uncertainty_s,
            round_trip_s=offset.round_trip_s,
            n_questions=offset.n_questions,
        )

    def free_port(self, address: str) -> int:
        return int(self._ask("free_port", address=address)["port"])

    def reach(self, endpoint: Endpoint) -> Endpoint:
        """Directly where it listens for others, through the connection where it listens to itself alone.

        Raises:
            HostError: its sshd forwards no ports.
        """
        if endpoint.host not in LOOPBACK:
            return Endpoint(host=endpoint.host, port=endpoint.port)
        with self._lock:
            key = (endpoint.host, endpoint.port)
            if key not in self._tunnels:
                if not self._forwards and (reason := self.why_no_forwarding()) is not None:
                    raise HostError(f"{self.name}: {reason}")
                self._forwards = True
                far = Endpoint(host=endpoint.host, port=endpoint.port)
                self._tunnels[key] = Tunnel(self.agent.channel, far)
            return self._tunnels[key].endpoint

    def why_no_forwarding(self) -> str | None:
        """Return why its sshd carries nothing to its loopback; ``None``: it does."""
        address = LOOPBACK[0]
        return why_no_forwarding(self.agent.channel.client, address, self.free_port(address))

    def open_folder(self, ours: Path) -> Path:
        return self._shelf.open_folder(ours)

    def close_folder(self, ours: Path) -> None:
        with self._lock:
            for key in list(self._tunnels):
                self._tunnels.pop(key).close()
        self._shelf.close_folder(ours, monotonic_offset_s=self.offset.monotonic_s)

    def install(self, folder: Path, *, without: tuple[str, ...] = ()) -> Path:
        return self._shelf.install(folder, without=without)

    def discard(self, folder: Path) -> None:
        self._shelf.discard(folder)

    def docker(
        self, requests: Sequence[DockerRequest], *, address: str | None = None, timeout_s: float = 60.0
    ) -> tuple[DockerReply, ...]:
        told = [{**asdict(request), "body": base64.b64encode(request.body).decode()} for request in requests]
        where = address or self._docker
        answer = self._ask("docker", requests=told, address=where, timeout_s=timeout_s)
        return tuple(_reply(item, self.offset) for item in answer["replies"])

    def start_ticks(self, pid: int) -> int | None:
        result: int | None = self._ask("start_ticks", pid=pid)["start_ticks"]
        return result

    def group(self, pid: int, start_ticks: int) -> GroupReading | None:
        result = self._ask("group", pid=pid, start_ticks=start_ticks)["group"]
        return None if result is None else GroupReading.model_validate(result)

    def folder_bytes(self, folder: Path) -> int | None:
        return int(self._ask("folder_bytes", folder=str(folder))["bytes"])

    def scratch(self, parent: Path, owner: tuple[int, int] | None) -> Path:
        """Return a new folder there that belongs to another user; it goes when the agent goes."""
        return Path(self._ask("scratch", parent=str(parent), owner=owner)["folder"])

    def which(self, *names: str) -> dict[str, str | None]:
        """Return where programs are on its PATH."""
        return self._ask("which", names=list(names))

    def folders(self, *parents: str) -> dict[str, list[str]]:
        """Return the folders right below each of these."""
        return self._ask("folders", parents=list(parents))

    def _ours(self, far: ClockReading) -> ClockReading:
        return self.offset.ours(far)


def _reply(said: dict[str, Any], offset: Offset) -> DockerReply:
    return DockerReply(
        status=said["status"],
        headers=said["headers"],
        body=base64.b64decode(said["body"]),
        began_wall_epoch_s=said["began_wall_epoch_s"] - offset.wall_s,
        began_monotonic_s=said["began_monotonic_s"] - offset.monotonic_s,
        ended_monotonic_s=said["ended_monotonic_s"] - offset.monotonic_s,
    )


def _answer(said: dict[str, Any] | None, offset: Offset) -> Answer | None:
    if said is None:
        return None
    return Answer(
        status=said["status"],
        headers=said["headers"],
        body=base64.b64decode(said["body"]),
        received_monotonic_s=said["received_monotonic_s"] - offset.monotonic_s,
    )
