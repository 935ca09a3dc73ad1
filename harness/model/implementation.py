# SPDX-License-Identifier: Apache-2.0
"""An implementation, as its ``service.toml`` describes it, and what the forms of a Java program need."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from harness.model.base import Frozen
from harness.model.started import BackingName


class PreparedImage(Frozen):
    """How a framework prepares its own native image: ``[forms.native_prepared]`` of a ``service.toml``.

    Paths are relative to a copy of the service's folder, in which ``build`` is run.
    """

    build: tuple[str, ...] = Field(min_length=1)  # leaves what native-image takes; words as in build
    words: str  # file that this build leaves: what native-image is told, in that file's folder
    image: str  # the native image that those words make


class JavaForms(Frozen):
    """What the other forms of a Java program need: ``[forms]`` of its ``service.toml``."""

    modules: tuple[str, ...] = ()  # modules of a trimmed runtime beside those that jdeps finds
    # further words for native-image; {source} is a copy of the service's folder
    native_args: tuple[str, ...] = ()
    # folders in the program's jars, as META-INF/services: classes named there are found by reflection
    native_registers: tuple[str, ...] = ()
    native_prepared: PreparedImage | None = None  # None: the jar and what its manifest names are compiled
    # of early sessions, which name it, always empty
    native_packages: tuple[str, ...] = Field(default=(), max_length=0, exclude=True)
    native_refused: str | None = None  # why no native image of it is made: what was tried and what came of it


class Toolchain(Frozen):
    """What a variant names in the place of what is found: see ``RuntimeSettings``. ``None``: what is found."""

    go: str | None = None
    goexperiment: str | None = None
    goamd64: str | None = None
    java: int | None = None
    pgo: tuple[str, ...] | None = None  # compiled with a profile of itself with these settings, as name=value
    profiled: bool = False  # never of a variant: the program that writes such a profile


class Implementation(Frozen):
    """One source folder that fulfils a workload, as its ``service.toml`` describes it."""

    name: str
    workload: str
    language: str
    framework: str
    runtime: Literal["go", "jvm", "native", "other"]
    build: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    artifact: str
    start: tuple[str, ...] = Field(min_length=1)
    readiness: str = "/health"
    # that it listens on whatever it is told, such as ::1; None: {host}
    address: str | None = Field(default=None, exclude=True)
    min_java: int | None = None
    # the oldest release that its sources compile for, where that is older than min_java
    oldest_java: int | None = None
    settings: dict[str, str] = Field(default_factory=dict)  # variant setting -> flag
    forms: JavaForms = Field(default_factory=JavaForms)
    needs: tuple[BackingName, ...] = ()  # backing services, told of by environment
    # folder with its sources, from that of its service.toml; None: they are in that one
    source: str | None = Field(default=None, exclude=True)
    # never of a file: that of its service.toml; None: where the project has it
    folder: Path | None = Field(default=None, exclude=True)
    # never of a file: what the variant that is built or started names
    toolchain: Toolchain | None = Field(default=None, exclude=True)
