# SPDX-License-Identifier: Apache-2.0
"""Tools that set-up makes for this project alone, below ``.tools``: JMeter, and programs of this project's own C.

JMeter is there when every file of the committed list is there with its size and hash. What is compiled stands in a
folder that is named after its source, so what was built of an older one is never used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from .catalogue import JMETER_VERSION, as_tool, wanted
from .tool import State, Surroundings, Tool

MANIFEST = Path("setup/jmeter/manifest.tsv")


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedFile:
    """One line of the list: a path relative to JMeter's home, with the size and hash of its file."""

    path: str
    size_bytes: int
    sha256: str


def jmeter_home(project: Path) -> Path:
    return project / ".tools" / f"apache-jmeter-{JMETER_VERSION}"


def jmeter_jar(home: Path) -> Path:
    """Return the jar to start; JMeter finds its home from the jar's place."""
    return home / "bin" / "ApacheJMeter.jar"


def read_manifest(file: Path) -> tuple[ListedFile, ...]:
    """Read the committed list: lines of sha256, size in bytes and path, separated by tabs."""
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return tuple(ListedFile(sha256=sha256, size_bytes=int(size), path=path) for sha256, size, path in rows)


def damage(home: Path, listed: tuple[ListedFile, ...]) -> tuple[str, ...]:
    """Return what differs from the list, one line a file. Files beyond it are no damage unless JMeter would load them
    (jars)."""
    problems = []
    for row in listed:
        file = home / row.path
        if not file.is_file():
            problems.append(f"{row.path}: missing")
        elif file.stat().st_size != row.size_bytes:
            problems.append(f"{row.path}: {file.stat().st_size} bytes, listed {row.size_bytes}")
        elif hashlib.sha256(file.read_bytes()).hexdigest() != row.sha256:
            problems.append(f"{row.path}: other content than listed")
    known = {row.path for row in listed}
    extra = (jar.relative_to(home).as_posix() for jar in sorted(home.rglob("*.jar")))
    return (*problems, *(f"{path}: not in the list" for path in extra if path not in known))


def find_jmeter(around: Surroundings) -> Tool:
    """Return JMeter of this project, compared with the list file by file (72 MB, a fraction of a second)."""
    row = wanted("jmeter")
    home = jmeter_home(around.project)
    manifest = around.project / MANIFEST
    state: State = "missing"
    version = None
    if home.is_dir():
        problems = damage(home, read_manifest(manifest)) if manifest.is_file() else (f"{MANIFEST}: missing",)
        state = "damaged" if problems else "ok"
        version = f"{len(problems)} files differ, first {problems[0]}" if problems else JMETER_VERSION
    path = jmeter_jar(home) if state != "missing" else None
    return replace(as_tool(row, around, path, version, state), wanted=JMETER_VERSION)


#: A warning is an error: nobody would read it in the middle of a set-up.
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")
_HARNESS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, kw_only=True, slots=True)
class NativeSource:
    """One C file with its flags and libraries, and the name of the program."""

    name: str
    title: str
    source: Path
    flags: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    file: str

    def built(self, tools: Path, source: Path | None = None) -> Path:
        """Return the path, below ``.tools``, of what is built of a source for this kind of machine.

        Raises OSError: the source cannot be read.
        """
        digest = hashlib.sha256("\0".join((os.uname().machine, *self.flags, "")).encode())
        digest.update((source or self.source).read_bytes())
        return tools / f"{self.name}-{digest.hexdigest()[:16]}" / self.file


METRONOME = NativeSource(
    name="metronome",
    title="the load generator metronome",
    source=_HARNESS / "loadgen" / "tools" / "metronome.c",
    flags=("-std=c11", "-O2", *STRICT),
    libraries=("-lm",),
    file="metronome",
)
NATIVE: Mapping[str, NativeSource] = {METRONOME.name: METRONOME}


def find_native(name: str, around: Surroundings) -> Tool:
    """Return what is built of the source that stands here, which names its version; a package without its sources has
    none."""
    row = wanted(name)
    try:
        built = NATIVE[name].built(around.tools)
    except OSError:
        built = None
    if built is None or not built.is_file():
        return as_tool(row, around, None, None, "missing")
    return as_tool(row, around, built, built.parent.name.rpartition("-")[2], "ok")
