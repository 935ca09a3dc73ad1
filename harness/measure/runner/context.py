# SPDX-License-Identifier: Apache-2.0
"""What a trial is given (its order, the parts it works with) and what it writes down on the way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from harness.agent.machine_counters import MachineReading
from harness.agent.sampler import Subject
from harness.loadgen.base import LoadGenerator
from harness.measure.runner.duet_arm import DuetArm
from harness.measure.runner.pinning import Placement
from harness.measure.runner.speed_gate import SpeedGate
from harness.model import (
    AnswerCount,
    BackingName,
    BackingRecord,
    Boundary,
    BuildRecord,
    ClockReading,
    ConformanceResult,
    CpuSpeed,
    EarlierLoad,
    GeneratorRecord,
    HostClock,
    Implementation,
    InstanceRecord,
    InvariantReading,
    LoadSummary,
    MachineWindow,
    Outcome,
    Phase,
    PlannedTrial,
    Request,
    RequestLogRecord,
    StartUp,
    StoredReading,
    WarmUpRecord,
)
from harness.model.trial import PhaseName
from harness.places.backing import BackingService, BackingSource
from harness.places.hosts.base import Process, now
from harness.places.hosts.measuring import MeasuringHost
from harness.places.launchers.base import Instance, Launcher
from harness.workloads import Case

SAMPLING_HZ = 50.0
#: While windows of load make a service warm: they are described by the second, and are most of a trial.
WARM_UP_HZ = 20.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long things may take before the trial is ended as ``timed out``."""

    ready_s: float = 60.0
    load_factor: float = 3.0
    load_extra_s: float = 30.0
    generator_stop_s: float = 3.0

    def load_s(self, expected_s: float) -> float:
        return expected_s * self.load_factor + self.load_extra_s


class Ledger(Protocol):
    """A memory of started processes outside this process, by which a later session finds orphans."""

    def note(self, *, pid: int, role: str, port: int | None = None) -> None: ...
    def forget(self, pid: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class TrialContext:
    """What the runner works with: interfaces, and the CPUs of ``host`` (the service's) it may give away.

    ``cores``: which of them share a physical core; none named: each is one.
    """

    host: MeasuringHost
    launcher: Launcher
    ledger: Ledger
    cpus: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...] = ()
    sampling_hz: float = SAMPLING_HZ
    backing: Mapping[BackingName, BackingSource] = field(default_factory=dict)
    other_host: MeasuringHost | None = None
    database_host: MeasuringHost | None = None

    #: Of a trial that runs beside another one; ``None``: nothing runs beside it.
    duet: DuetArm | None = None
    #: Holds a load back until the CPUs have their usual speed; ``None``: nobody asked.
    speed_gate: SpeedGate | None = None

    #: What commands of load tools name here -> what that is on the load's host.
    load_words: Mapping[str, str] = field(default_factory=dict)

    def note(self, host: MeasuringHost, *, pid: int, role: str, port: int | None = None) -> None:
        """Note a process that was started on a host; an agent keeps the books of its own host."""
        if host.is_local:
            self.ledger.note(pid=pid, role=role, port=port)

    def forget(self, host: MeasuringHost, pid: int) -> None:
        """Forget a process that was stopped; as ``note``."""
        if host.is_local:
            self.ledger.forget(pid)

    @property
    def load_host(self) -> MeasuringHost:
        """Where the load comes from: the service's own host unless another was named."""
        return self.other_host or self.host

    @property
    def backing_host(self) -> MeasuringHost:
        """Where backing services stand: beside the service unless another host was named."""
        return self.database_host or self.host

    @property
    def load_apart(self) -> bool:
        return self.load_host is not self.host

    @property
    def backing_apart(self) -> bool:
        return self.backing_host is not self.host


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """One planned trial with all it needs. ``folder`` exists, with an empty ``load`` folder in it."""

    planned: PlannedTrial
    experiment: str
    session_id: str
    implementation: Implementation
    build: BuildRecord
    generator: LoadGenerator | None
    generator_version: str | None = None
    warm_up_generator: LoadGenerator | None = None
    requests: tuple[Request, ...]
    #: Of the warm-up; ``None``: those of the load.
    warm_up_requests: tuple[Request, ...] | None = None
    cases: tuple[Case, ...]
    folder: Path
    seed: int
    contract: Path = Path("contract")
    echo_achieved_per_s: float | None = None
    #: What the definition says of a heap or limit that was measured; the plan has what it came to.
    memory_asked: str | None = None
    limits: Limits = Limits()
    tidy: Callable[[Sequence[str]], tuple[str, ...]] = tuple


