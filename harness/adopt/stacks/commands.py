# SPDX-License-Identifier: Apache-2.0
"""Start commands that a person wrote: of a ``Procfile``, of ``npm start``, of ``--start``. Nothing of them is lost."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from harness.adopt.guess import Guess, parts_of, started

_WEB = re.compile(r"^web:\s*(?P<command>.+)$", re.MULTILINE)
_DOCKER = re.compile(r"^(?:CMD|ENTRYPOINT|ENV)\s+.+$", re.MULTILINE | re.IGNORECASE)
#: What only a shell understands; the variable of the port alone is translated.
_SHELL = re.compile(r"[|&;<>`*]|\$")
_PORT = re.compile(r"\$\{?PORT(?::-\d+)?\}?")
#: Programs that set variables and start another program.
_SETTERS = ("env", "cross-env", "exec")
#: Servers that are modules of Python, too: they are installed for one service, and stand on no PATH.
PYTHON_SERVERS = ("gunicorn", "uvicorn", "hypercorn", "waitress", "flask")


@dataclass(frozen=True, kw_only=True)
class Words:
    """A command: what it sets (``NAME=value`` of each), and the program with its own words."""

    environment: tuple[str, ...]
    program: tuple[str, ...]

    @property
    def has_port(self) -> bool:
        return any("{port}" in word for word in (*self.environment, *self.program))


def words_of(command: str) -> Words:
    """Return the words of a command; one that only a shell understands is a shell's."""
    text = _PORT.sub("{port}", command.strip())
    try:
        words = [] if _SHELL.search(text) else shlex.split(text)
    except ValueError:
        words = []
    if not words:
        return Words(environment=(), program=("sh", "-c", text))
    if words[0] in _SETTERS:
        if words[1:2] == ["-C"]:
            return Words(environment=(), program=tuple(words))
        words.pop(0)
    _, environment, program = parts_of(tuple(words))
    return Words(environment=environment, program=program)


def overruled(guess: Guess, folder: Path) -> Guess:
    """Return the guess with the start of ``Procfile`` (``web:``).

    A ``Dockerfile`` is a remark: its paths are those of its image.
    """
    file, docker = folder / "Procfile", folder / "Dockerfile"
    if file.is_file() and (match := _WEB.search(file.read_text("utf-8", errors="replace"))):
        command = match["command"].strip()
        return with_command(guess, command, f"Procfile: web: {command}", port="PORT={port}")
    if docker.is_file() and (lines := _DOCKER.findall(docker.read_text("utf-8", errors="replace"))):
        text = "; ".join(" ".join(line.split()) for line in lines)
        return guess.remarked(
            f"Dockerfile is not used, because its paths are those of an image; it says: {text}"
        )
    return guess


def with_command(guess: Guess, command: str, why: str, *, port: str | None = None) -> Guess:
    """Return the guess with a command that a person wrote for its sources in the place of its start.

    Args:
        port: the variable that is set where the command does not say how the port is taken.
    """
    words = words_of(command)
    program, environment = words.program, words.environment
    if program[0] == "env":  # it says folder and variables itself
        return replace(guess, start=program).because(start=why)
    if program[0] == "sh":  # its words are paths of the sources, so these are what runs
        guess = replace(guess, artifact=".", runtime="other")
    elif program[0] == "java":
        program = ("{java}", "{runtime_args}", *program[1:])
        guess = replace(guess, language="java", runtime="jvm")
    elif guess.artifact != "." and program[0].startswith(("bin/", "./")):
        program = ("{artifact}", *program[1:])
    elif program[0] == "python":
        program = ("python3", *program[1:])
    elif guess.build and program[0] in PYTHON_SERVERS:
        program = ("python3", "-m", *program)
    paths = (word for word in parts_of(guess.start)[1] if word.startswith("PYTHONPATH="))
    environment = (*paths, *environment)
    if port is not None and not words.has_port:
        environment = (port, *environment)
    inside = guess.artifact == "." and not any("{artifact}" in word for word in program)
    return replace(guess, start=started(program, *environment, inside=inside)).because(start=why)


def as_toml(words: tuple[str, ...]) -> str:
    """Return a list of words as TOML has it."""
    return json.dumps(list(words), ensure_ascii=False)
