# SPDX-License-Identifier: Apache-2.0
"""Every outside tool and Python package that this project can use: its purpose and how it is installed; a tool as it is
found on a machine. Standard library only: `setup` loads this package before the environment exists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

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
    """Place where finders look: the environment variables, the file system's root (of tests their own), the project."""

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


#: The measured reference; any JDK of at least ``JAVA_MINIMUM`` builds and starts the services.
JAVA_REFERENCE = 25
#: Other releases that experiments name and `make toolchains` fetches, where they can be had.
OTHER_JAVA = (17, 21)
OTHER_GO = ("1.24.13", "1.25.14", "1.26.8", "1.27.4")
LATEX_FILES = ("IEEEtran.cls", "natbib.sty", "siunitx.sty", "booktabs.sty", "pgf.sty", "lmodern.sty")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A wanted tool. ``version``: pattern of its version. ``places``: patterns of the system (``/...``) or the project
    where it stands beside PATH; ``variable``: names its home; ``beside``: another program that it needs in its folder.
    ``by_setup``: set-up brings it into ``.tools`` or ``.venv``. ``pinned``: the version that set-up builds into
    ``.tools/NAME-VERSION/bin``. ``macos``: the command on macOS, where conda does not bring it; ``elsewhere``: where
    neither apt nor conda nor set-up brings it."""

    name: str
    why: str
    minimum: str | None = None
    programs: tuple[str, ...] = ()
    version_flag: str = "--version"
    version: str = r"(\d+\.\d+[\w.+-]*)"
    places: tuple[str, ...] = ()
    variable: str | None = None
    beside: str | None = None
    apt: tuple[str, ...] = ()
    conda: bool = False
    by_setup: bool = False
    pinned: str | None = None
    elsewhere: str | None = None
    macos: str | None = None


_TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("catalogue.toml").read_text("utf-8")
)


def _read_row(name: str, row: Mapping[str, Any]) -> Entry:
    fields: dict[str, Any] = {key: tuple(x) if isinstance(x, list) else x for key, x in row.items()}
    return Entry(name=name, **fields)


WANTED = tuple(_read_row(name, row) for name, row in _TABLE.items())


def wanted(name: str) -> Entry:
    """Return the row of one tool. Raises KeyError: no such row; the message lists the names there are."""
    for row in WANTED:
        if row.name == name:
            return row
    raise KeyError(f"unknown tool {name!r}; allowed: {', '.join(row.name for row in WANTED)}")


JAVA_MINIMUM = int(wanted("jdk").minimum or 0)
JMETER_VERSION = str(wanted("jmeter").minimum)
#: What set-up builds into ``.tools``; another release on PATH is used where that is not there.
K6_VERSION, OHA_VERSION, VEGETA_VERSION, WRK2_VERSION = (
    str(wanted(name).pinned) for name in ("k6", "oha", "vegeta", "wrk2")
)


def how_to_get(row: Entry, around: Surroundings) -> str:
    """Return the one command that brings a tool on this machine."""
    if around.conda is not None and row.conda:
        return f"conda env update --prefix {around.conda} --file environment.yml"
    if around.apt and row.apt:
        return " ".join((*(() if os.geteuid() == 0 else ("sudo",)), "apt-get", "install", "-y", *row.apt))
    if row.by_setup:
        return "make setup"
    if sys.platform == "darwin" and row.macos:
        return row.macos
    if row.conda:
        return "conda env create --file environment.yml && conda activate rematch"
    return row.elsewhere or "make setup"


#: Programs by their names in the catalogue.
MEASURING = ("go", "jdk", "maven", "jmeter", "postgres")
#: Name of the import -> what a machine without it cannot do.
PACKAGES: Mapping[str, str] = {
    "docker": "to measure services in containers",
    "lightkube": "to measure services in pods of a cluster",
    "locust": "to offer the load of Locust",
    "paramiko": "to measure on hosts over SSH",
    "psycopg": "to measure services that have a database",
}


def lacking_packages() -> dict[str, str]:
    """Return those of ``PACKAGES`` that are not installed, with what they are for."""
    return {name: why for name, why in PACKAGES.items() if find_spec(name) is None}


def require_package(name: str) -> None:
    """Raise harness.errors.MissingTool where one of ``PACKAGES`` is not installed."""
    # imported here because `setup` loads this package where the project's dependencies are not installed yet
    from harness.errors import MissingTool

    if find_spec(name) is None:
        raise MissingTool(f"the Python package {name}", why=PACKAGES[name], how_to_get="make setup")


#: A tool that takes longer than this to tell its version is treated as if it would not tell.
ANSWER_WITHIN_S = 30.0
#: What the strings services need; everything else widens what can be measured.
REQUIRED = frozenset({"go", "jdk", "maven", "jmeter", "latex"})


def which(program: str, around: Surroundings) -> Path | None:
    """Return where a program stands: in the active conda environment, else on PATH."""
    if around.conda is not None and (around.conda / "bin" / program).exists():
        return around.conda / "bin" / program
    result = shutil.which(program, path=around.environ.get("PATH", ""))
    return Path(result) if result is not None else None


def ask(
    command: list[str], *, around: Surroundings | None = None, java_home: Path | None = None
) -> str | None:
    """Return what a program prints (both streams), or None when it does not start or end; `wrk -v` ends with 1."""
    environ = dict(around.environ) if around is not None else None
    if environ is not None:
        environ["GOTOOLCHAIN"] = "local"  # else `go version` below a go.mod may fetch another Go to answer
        if java_home is not None:
            environ["JAVA_HOME"] = str(java_home)
    try:
        done = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", errors="replace")


def as_tool(row: Entry, around: Surroundings, path: Path | None, version: str | None, state: State) -> Tool:
    return Tool(
        name=row.name,
        path=path,
        version=version,
        state=state,
        why=row.why,
        how_to_get=how_to_get(row, around),
        wanted=f">= {row.minimum}" if row.minimum else "",
        required=row.name in REQUIRED,
    )
