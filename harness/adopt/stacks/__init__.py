# SPDX-License-Identifier: Apache-2.0
"""Guesses from files that say how a service is built and started; what they say is kept, or shown with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from harness.adopt.guess import Guess
from harness.adopt.stacks import commands, compose, node, usual
from harness.errors import InputError

#: In this order: what says how to build comes before what only says how to start.
STACKS: dict[str, Callable[[Path], Guess | None]] = {
    "package.json": node.guess,
    "go.mod": usual.go,
    "Cargo.toml": usual.rust,
    "pom.xml, build.gradle or a jar": usual.java,
    "requirements.txt, pyproject.toml or main.py": usual.python,
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
    if composed is not None and not inner.is_dir():
        raise InputError(
            "is built in no folder of this machine", file=composed.file, place=f"services.{composed.service}.build",
            found=str(inner), allowed="a folder",
        )  # fmt: skip
    found = next((guess for stack in STACKS.values() if (guess := stack(inner)) is not None), None)
    if found is None:
        there = ", ".join(sorted(path.name for path in inner.iterdir() if not path.name.startswith("."))[:8])
        raise InputError(
            "nothing here tells how the service is started", file=inner, found=there or "an empty folder",
            allowed=f"{', '.join(STACKS)}; or the commands: --build 'make' --start './program --port {{port}}'",
        )  # fmt: skip
    found = commands.overruled(found, inner)
    return found if composed is None else compose.completed(found, composed)
