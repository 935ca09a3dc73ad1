# SPDX-License-Identifier: Apache-2.0
"""A session as it stands on disk: what was written before the first trial, and beside the trials.

Who built a program, and how it is written, decide a number as much as its language does: tables, figures and captions
say them by ``label_of`` and ``coding_of``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field, JsonValue

from harness.model.base import Frozen
from harness.model.implementation import Implementation
from harness.model.load import Load
from harness.model.load_tools import GeneratorName
from harness.model.plan import Configuration, Plan
from harness.model.study import Experiment, Variant


class Machine(Frozen):
    """The machine in the terms a reader needs."""

    hostname_hash: str  # tells two machines apart without naming them
    cpu_model: str
    n_cpus: int
    memory_bytes: int
    kernel: str
    distribution: str
    cgroup: str
    virtualisation: str | None
    descriptor_limit: int
    small: bool  # fewer cores than service and generator need for themselves
    # of the kernel, that change what a request costs: who shares a CPU with whom, large pages, clock rates;
    # one that the kernel does not have is left out
    settings: dict[str, str] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What has to be the same for what a machine was before to be compared with what it is now."""
        return f"{self.hostname_hash}/{self.cpu_model}/{self.n_cpus}"


class Provenance(Frozen):
    """Where numbers come from: commit, definition, machine, versions, clocks."""

    commit: str | None
    dirty: bool | None
    definition_sha256: str
    lock_sha256: str
    machine: Machine  # the service's
    # role -> machine, where not everything ran on one
    machines: dict[str, Machine] = Field(default_factory=dict)
    tools: dict[str, str]  # tool -> version as it prints itself
    python_packages: dict[str, str]
    started_epoch_s: float
    clock_source: str | None


class FormBuild(Frozen):
    """How another form of a built Java program came to be: its trimmed runtime, or its native image."""

    form: Literal["jlink", "native"]
    tool: str  # what the tool that made it says of itself
    argv: tuple[str, ...]
    build_s: float  # for the form alone; the program's own build comes before it
    image_bytes: int | None  # the trimmed runtime, or the native image; None: there is none
    image_sha256: str | None = None  # of a native image
    peak_rss_bytes: int | None = None  # of the build, where its tool tells
    modules: tuple[str, ...] = ()
    problem: str | None = None  # why there is no image

    @property
    def unofficial(self) -> bool:
        """Whether the tool says of itself that it is nobody's release."""
        return "unofficial" in self.tool


class CpuProfile(Frozen):
    """The profile that a Go program was compiled with, and the training run that it is of."""

    cpu_s: float  # CPU time of the service under the load of that run; Go takes 100 samples a second of it
    n_requests: int  # answered in the training run
    profile_bytes: int
    profile_sha256: str


class BuildRecord(Frozen):
    """How an artifact came to be."""

    implementation: str
    source_sha256: str
    argv: tuple[str, ...]
    # measured here when this source was really built, maybe earlier; None: nothing to build
    build_s: float | None
    artifact_bytes: int  # the artifact with the libraries it needs beside it
    artifact_sha256: str
    aot_training_s: float | None = None
    aot_cache_bytes: int | None = None
    cpu_profile: CpuProfile | None = None  # None: compiled without one
    form: FormBuild | None = None  # None: the program as it was built


class EchoReading(Frozen):
    """One generator against the minimal echo service: the most it can do here under one load and mix."""

    load: Load
    mix: str
    achieved_per_s: float
    n_requests: int
    duration_s: float
    # as the tool reports it; None: not told, or read before latencies were kept
    latency_mean_s: float | None = None
    # those that so many requests can tell, keys like p99
    latency_quantiles_s: dict[str, float] = Field(default_factory=dict)


def echo_of(configuration: Configuration, readings: Iterable[EchoReading]) -> EchoReading | None:
    """Return what the echo service had under a configuration's load and mix; ``None``: it was not tried."""
    asked = (configuration.load, configuration.mix)
    return next((reading for reading in readings if (reading.load, reading.mix) == asked), None)


class Unavailable(Frozen):
    """A variant that cannot run here, said out loud."""

    variant: str
    reason: str


class Registration(Frozen):
    """What was fixed before the first trial: the plan, when to stop, and the rules by which verdicts are made."""

    n_blocks: int
    stopping: str
    rules: dict[str, float]  # name of a rule of the verdicts -> its value then
    sha256: str  # of these, the plan and the definition, as canonical JSON


class SessionHeader(Frozen):
    """Written first, never changed: the definition, the plan and the provenance."""

    schema_version: int = 1
    session_id: str
    experiment: Experiment
    implementations: dict[str, Implementation]
    plan: Plan
    provenance: Provenance
    unavailable: tuple[Unavailable, ...] = ()
    registration: Registration | None = None  # None: measured before plans were registered
    notes: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def settle_s(self) -> float:
        """For how long each load of the session settles, in seconds: no metric counts that head."""
        return self.experiment.profiles[self.plan.profile].settle_s

    @property
    def blocks_asked(self) -> int | None:
        """How many blocks were asked for in place of the profile's number; None: the profile's."""
        noted = self.notes.get("blocks")
        asked = noted.get("asked") if isinstance(noted, dict) else None
        return asked if isinstance(asked, int) else None


