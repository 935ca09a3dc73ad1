# SPDX-License-Identifier: Apache-2.0
"""What is built from source into ``.tools``: k6 and vegeta with Go, oha with cargo, this project's own C
(the load generator metronome) with the C compiler.

What is fetched for it is pinned: k6 and vegeta by the module files and hashes in ``setup/k6`` and ``setup/vegeta``,
oha by its version and the lock file inside its package, which cargo holds every dependency against.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from . import toolchains
from .say import SetupError, run, step


class GoProgram(NamedTuple):
    """A load generator in Go; its module file and hashes are in ``setup/NAME``. ``version_at``: the variable of its
    package that the linker sets to the version; None: it has its own."""

    package: str
    version: str
    takes: str
    version_at: str | None = None


GO_PROGRAMS: Mapping[str, GoProgram] = {
    "k6": GoProgram("go.k6.io/k6", toolchains.K6_VERSION, "a minute or two"),
    "vegeta": GoProgram(
        "github.com/tsenart/vegeta/v12", toolchains.VEGETA_VERSION, "half a minute", version_at="main.Version"
    ),
}


def build_with_go(name: str, project: Path, go: Path, env: Mapping[str, str]) -> Path:
    """Build the pinned release of a row of ``GO_PROGRAMS`` with the project's Go and return its program.

    Raises SetupError: its modules cannot be fetched, have other hashes than listed, or do not build.
    """
    row = GO_PROGRAMS[name]
    home = project / ".tools" / f"{name}-{row.version}"
    step(f"building {name} {row.version} ({row.takes}, once)")
    fresh = fresh_folder(home)
    linked = [] if row.version_at is None else ["-ldflags", f"-X {row.version_at}={row.version}"]
    flags = f"{env.get('GOFLAGS', '')} -mod=readonly -buildvcs=false".strip()
    run(
        [go, "build", "-o", fresh / "bin" / name, *linked, row.package],
        doing=f"building {name}",
        env={**env, "GOFLAGS": flags, "GOWORK": "off"},
        cwd=project / "setup" / name,
        then="check that Go can reach its module proxy, then call this again",
    )
    return in_place(fresh, home) / "bin" / name


def build_oha(project: Path, env: Mapping[str, str]) -> Path:
    """Build the pinned oha with cargo and return its program; a SetupError says what cargo lacks."""
    cargo = _cargo(env)
    home = project / ".tools" / f"oha-{toolchains.OHA_VERSION}"
    step(f"building oha {toolchains.OHA_VERSION} with cargo (seven CPU minutes, once)")
    fresh = fresh_folder(home)
    run(
        [cargo, "install", "--quiet", "--locked", "--root", fresh, "--version", toolchains.OHA_VERSION, "oha"],
        doing="building oha",
        env=env,
        then="check that cargo can reach its registry and is new enough, then call this again",
    )
    return in_place(fresh, home) / "bin/oha"


def _cargo(env: Mapping[str, str]) -> str:
    cargo = shutil.which("cargo", path=env.get("PATH"))
    if cargo is None:
        raise SetupError("oha is built with cargo, which is missing; install it with rustup")
    asked = subprocess.run([cargo, "--version"], env=dict(env), capture_output=True, text=True, check=False)
    if asked.returncode != 0:  # rustup's stand-in for cargo is there without any Rust, or with another HOME
        why = (asked.stderr.strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise SetupError(
            f"oha is built with cargo, and {cargo} does not run: {why}; if it is rustup's, choose a Rust with"
            " `rustup default stable`, or set RUSTUP_HOME to the folder of those you have, then call this again"
        )
    return cargo


def build_native(name: str, tools: Path, compiler: Path) -> Path:
    """Build a row of ``NATIVE`` below the folder of tools and return it; its own is named after its source."""
    row = toolchains.NATIVE[name]
    built = row.built(tools)
    step(f"building {row.title}")
    fresh = fresh_folder(built.parent)
    fresh.mkdir(parents=True)
    run(
        [compiler, *row.flags, "-o", fresh / built.name, row.source, *row.libraries],
        doing=f"building {row.title}",
        then="check that the headers of the C library are there (Debian: libc6-dev), then call this again",
    )
    return in_place(fresh, built.parent) / built.name


def fresh_folder(home: Path) -> Path:
    """Return the name of the folder beside ``home`` in which it is made, with nothing there."""
    fresh = home.with_name(home.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    return fresh


def in_place(fresh: Path, home: Path) -> Path:
    """Put what was made where it is looked for, whole, and return that folder."""
    shutil.rmtree(home, ignore_errors=True)
    fresh.rename(home)
    return home
