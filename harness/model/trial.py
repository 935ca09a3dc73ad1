# SPDX-License-Identifier: Apache-2.0
"""The record of one trial, as it stands in ``record.json``. Absent is ``None``, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from pydantic import Field, JsonValue

from harness.model.base import Frozen
from harness.model.load import CapacitySearch
from harness.model.plan import PlannedTrial
from harness.model.started import (
    BackingRecord,
    ClockReading,
    CpuSpeed,
    HostClock,
    InstanceRecord,
    MachineWindow,
    ResourceReading,
)
from harness.model.warm_up import EarlierLoad, WarmUpRecord

#: Of the requests, held up by the generator itself: half of the hundredth that lies beyond a 99th percentile. Other
#: programs on the generator's CPU hold up a fifth and more (``docs/generators.md``).
LATE_SHARE = 0.005


def sent_late(late_share: float | None) -> bool:
    """Return whether a generator held up more requests than latencies of microseconds allow; ``None``: not known."""
    return late_share is not None and late_share > LATE_SHARE


class AnswerCount(Frozen):
    """How often a request of a mix was sent, and how often it was answered rightly."""

    n_requests: int = Field(ge=0)
    n_right: int = Field(ge=0)


class LoadSummary(Frozen):
    """What one load generator reported of one measurement. ``None``: the tool does not tell.

    Everything counts requests but what is named after flows and ``n_dropped``, which counts
    arrivals. A pass through a flow ends at its first wrong answer: the steps after it are not
    sent, so they are neither requests nor errors here.
    """

    n_requests: int = Field(ge=0)
    n_errors: int = Field(ge=0)
    start_epoch_s: float | None
    duration_s: float = Field(ge=0)
    # requests per second (of a flow: arrivals per second times steps); None in a closed loop
    offered_per_s: float | None
    # answers per second, errors included; pauses between parts are left out
    achieved_per_s: float = Field(ge=0)
    latency_mean_s: float | None
    # what the tool printed itself, or its rows came to where they were counted; keys like p99
    latency_quantiles_s: dict[str, float] = Field(default_factory=dict)
    # how many requests mean and quantiles are of; None: all, or the rows tell
    n_latencies: int | None = Field(default=None, ge=0)
    # of a tool that reports others than its requests': where these come from; None: rows, or print
    latency_method: str | None = None
    resolution_s: float = Field(gt=0)  # the tool's smallest step of latency
    has_requests: bool  # one row per request can be read from the tool's output
    n_dropped: int | None = None  # arrivals the generator never sent
    n_flows: int | None = Field(default=None, ge=0)  # passes begun; None: not a flow
    # passes whose last step was answered rightly; None: not a flow
    n_flows_right: int | None = Field(default=None, ge=0)
    # of the requests, those that the generator itself held up for longer than 50 us once they were due and
    # their connection free; None: it does not know
    late_share: float | None = None
    # the tool held every answer's body against the right one; None: not noted
    bodies_checked: bool | None = None
    unreadable_lines: int = 0
    errors_by_kind: dict[str, int] = Field(default_factory=dict)
    # by the request's name in the mix; empty: the tool does not tell
    answers: dict[str, AnswerCount] = Field(default_factory=dict)

    def quantile_s(self, q: float) -> float | None:
        """Return the quantile that the tool printed, ``q`` from 0 to 1; ``None``: it printed no such one."""
        return self.latency_quantiles_s.get(f"p{q * 100:g}")


class RequestLogRecord(Frozen):
    """What reached the sink of a service's request log, over the whole life of its process."""

    sink: Literal["file", "pipe"]
    # that the service had counted when it was about to be stopped; None: it could not be asked
    requests: int | None
    lines: int | None = None  # that reached the sink; None: not known
    bytes: int | None = None
    # CPU time of the pipe's reader while the load ran, not in other_cpu_s; None: not read
    reader_cpu_s: float | None = None
    reader_ended: bool = False  # the pipe's reader was gone before the service

    @property
    def lost(self) -> int | None:
        """Lines that should be there and are not; ``None``: not known."""
        if self.requests is None or self.lines is None:
            return None
        return max(0, self.requests - self.lines)


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


class Phase(Frozen):
    """One phase of a trial, on both clocks."""

    name: PhaseName
    start: ClockReading
    end: ClockReading


def pod_metrics_file(boundary: str, pod: str) -> str:
    """Return the name of the file that has what one of several pods said on ``GET /metrics`` at a boundary, raw."""
    return f"boundary-{boundary}.{pod}.prom"


class Boundary(Frozen):
    """The instance at the edge of a phase. ``before-load`` and ``after-load`` frame the measurement."""

    name: Literal["first-response", "before-load", "after-load", "idle"]
    reading: ResourceReading
    runtime_metrics_file: str | None = None  # GET /metrics, kept raw
    nmt_file: str | None = None  # jcmd VM.native_memory summary, kept raw
    # pod -> requests answered since its start, as its own /metrics has them, those of /metrics left out;
    # None: no pods, or not all of them said so
    answered_by_pod: dict[str, int] | None = None


