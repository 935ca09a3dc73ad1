# SPDX-License-Identifier: Apache-2.0
"""Guesses from files that say how a service is built and started; what they say is kept, or shown with a reason."""

from __future__ import annotations

from pathlib import Path

from harness.adopt.guess import Guess, parts_of
from harness.adopt.stacks import commands, compose, node, usual
from harness.errors import InputError

#: Files that tell at least how a service is built.
FILES = ("package.json", "Procfile", *compose.FILES[:1], "go.mod", *usual.BUILD_FILES, "main.py")


def guess_of(folder: Path, start: str | None = None) -> Guess:
    """Return what the files of a folder say of a service in it.

    Args:
        start: a command of the user, in the place of what the files say; then it need not have such files.

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
    guess = node.guess(inner) or usual.go(inner) or usual.built(inner)
    if guess is None and (start is not None or (inner / "Procfile").is_file()):
        guess = Guess(
            language="unknown", framework="unknown", runtime="other", source=inner, artifact=".", start=(),
            why={"build": "no file tells it"},
        )  # fmt: skip
    if guess is None:
        names = ", ".join(sorted(path.name for path in inner.iterdir() if not path.name.startswith("."))[:8])
        raise InputError(
            "nothing here tells how the service is started", file=inner, found=names or "an empty folder",
            allowed=f"{', '.join(FILES)}; or the commands: --build 'make' --start './program --port {{port}}'",
        )  # fmt: skip
    by_files = commands.overruled(guess, inner)
    guess = by_files if start is None else commands.with_command(guess, start, "--start")
    if not parts_of(guess.start)[2]:
        raise usual.refused(guess)
    return guess if composed is None else compose.completed(guess, composed)
