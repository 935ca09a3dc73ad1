# SPDX-License-Identifier: Apache-2.0
"""What the runner sees of a machine: small interfaces. The session decides who stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.hosts import Host
from harness.launchers.base import Instance, Launcher
from harness.loadgen.base import Endpoint
from harness.model import (
    ConformanceResult,
    Implementation,
    MachineWindow,
    Request,
    ResourceReading,
    StartUp,
    Variant,
)


@dataclass(frozen=True, kw_only=True)
class CpuPlan:
    """Which CPUs whom; ``None`` where there are too few to pin anybody apart."""

    service: tuple[int, ...] | None
    generator: tuple[int, ...] | None
    words: str


class Prober(Protocol):
    """What is asked of an instance besides the load. All of it outside the measured time."""

    def wait_until_ready(self, instance: Instance, request: Request, limit_s: float) -> StartUp:
        """Poll the real path until its first right answer.

        Raises:
            TrialFailure: not within the limit, or the process ended.
        """
        ...

    def conformance(
        self, endpoint: Endpoint, implementation: Implementation, variant: Variant
    ) -> ConformanceResult:
        """Ask every case of the contract's face and compare the answers."""
        ...

    def warm_up(self, endpoint: Endpoint, requests: tuple[Request, ...], n: int) -> int:
        """Send ``n`` requests one after the other; return how many were answered as expected."""
        ...

    def snapshots(self, instance: Instance, folder: Path, name: str, *, nmt: bool) -> Mapping[str, str]:
        """Save ``/metrics`` and, for a JVM that tracks it, native memory below ``folder``.

        Returns:
            ``runtime_metrics_file`` and ``nmt_file`` of a ``Boundary``, for what could be had.
        """
        ...


class Sampling(Protocol):
    """Samples under way; they end up in ``samples.csv`` and ``machine.csv`` of the trial's folder."""

    def watch(self, role: str, pid: int) -> None:
        """Sample this process too, from now on."""
        ...

    def stop(self) -> SamplingSummary:
        """End the sampling. Idempotent."""
        ...


@dataclass(frozen=True, kw_only=True)
class SamplingSummary:
    """What the samples say in short. ``cpu_s``: role -> CPU time used while it was watched."""

    machine: MachineWindow | None
    cpu_s: Mapping[str, float]
    longest_gap_s: float | None


class Observer(Protocol):
    """Eyes on processes and on the machine."""

    def read(self, pid: int) -> ResourceReading:
        """Read one process (tree) thoroughly, PSS included: some 20 ms, for phase boundaries."""
        ...

    def sample(self, folder: Path) -> Sampling:
        """Start sampling into ``folder`` (50 Hz; the machine at 2 Hz)."""
        ...

    def oom_kills(self) -> int | None:
        """How often the kernel killed for want of memory since boot, if it tells."""
        ...


class Ledger(Protocol):
    """Remembers started processes outside this process, so that a later session finds orphans."""

    def note(self, *, pid: int, role: str, port: int | None = None) -> None: ...

    def forget(self, pid: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Everything the runner works with."""

    host: Host
    launcher: Launcher
    place: Callable[[Variant], CpuPlan]
    prober: Prober
    observer: Observer
    ledger: Ledger
