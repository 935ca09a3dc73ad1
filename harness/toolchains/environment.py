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
    """MAVEN_OPTS that name a home folder, or None when Maven needs no help.

    Java takes the home folder from the list of users and not from HOME; in a container
    the user may not be listed, or be listed with a folder that is not there.
    """
    home = environ.get("HOME", "")
    if home_of_user is not None and os.access(home_of_user, os.W_OK):
        return None
    if not home or not os.access(home, os.W_OK):
        return None
    return f"{environ.get('MAVEN_OPTS', '')} -Duser.home={home}".strip()


def _home_of_user() -> Path | None:
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None