class InvariantReading(Frozen):
    """One row of the workload's ``contract/invariants.sql`` after the load: what must hold, and what was found."""

    name: str
    found: int
    expected: int
    # found less expected when the trial began: what an earlier one left in a database that is kept
    already_off: int = 0

    @property
    def holds(self) -> bool:
        """Whether it is as it was: right, or off by no more and no less than this trial found it."""
        return self.found - self.expected == self.already_off


class StoredReading(Frozen):
    """What the load left in the database, held against what the service said it had done.

    ``contract/stored.sql`` counts the traces of a request before the load and after it. A right answer
    is a promise that the trace is there; more traces than requests were sent is one too many.
    """

    request: str
    n_stored: int
    n_right: int = Field(ge=0)
    n_sent: int | None = None  # None: the load was cut short, or may have been; some of it left no row

    @property
    def holds(self) -> bool:
        return self.n_right <= self.n_stored and (self.n_sent is None or self.n_stored <= self.n_sent)


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
    # what the same generator reached against the echo service in this session
    echo_achieved_per_s: float | None
    # echo_achieved_per_s / achieved_per_s; near 1 means the generator was the limit
    headroom_ratio: float | None
    # of each of several that divided a load, until 0.2.0; of one always these
    host: None = None
    folder: Literal["load"] = "load"
    load: None = None
    clock_shift_s: float = Field(default=0.0, ge=0, le=0)


class StoredFile(Frozen):
    """A file of the trial as it lies in the store. ``bytes``/``sha256`` are of the stored form."""

    sha256: str
    bytes: int


#: Reasons to look twice at an ok trial; it stays in, flagged.
Flag = Literal[
    "generator_bottleneck",
    "generator_late",
    "headroom_unknown",
    "errors_seen",
    "arrivals_dropped",
    "throttled",
    "service_waited",
    "noisy_machine",
    "shared_cores",
    "killed_on_stop",
    "limits_not_enforced",
    "sampling_gap",
    "few_requests",
    "clock_skew",
    "still_compiling",
]


class DuetRecord(Frozen):
    """Who ran beside a trial, and how the two exchanged their sets of CPUs."""

    partner: str  # its trial id
    cpus: tuple[int, ...]  # where service and generator of this trial began
    partner_cpus: tuple[int, ...]  # where the partner's began
    interval_s: float  # about how long until the sets were exchanged
    n_exchanges: int = Field(ge=0)  # from both services up until both loads were over
    # of the partner's service and generator while the load ran; None: not known
    partner_cpu_s: float | None = None
    file: str  # each exchange with its moment, and the CPUs of either arm from then on


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
    warm_up: WarmUpRecord | None = None  # of its process; None: not in windows
    load: LoadSummary | None = None
    earlier_loads: tuple[EarlierLoad, ...] = ()  # that the process took before this one and that do not count
    # for the capacity of its process, after the load; None: none was made
    search: CapacitySearch | None = None
    # of its process; None: it logs no requests, or its lines go where nobody counts them
    request_log: RequestLogRecord | None = None
    generator: GeneratorRecord | None = None
    # stored by earlier releases; always empty
    generators: tuple[()] = ()
    coordinator: None = None
    boundaries: tuple[Boundary, ...] = ()
    invariants: tuple[InvariantReading, ...] = ()
    stored: tuple[StoredReading, ...] = ()
    machine: MachineWindow | None = None
    # of the CPUs of service and generator on the service's machine; empty: not read
    cpu_speeds: tuple[CpuSpeed, ...] = ()
    duet: DuetRecord | None = None  # None: nothing ran beside it
    placement: str = ""  # in words: what was pinned where, or why not
    clocks: tuple[HostClock, ...] = ()  # of hosts that are not this machine, before and after the load
    files: dict[str, StoredFile] = Field(default_factory=dict)
    extra: dict[str, JsonValue] = Field(default_factory=dict)


BoundBy = Literal["service", "generator", "backing", "machine", "offered", "unknown"]

#: After "bound by".
BOUND_WORDS: Mapping[BoundBy, str] = MappingProxyType(
    {
        "service": "the service",
        "generator": "the generator",
        "backing": "the database or upstream",
        "machine": "the machine",
        "offered": "the offered rate",
        "unknown": "nothing that was recorded",
    }
)


class Bound(Frozen):
    """What bounded one trial, with the shares that it rests on. ``None``: not known, or there is no such part."""

    by: BoundBy
    why: str  # in words, with the numbers that decided
    service_share: float | None  # CPU time over what the CPUs it may use can give
    generator_share: float | None  # likewise
    backing_share: float | None  # likewise, of database and upstream together
    # of the service's machine: CPU time that other processes or the hypervisor took
    machine_share: float | None
