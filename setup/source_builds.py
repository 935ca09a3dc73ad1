# SPDX-License-Identifier: Apache-2.0
"""Programs built from source into ``.tools``: k6 and vegeta with Go, oha with cargo, metronome and wrk2 with cc.

What is fetched is pinned: k6 and vegeta by the module files and hashes in ``setup/k6`` and ``setup/vegeta``, oha by its
version and the lock file inside its package, wrk2 by its commit; wrk2 can be built from a folder that is at hand.
"""

from __future__ import annotations

import shutil
import tempfile
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
    """Build the pinned oha with cargo and return its program."""
    home = project / ".tools" / f"oha-{toolchains.OHA_VERSION}"
    step(f"building oha {toolchains.OHA_VERSION} with cargo (seven CPU minutes, once)")
    fresh = fresh_folder(home)
    run(
        ["cargo", "install", "--quiet", "--locked", "--root", fresh, f"oha@{toolchains.OHA_VERSION}"],
        doing="building oha",
        env=env,
        then="cargo comes with rustup (`rustup default stable` chooses a Rust) and has to reach its registry",
    )
    return in_place(fresh, home) / "bin/oha"


def build_metronome(tools: Path, compiler: Path) -> Path:
    """Build the load generator metronome below the folder of tools and return its program."""
    built, doing = toolchains.metronome_program(tools), "building the load generator metronome"
    step(doing)
    fresh = fresh_folder(built.parent)
    fresh.mkdir(parents=True)
    run(
        [compiler, *toolchains.METRONOME_FLAGS, "-o", fresh / built.name, toolchains.METRONOME, "-lm"],
        doing=doing,
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


# wrk2's project has no releases: git's name of the commit is the checksum of what is fetched. One fault of its event
# loop is repaired, and the program then calls itself WRK2_VERSION: where a timer is overdue when the loop begins to
# wait, it waits up to a second more (docs/generators.md).

REPOSITORY = "https://github.com/giltene/wrk2"
COMMIT = "44a94c17d8e6a0bac8559b53da76848e430cb7a7"
#: The variable that names the folder.
WRK2_SOURCE = "WRK2_SOURCE"
HOW = f"make generators {WRK2_SOURCE}=FOLDER builds it from a copy of {REPOSITORY}"
#: The line with the fault, in ``src/ae.c``, and the line in its place.
FAULTY = "if (tvp->tv_sec < 0) tvp->tv_sec = 0;"
REPAIRED = "if (tvp->tv_sec < 0) tvp->tv_sec = tvp->tv_usec = 0;"
#: What a program without the repair calls itself, in ``src/wrk.h``.
UNREPAIRED_VERSION = "4.0.0"
#: git gives up a connection that is silent for so long.
SILENT_S = 20
#: What an outer make hands on to an inner one, which has nothing to do with it.
OUTER_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MAKELEVEL")


def build_wrk2(project: Path, compiler: Path, environ: Mapping[str, str]) -> Path:
    """Build wrk2 and return its program; a SetupError says what is missing or fails."""
    env = {name: value for name, value in environ.items() if name not in OUTER_MAKE}
    home = project / ".tools" / f"wrk2-{toolchains.WRK2_VERSION}"
    fresh = fresh_folder(home)
    with tempfile.TemporaryDirectory(prefix="wrk2-") as folder:
        source = _source(Path(folder) / "wrk2", env)
        step(f"building wrk2 {toolchains.WRK2_VERSION} (half a minute, once)")
        repair(source)
        then = "it takes make and the headers of OpenSSL (Debian: make, libssl-dev)"
        for words in (["make", "clean"], ["make"]):
            run(words, doing="building wrk2", env={**env, "CC": str(compiler)}, cwd=source, then=then)
        (fresh / "bin").mkdir(parents=True)
        shutil.copy2(source / "wrk", fresh / "bin/wrk2")
    return in_place(fresh, home) / "bin/wrk2"


def repair(source: Path) -> None:
    """Repair the event loop of a copy of the source; one without the fault stays as it is, and keeps its version."""
    loop, header = source / "src/ae.c", source / "src/wrk.h"
    if not (loop.is_file() and header.is_file()):
        return
    faulty, version = loop.read_text(encoding="utf-8"), header.read_text(encoding="utf-8")
    if faulty.count(FAULTY) != 1 or version.count(f'"{UNREPAIRED_VERSION}"') != 1:
        return
    loop.write_text(faulty.replace(FAULTY, REPAIRED), encoding="utf-8")
    named = version.replace(f'"{UNREPAIRED_VERSION}"', f'"{toolchains.WRK2_VERSION}"')
    header.write_text(named, encoding="utf-8")


def _source(copy: Path, env: Mapping[str, str]) -> Path:
    """Copy or fetch the source: nothing is built in a folder of the user's."""
    if given := env.get(WRK2_SOURCE):
        folder = Path(given).expanduser()
        if not (folder / "src/wrk.c").is_file() or not (folder / "deps/luajit").is_dir():
            raise SetupError(f"{WRK2_SOURCE}={given} has no src/wrk.c and deps/luajit; {HOW}")
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        return copy
    step("fetching the source of wrk2")
    copy.mkdir()
    quiet = {**env, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    patience = ("-c", "http.lowSpeedLimit=1", "-c", f"http.lowSpeedTime={SILENT_S}")
    for words in (
        ("init", "--quiet"),
        (*patience, "fetch", "--quiet", "--depth", "1", REPOSITORY, COMMIT),
        ("checkout", "--quiet", "FETCH_HEAD"),
    ):
        run(["git", *words], doing="fetching its source", env=quiet, cwd=copy, then=HOW)
    return copy
