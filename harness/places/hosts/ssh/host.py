# SPDX-License-Identifier: Apache-2.0
"""A machine reached over SSH. Every moment it tells is on our clocks."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from harness.agent.cpu_speed import READINGS_PER_S
from harness.agent.http_exchange import Answer, FirstAnswer
from harness.agent.machine_counters import MachineReading
from harness.agent.process_tree import TreeResources
from harness.agent.sampler import SamplerSummary, Subject
from harness.errors import HostError
from harness.model import ClockReading, Endpoint, HostClock, Machine, ResourceReading
from harness.places.hosts.base import Command, Completed, Exit, StopSignal, now, run_words
from harness.places.hosts.local import order_of
from harness.places.hosts.measuring import MeasuringHost, SpeedMeter, Started
from harness.places.hosts.ssh.agent import start_agent
from harness.places.hosts.ssh.connection import SshConnection, Tunnel
from harness.places.hosts.ssh.settings import HostSettings
from harness.places.hosts.ssh.workspace import RemoteWorkspace
from harness.places.sampling import as_reading
from harness.toolchains import JAVA_REFERENCE, Jdk, parse_version
from harness.toolchains.find import jdk_of_release

LOOPBACK = ("127.0.0.1", "::1", "localhost")


class SshHost(RemoteWorkspace, MeasuringHost):
    """A host over SSH. Close it: the agent there ends what it started and removes its folder."""

    is_local = False

    def __init__(
        self, name: str, settings: HostSettings, *, alone: bool = True, listen_address: str | None = None
    ) -> None:
        """Connect and start the agent. Raises HostError: it cannot be reached or used; OrphanError: another session
        measures there."""
        self.name = name
        self.listen_address = listen_address or settings.service_address
        self._link = SshConnection(name, settings)
        self._ways: dict[Endpoint, Tunnel] = {}
        self.postgres, self._forwards = settings.postgres, False
        with contextlib.ExitStack() as undo:
            undo.callback(self._link.close)
            super().__init__(start_agent(self._link, settings, alone=alone))
            undo.callback(self.agent.close)
            self.clock()
            undo.pop_all()
        facts = self.agent.facts
        self.machine_facts = Machine.model_validate(facts["machine"])
        self.cpus: tuple[int, ...] = tuple(facts["cpus"])
        self.cores = tuple(tuple(core) for core in facts["cores"])
        self.free_bytes: int = facts["free_bytes"]
        self.environment: dict[str, str] = facts["environment"]
        self.user: str = facts["user"]
        self.architecture: str = facts["architecture"]

    def close(self) -> None:
        """End everything over there and the connection. Never raises."""
        self.agent.close()
        for way in self._ways.values():
            way.close()
        self._link.close()

    def run(self, command: Command, timeout_s: float) -> Completed:
        return Completed(**self._ask("run", order=order_of(command), timeout_s=timeout_s))

    def spawn(self, command: Command) -> SshProcess:
        answer = self._ask("spawn", order=order_of(command))
        return SshProcess(self._ask, answer, self.offset)

    def read(self, path: Path, last_bytes: int | None = None) -> bytes:
        return base64.b64decode(self._ask("read", path=str(path), last_bytes=last_bytes)["content"])

    def resources(self, watched: Subject, *, pss: bool = True) -> ResourceReading:
        answer = TreeResources(**self._ask("resources", watched=asdict(watched), pss=pss))
        reading = as_reading(answer)
        return reading.model_copy(update={"at": taken_off(self.offset, reading.at)})

    def machine(self) -> MachineReading:
        reading = MachineReading(**self._ask("machine"))
        return replace(reading, monotonic_s=reading.monotonic_s - self.offset.monotonic_offset_s)

    def sampler(self, samples: Path, machine: Path, hz: float) -> SshSampling:
        answer = self._ask("sampler_start", samples=str(samples), machine=str(machine), hz=hz)
        self._sampled += (samples, machine)
        return SshSampling(self._ask, answer["sampler"])

    def speed_meter(self, cpus: Sequence[int], *, per_s: float = READINGS_PER_S) -> SpeedMeter:
        number = self._ask("speed_start", cpus=list(cpus), per_s=per_s)["meter"]
        return SpeedMeter(lambda: self._ask("speed_stop", meter=number)["read"])

    def first_answer(
        self, endpoint: Endpoint, request: bytes, watched: Subject, launched: ClockReading, deadline_s: float
    ) -> Started:
        answer = self._ask(
            "first_answer",
            address=(endpoint.host, endpoint.port),
            request=base64.b64encode(request).decode(),
            watched=asdict(watched),
            launched_s=launched.monotonic_s + self.offset.monotonic_offset_s,
            deadline_s=deadline_s,
        )
        known: Answer | None = None
        if (reply := answer["answer"]) is not None:
            received_s = reply["received_monotonic_s"] - self.offset.monotonic_offset_s
            body = base64.b64decode(reply["body"])
            known = Answer(**{**reply, "body": body, "received_monotonic_s": received_s})
        first = FirstAnswer(known, answer["waited_s"], answer["polls"], answer["gone"])
        return Started(first, TreeResources(**answer["resources"]))

    def clock(self) -> HostClock:
        questions = []
        for _ in range(QUESTIONS):
            sent = now()
            reply = self._ask("ping")
            questions.append((sent, ClockReading.model_validate(reply), now()))
        self.offset = estimate_offset(questions, self.name)
        return self.offset

    def free_port(self, address: str) -> int:
        return int(self._ask("free_port", address=address)["port"])

    def reach(self, endpoint: Endpoint) -> Endpoint:
        """Directly where it listens for others, through the connection where it listens to itself alone. Raises
        HostError: its sshd forwards no ports."""
        if endpoint.host not in LOOPBACK:
            return Endpoint(host=endpoint.host, port=endpoint.port)
        with self._lock:
            if endpoint not in self._ways:
                if not self._forwards and (reason := self.why_no_forwarding()) is not None:
                    raise HostError(f"{self.name}: {reason}")
                self._forwards = True
                self._ways[endpoint] = self._link.forward(endpoint)
            return self._ways[endpoint].endpoint

    def why_no_forwarding(self) -> str | None:
        """Return why its sshd carries nothing to its loopback; ``None``: it does."""
        address = LOOPBACK[0]
        return self._link.why_no_forwarding(Endpoint(host=address, port=self.free_port(address)))

    def close_folder(self, local: Path) -> None:
        with self._lock:
            for far in list(self._ways):
                self._ways.pop(far).close()
        super().close_folder(local)

    def folder_bytes(self, folder: Path) -> int | None:
        return int(self._ask("folder_bytes", folder=str(folder))["bytes"])

    def scratch(self, parent: Path, owner: tuple[int, int] | None) -> Path:
        """Return a new folder there that belongs to another user; it goes when the agent goes."""
        return Path(self._ask("scratch", parent=str(parent), owner=owner)["folder"])

    def which(self, *names: str) -> dict[str, str | None]:
        """Return where programs are on its PATH."""
        return self._ask("which", names=list(names))


#: Prints home and release file of each, links followed, both ended by a zero byte.
_LIST_JDKS = (
    'for j in "$1/bin/java" "$(command -v java)" /usr/lib/jvm/*/bin/java; do j="$(readlink -f "$j")"; '
    """h="${j%/bin/java}"; [ -f "$h/release" ] && printf '%s\\0' "$h" && cat "$h/release" && printf '\\0'; done"""
)


def find_remote_jdks(host: SshHost, preferred: str | None) -> tuple[Jdk, ...]:
    """Return the host's JDKs; first that of our own version, then the reference release, then newer ones."""
    listed = run_words(host, "sh", "-c", _LIST_JDKS, "sh", host.environment.get("JAVA_HOME", "")).stdout
    homes = iter(listed.split("\0")[:-1])
    results: dict[Path, Jdk] = {}
    for home, release in zip(homes, homes, strict=True):
        jdk = jdk_of_release(Path(home), release)
        if jdk is not None:
            results.setdefault(jdk.home, jdk)

    def rank(jdk: Jdk) -> tuple[bool, bool, tuple[int, ...]]:
        newest_first = tuple(-number for number in parse_version(jdk.version))
        return jdk.version != preferred, jdk.major != JAVA_REFERENCE, newest_first

    return tuple(sorted(results.values(), key=rank))


