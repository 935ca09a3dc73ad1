# SPDX-License-Identifier: Apache-2.0
"""JMeter in ``.tools``: there when every file of the committed list is there with its size and hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from .catalogue import JMETER_VERSION, as_tool, wanted
from .tool import State, Surroundings, Tool

MANIFEST = Path("setup/jmeter/manifest.tsv")


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedFile:
    """One line of the list: a path relative to JMeter's home, and what must stand there."""

    path: str
    size_bytes: int
    sha256: str


def jmeter_home(project: Path) -> Path:
    return project / ".tools" / f"apache-jmeter-{JMETER_VERSION}"


def jmeter_jar(home: Path) -> Path:
    """What to start: ``java -jar`` this file; JMeter finds its home from the jar's place."""
    return home / "bin" / "ApacheJMeter.jar"


def read_manifest(file: Path) -> tuple[ListedFile, ...]:
    """The committed list: lines of sha256, size in bytes and path, separated by tabs."""
    rows = (
        line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    )
    return tuple(ListedFile(sha256=sha256, size_bytes=int(size), path=path) for sha256, size, path in rows)


def list_tree(home: Path) -> tuple[ListedFile, ...]:
    """The list that describes a folder as it is now, sorted by path."""
    files = sorted((file for file in home.rglob("*") if file.is_file()), key=Path.as_posix)
    return tuple(
        ListedFile(
            path=file.relative_to(home).as_posix(),
            size_bytes=file.stat().st_size,
            sha256=hashlib.sha256(file.read_bytes()).hexdigest(),
        )
        for file in files
    )


def damage(home: Path, listed: tuple[ListedFile, ...]) -> tuple[str, ...]:
    """What differs from the list, one line a file; empty when all is well. Files beyond the list are no damage unless
    JMeter would load them (jars)."""
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
    """JMeter of this project, compared with the list file by file (72 MB, a fraction of a second)."""
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
