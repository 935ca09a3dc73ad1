# SPDX-License-Identifier: Apache-2.0
"""What was started for a trial: the instance and its backing services, with which limits, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from harness.model.base import Frozen

#: Of the measurement's length: more is a noisy machine.
STEAL_SHARE = 0.01
OTHER_CPU_SHARE = 0.10
#: CPUs that were slower by more than this are worth a word.
SLOWED_SHARE = 0.10


class Endpoint(Frozen):
    """Where the instance listens."""

    host: str
    port: int
    scheme: Literal["http", "https"] = "http"

    @property
    def url(self) -> str:
        """The address without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host  # an address of IPv6
        return f"{self.scheme}://{host}:{self.port}"


class ClockReading(Frozen):
    """Wall and monotonic time read together: joins logs written on either clock."""

    wall_epoch_s: float
    monotonic_s: float


class ResourceReading(Frozen):
    """Resources of one process (tree) at one moment. PSS costs 17 ms, so only at phase boundaries."""

    at: ClockReading
    rss_bytes: int | None
    pss_bytes: int | None
    cpu_s: float | None  # user + system CPU time since the process started
    n_threads: int | None
    n_descriptors: int | None
    compile_s: float | None = None  # time its JIT compilers spent since it started; None: it is no JVM
    system_s: float | None = None  # the part of cpu_s that the kernel spent for it; None: it was not read
    # for how long its threads could have run and had no CPU, all together; None: it was not read
    wait_s: float | None = None
    # for how long its control group was denied CPU since it was made; None: it was not read, or can have no quota
    throttled_s: float | None = None


class GroupReading(Frozen):
    """A control group and the service's process, read at one moment. They differ: a group is charged for
    file pages by whoever touched them first, and resident memory counts shared pages once per process."""

    version: Literal["v1", "v2"]
    memory_bytes: int | None  # charged to the group, file pages included
    memory_max_bytes: int | None  # the highest so far, where the kernel keeps it
    cpu_s: float | None
    n_throttled: int | None
    throttled_s: float | None
    rss_bytes: int | None  # of the process, as samples have it
    process_cpu_s: float | None


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
    other_cpu_s: float | None  # CPU time used by no part of the trial

    def is_noisy(self, window_s: float) -> bool:
        """Tell whether the hypervisor or other processes took so much of ``window_s`` that the trial is flagged."""
        steal_s, other_s = self.steal_s or 0.0, self.other_cpu_s or 0.0
        return window_s > 0 and (steal_s > STEAL_SHARE * window_s or other_s > OTHER_CPU_SHARE * window_s)


def difference(before: float | None, after: float | None) -> float | None:
    """Return after less before; ``None``: one of them is not known."""
    return None if before is None or after is None else after - before


class CpuSpeed(Frozen):
    """How fast one CPU of the service's machine was while the load ran: CPU time of a step of a fixed calculation."""

    cpu: int
    n_readings: int
    step_ns_p05: float  # of all readings; near the CPU's full speed unless it never had it
    step_ns_p50: float
    step_ns_mean: float


def slowed_share(read: Sequence[CpuSpeed]) -> float | None:
    """Return by how much the slowest CPU was slower than in its fastest readings; ``None``: none could be read.

    CPUs that were slow all the time do not show it here.
    """
    return max(
        (item.step_ns_mean / item.step_ns_p05 - 1 for item in read if item.step_ns_p05 > 0), default=None
    )


class HostClock(Frozen):
    """A far host's clocks held against those of the machine that the harness runs on.

    Offsets are far minus here. The true ones lie within ``uncertainty_s``, half the round trip of the
    quickest of the questions.
    """

    role: Literal["service", "load", "further load", "database"] = "service"
    host: str
    at: ClockReading  # when they were compared, here
    wall_offset_s: float
    monotonic_offset_s: float
    uncertainty_s: float
    round_trip_s: float
    n_questions: int


BackingName = Literal["postgresql", "upstream"]
SettingValue = str | int | float | bool


class BackingSettings(Frozen):
    """How the backing services of a trial are set up: ``[backing]`` of an experiment, or of a factor's level."""

    # as a stock server with this number: three of them are kept for the superuser
    max_connections: int = Field(default=100, ge=5, le=20_000)
    storage: Literal["disk", "memory"] = "disk"
    index: bool = False  # contract/index.sql is applied after contract/schema.sql
    # contract/seed-<name>.sql is applied last
    seed: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9-]*$")
    wiped: bool = True  # fresh for each trial; else it lives on through the session
    fsync: bool = True  # off: a commit does not wait for the disk
    # what a new connection costs its client: 4,096 rounds of hashing, or two
    authentication: Literal["scram-sha-256", "md5"] = "scram-sha-256"
    # whose CPUs they have, where all stand on one machine and these are pinned
    beside: Literal["generator", "service"] = "generator"
    # settings of the upstream API, as its service.toml names them
    upstream: dict[str, SettingValue] = Field(default_factory=dict)


class ContainerRecord(Frozen):
    """The container around an instance: its image, its limits, and what the control group counted."""

    engine: str
    image_id: str
    image_bytes: int
    layer_bytes: tuple[int, ...]  # of each layer that holds files, the base first
    network: str
    user: str
    cpuset: str | None
    cpu_quota: float | None  # CPUs' worth of time; None: not limited
    memory_limit_bytes: int | None
    create_s: float
    start_s: float
    at_stop: GroupReading | None = None
    out_of_memory: bool | None = None  # as the daemon saw it


