# SPDX-License-Identifier: Apache-2.0
"""A session as it stands on disk: what was written before the first trial, and beside the trials."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from harness.model.base import Frozen
from harness.model.implementation import Implementation
from harness.model.load import Load
from harness.model.plan import Plan
from harness.model.study import Experiment


class Machine(Frozen):
    """The machine in the terms a reader needs."""

    hostname_hash: str = Field(description="tells two machines apart without naming them")
    cpu_model: str
    n_cpus: int
    memory_bytes: int
    kernel: str
    distribution: str
    cgroup: str
    virtualisation: str | None
    descriptor_limit: int
    small: bool = Field(description="fewer cores than service and generator need for themselves")
    settings: dict[str, str] = Field(
        default_factory=dict,
        description="of the kernel, that change what a request costs: who shares a CPU with whom, large pages, clock "
        "rates; one that the kernel does not have is left out",
    )

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
    machine: Machine = Field(description="the service's")
    machines: dict[str, Machine] = Field(
        default_factory=dict, description="role -> machine, where not everything ran on one"
    )
    tools: dict[str, str] = Field(description="tool -> version as it prints itself")
    python_packages: dict[str, str]
    started_epoch_s: float
    clock_source: str | None


class FormBuild(Frozen):
    """How another form of a built Java program came to be: its trimmed runtime, or its native image."""

    form: Literal["jlink", "native"]
    tool: str = Field(description="what the tool that made it says of itself")
    argv: tuple[str, ...]
    build_s: float = Field(description="for the form alone; the program's own build comes before it")
    image_bytes: int | None = Field(
        description="the trimmed runtime, or the native image; None: there is none"
    )
    image_sha256: str | None = Field(default=None, description="of a native image")
    peak_rss_bytes: int | None = Field(default=None, description="of the build, where its tool tells")
    modules: tuple[str, ...] = ()
    problem: str | None = Field(default=None, description="why there is no image")

    @property
    def unofficial(self) -> bool:
        """Whether the tool says of itself that it is nobody's release."""
        return "unofficial" in self.tool


class CpuProfile(Frozen):
    """The profile that a Go program was compiled with, and the training run that it is of."""

    cpu_s: float = Field(
        description="CPU time of the service under the load of that run; Go takes 100 samples a second of it"
    )
    n_requests: int = Field(description="answered in the training run")
    profile_bytes: int
    profile_sha256: str


class BuildRecord(Frozen):
    """How an artifact came to be."""

    implementation: str
    source_sha256: str
    argv: tuple[str, ...]
    build_s: float | None = Field(
        description="measured here when this source was really built, maybe earlier; None: nothing to build"
    )
    artifact_bytes: int = Field(description="the artifact with the libraries it needs beside it")
    artifact_sha256: str
    aot_training_s: float | None = None
    aot_cache_bytes: int | None = None
    cpu_profile: CpuProfile | None = Field(default=None, description="None: compiled without one")
    form: FormBuild | None = Field(default=None, description="None: the program as it was built")


class EchoReading(Frozen):
    """One generator against the minimal echo service: the most it can do here under one load and mix."""

    load: Load
    mix: str
    achieved_per_s: float
    n_requests: int
    duration_s: float
    latency_mean_s: float | None = Field(
        default=None, description="as the tool reports it; None: not told, or read before latencies were kept"
    )
    latency_quantiles_s: dict[str, float] = Field(
        default_factory=dict, description="those that so many requests can tell, keys like p99"
    )


class Unavailable(Frozen):
    """A variant that cannot run here, said out loud."""

    variant: str
    reason: str


class Registration(Frozen):
    """What was fixed before the first trial: the plan, when to stop, and the rules by which verdicts are made."""

    n_blocks: int
    stopping: str
    rules: dict[str, float] = Field(description="name of a rule of the verdicts -> its value then")
    sha256: str = Field(description="of these, the plan and the definition, as canonical JSON")


class SessionHeader(Frozen):
    """Written first, never changed: the definition, the plan and the provenance."""

    schema_version: int = 1
    session_id: str
    experiment: Experiment
    implementations: dict[str, Implementation]
    plan: Plan
    provenance: Provenance
    unavailable: tuple[Unavailable, ...] = ()
    registration: Registration | None = Field(
        default=None, description="None: measured before plans were registered"
    )
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
