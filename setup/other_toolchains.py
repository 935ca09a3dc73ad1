# SPDX-License-Identifier: Apache-2.0
"""Other releases of Java and of Go, for experiments that compare releases: each is fetched, or done without."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from . import jdk_debian, python_env, toolchains, wheels
from .say import SetupError, run, step

OLD_JAVA = "the Java of 2020"


def bring_others(project: Path) -> None:
    """Fetch the JDKs, the old runtime and the Go releases that are not here; a line says why one cannot be had."""
    around = toolchains.Surroundings(project=project)
    present = {f"JDK {jdk.major}" for jdk in toolchains.find_jdks(around)}
    if toolchains.find_runtimes(around):
        present.add(OLD_JAVA)
    ways: dict[str, Callable[[], object]] = {
        f"JDK {major}": partial(_with_uv, jdk_debian.install_jdk, project, major)
        for major in toolchains.OTHER_JAVA
    }
    ways[OLD_JAVA] = partial(_with_uv, wheels.install_java, project)
    go = toolchains.find_go(around)
    if go.path is not None and go.usable:
        env = toolchains.build_environment(around)
        ways |= {f"Go {name}": partial(_bring_go, go.path, name, env) for name in toolchains.OTHER_GO}
    for name, bring in ways.items():
        try:
            step(f"{name} is here" if name in present else f"{name}: {bring()}")
        except SetupError as error:
            step(f"{name}: unavailable: {error}")


def _with_uv(install: Callable[..., Path], project: Path, *more: int) -> Path:
    return install(project, *python_env.bring_uv(project, sys.executable, os.environ), *more)


def _bring_go(go: Path, release: str, environment: Mapping[str, str]) -> str:
    """Have the go command fetch a release from the module proxy, which it checks by the checksum database."""
    return run(
        [go, "version"],
        doing=f"fetching Go {release}",
        env={**os.environ, **environment, "GOTOOLCHAIN": f"go{release}"},
        then="the experiments that name it go on without it",
    ).strip()
