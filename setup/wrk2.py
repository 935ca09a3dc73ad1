# SPDX-License-Identifier: Apache-2.0
"""wrk2, built with the C compiler: from a folder that is at hand, else from the pinned commit by git.

Its project has no releases: git's name of the commit is the checksum of what is fetched. The headers of OpenSSL are not
part of its source. One fault of its event loop is repaired, and the program then calls itself ``WRK2_VERSION``: where a
timer is overdue when the loop begins to wait, it waits up to a second more (``docs/generators.md``).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from . import toolchains
from .say import SetupError, run, step
from .source_builds import fresh_folder, in_place

REPOSITORY = "https://github.com/giltene/wrk2"
COMMIT = "44a94c17d8e6a0bac8559b53da76848e430cb7a7"
#: The variable that names the folder.
SOURCE = "WRK2_SOURCE"
HOW = f"make generators {SOURCE}=FOLDER builds it from a copy of {REPOSITORY}"
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
    make = shutil.which("make", path=env.get("PATH"))
    if make is None:
        raise SetupError("make is missing (Debian: make)")
    _need_openssl(compiler, env)
    home = project / ".tools" / f"wrk2-{toolchains.WRK2_VERSION}"
    fresh = fresh_folder(home)
    with tempfile.TemporaryDirectory(prefix="wrk2-") as folder:
        source = _source(Path(folder) / "wrk2", env)
        step(f"building wrk2 {toolchains.WRK2_VERSION} (half a minute, once)")
        repair(source)
        run([make, "clean"], doing="cleaning its source", env=env, cwd=source)
        run([make], doing="building it", env={**env, "CC": str(compiler)}, cwd=source)
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
    given = env.get(SOURCE)
    if not given:
        return _fetched(copy, env)
    folder = Path(given).expanduser()
    if not (folder / "src/wrk.c").is_file() or not (folder / "deps/luajit").is_dir():
        raise SetupError(f"{SOURCE}={given} has no src/wrk.c and deps/luajit; {HOW}")
    shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return copy


def _fetched(copy: Path, env: Mapping[str, str]) -> Path:
    git = shutil.which("git", path=env.get("PATH"))
    if git is None:
        raise SetupError(f"no source and no git to fetch it; {HOW}")
    step("fetching the source of wrk2")
    copy.mkdir()
    quiet = {**env, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    patience = ("-c", "http.lowSpeedLimit=1", "-c", f"http.lowSpeedTime={SILENT_S}")
    for words in (
        ("init", "--quiet"),
        (*patience, "fetch", "--quiet", "--depth", "1", REPOSITORY, COMMIT),
        ("checkout", "--quiet", "FETCH_HEAD"),
    ):
        run([git, *words], doing="fetching its source", env=quiet, cwd=copy, then=HOW)
    return copy


def _need_openssl(compiler: Path, env: Mapping[str, str]) -> None:
    run(
        [compiler, "-E", "-include", "openssl/ssl.h", "-x", "c", "/dev/null"],
        doing="looking for the headers of OpenSSL", env=env, cwd=Path("/"),
        then="install them (Debian: libssl-dev), then call this again",
    )  # fmt: skip
