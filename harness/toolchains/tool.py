# SPDX-License-Identifier: Apache-2.0
"""Results of finders, and the machine in which they look.

Standard library only, so frozen dataclasses: `setup` loads this package before the environment exists.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

State = Literal["ok", "missing", "too old", "damaged", "incomplete"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool of this machine, or how to get it. ``path``: the program (a jar for JMeter, the home folder for a JDK);
    ``version``: None when the tool does not print one."""

    name: str
    path: Path | None
    version: str | None
    state: State
    why: str
    how_to_get: str
    wanted: str
    required: bool

    @property
    def usable(self) -> bool:
        return self.state == "ok"

    def complaint(self) -> str:
        """Return one line: the fault, why the tool is wanted, the one command that brings it."""
        where = f" (found {self.version} at {self.path})" if self.path is not None else ""
        named = f"{self.name} {self.wanted}".strip()
        return f"{named} is {self.state}{where}: required {self.why}; install it with: {self.how_to_get}"

    def require(self) -> Path:
        """Return the path of a usable tool. Raises harness.errors.MissingTool: it is none."""
        # imported here because `setup` loads this file where the package's dependencies are not installed yet
        from harness.errors import MissingTool

        if self.path is None or not self.usable:
            raise MissingTool(f"{self.name} {self.wanted}".strip(), why=self.why, how_to_get=self.how_to_get)
        return self.path


@dataclass(frozen=True, kw_only=True, slots=True)
class JavaRuntime:
    """A Java that runs programs: it has `java`."""

    home: Path
    version: str
    vendor: str | None

    @property
    def major(self) -> int:
        return parse_version(self.version)[0]

    @property
    def full_version(self) -> str:
        return f"{self.version} ({self.vendor})" if self.vendor else self.version

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"


@dataclass(frozen=True, kw_only=True, slots=True)
class Jdk(JavaRuntime):
    """A Java development kit: it has `javac` too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """Place where finders look: the environment variables, the file system's root (tests have their own), the project."""

    project: Path
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    system: Path = Path("/")

    @property
    def tools(self) -> Path:
        """The folder of everything that set-up made for this project alone."""
        return self.project / ".tools"

    @property
    def conda(self) -> Path | None:
        """The active conda environment, whose tools are then preferred to the system's."""
        prefix = self.environ.get("CONDA_PREFIX")
        return Path(prefix) if prefix else None

    @property
    def apt(self) -> bool:
        """Whether packages come from apt here; never while a conda environment is active."""
        return self.conda is None and (self.system / "usr/bin/apt-get").exists()


def parse_version(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: ``"25.0.3+9" -> (25, 0, 3)``; ``(0,)`` when there are none."""
    match = re.search(r"\d+(?:\.\d+)*", text)
    return (0,) if match is None else tuple(int(part) for part in match.group().split("."))
