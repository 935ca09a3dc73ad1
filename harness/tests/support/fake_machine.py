# SPDX-License-Identifier: Apache-2.0
"""Folders that look like machines: shell scripts that answer as tools do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harness import toolchains
from setup import __main__ as setup_main
from setup import python_env, source_builds


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


def machine_to_set_up(folder: Path, monkeypatch: pytest.MonkeyPatch, *path: str) -> toolchains.Surroundings:
    """Make a machine whose project has an environment, and on which set-up finds programs in these folders alone."""
    fake_environment(folder / "project")
    monkeypatch.setattr("setup.python_env.is_ready", lambda project, python, light: True)
    monkeypatch.setattr(setup_main, "PROJECT", folder / "project")
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    for name in ("CC", "CONDA_PREFIX", source_builds.WRK2_SOURCE):
        monkeypatch.delenv(name, raising=False)
    return toolchains.Surroundings(project=folder / "project", system=folder / "system")


def fake_environment(project: Path) -> None:
    """Files from which the environment is made, and a `.venv` whose interpreter lists two distributions."""
    for name in python_env.INPUTS:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name, encoding="utf-8")
    program(project / ".venv/bin/rematch")
    program(project / ".venv/bin/python", '["a==1", "rematch==0.1.0"]')
    (project / ".tools").mkdir()
    stamp = {"inputs": python_env.inputs_hash(project, "py"), "installed": ["a==1", "rematch==0.1.0"]}
    (project / python_env.STAMP).write_text(json.dumps(stamp), encoding="utf-8")
