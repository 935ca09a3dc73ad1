# SPDX-License-Identifier: Apache-2.0
"""The environment in which services are built and tested: the preferred tools first on PATH, one Maven at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
from collections.abc import Iterator, Mapping
from pathlib import Path

from .find import find_go, find_jdk, find_maven
from .tool import Surroundings

#: Whoever sets MAVEN_OPTS has reasons of their own.
_QUICK = "-XX:TieredStopAtLevel=1"


def build_environment(around: Surroundings) -> dict[str, str]:
    """The variables of ``around`` with JAVA_HOME and PATH set so that `go`, `mvn`, `java` and `javac` are the
    preferred ones, and with a home folder that Maven can write to.
    """
    made = dict(around.environ)
    folders = []
    jdk = find_jdk(around)
    if jdk.path is not None:
        made["JAVA_HOME"] = str(jdk.path)
        folders.append(str(jdk.path / "bin"))
    folders += [
        str(tool.path.parent) for tool in (find_go(around), find_maven(around)) if tool.path is not None
    ]
    made["PATH"] = os.pathsep.join((*folders, around.environ.get("PATH", "")))
    options = maven_options(around.environ, _home_of_user())
    if options is not None:
        made["MAVEN_OPTS"] = options
    return made


def maven_options(environ: Mapping[str, str], home_of_user: Path | None) -> str | None:
    """MAVEN_OPTS for a quick build, with a home folder where Maven would find none (Java takes it from the list of
    users, which in a container may not have the user); None: those that are there do."""
    given = environ.get("MAVEN_OPTS", "")
    made = [given or _QUICK]
    home = environ.get("HOME", "")
    if (
        not (home_of_user is not None and os.access(home_of_user, os.W_OK))
        and home
        and os.access(home, os.W_OK)
    ):
        made.append(f"-Duser.home={home}")
    return None if made == [given] else " ".join(made)


def _home_of_user() -> Path | None:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


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
