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
    if file.is_file() and (found := _WEB.search(file.read_text("utf-8", errors="replace"))):
        command = found["command"].strip()
        return with_command(guess, command).because(start=f"Procfile: web: {command}")
    if docker.is_file() and (said := _DOCKER.findall(docker.read_text("utf-8", errors="replace"))):
        text = "; ".join(" ".join(line.split()) for line in said)
        return guess.remarked(
            f"Dockerfile is not used, because its paths are those of an image; it says: {text}"
        )
    return guess


def with_command(guess: Guess, command: str) -> Guess:
    """Return the guess with a command that was written for its sources in the place of its start."""
    said = words_of(command)
    program, environment = said.program, said.environment
    name = program[0]
    if name == "sh":  # its words are paths of the sources, so these are what runs
        guess = replace(guess, artifact=".", runtime="other")
    if (
        guess.runtime == "go"
        and guess.artifact != "."
        and (name.startswith(("bin/", "./")) or "/" not in name)
    ):
        program = ("{artifact}", *program[1:])
    elif guess.runtime == "jvm" and name == "java":
        program = tuple(
            "{artifact}" if word.endswith(".jar") else word
            for word in ("{java}", "{runtime_args}", *program[1:])
        )
    elif guess.language == "python":
        module = ("-m", name) if guess.build and name in PYTHON_SERVERS else ()
        program = ("python3", *(module or ()), *program[1:]) if module or name == "python" else program
        environment = (
            *(word for word in parts_of(guess.start)[1] if word.startswith("PYTHONPATH=")),
            *environment,
        )
    if not said.has_port:
        environment = ("PORT={port}", *environment)
    return replace(guess, start=started(program, *environment, inside=guess.artifact == "."))


def own_start(guess: Guess | None, folder: Path, command: str) -> Guess:
    """Return the guess with a start command of the user; without a guess, of a program without a build."""
    said = words_of(command)
    words = (*said.environment, *said.program)
    if guess is None:
        guess = Guess(
            language="unknown", framework="unknown", runtime="other", source=folder, artifact=".", start=()
        )
    if said.program[0] == "java":
        words = (*said.environment, "{java}", "{runtime_args}", *said.program[1:])
        guess = replace(guess, language="java", runtime="jvm")
    if said.program[0] != "env":
        inside = guess.artifact == "." and not any("{artifact}" in word for word in words)
        words = started(words, inside=inside) if inside or not said.environment else ("env", *words)
    return replace(guess, start=words).because(start="--start")


def as_toml(words: tuple[str, ...]) -> str:
    """Return a list of words as TOML has it."""
    return json.dumps(list(words), ensure_ascii=False)