class LimitsRecord(Frozen):
    """The limits that a plain process was to keep to, and who enforced them."""

    # None: nobody; then it was pinned, and its runtime was told
    enforced_by: Literal["cgroup v1", "cgroup v2"] | None = None
    why_not: str | None = None  # why no control group was made
    cpu_quota: float | None  # CPUs' worth of time; None: not limited
    memory_limit_bytes: int
    at_stop: GroupReading | None = None
    out_of_memory: bool | None = None  # whether the kernel killed for memory in it


class RuntimeCpus(Frozen):
    """How many CPUs a runtime goes by, as it says itself: of its own finding, or as it was told."""

    cpus: int | None = None  # GOMAXPROCS, or the processors that a JVM takes as available; None: `why_not`
    collector: str | None = None  # of a JVM: the one that it uses, in its own word
    said_in: str | None = None  # where it says so
    why_not: str | None = None  # why it is not known


class PodRecord(Frozen):
    """One pod of an instance, with three clocks of its start side by side.

    ``conditions`` and ``events`` are on the cluster's wall clock, ``*_after_s`` counts from the request for the pod.
    """

    name: str
    uid: str
    node: str | None
    address: str | None
    pid: int | None  # of its service on this machine; None: it was never seen
    process_start_ticks: int | None = None
    created_epoch_s: float | None = None  # whole seconds, as the API has it
    # condition -> when it became true, in whole seconds
    conditions_epoch_s: dict[str, float] = Field(default_factory=dict)
    # reason -> its first event, to the microsecond
    events_epoch_s: dict[str, float] = Field(default_factory=dict)
    events_lost: tuple[str, ...] = ()  # events of every start that were not found
    # when its process was made, in hundredths of a second; None: it was never seen
    process_after_s: float | None = None
    # when that process was first seen to run the service's program, and no longer the container runtime's;
    # None: not seen, or it ran the program when it was first seen
    program_after_s: float | None = None
    program_gap_s: float | None = None  # at most so much earlier it ran it: since it was last seen not to
    # the prober's first right answer from it; None: none came (censored)
    first_served_after_s: float | None = None
    probes: int | None = None  # how often the prober asked it until then
    # between two questions of the prober: the resolution of its answer
    longest_probe_gap_s: float | None = None
    # the first connection to the service's address that reached it; looked for when all have served
    routed_after_s: float | None = None
    # when the kernel enforced the limit after a boost; None: there was none
    boost_ended_after_s: float | None = None
    restarts: int | None = None
    at_stop: GroupReading | None = None
    # as its service says when it is about to be stopped; None: not recorded
    runtime_cpus: RuntimeCpus | None = None


class KubernetesRecord(Frozen):
    """The cluster around an instance, and its pods."""

    server: str  # version of the API server
    node: str  # kubelet and container runtime of the node, with versions
    proxy_mode: str | None  # kube-proxy's; None: it does not say
    namespace: str
    access: Literal["cluster-ip", "node-port", "ingress"]
    # class of the ingress and its controller; None: the load does not go through one
    ingress: str | None = None
    replicas: int
    cpu_request: float | None
    cpu_limit: float | None  # of each pod, in CPUs; None: not limited
    # of each pod until it served, in CPUs; None: the limit held from the start
    cpu_boost: float | None = None
    scale_from: int | None = None  # pods at first, until they served; None: all were asked for at once
    # from the request for the first pods to that for `replicas`; None: there was one request, or an
    # autoscaler's
    scaled_after_s: float | None = None
    # share of its request above which an autoscaler added pods, from one to `replicas`; None: there was none
    autoscale_cpu: float | None = None
    memory_limit_bytes: int | None  # of each pod; None: not limited
    image_bytes: int | None = None  # of its one layer; None: not written down
    image_import_s: float | None = None  # until the node had the image; None: it had it before the session
    image_from: str | None = None  # whether it was imported or pushed, and by or to what; None: not recorded
    # until the registry had the image; None: it had it before the session, or none was used
    image_push_s: float | None = None
    samples: str  # where samples come from, or why there are none
    watched_s: float | None = None  # how long the prober asked: a pod without an answer is censored there
    pods: tuple[PodRecord, ...] = ()


class InstanceRecord(Frozen):
    """The running variant: what was started, where, with which limits."""

    argv: tuple[str, ...]
    environment: dict[str, str]  # only what the harness set
    pid: int
    process_start_ticks: int  # field 22 of /proc/PID/stat: tells a recycled pid apart
    port: int
    launched: ClockReading
    cpu_affinity: tuple[int, ...]
    cpu_limit: int | None
    # what the kernel said, once it answered; None: it was not asked
    cpus_allowed: tuple[int, ...] | None = None
    artifact_sha256: str
    artifact_bytes: int
    runtime_bytes: int | None  # size of what must be installed beside the artifact
    runtime_version: str | None
    stop_signal: Literal["SIGTERM", "SIGKILL", "exited"] | None = None
    exit_code: int | None = None
    stop_s: float | None = None
    container: ContainerRecord | None = None  # None: a plain process
    limits: LimitsRecord | None = None  # of a plain process; None: no memory limit was wanted
    kubernetes: KubernetesRecord | None = None  # None: not in a cluster


class BackingRecord(Frozen):
    """A backing service of the trial: what was started, where, and how it ended."""

    name: BackingName
    version: str | None
    settings: BackingSettings | None = None  # None: it has none
    argv: tuple[str, ...]
    pid: int
    process_start_ticks: int
    port: int
    launched: ClockReading
    cpu_affinity: tuple[int, ...] = ()
    ready_s: float  # from the order (the copy of a fresh database included) until it answered
    # how many connections the service can have at once; None: no such limit
    service_connections: int | None = None
    filesystem: str | None = None  # type of the one its data lay on
    n_trials_before: int = 0  # trials that used the very same database earlier
    exit_code: int | None = None  # None: it lives on for the next trial
    stop_signal: str | None = None
