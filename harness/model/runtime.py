# SPDX-License-Identifier: Apache-2.0
"""Settings of the language runtime under a variant: its processors, its memory, its collector, and what it notes."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from harness.model.base import Frozen

_HELD_BY = "rss of "

#: The oldest release of the JDK that a variant may name.
OLDEST_JAVA = 11


def _multiple(size: str | None) -> float | None:
    """Return how many times the least memory a size such as ``2x`` is; ``None``: it is something else."""
    return float(size[:-1]) if size is not None and re.fullmatch(r"\d+(\.\d+)?x", size) else None


class RuntimeSettings(Frozen):
    """Settings of the language runtime. ``None`` leaves the runtime's own default, and the record says so."""

    cpus: int | None = Field(default=None, ge=1)  # CPU limit: GOMAXPROCS = ActiveProcessorCount = this
    gogc: int | Literal["off"] | None = None
    # GOMEMLIMIT; or "rss of NAME": what that Java variant holds; or "2x": of the least limit that the program
    # keeps to; both measured before the first trial
    gomemlimit: str | None = None
    # GOEXPERIMENT when a Go program is built; None: the release's own choice
    goexperiment: str | None = Field(default=None, pattern=r"^[a-z0-9]+(,[a-z0-9]+)*$")
    # the Go release that builds a Go program; None: the one that is found
    go: str | None = Field(default=None, pattern=r"^1\.\d+\.\d+$")
    # GOAMD64 when a Go program is built: the instructions that it may use; None: v1, those of all
    goamd64: Literal["v1", "v2", "v3", "v4"] | None = None
    pgo: bool = False  # a Go program is compiled with a CPU profile of itself, from a training run under load
    # the release of the JDK that runs a Java program, compiled for the oldest one that its sources allow;
    # None: the preferred one
    java: int | None = Field(default=None, ge=OLDEST_JAVA)
    gc: Literal["serial", "parallel", "g1", "z", "shenandoah"] | None = None
    # limit: to as many CPUs as `cpus` says; same: generator and service on the same `cpus` CPUs; none: to
    # none; None: as the machine has room
    pin: Literal["limit", "same", "none"] | None = None
    # of the container, or of a control group around a plain process, with cpus as its quota
    memory_limit: str | None = Field(default=None, pattern=r"^\d+[kmgKMG]$")
    # CPU time of each pod, or of the control group around a process with memory_limit, in CPUs: the kernel
    # enforces it, and no runtime is told; None: `cpus`
    cpu_limit: float | None = Field(default=None, gt=0)
    # CPUs that each pod reserves on its node; None: as many as its limit
    cpu_request: float | None = Field(default=None, gt=0)
    # CPU time of each pod, in CPUs, until it has served its first request: then it is resized in place to its
    # limit; no runtime is told; None: the limit holds from the start
    cpu_boost: float | None = Field(default=None, gt=0)
    replicas: int | None = Field(default=None, ge=1)  # how many pods; None: one
    # how many pods at first; once they have served, the deployment is scaled to `replicas`, and moments of
    # the last pod count from then; None: all pods are asked for at once
    scale_from: int | None = Field(default=None, ge=1)
    # one pod at first, which is kept busy; a HorizontalPodAutoscaler adds pods up to `replicas` while they
    # use more than this share of `cpu_request`; None: all pods are asked for at once
    autoscale_cpu: float | None = Field(default=None, gt=0)
    # cluster-ip: the load uses the address in the cluster; node-port (None: the same): one outside; ingress:
    # removed in 0.2.0, node-port in its place
    access: Literal["cluster-ip", "node-port", "ingress"] | None = None
    # -Xmx; or "2x": of the least heap the program can live in, measured before the first trial
    heap_max: str | None = None
    heap_min: str | None = Field(default=None, pattern=r"^\d+[kmgKMG]$")
    aot_cache: bool = False
    # of a Java program: on a whole JDK (None: the same), on a trimmed one, or compiled ahead
    form: Literal["jvm", "jlink", "native"] | None = None
    nmt: bool = False  # JVM native memory tracking; costs throughput
    # a JVM's own recording of compilations and deoptimisations, kept as recording.json
    flight_recording: bool = False
    # a JVM's own recording of threads that waited for a monitor, kept as contention.txt
    lock_recording: bool = False
    gc_log: bool = True
    jvm_flags: tuple[str, ...] = ()

    @field_validator("heap_max")
    @classmethod
    def _a_size_or_a_multiple(cls, size: str | None) -> str | None:
        if size is not None and not re.fullmatch(r"\d+[kmgKMG]|\d+(\.\d+)?x", size):
            raise ValueError('must be a size such as "512m", or a multiple of the least heap such as "1.3x"')
        multiple = _multiple(size)
        if multiple is not None and multiple < 1:
            raise ValueError('must be at least "1x": in less than the least heap nothing runs')
        return size

    @field_validator("gomemlimit")
    @classmethod
    def _a_size_or_what_another_holds(cls, limit: str | None) -> str | None:
        if limit is not None and not re.fullmatch(rf"off|\d+([KMGT]i)?B?|\d+(\.\d+)?x|{_HELD_BY}\S+", limit):
            raise ValueError(
                'must be a size such as "64MiB", a multiple of the least limit such as "2x", or what another variant '
                'holds: "rss of NAME"'
            )
        multiple = _multiple(limit)
        if multiple is not None and multiple < 1:
            raise ValueError('must be at least "1x": no program keeps to less than its least limit')
        return limit

    @model_validator(mode="after")
    def _measured_memory_is_all_that_bounds(self) -> Self:
        if self.heap_multiple is not None and (self.aot_cache or self.heap_min is not None):
            raise ValueError("a heap that is a multiple goes with neither aot_cache nor heap_min")
        if (self.memory_of is not None or self.limit_multiple is not None) and self.gogc != "off":
            raise ValueError(
                f'gomemlimit = "{self.gomemlimit}" needs gogc = "off": a growth rule stays below it'
            )
        return self

    @property
    def is_plain(self) -> bool:
        """Whether nothing is made of the program after its build: no other form, no AOT cache."""
        return self.form in (None, "jvm") and not self.aot_cache

    @property
    def heap_multiple(self) -> float | None:
        """How many times the least heap ``heap_max`` is; ``None``: it is a size, or none is said."""
        return _multiple(self.heap_max)

    @property
    def limit_multiple(self) -> float | None:
        """How many times the least limit ``gomemlimit`` is; ``None``: it is something else, or none is said."""
        return _multiple(self.gomemlimit)

    @property
    def memory_multiple(self) -> float | None:
        """How many times the least heap or limit its memory is; ``None``: it is no multiple."""
        return self.limit_multiple if self.heap_multiple is None else self.heap_multiple

    @property
    def memory_of(self) -> str | None:
        """The variant whose resident memory ``gomemlimit`` is; ``None``: it is a size, or none is said."""
        text = self.gomemlimit or ""
        return text.removeprefix(_HELD_BY) if text.startswith(_HELD_BY) else None

    @property
    def memory_asked(self) -> str | None:
        """What of it must be measured before anything can be started with it; ``None``: nothing must."""
        if self.heap_multiple is not None:
            return f"heap_max = {self.heap_max}"
        asked = self.memory_of is not None or self.limit_multiple is not None
        return f"gomemlimit = {self.gomemlimit}" if asked else None
