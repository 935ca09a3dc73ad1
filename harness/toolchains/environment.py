# SPDX-License-Identifier: Apache-2.0
"""The environment in which services are built and tested: the preferred tools first on PATH."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from .find import find_go, find_maven
from .jdks import find_jdk
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
    """MAVEN_OPTS for a quick build, with a home folder where Maven would find none; None: those that are there do.

    A build has ended before code of the JVM's second compiler has paid for itself. Java takes the home folder from
    the list of users and not from HOME; in a container the user may not be listed, or be listed with a folder that
    is not there.
    """
    theirs = environ.get("MAVEN_OPTS", "")
    made = [theirs or _QUICK]
    home = environ.get("HOME", "")
    if (
        not (home_of_user is not None and os.access(home_of_user, os.W_OK))
        and home
        and os.access(home, os.W_OK)
    ):
        made.append(f"-Duser.home={home}")
    return None if made == [theirs] else " ".join(made)


def _home_of_user() -> Path | None:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None
