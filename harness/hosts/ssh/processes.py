# SPDX-License-Identifier: Apache-2.0
"""What runs on a far host, as it is seen from here: a process, a sampler, a meter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from harness.agent.sampler import SamplerSummary, Watched
from harness.hosts.base import Stopped, StopSignal
from harness.model import ClockReading, CpuSpeed

#: One question to the agent waits no longer than this; the caller's time limit is made of many.
WAIT_S = 5.0


class SshProcess:
    """A process on a far host; see ``Process``."""

    def __init__(
        self,
        ask: Callable[..., dict[str, Any]],
        said: dict[str, Any],
        ours: Callable[[ClockReading], ClockReading],
    ) -> None:
        self._ask = ask
        self._stopped: Stopped | None = None
        self._cpu_s: float | None = None
        self._exit_code: int | None = None
        self.pid: int = said["pid"]
        self.start_ticks: int = said["start_ticks"]
        self.cpu_at_launch_s: float = said["cpu_at_launch_s"]
        self.launched = ours(ClockReading(wall_epoch_s=said["wall_epoch_s"], monotonic_s=said["monotonic_s"]))

    def exited(self) -> int | None:
        if self._exit_code is None:
            self._exit_code = self._ask("exited", pid=self.pid)["exit_code"]
        return self._exit_code

    def wait(self, timeout_s: float) -> int | None:
        left_s = timeout_s
        while self._exit_code is None:
            answer = self._ask("wait", pid=self.pid, timeout_s=min(left_s, WAIT_S))
            self._exit_code, self._cpu_s = answer["exit_code"], answer["cpu_s"]
            left_s -= WAIT_S
            if left_s <= 0:
                break
        return self._exit_code

    def cpu_s(self) -> float | None:
        """As of the last ``wait``: no question of its own, the runner waits many times a second."""
        return self._cpu_s

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Stopped:
        if self._stopped is None:
            answer = self._ask("stop", pid=self.pid, grace_s=grace_s, first=first)
            self._cpu_s = answer.pop("cpu_s") or self._cpu_s
            self._stopped = Stopped.model_validate(answer)
            self._exit_code = self._stopped.exit_code
        return self._stopped


class SshSampling:
    """A sampler on a far host; its files come with the trial's folder."""

    def __init__(self, ask: Callable[..., dict[str, Any]], number: int) -> None:
        self._ask, self._number = ask, number
        self._summary: SamplerSummary | None = None

    def add(self, role: str, watched: Watched) -> None:
        self._ask("sampler_add", sampler=self._number, role=role, watched=asdict(watched))

    def pace(self, hz: float) -> None:
        self._ask("sampler_pace", sampler=self._number, hz=hz)

    def stop(self) -> SamplerSummary:
        if self._summary is None:
            self._summary = SamplerSummary(**self._ask("sampler_stop", sampler=self._number))
        return self._summary


class SshSpeedMeter:
    """A meter of the speed of a far host's CPUs; a ``SpeedMeter``."""

    def __init__(self, ask: Callable[..., dict[str, Any]], number: int) -> None:
        self._ask, self._number = ask, number
        self._read: tuple[CpuSpeed, ...] | None = None

    def stop(self) -> tuple[CpuSpeed, ...]:
        if self._read is None:
            answer = self._ask("speed_stop", meter=self._number)
            self._read = tuple(CpuSpeed.model_validate(read) for read in answer["read"])
        return self._read