@dataclass
class Notes:
    """One trial under way: what it was given, and what becomes its record, filled in as it goes."""

    spec: TrialSpec
    context: TrialContext
    started: ClockReading = field(default_factory=now)
    phases: list[Phase] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    anchors: list[ClockReading] = field(default_factory=list)
    placement: Placement = field(default_factory=Placement)
    backing: list[BackingService] = field(default_factory=list)
    backing_records: list[BackingRecord] = field(default_factory=list)
    backing_cpu_s: float | None = 0.0
    backing_failure: str | None = None
    invariants: tuple[InvariantReading, ...] = ()
    #: Of a database that earlier trials have used: invariant -> found less expected before the load.
    off_before: dict[str, int] = field(default_factory=dict)
    stored_before: dict[str, int] | None = None
    stored: tuple[StoredReading, ...] = ()
    answers: dict[str, AnswerCount] = field(default_factory=dict)
    instance: InstanceRecord | None = None
    start_up: StartUp | None = None
    conformance: ConformanceResult | None = None
    warm_up: WarmUpRecord | None = None
    load: LoadSummary | None = None
    #: Loads that were offered again, see ``to_be_repeated``.
    earlier_loads: list[EarlierLoad] = field(default_factory=list)
    request_log: RequestLogRecord | None = None
    #: The reader of the request log's pipe, and the CPU time it used while the load ran.
    log_reader: Subject | None = None
    log_reader_cpu_s: float | None = None
    generator: GeneratorRecord | None = None
    clocks: list[HostClock] = field(default_factory=list)
    cpus_allowed: tuple[int, ...] | None = None
    service_folder: Path = field(default_factory=Path)
    folders_there: dict[Path, Path] = field(default_factory=dict)
    machine_before: MachineReading | None = None
    machine_after: MachineReading | None = None
    machine: MachineWindow | None = None
    cpu_speeds: tuple[CpuSpeed, ...] = ()
    #: Waited for the CPUs' usual speed, in seconds; ``None``: nobody asked.
    speed_wait_s: float | None = None
    longest_gap_s: float | None = None
    missed_ticks: int | None = None
    ticks_by: str | None = None
    #: Samples a second that were asked for: by "warm-up" in its windows, by "load" in the rest of the trial.
    ticks_hz: dict[str, float] = field(default_factory=dict)
    #: What was counted in a load of its own, or why it was not; ``None``: nobody asked.
    system_calls: dict[str, JsonValue] | None = None
    out_of_memory: str | None = None
    outcome: Outcome = Outcome.OK
    reason: str | None = None

    def __post_init__(self) -> None:
        self.anchors.append(self.started)


def going_on(first: Notes, spec: TrialSpec, context: TrialContext) -> Notes:
    """Return the notes of a trial that goes on with the process of another one: what holds for the process."""
    return Notes(
        spec,
        context,
        placement=first.placement,
        backing=first.backing,
        backing_records=first.backing_records,
        instance=first.instance,
        conformance=first.conformance,
        warm_up=first.warm_up,
        cpus_allowed=first.cpus_allowed,
        service_folder=first.service_folder,
        folders_there=first.folders_there,
    )


@contextlib.contextmanager
def phase(name: PhaseName, notes: Notes) -> Iterator[None]:
    """Keep the phase's two ends, whichever way it ends."""
    start = now()
    try:
        yield
    finally:
        notes.phases.append(Phase(name=name, start=start, end=now()))


def watch(instance: Instance) -> Subject:
    """Return what a sampler needs to know of an instance."""
    record = instance.record
    return Subject(record.pid, record.process_start_ticks, instance.cpu_at_launch_s)


def open_folder(host: MeasuringHost, folder: Path, notes: Notes) -> Path:
    """Open a folder on a host and return its name there, which ``tidy_words`` turns into the local one."""
    remote = host.open_folder(folder)
    notes.folders_there[remote] = folder
    return remote


def watch_process(process: Process) -> Subject:
    """Return what a sampler needs to know of a process that is no instance."""
    return Subject(process.pid, process.start_ticks, process.cpu_at_launch_s)


def tidy_words(words: Sequence[str], notes: Notes) -> tuple[str, ...]:
    """Return the words without places of any machine: a far host's folders are first named as ours are."""
    for remote, local in notes.folders_there.items():
        words = [word.replace(str(remote), str(local)) for word in words]
    return notes.spec.tidy(words)


def tidy_values(environment: Mapping[str, str], notes: Notes) -> dict[str, str]:
    return dict(zip(environment, tidy_words(tuple(environment.values()), notes), strict=True))


def compare_clocks(notes: Notes) -> None:
    """Write down how far the clocks of hosts that are not this machine are from ours, now.

    Raises:
        HostError: one of them does not answer.
    """
    context = notes.context
    service = context.host.clock()
    clocks = {"service": service, "load": context.load_host.clock() if context.load_apart else service}
    if context.backing_apart and notes.backing:
        clocks["database"] = context.backing_host.clock()
    notes.clocks += [clock.model_copy(update={"role": role}) for role, clock in clocks.items() if clock]
