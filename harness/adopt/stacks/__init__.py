# SPDX-License-Identifier: Apache-2.0
"""Guesses from the files that a stack leaves in its folder; each stack is a module of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.adopt.guess import Guess
from harness.adopt.stacks import compose, go, java, node, procfile, python
from harness.errors import InputError

#: In this order: what says how to build comes before what only says how to start.
STACKS: dict[str, Callable[[Path], Guess | None]] = {
    "go.mod": go.guess,
    "pom.xml": java.guess_maven,
    "build.gradle": java.guess_gradle,
    "package.json": node.guess,
    "pyproject.toml or requirements.txt": python.guess,
    "a .jar": java.guess_jar,
    "main.go, server.js or app.py alone": procfile.guess_script,
}


def guess_of(folder: Path) -> Guess:
    """Return what the files of a folder say of a service in it.

    Raises:
        InputError: there is no such folder, or nothing in it tells how a service is built and started.
    """
    if not folder.is_dir():
        raise InputError("no such folder", file=folder, allowed="the folder of a service")
    composed = compose.read(folder)
    inner = folder if composed is None or composed.build is None else composed.build
    found = next((guess for stack in STACKS.values() if (guess := stack(inner)) is not None), None)
    if found is None:
        there = ", ".join(sorted(path.name for path in inner.iterdir() if not path.name.startswith("."))[:8])
        raise InputError(
            "nothing here tells how the service is started", file=inner, found=there or "an empty folder",
            allowed=f"{', '.join(STACKS)}; or the command: --start 'PROGRAM ... {{port}}'",
        )  # fmt: skip
    found = procfile.overruled(found, inner)
    return found if composed is None else compose.completed(found, composed)