#: How many times the clocks are asked; the quickest answer counts.
QUESTIONS = 31


def estimate_offset(questions: Sequence[tuple[ClockReading, ...]], host: str) -> HostClock:
    """Return the offset as the quickest question has it (Cristian 1989). A question leaves at a and its answer comes
    at b, on our clock; the far clock said f in between. The offset is f - (a + b) / 2, wrong by no more than (b - a)
    / 2. ``questions``: a, f and b of each, on both clocks."""
    sent, far, received = min(questions, key=lambda moments: moments[2].monotonic_s - moments[0].monotonic_s)
    round_trip_s = received.monotonic_s - sent.monotonic_s
    return HostClock(
        host=host,
        at=now(),
        wall_offset_s=far.wall_epoch_s - (sent.wall_epoch_s + received.wall_epoch_s) / 2,
        monotonic_offset_s=far.monotonic_s - (sent.monotonic_s + received.monotonic_s) / 2,
        uncertainty_s=round_trip_s / 2,
        round_trip_s=round_trip_s,
        n_questions=len(questions),
    )


def taken_off(offset: HostClock, far: ClockReading) -> ClockReading:
    """Return a far moment on our clocks."""
    return ClockReading(
        wall_epoch_s=far.wall_epoch_s - offset.wall_offset_s,
        monotonic_s=far.monotonic_s - offset.monotonic_offset_s,
    )


