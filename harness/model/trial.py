# SPDX-License-Identifier: Apache-2.0
"""The record of one trial, as it stands in ``record.json``. Absent is ``None``, never zero."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from harness.model.backing import BackingName, BackingSettings
from harness.model.base import Frozen
from harness.model.load import LoadSummary
from harness.model.plan import PlannedTrial

SCHEMA_VERSION = 1

PhaseName = Literal["backing", "start-up", "conformance", "warm-up", "measurement", "cool-down", "idle"]


class Outcome(StrEnum):
    """How a trial ended. Every outcome is data; only ``ok`` enters the estimates, the rest is counted."""

    OK = "ok"
    NONCONFORMING = "nonconforming"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    OVERLOADED = "overloaded"
    INCONSISTENT = "inconsistent"


class ClockReading(Frozen):
    """Wall and monotonic time read together: joins logs written on either clock."""

    wall_epoch_s: float
    monotonic_s: float


class Phase(Frozen):
    """One phase of a trial, on both clocks."""

    name: PhaseName
    start: ClockReading
    end: ClockReading


class ResourceReading(Frozen):
    """Resources of one process (tree) at one moment. PSS costs 17 ms, so only at phase boundaries."""

    at: ClockReading
    rss_bytes: int | None
    pss_bytes: int | None
    cpu_s: float | None = Field(description="user + system CPU time since the process started")
    n_threads: int | None
    n_descriptors: int | None


class Boundary(Frozen):
    """The instance at the edge of a phase. ``before-load`` and ``after-load`` frame the measurement."""

    name: Literal["first-response", "before-load", "after-load", "idle"]
    reading: ResourceReading
    runtime_metrics_file: str | None = Field(default=None, description="GET /metrics, kept raw")
    nmt_file: str | None = Field(default=None, description="jcmd VM.native_memory summary, kept raw")


class GroupReading(Frozen):
    """A control group and the service's process, read at one moment. They differ: a group is charged for
    file pages by whoever touched them first, and resident memory counts shared pages once per process."""

    version: Literal["v1", "v2"]
    memory_bytes: int | None = Field(description="charged to the group, file pages included")
    memory_max_bytes: int | None = Field(description="the highest so far, where the kernel keeps it")
    cpu_s: float | None
    n_throttled: int | None
    throttled_s: float | None
    rss_bytes: int | None = Field(description="of the process, as samples have it")
    process_cpu_s: float | None


class ContainerRecord(Frozen):
    """The container around an instance: its image, its limits, and what the control group counted."""

    engine: str
    image_id: str
    image_bytes: int
    layer_bytes: tuple[int, ...] = Field(description="of each layer that holds files, the base first")
    network: str
    user: str
    cpuset: str | None
    cpu_quota: float | None = Field(description="CPUs' worth of time; None: not limited")
    memory_limit_bytes: int | None
    create_s: float
    start_s: float
    at_stop: GroupReading | None = None
    out_of_memory: bool | None = Field(default=None, description="as the daemon saw it")


class LimitsRecord(Frozen):
    """The limits that a plain process was to keep to, and who enforced them."""

    enforced_by: Literal["cgroup v1", "cgroup v2"] | None = Field(
        default=None, description="None: nobody; then it was pinned, and its runtime was told"
    )
    why_not: str | None = Field(default=None, description="why no control group was made")
    cpu_quota: float | None = Field(description="CPUs' worth of time; None: not limited")
    memory_limit_bytes: int
    at_stop: GroupReading | None = None
    out_of_memory: bool | None = Field(default=None, description="whether the kernel killed for memory in it")


class InstanceRecord(Frozen):
    """The running variant: what was started, where, with which limits."""

    argv: tuple[str, ...]
    environment: dict[str, str] = Field(description="only what the harness set")
    pid: int
    process_start_ticks: int = Field(description="field 22 of /proc/PID/stat: tells a recycled pid apart")
    port: int
    launched: ClockReading
    cpu_affinity: tuple[int, ...]
    cpu_limit: int | None
    cpus_allowed: tuple[int, ...] | None = Field(
        default=None, description="what the kernel said, once it answered; None: it was not asked"
    )
    artifact_sha256: str
    artifact_bytes: int
    runtime_bytes: int | None = Field(description="size of what must be installed beside the artifact")
    runtime_version: str | None
    stop_signal: Literal["SIGTERM", "SIGKILL", "exited"] | None = None
    exit_code: int | None = None
    stop_s: float | None = None
    container: ContainerRecord | None = Field(default=None, description="None: a plain process")
    limits: LimitsRecord | None = Field(
        default=None, description="of a plain process; None: no memory limit was wanted"
    )


class BackingRecord(Frozen):
    """A backing service of the trial: what was started, where, and how it ended."""

    name: BackingName
    version: str | None
    settings: BackingSettings | None = Field(default=None, description="None: it has none")
    argv: tuple[str, ...]
    pid: int
    process_start_ticks: int
    port: int
    launched: ClockReading
    cpu_affinity: tuple[int, ...] = ()
    ready_s: float = Field(
        description="from the order (the copy of a fresh database included) until it answered"
    )
    service_connections: int | None = Field(
        default=None, description="how many connections the service can have at once; None: no such limit"
    )
    filesystem: str | None = Field(default=None, description="type of the one its data lay on")
    n_trials_before: int = Field(default=0, description="trials that used the very same database earlier")
    exit_code: int | None = Field(default=None, description="None: it lives on for the next trial")
    stop_signal: str | None = None


class InvariantReading(Frozen):
    """One row of the workload's ``contract/invariants.sql`` after the load: what must hold, and what was found."""

    name: str
    found: int
    expected: int

    @property
    def holds(self) -> bool:
        return self.found == self.expected


