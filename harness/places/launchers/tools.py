# SPDX-License-Identifier: Apache-2.0
"""The outside tools that a launcher builds and starts services with, and toolchains that a variant names.

A variant that names a JDK runs a jar that the preferred JDK compiled for the oldest release that the sources allow:
all such variants of one program run the same jar, whatever JDK each has.
A Go release stands in the cache of modules, where set-up (``make toolchains``) or the ``go`` command put it.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.errors import HostError
from harness.model import Implementation, RuntimeSettings, Toolchain
from harness.places.hosts.base import Host, run_words
from harness.toolchains import JavaRuntime, Jdk, Tool

Form = Literal["jlink", "native"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """What is here. JDKs stand in order of preference; ``runtimes`` have no compiler, and run what names them."""

    jdks: tuple[Jdk, ...] = ()
    runtimes: tuple[JavaRuntime, ...] = ()
    maven: Path | None = None
    go: Path | None = None
    native_image: Path | None = None

    def jdk_for(self, min_java: int | None) -> Jdk | None:
        """Return the first JDK that is new enough, or ``None``: the same one for every variant of equal needs."""
        return next((jdk for jdk in self.jdks if jdk.major >= (min_java or 0)), None)

    def java_that_runs(self, implementation: Implementation) -> JavaRuntime | None:
        """Return the Java of the release that a variant names, else the JDK that is new enough; ``None``: none is."""
        named = implementation.toolchain
        if named is None or named.java is None:
            return self.jdk_for(implementation.min_java)
        return next((java for java in (*self.jdks, *self.runtimes) if java.major == named.java), None)


def tools_among(tools: Iterable[Tool], jdks: Sequence[Jdk], runtimes: Sequence[JavaRuntime] = ()) -> Tools:
    """Return those of the tools that were found that a launcher uses: asking each again costs a process."""
    paths = {tool.name: tool.path for tool in tools if tool.usable}
    return Tools(
        jdks=tuple(jdks),
        runtimes=tuple(runtimes),
        maven=paths.get("maven"),
        go=paths.get("go"),
        native_image=paths.get("native-image"),
    )


#: How a Maven build is told which release to compile for, in the place of what the pom says.
RELEASE_OPTION = "-Dmaven.compiler.release="
#: The tests need not be ones that the older release knows.
WITHOUT_TESTS = "-Dmaven.test.skip=true"
#: Dependencies that older Go releases take, where a service has them: used for every release that is named.
OLDER_MOD = "older.mod"


def with_toolchain(
    implementation: Implementation, runtime: RuntimeSettings, trained: tuple[str, ...] = ()
) -> Implementation:
    """Return the implementation with what the variant's runtime names; itself where it names nothing. ``trained``:
    that of the variant, where it may say ``pgo``."""
    named = Toolchain(
        go=runtime.go,
        goexperiment=runtime.goexperiment,
        goamd64=runtime.goamd64,
        java=runtime.java,
        pgo=trained if runtime.pgo else None,
    )
    if named == Toolchain():
        return implementation
    return implementation.model_copy(update={"toolchain": named})


def lacks_runtime(implementation: Implementation, runtime: RuntimeSettings, place: str) -> str | None:
    """Return which runtime of this machine a variant needs that no container or pod (``place``) has, or ``None``."""
    if runtime.aot_cache:
        return f"an AOT cache belongs to the JDK that made it, and the {place} has another one"
    if with_toolchain(implementation, runtime).toolchain is not None:
        return f"a toolchain that a variant names is that of plain processes; the {place} has another one"
    return None


def build_words(implementation: Implementation, source: Path) -> tuple[str, ...]:
    """Return what the build is told beside its words of ``service.toml``. ``source``: where its sources are."""
    named = implementation.toolchain
    if named is None:
        return ()
    release = implementation.oldest_java or implementation.min_java
    if named.java is not None and release is not None:
        return (f"{RELEASE_OPTION}{release}", WITHOUT_TESTS)
    return (f"-modfile={OLDER_MOD}",) if named.go is not None and (source / OLDER_MOD).is_file() else ()


def build_environment(implementation: Implementation) -> dict[str, str]:
    """Return what a Go build is told by environment; empty: nothing is named."""
    named = implementation.toolchain or Toolchain()
    settings = {
        "GOTOOLCHAIN": None if named.go is None else f"go{named.go}",
        "GOEXPERIMENT": named.goexperiment,
        "GOAMD64": named.goamd64,
    }
    return {name: value for name, value in settings.items() if value is not None}


#: What ``env`` is told: ``NAME=value``.
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def named_program(command: tuple[str, ...]) -> str | None:
    """Return the first word of a command of ``service.toml`` where it names a program of PATH; what ``env`` is told
    before it, and a shell that fills in variables and becomes the program, are passed over."""
    words = list(command)
    if words[:2] == ["sh", "-c"] and len(words) > 4:
        words = words[4:]
    if words[:1] == ["env"]:
        words = words[3:] if words[1:2] == ["-C"] else words[1:]
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
    word = words[0] if words else ""
    return word if word and "/" not in word and "{" not in word else None


def version_of(host: Host, program: str, environment: Mapping[str, str]) -> str | None:
    """Return the first line that ``program --version`` prints on a host; ``None``: it does not answer that."""
    try:
        completed = run_words(host, program, "--version", environment=environment)
    except HostError:
        return None
    lines = completed.stdout.strip().splitlines()
    return f"{program} {lines[0].strip()}" if completed.exit_code == 0 and lines else None


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """What a host has that is not the machine services are built on. JDKs stand in order of preference."""

    builds_on: Host
    jdks: tuple[Jdk, ...] = ()
    python: str = "python3"
    architecture: str = field(default_factory=platform.machine)
