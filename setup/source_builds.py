# SPDX-License-Identifier: Apache-2.0
"""What is built from source into ``.tools``: k6 with Go, oha with cargo, the sampler's library with the C compiler.

What is fetched for it is pinned: k6 by the module file and the hashes in ``setup/k6``, oha by its version and
the lock file inside its package, which cargo holds every dependency against.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .finders import toolchains
from .say import SetupError, run, step

K6_MODULE = Path("setup/k6")
K6_PACKAGE = "go.k6.io/k6"


def build_k6(project: Path, go: Path, env: Mapping[str, str]) -> Path:
    """Build the pinned k6 with the project's Go and return its program.

    Raises:
        SetupError: its modules cannot be fetched, have other hashes than listed, or do not build.
    """
    home = project / ".tools" / f"k6-{toolchains.K6_VERSION}"
    step(f"building k6 {toolchains.K6_VERSION} (a minute or two, once)")
    fresh = _fresh(home)
    run(
        [go, "build", "-o", fresh / "bin/k6", K6_PACKAGE],
        doing="building k6",
        env={
            **env,
            "GOFLAGS": f"{env.get('GOFLAGS', '')} -mod=readonly -buildvcs=false".strip(),
            "GOWORK": "off",
        },
        cwd=project / K6_MODULE,
        then="check that Go can reach its module proxy, then call this again",
    )
    return _in_place(fresh, home) / "bin/k6"


def build_oha(project: Path, env: Mapping[str, str]) -> Path:
    """Build the pinned oha with cargo and return its program.

    Raises:
        SetupError: there is no cargo, it does not run, or it cannot build oha.
    """
    cargo = _cargo(env)
    home = project / ".tools" / f"oha-{toolchains.OHA_VERSION}"
    step(f"building oha {toolchains.OHA_VERSION} with cargo (seven CPU minutes, once)")
    fresh = _fresh(home)
    run(
        [
            cargo,
            "install",
            "--quiet",
            "--locked",
            "--root",
            fresh,
            "--version",
            toolchains.OHA_VERSION,
            "oha",
        ],
        doing="building oha",
        env=env,
        then="check that cargo can reach its registry and is new enough, then call this again",
    )
    return _in_place(fresh, home) / "bin/oha"


def _cargo(env: Mapping[str, str]) -> str:
    cargo = shutil.which("cargo", path=env.get("PATH"))
    if cargo is None:
        raise SetupError("oha is built with cargo, which is missing; install it with rustup")
    asked = subprocess.run([cargo, "--version"], env=dict(env), capture_output=True, text=True, check=False)
    if asked.returncode != 0:  # rustup's stand-in for cargo is there without any Rust, or with another HOME
        why = next((line for line in asked.stderr.splitlines() if line.strip()), "no reason given").rstrip(
            "."
        )
        raise SetupError(
            f"oha is built with cargo, and {cargo} does not run: {why}; if it is rustup's, choose a Rust with"
            " `rustup default stable`, or say with RUSTUP_HOME where the ones you have are, then call this again"
        )
    return cargo


def build_glances(project: Path, compiler: Path) -> Path:
    """Build the library that takes the sampler's ticks and return it; its folder is named after its source.

    Raises:
        SetupError: it does not compile.
    """
    library = toolchains.tick_library(project / ".tools")
    step("building the sampler's library")
    fresh = _fresh(library.parent)
    fresh.mkdir(parents=True)
    run(
        [compiler, *toolchains.GLANCES_FLAGS, "-o", fresh / library.name, toolchains.GLANCES_SOURCE],
        doing="building the sampler's library",
        then="check that the headers of the C library are there (Debian: libc6-dev), then call this again",
    )
    return _in_place(fresh, library.parent) / library.name


def _fresh(home: Path) -> Path:
    fresh = home.with_name(home.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    return fresh


def _in_place(fresh: Path, home: Path) -> Path:
    shutil.rmtree(home, ignore_errors=True)
    fresh.rename(home)
    return home