class StartUp(Frozen):
    """From launch to the first correct answer."""

    time_to_first_response_s: float
    polls: int
    cpu_s_at_first_response: float | None
    rss_bytes_at_first_response: int | None


class ConformanceResult(Frozen):
    """The contract's cases against this very instance."""

    n_cases: int
    failures: tuple[str, ...] = ()


class GeneratorRecord(Frozen):
    """The load generator: what ran, what it used, and how far it was from its own limit."""

    name: str
    version: str | None
    argv: tuple[str, ...]
    environment: dict[str, str] = Field(default_factory=dict)
    cpu_affinity: tuple[int, ...]
    cpu_s: float | None
    exit_code: int | None
    echo_achieved_per_s: float | None = Field(
        description="what the same generator reached against the echo service in this session"
    )
    headroom_ratio: float | None = Field(
        description="echo_achieved_per_s / achieved_per_s; near 1 means the generator was the limit"
    )
    host: str | None = Field(default=None, description="one of several: where it ran")
    folder: str = Field(default="load", description="where its files lie, below the trial's")
    load: LoadSummary | None = Field(default=None, description="one of several: what it reported itself")
    clock_shift_s: float = Field(
        default=0.0, description="one of several: added to its wall times, they are on the first one's clock"
    )


class CoordinatorRecord(Frozen):
    """The process that commanded the generators (Locust's master, JMeter's controller); it asks nothing itself.

    ``None``: it ended before it said so. Its own count and the rows that were kept are two ways to one number.
    """

    process: GeneratorRecord
    n_requests: int | None = Field(default=None, description="as it counted what the generators told it")
    n_errors: int | None = Field(default=None, description="of these, wrong ones")
    n_rows: int | None = Field(default=None, description="rows of all generators together")

    @property
    def disagrees(self) -> bool:
        """Whether its count is not the number of rows."""
        return self.n_requests is not None and self.n_rows is not None and self.n_requests != self.n_rows


class MachineWindow(Frozen):
    """The machine during the measurement: reasons to distrust it. ``None``: not to be had here."""

    psi_cpu_some_s: float | None
    psi_memory_some_s: float | None
    psi_io_some_s: float | None
    steal_s: float | None
    idle_s: float | None
    throttled_s: float | None
    n_throttled: int | None
    load_average_1m: float | None
    other_cpu_s: float | None = Field(description="CPU time used by neither service nor generator")


class HostClock(Frozen):
    """A far host's clocks held against those of the machine that the harness runs on.

    Offsets are far minus here. The true ones lie within ``uncertainty_s``, half the round trip of the
    quickest of the questions.
    """

    role: Literal["service", "load", "further load", "database"] = "service"
    host: str
    at: ClockReading = Field(description="when they were compared, here")
    wall_offset_s: float
    monotonic_offset_s: float
    uncertainty_s: float
    round_trip_s: float
    n_questions: int


class StoredFile(Frozen):
    """A file of the trial as it lies in the store. ``bytes``/``sha256`` are of the stored form."""

    sha256: str
    bytes: int


#: Reasons to look twice at an ok trial; it stays in, flagged.
Flag = Literal[
    "generator_bottleneck",
    "headroom_unknown",
    "errors_seen",
    "arrivals_dropped",
    "counts_differ",
    "throttled",
    "noisy_machine",
    "shared_cores",
    "killed_on_stop",
    "limits_not_enforced",
    "sampling_gap",
    "few_requests",
    "clock_skew",
]


class TrialRecord(Frozen):
    """One fresh instance taken through one configuration: the unit of replication."""

    schema_version: int = SCHEMA_VERSION
    experiment: str
    session_id: str
    planned: PlannedTrial
    outcome: Outcome
    reason: str | None = None
    flags: tuple[Flag, ...] = ()
    started: ClockReading
    ended: ClockReading
    anchors: tuple[ClockReading, ...] = ()
    phases: tuple[Phase, ...] = ()
    backing: tuple[BackingRecord, ...] = ()
    instance: InstanceRecord | None = None
    start_up: StartUp | None = None
    conformance: ConformanceResult | None = None
    load: LoadSummary | None = None
    generator: GeneratorRecord | None = Field(default=None, description="of several: all together")
    generators: tuple[GeneratorRecord, ...] = Field(
        default=(), description="each of several, in order; empty where one offered the whole load"
    )
    coordinator: CoordinatorRecord | None = Field(
        default=None, description="who commanded several; None: nobody, each went its own way"
    )
    boundaries: tuple[Boundary, ...] = ()
    invariants: tuple[InvariantReading, ...] = ()
    machine: MachineWindow | None = None
    placement: str = Field(default="", description="in words: what was pinned where, or why not")
    clocks: tuple[HostClock, ...] = Field(
        default=(), description="of hosts that are not this machine, before and after the load"
    )
    files: dict[str, StoredFile] = Field(default_factory=dict)
    extra: dict[str, JsonValue] = Field(default_factory=dict)
