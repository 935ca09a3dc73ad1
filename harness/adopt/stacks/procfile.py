# SPDX-License-Identifier: Apache-2.0
"""A ``Procfile`` or ``Dockerfile`` says how a service is started, whatever it is made of; and a script alone."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

from harness.adopt.guess import Guess, started
from harness.adopt.source_text import SourceText, port_or_variable
from harness.adopt.stacks import python

_WEB = re.compile(r"^web:\s*(?P<command>.+)$", re.MULTILINE)
_COMMAND = re.compile(r"^(?:CMD|ENTRYPOINT)\s+(?P<command>.+)$", re.MULTILINE | re.IGNORECASE)
#: What only a shell understands; the variable of the port alone is translated.
_SHELL = re.compile(r"[|&;<>`*]|\$\(|\$\{?(?!PORT\b)")
_PORT = re.compile(r"\$\{?PORT(?::-\d+)?\}?")
_SCRIPTS = ("app.py", "main.py", "server.py", "service.py")
_NODE = ("server.js", "index.js", "app.js", "main.js")


def overruled(guess: Guess, folder: Path) -> Guess:
    """Return the guess with the start of ``Procfile`` (``web:``), where it has one without a shell's signs.

    A ``Dockerfile`` is a remark: its paths are those of its image.
    """
    file = folder / "Procfile"
    if file.is_file() and (found := _WEB.search(file.read_text("utf-8", errors="replace"))):
        command = found["command"].strip()
        if _SHELL.search(_PORT.sub("", command)):
            return replace(guess, remarks=(*guess.remarks, f"Procfile starts it with a shell: {command}"))
        return _with_command(guess, command).because(start=f"Procfile: web: {command}")
    docker = folder / "Dockerfile"
    if docker.is_file() and (
        commands := list(_COMMAND.finditer(docker.read_text("utf-8", errors="replace")))
    ):
        said = "; ".join(match["command"].strip() for match in commands)
        return replace(guess, remarks=(*guess.remarks, f"Dockerfile starts it with: {said}"))
    return guess


def _with_command(guess: Guess, command: str) -> Guess:
    words = tuple(_PORT.sub("{port}", word) for word in shlex.split(command))
    before = [word for word in guess.start[: _program_at(guess.start)] if word != "env"]
    if not any("{port}" in word for word in (*words, *before)):
        before.append("PORT={port}")
    if guess.language == "go" and (words[0].startswith("bin/") or "/" not in words[0]):
        words = ("{artifact}", *words[1:])
    if words[0] == "python":
        words = ("python3", *words[1:])
    if (
        guess.build
        and guess.language == "python"
        and words[0] in ("uvicorn", "gunicorn", "flask", "hypercorn")
    ):
        words = ("python3", "-m", *words)
    return replace(guess, start=(("env", *before) if before else ()) + words)


def _program_at(start: tuple[str, ...]) -> int:
    """Return where the program stands behind ``env`` and what that is told."""
    if start[:1] != ("env",):
        return 0
    at = 3 if start[1:2] == ("-C",) else 1
    while at < len(start) and re.match(r"[A-Za-z_]\w*=", start[at]):
        at += 1
    return at


def guess_script(folder: Path) -> Guess | None:
    """Return what a folder with a script and nothing else needs, or ``None``."""
    if any((folder / name).is_file() for name in _SCRIPTS):
        return python.program(folder)
    entry = next((name for name in _NODE if (folder / name).is_file()), None)
    if entry is None:
        return None
    port = port_or_variable(SourceText(folder))
    return Guess(
        language="javascript", framework="node:http", runtime="other", source=folder, artifact=".",
        start=started(("node", entry), port, inside=True), why={"start": f"{entry} is there; {port.why}"},
    )  # fmt: skip


def own_start(guess: Guess | None, folder: Path, command: str) -> Guess:
    """Return the guess with a start command of the user; without a guess, of a program without a build."""
    words = tuple(shlex.split(command))
    inside = ("env", "-C", "{artifact}")
    if guess is None:
        program = words if words[0] == "env" else (*inside, *words)
        return Guess(
            language="unknown", framework="unknown", runtime="other", source=folder, artifact=".",
            start=program, why={"start": "--start"},
        )  # fmt: skip
    own = words[0] == "env" or any("{artifact}" in word for word in words) or guess.artifact != "."
    return replace(guess, start=words if own else (*inside, *words)).because(start="--start")


def as_toml(words: tuple[str, ...]) -> str:
    """Return a list of words as TOML has it."""
    return json.dumps(list(words), ensure_ascii=False)
