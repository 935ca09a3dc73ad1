# SPDX-License-Identifier: Apache-2.0
"""The environment in which services are built and tested: the preferred tools first on PATH, one Maven at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from .find import find_jdk, find_tool
from .tool import Surroundings

def build_environment(around: Surroundings) -> dict[str, str]:
    """The variables of ``around`` with JAVA_HOME and PATH set so that `go`, `mvn`, `java` and `javac` are the
    preferred ones, and Maven quick unless it has options."""
    made = dict(around.environ)
    folders = []
    jdk = find_jdk(around)
    if jdk.path is not None:
        made["JAVA_HOME"] = str(jdk.path)
        folders.append(str(jdk.path / "bin"))
    tools = (find_tool(name, around) for name in ("go", "maven"))
    folders += [str(tool.path.parent) for tool in tools if tool.path is not None]
    made["PATH"] = os.pathsep.join((*folders, around.environ.get("PATH", "")))
    made.setdefault("MAVEN_OPTS", "-XX:TieredStopAtLevel=1")
    return made


@contextlib.contextmanager
def one_maven(project: Path) -> Iterator[None]:
    """Wait until no other process of this project is inside, and keep the others out.

    The lock lies beside what was built, so that projects that share their builds share it.
    """
    file = project / ".cache" / "builds" / "maven.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given up when the file is closed, however this process ends
        yield
