# SPDX-License-Identifier: Apache-2.0
"""Versions of tools, as sessions recorded them, and of the services' libraries, as their build files name them.

A session records no library: its build file is read at the commit that the session recorded, or, where that
commit is not in this repository, as it is now; the table says which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.evidence import Evidence
from harness.model import LOAD_TOOLS, Implementation
from harness.project import file_at
from harness.publish.cells import Cell
from harness.publish.load_words import TOOL_NAMES
from harness.store import SessionFolder

_PROPERTY = re.compile(r"<([\w.-]+)\.version>\s*([^<\s]+)\s*</\1\.version>")
_REQUIRED = re.compile(
    r"^\s*(?:require\s+)?(?P<module>[\w.-]+(?:/[\w.~-]+)+)\s+(?P<version>v\S+)\s*$", re.MULTILINE
)
#: Libraries that answer no request: serialisation, metrics, log lines, tests, passwords.
_BESIDE = {"junit", "jackson", "prometheus", "scram", "client_golang", "json", "log"}
_GENERATORS = tuple(tool.name for tool in LOAD_TOOLS)
_LIST = ("go", "jdk", "native-image", "postgres", "maven", *_GENERATORS, "python")
_NOW = "as it is now"


def version_cells(opened: Sequence[Evidence], root: Path) -> list[Mapping[str, Cell] | None]:
    """Return rows ``part``, ``version``, ``read_from``: tools first, a gap, then the services' frameworks."""
    sessions = [session for evidence in opened for session in evidence.sessions]
    rows: list[Mapping[str, Cell] | None] = [
        {"part": TOOL_NAMES[tool], "version": ", ".join(found), "read_from": "the sessions' records"}
        for tool, found in tool_versions(sessions, used_only=True).items()
    ]
    frameworks = _frameworks(sessions, root)
    return [*rows, None, *frameworks] if frameworks else rows


def tool_versions(sessions: Iterable[SessionFolder], *, used_only: bool = False) -> dict[str, list[str]]:
    """Return tool -> its versions, each once; generators as the trials recorded the one that they ran.

    Args:
        used_only: without load generators that were installed and offered no load.
    """
    found: dict[str, dict[str, None]] = {}
    for session in sessions:
        provenance = session.header.provenance
        there = {"locust": provenance.python_packages.get("locust", ""), **provenance.tools}
        used, idle = _generators(session), set(_GENERATORS) - _wanted(session)
        kept = {tool: v for tool, v in there.items() if not (used_only and tool in idle)}
        for tool, version in {**kept, **used}.items():
            if tool in _LIST and version.strip():
                found.setdefault(tool, {})[version.strip()] = None
    return {tool: list(found[tool]) for tool in _LIST if tool in found}


def libraries_in(text: str) -> dict[str, str]:
    """Return library -> version that a ``pom.xml`` or ``go.mod`` names and that requests pass through.

    >>> libraries_in("<helidon.version>4.5.0</helidon.version><junit.version>6</junit.version>")
    {'helidon': '4.5.0'}
    """
    named = dict(_PROPERTY.findall(text))
    named |= {found["module"]: found["version"] for found in _REQUIRED.finditer(text)}
    return {
        library.removeprefix("github.com/"): version
        for library, version in named.items()
        if not _BESIDE & set(library.split("/"))
    }


def _generators(session: SessionFolder) -> dict[str, str]:
    """The versions of the session's generators, each from the first of its trials that has one."""
    found: dict[str, str] = {}
    finished = session.finished()
    for trial in session.header.plan.trials:
        load = trial.configuration.load
        if load is None or load.generator in found or trial.trial_id not in finished:
            continue
        generator = session.record(trial.trial_id).generator
        if generator is not None and generator.version:
            found[generator.name] = generator.version
        if set(found) == _wanted(session):
            break
    return found


def _wanted(session: SessionFolder) -> set[str]:
    """The generators that a session's plan asks for."""
    loads = (trial.configuration.load for trial in session.header.plan.trials)
    return {load.generator for load in loads if load is not None}


def _frameworks(sessions: Sequence[SessionFolder], root: Path) -> list[Mapping[str, Cell] | None]:
    rows: dict[tuple[str, str, str], Mapping[str, Cell]] = {}
    for session in sessions:
        used = {trial.configuration.variant.implementation for trial in session.header.plan.trials}
        for name in sorted(used):
            implementation = session.header.implementations.get(name)
            if implementation is None or implementation.language not in ("go", "java"):
                continue
            text, read_from = _build_file(implementation, session.header.provenance.commit, root)
            said = ", ".join(f"{library} {version}" for library, version in libraries_in(text).items())
            version = said or ("JDK alone" if implementation.language == "java" else "Go's library alone")
            part = f"{implementation.workload}/{name}"
            seen = next((key for key in rows if key[:2] == (part, version)), None)
            if seen is not None and (_NOW not in seen[2] or _NOW in read_from):
                continue  # the same library was named before, by a source at least as close to the session
            if seen is not None:
                del rows[seen]
            rows[(part, version, read_from)] = {"part": part, "version": version, "read_from": read_from}
    return [rows[key] for key in sorted(rows)]


def _build_file(implementation: Implementation, commit: str | None, root: Path) -> tuple[str, str]:
    """The build file's text and where it was read; empty: there is none."""
    name = "go.mod" if implementation.language == "go" else "pom.xml"
    path = f"services/{implementation.workload}/{implementation.name}/{name}"
    then = file_at(root, commit, path) if commit is not None else None
    if commit is not None and then is not None:
        return then, f"{name} at {commit[:12]}"
    now = root / path
    return (now.read_text("utf-8") if now.is_file() else ""), f"{name}, {_NOW}"