#: After the label of a native image that no release of a compiler made.
UNOFFICIAL = "(unofficial build)"
#: What a caption says where such a label stands.
UNOFFICIAL_NOTE = (
    "Unofficial build: a native image by our own build of the SubstrateVM compiler, not by GraalVM CE."
)
#: workload -> how its matched programs are written where nothing else is asked for.
DEFAULT_CODING: Mapping[str, str] = {"strings": "tuned", "bank": "idiomatic", "clients": "idiomatic"}
#: Names of settings, and the face that has a coding.
_FACE, _CRAFT, _MATCHED = "face", "craft", "matched"


def label_of(name: str, variant: Variant, builds: Mapping[str, BuildRecord]) -> str:
    """Return what tables and figures call a variant: its label, else its name, and that its build is unofficial.

    Args:
        builds: of the session, by ``build_name``; of a variant without one nothing is known.
    """
    label = variant.label or name
    build = builds.get(variant.build_name)
    unofficial = build is not None and build.form is not None and build.form.unofficial
    return f"{label} {UNOFFICIAL}" if unofficial else label


def coding_of(workload: str, variant: Variant) -> str | None:
    """Return how a program is written: ``idiomatic``, ``tuned``, or ``as published`` (or another face).

    ``None``: the workload has no such programs, or the program answers a constant.
    """
    default = DEFAULT_CODING.get(workload)
    if default is None or variant.lean:
        return None
    face = str(variant.settings.get(_FACE, _MATCHED))
    return str(variant.settings.get(_CRAFT, default)) if face == _MATCHED else f"as {face}"


class HeapProbe(Frozen):
    """One fresh process with one heap, or of Go one limit: whether it did its work in it.

    ``asked_by``: the load generator whose load it had; ``None``: it was asked from within the harness, as all were
    in sessions in which no generator took part in the search.
    """

    heap_mib: int = Field(ge=1)  # -Xmx, or GOMEMLIMIT
    worked: bool
    reason: str | None = None  # why not
    fell_behind: bool = False  # its memory did not end, it was too slow: which the machine may have been
    took_s: float
    asked_by: GeneratorName | None = None


class LeastHeap(Frozen):
    """The least heap that one program with one collector was seen to do its work in, by all who asked.

    Of a Go program the least limit that it kept to.
    """

    implementation: str
    collector: str | None  # as in runtime.gc; None: the runtime's own choice
    setting: Literal["heap_max", "gomemlimit"] = "heap_max"
    variants: tuple[str, ...]  # whose heaps or limits are multiples of it
    least_mib: int = Field(ge=1)
    step_mib: int = Field(ge=1)  # the next smaller heap that was tried is not farther below
    steady: bool  # of who asks: no smaller heap worked, and no larger one failed
    probes: tuple[HeapProbe, ...]  # in the order they were made


class HeldMemory(Frozen):
    """What a Java variant holds, resident, at the end of a load."""

    variant: str
    heap_max: str | None  # as it ran
    rss_bytes: int = Field(gt=0)


class LimitProbe(Frozen):
    """One fresh Go process with one limit: what it held at the end of the same load."""

    limit_mib: int = Field(ge=1)  # GOMEMLIMIT
    rss_bytes: int = Field(gt=0)


class MatchedLimit(Frozen):
    """The limit at which a Go variant came closest to what a Java variant holds."""

    variant: str
    memory_of: str
    wanted_bytes: int = Field(gt=0)
    limit_mib: int = Field(ge=1)
    probes: tuple[LimitProbe, ...] = Field(min_length=1)


class MemoryFit(Frozen):
    """Everything of it, once, before the first trial of a session.

    ``asked`` and ``resolved`` have the same variants: what the definition says, and what ran.
    """

    asked: dict[str, str]
    resolved: dict[str, dict[str, str]]  # variant -> runtime settings in their place
    mix: str
    # of requests from within the harness; None: none were sent
    rate_per_s: float | None = Field(default=None, gt=0)
    n_requests: int | None = Field(default=None, ge=1)  # a heap had to answer of these
    cold_requests: int | None = Field(default=None, ge=0)  # before these, with more time
    at_once: int | None = Field(default=None, ge=0)  # came at one moment, several times, between the two
    most_late_s: float | None = Field(default=None, gt=0)  # so far a probe might fall behind its rate
    hold_s: float | None = Field(default=None, gt=0)  # how long they were sent before memory was read
    warm_up_requests: int = Field(ge=0)  # before each load
    # the load under which heaps had to hold; None: they were asked from within the harness alone
    tried: Load | None = None
    least: tuple[LeastHeap, ...] = ()
    held: tuple[HeldMemory, ...] = ()
    limits: tuple[MatchedLimit, ...] = ()
    sources: dict[str, str]  # as in builds.json -> sha256 of the source that was built
    measured_epoch_s: float
    took_s: float
