# SPDX-License-Identifier: Apache-2.0
"""Other releases of Java and of Go, for experiments that compare releases: each is fetched, or done without."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from . import jdk_debian, python_env, wheels
from .finders import toolchains
from .say import SetupError, run, step


def bring_others(project: Path) -> None:
    """Fetch the JDKs, the old runtime and the Go releases that are not here; a line says why one cannot be had."""
    around = toolchains.Surroundings(project=project)
    for major in toolchains.OTHER_JAVA:
        if major in {jdk.major for jdk in toolchains.find_jdks(around)}:
            step(f"JDK {major} is here")
            continue
        try:
            uv, env = python_env.bring_uv(project, sys.executable, os.environ)
            step(f"JDK {major}: {jdk_debian.install_jdk(project, uv, env, major)}")
        except SetupError as error:
            step(f"JDK {major}: unavailable: {error}")
    if toolchains.find_runtimes(around):
        step("the Java of 2020 is here")
    else:
        try:
            uv, env = python_env.bring_uv(project, sys.executable, os.environ)
            step(f"the Java of 2020: {wheels.install_java(project, uv, env)}")
        except SetupError as error:
            step(f"the Java of 2020: unavailable: {error}")
    go = toolchains.find_go(around)
    program = go.path if go.usable else None
    for release in () if program is None else toolchains.OTHER_GO:
        try:
            step(_bring_go(Path(str(program)), release, toolchains.build_environment(around)))
        except SetupError as error:
            step(f"Go {release}: unavailable: {error}")


def _bring_go(go: Path, release: str, environment: Mapping[str, str]) -> str:
    """Have the go command fetch a release from the module proxy, which it checks by the checksum database."""
    said = run(
        [go, "version"],
        doing=f"fetching Go {release}",
        env={**os.environ, **environment, "GOTOOLCHAIN": f"go{release}"},
        then="the experiments that name it go on without it",
    )
    return said.strip()
