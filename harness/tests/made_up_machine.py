# SPDX-License-Identifier: Apache-2.0
"""Folders that look like machines: shell scripts that answer as tools do."""

from __future__ import annotations

import os
from pathlib import Path

from harness import toolchains


def program(file: Path, prints: str = "", status: int = 0) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\ncat <<'EOF'\n{prints}\nEOF\nexit {status}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def jdk(home: Path, version: str, vendor: str = "Somebody", *, compiler: bool = True) -> Path:
    program(home / "bin/java")
    if compiler:
        program(home / "bin/javac")
    (home / "release").write_text(f'IMPLEMENTOR="{vendor}"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    return home


def go(file: Path, version: str) -> Path:
    return program(file, f"go version go{version} linux/amd64")


def around(folder: Path, *places: Path, **environ: str) -> toolchains.Surroundings:
    shell = folder / "shell"
    shell.mkdir(exist_ok=True)
    if not (shell / "cat").exists():
        (shell / "cat").symlink_to("/bin/cat")
    path = os.pathsep.join(str(place) for place in (*places, shell))
    (folder / "project").mkdir(exist_ok=True)
    return toolchains.Surroundings(
        project=folder / "project", environ={"PATH": path, **environ}, system=folder / "system"
    )