class SshProcess:
    """A process on a far host; see ``Process``."""

    def __init__(self, ask: Callable[..., Any], spawned: dict[str, Any], offset: HostClock) -> None:
        self._ask = ask
        self._stopped: Exit | None = None
        self._cpu_s: float | None = None
        self._exit_code: int | None = None
        self.pid: int = spawned["pid"]
        self.start_ticks: int = spawned["start_ticks"]
        self.cpu_at_launch_s: float = spawned["cpu_at_launch_s"]
        far = ClockReading(wall_epoch_s=spawned["wall_epoch_s"], monotonic_s=spawned["monotonic_s"])
        self.launched = taken_off(offset, far)

    def exited(self) -> int | None:
        if self._exit_code is None:
            self._exit_code = self._ask("exited", pid=self.pid)["exit_code"]
        return self._exit_code

    def wait(self, timeout_s: float) -> int | None:
        if self._exit_code is None:
            answer = self._ask("wait", pid=self.pid, timeout_s=timeout_s)
            self._exit_code, self._cpu_s = answer["exit_code"], answer["cpu_s"]
        return self._exit_code

    def cpu_s(self) -> float | None:
        """As of the last ``wait``: no question of its own, the runner waits many times a second."""
        return self._cpu_s

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Exit:
        if self._stopped is None:
            answer = self._ask("stop", pid=self.pid, grace_s=grace_s, first=first)
            self._cpu_s = answer.pop("cpu_s") or self._cpu_s
            self._stopped = Exit(**answer)
            self._exit_code = self._stopped.exit_code
        return self._stopped


class SshSampling:
    """A sampler on a far host; its files come with the trial's folder."""

    def __init__(self, ask: Callable[..., Any], number: int) -> None:
        self._ask, self._number = ask, number
        self._summary: SamplerSummary | None = None

    def add(self, role: str, watched: Subject) -> None:
        self._ask("sampler_add", sampler=self._number, role=role, watched=asdict(watched))

    def pace(self, hz: float) -> None:
        self._ask("sampler_pace", sampler=self._number, hz=hz)

    def stop(self) -> SamplerSummary:
        if self._summary is None:
            self._summary = SamplerSummary(**self._ask("sampler_stop", sampler=self._number))
        return self._summary
