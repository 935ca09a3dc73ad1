# SPDX-License-Identifier: Apache-2.0
"""One arm of a duet: where its processes run, and where it waits for its partner.

What an arm starts runs on the set of CPUs that the arm has at that moment, and goes with it at every exchange.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cache

from harness.agent.affinity import Exchanger
from harness.agent.spawn import Spawned, Spawner
from harness.errors import TrialFailure
from harness.hosts.base import Command, Completed
from harness.hosts.local import STUB, LocalHost, LocalProcess, order_of
from harness.runner.pinning import Placement

#: How the reason of a trial begins whose partner failed: it says nothing about its own service.
PARTNER_FAILED = "duet_partner_failed"


def failed_with(partner: str, why: str | None) -> str:
    """Return the reason of a trial that was recorded as failed because its partner was."""
    return f"{PARTNER_FAILED}: {partner}{f' ({why})' if why else ''}"


class Rendezvous:
    """Where two arms wait for each other. Once one of them has failed, the other learns it wherever it is."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(2)
        #: Of each arm: its word of this point, and why it has failed.
        self.words: list[object] = [None, None]
        self.why: list[str | None] = [None, None]
        #: One starts after the other, so that both cannot be given one free port.
        self.starting = threading.Lock()

    def leave(self, arm: int, why: str) -> None:
        """Say that an arm has failed, and why."""
        self.why[arm] = self.why[arm] or why
        self.barrier.abort()


@dataclass(kw_only=True)
class DuetArm:
    """One of the two (``arm``: 0 or 1); ``partner``: the other's trial id, ``exchanger``: of both.

    Whatever waits for the partner raises a TrialFailure where that has failed.
    """

    arm: int
    partner: str
    placement: Placement
    exchanger: Exchanger
    rendezvous: Rendezvous
    partner_cpu_s: float | None = None
    host: LocalHost = field(init=False)

    def __post_init__(self) -> None:
        self.host = ArmHost(self)

    def add(self, pid: int, start_ticks: int) -> None:
        """Take a process with the arm from now on."""
        self.exchanger.add(self.arm, pid, start_ticks)

    def begin(self) -> None:
        """Wait until both services are up; the sets of CPUs are exchanged from then on."""
        self.meet()
        self.exchanger.start()

    def meet(self) -> None:
        """Wait for the partner."""
        self._swap(None)

    def both_ready(self, ready: bool) -> bool:
        """Wait for the partner; whether both are ready."""
        return bool(self._swap(ready)) and ready

    def tell(self, cpu_s: float | None) -> None:
        """Tell the partner what this arm used while both loads ran, and note what the partner used; exchanges end."""
        answer = self._swap(cpu_s)
        self.exchanger.stop()
        self.partner_cpu_s = answer if isinstance(answer, float) else None

    def refuse_alone(self) -> None:
        """Go no further without the partner."""
        if self.rendezvous.barrier.broken:
            raise TrialFailure("failed", failed_with(self.partner, self.rendezvous.why[1 - self.arm]))

    def _swap(self, word: object) -> object:
        """Wait for the partner, and return its word of the same point."""
        meeting = self.rendezvous
        meeting.words[self.arm] = word
        try:
            meeting.barrier.wait()
            answer = meeting.words[1 - self.arm]
            meeting.barrier.wait()  # before either has its next word
        except threading.BrokenBarrierError:
            self.refuse_alone()
            raise
        return answer


@cache
def _spawner_of(_arm: int) -> Spawner:
    """One for each arm, so that neither waits for the other's start; its thread lives as long as we do."""
    return Spawner(STUB, host=LocalHost.name, make=LocalProcess)


class ArmHost(LocalHost):
    """This machine as one arm has it: what is started goes where the arm is."""

    def __init__(self, arm: DuetArm) -> None:
        super().__init__()
        self._arm = arm
        self._spawner = _spawner_of(arm.arm)

    def spawn(self, command: Command) -> LocalProcess:
        process = super().spawn(self._on_its_cpus(command))
        self._add(process)
        return process

    def run(self, command: Command, timeout_s: float) -> Completed:
        return self._spawner.run(order_of(self._on_its_cpus(command)), timeout_s, begun=self._add)

    def _add(self, process: Spawned) -> None:
        self._arm.add(process.pid, process.start_ticks)

    def _on_its_cpus(self, command: Command) -> Command:
        return command.model_copy(update={"cpus": self._arm.exchanger.cpus(self._arm.arm)})
