# SPDX-License-Identifier: Apache-2.0
"""Start commands from the files that say them: package.json, a Procfile, a Compose file. What they say is kept, or
shown with a reason.

The file of a build tool tells how its programs are built. How one is started and takes its port is told by those files
or by a person. A Dockerfile is only shown: its paths are those of its image.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from harness.adopt import compose
from harness.adopt.compose import Composed
from harness.errors import InputError

RuntimeName = Literal["go", "jvm", "native", "other"]
#: Said wherever no file tells how a program takes its port.
BY_VARIABLE = (
    "no file says how it takes its port, so the variable PORT is set; if it takes it in another way, change the line "
    'start of service.toml, for instance by "--port={port}" at its end'
)
SITE = "site-packages-of-service"
_PIP = ("python3", "-m", "pip", "install", "--quiet", "--no-input", "--target", SITE)
#: File -> language, kind of runtime, build, and the form that start commands of such programs often have.
BUILD_FILES: dict[str, tuple[str, RuntimeName, tuple[str, ...], str]] = {
    "go.mod": ("go", "go", ("go", "build", "-o", "bin/", "./..."), "PORT={port} bin/NAME"),
    "Cargo.toml": ("rust", "native", ("cargo", "build", "--release"), "target/release/NAME --port {port}"),
    "pom.xml": (
        "java", "jvm", ("mvn", "-B", "-q", "package", "-DskipTests"), "java -jar target/NAME.jar --server.port={port}",
    ),
    "build.gradle": (
        "java", "jvm", ("sh", "gradlew", "--no-daemon", "-q", "assemble"),
        "java -jar build/libs/NAME.jar --server.port={port}",
    ),
    "requirements.txt": (
        "python", "other", (*_PIP, "-r", "requirements.txt"), "python3 -m gunicorn --bind {host}:{port} app:app",
    ),
}  # fmt: skip
_NPM_START = ("npm", "start", "--silent")
_FRAMEWORKS = ("express", "fastify", "koa", "@nestjs/core", "@hapi/hapi", "next")
_WEB = re.compile(r"^web:\s*(?P<command>.+)$", re.MULTILINE)
_DOCKER = re.compile(r"^(?:CMD|ENTRYPOINT|ENV)\s+.+$", re.MULTILINE | re.IGNORECASE)
#: What only a shell understands; the variable of the port alone is translated.
_SHELL = re.compile(r"[|&;<>`*]|\$")
_PORT = re.compile(r"\$\{?PORT(?::-\d+)?\}?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
#: Programs that set variables and start another program.
_SETTERS = ("env", "cross-env", "exec")
#: Servers that are modules of Python, too: they are installed for one service, and stand on no PATH.
_PYTHON_SERVERS = ("gunicorn", "uvicorn", "hypercorn", "waitress", "flask")


@dataclass(frozen=True, kw_only=True)
class Guess:
    """The parts of a ``service.toml``. ``environment``: ``NAME=value`` of each variable, where ``$PGHOST`` and its like
    are the trial's database; ``why``: part -> what it was concluded from, one sentence each."""

    language: str = "unknown"
    framework: str = "unknown"
    runtime: RuntimeName = "other"
    source: Path
    build: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    address: str | None = None
    needs: tuple[str, ...] = ()
    schema: tuple[Path, ...] = ()
    why: dict[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def because(self, **why: str) -> Guess:
        """Return the guess with these reasons added."""
        return replace(self, why={**self.why, **why})

    @property
    def start(self) -> tuple[str, ...]:
        """The whole start command: variables, and what was built as the working directory unless it names that."""
        says_folder = self.program[:1] == ("env",) or any("{artifact}" in word for word in self.program)
        words = () if says_folder else ("-C", "{artifact}")
        before: tuple[str, ...] = ()
        if any("$" in word for word in self.environment):  # filled in by a shell, which the program replaces
            quoted = (f'"{word}"' if "$" in word else shlex.quote(word) for word in self.environment)
            before = ("sh", "-c", f'exec env {" ".join(quoted)} "$@"', "sh")
        else:
            words = (*words, *self.environment)
        return (*before, *(("env", *words) if words else ()), *self.program)


def service_name(text: str) -> str:
    """Return a name for files and folders.

    >>> service_name("My Service_2"), service_name("--")
    ('my-service-2', 'service')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "service"


def guess_of(folder: Path, start: str | None = None) -> Guess:
    """Return what the files of a folder, or a start command of the user, say of a service in it.

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
    guess = _node(inner) or _built(inner) or Guess(source=inner, why={"build": "no file tells it"})
    web, docker = _WEB.search(_text(inner / "Procfile")), _DOCKER.findall(_text(inner / "Dockerfile"))
    if start is not None:
        guess = _commanded(guess, start, "--start")
    elif web is not None:
        guess = _commanded(guess, web["command"], f"Procfile: {web[0]}", port="PORT={port}")
    elif docker:
        lines = "; ".join(" ".join(line.split()) for line in docker)
        why_not = f"Dockerfile is not used, because its paths are those of an image; it says: {lines}"
        guess = replace(guess, remarks=(why_not,))
    if guess.program:
        return guess if composed is None else _completed(guess, composed)
    names = sorted(path.name for path in inner.iterdir() if not path.name.startswith("."))[:8]
    known = BUILD_FILES.get(guess.why["build"])
    form = "--build 'make' --start './program --port {port}'" if known is None else f"--start '{known[3]}'"
    file = compose.FILES[0] if composed is None else composed.file.name
    raise InputError(
        "nothing here tells how the service is started",
        file=inner,
        place=None if composed is None else f"{file} builds {composed.service or 'no service'}",
        found="; ".join((", ".join(names) or "an empty folder", *guess.remarks)),
        allowed=f"package.json, {file} or a Procfile with a line `web: COMMAND`; or a command such as: {form}",
    )


def _text(file: Path) -> str:
    return file.read_text("utf-8", errors="replace") if file.is_file() else ""


def _built(folder: Path) -> Guess | None:
    """What a folder with one of ``BUILD_FILES`` needs, without its program."""
    name = next((name for name in BUILD_FILES if any(folder.glob(f"{name}*"))), None)
    if name is None:
        return None
    language, runtime, build, _ = BUILD_FILES[name]
    path = (f"PYTHONPATH={{artifact}}/{SITE}:{{artifact}}",) if language == "python" else ()
    return Guess(
        language=language, runtime=runtime, source=folder, build=build, environment=path, why={"build": name}
    )


def _words_of(command: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the variables and the program of a command; one that only a shell understands is a shell's."""
    text = _PORT.sub("{port}", command.strip())
    try:
        words = [] if _SHELL.search(text) else shlex.split(text)
    except ValueError:
        words = []
    if not words:
        return (), ("sh", "-c", text)
    if words[0] in _SETTERS and words[1:2] != ["-C"]:
        words.pop(0)
    n = next((n for n, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return tuple(words[:n]), tuple(words[n:])


def _commanded(guess: Guess, command: str, why: str, *, port: str | None = None) -> Guess:
    """The guess with a command that a person wrote as its start; ``port``: set where that does not take the port."""
    environment, program = _words_of(command)
    if program[0] == "env":  # it says folder and variables itself
        return replace(guess, environment=(), program=program).because(start=why)
    if program[0] == "sh":
        guess = replace(guess, runtime="other")
    elif program[0] == "java":
        program = ("{java}", "{runtime_args}", *program[1:])
        guess = replace(guess, language="java", runtime="jvm")
    elif program[0] == "python":
        program = ("python3", *program[1:])
    elif guess.build and program[0] in _PYTHON_SERVERS:
        program = ("python3", "-m", *program)
    paths = (word for word in guess.environment if word.startswith("PYTHONPATH="))
    by_variable = (port,) if port is not None and "{port}" not in f"{environment}{program}" else ()
    environment = (*by_variable, *paths, *environment)
    return replace(guess, environment=environment, program=program).because(start=why)


def _node(folder: Path) -> Guess | None:
    """What a folder with a ``package.json`` needs: how it is built and started is said there."""
    file = folder / "package.json"
    if not file.is_file():
        return None
    try:
        package: Any = json.loads(file.read_text("utf-8"))
        scripts, wanted = dict(package.get("scripts", {})), dict(package.get("dependencies", {}))
    except (ValueError, AttributeError, TypeError) as problem:
        raise InputError(f"not a package.json: {problem}", file=file) from None
    fetch = "ci" if (folder / "package-lock.json").is_file() else "install"
    build: tuple[str, ...] = ()
    if "build" in scripts:
        build = ("sh", "-c", f"npm {fetch} --no-audit --no-fund && npm run build")
    elif wanted or "workspaces" in package:
        build = ("npm", fetch, "--omit=dev", "--no-audit", "--no-fund")
    environment, program, why = _npm_start(folder, scripts, package.get("main"))
    framework = next((name for name in _FRAMEWORKS if name in wanted), "node:http")
    return Guess(
        language="javascript", framework=framework, source=folder, build=build, environment=environment,
        program=program, why={"build": "package.json", "start": why},
    )  # fmt: skip


def _npm_start(
    folder: Path, scripts: dict[str, Any], main: Any
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Variables, program and reason. What ``scripts.start`` sets and says is kept; else npm itself runs it."""
    command, port = str(scripts.get("start", "")), ("PORT={port}",)
    if not command:
        if isinstance(main, str) and (folder / main).is_file():
            return port, ("node", main), f"package.json: main: {main}; {BY_VARIABLE}"
        return port, _NPM_START, f"package.json has neither scripts.start nor main; {BY_VARIABLE}"
    environment, program = _words_of(command)
    has_port = "{port}" in f"{environment}{program}"
    why = f"package.json: scripts.start: {command}" + ("" if has_port else f"; {BY_VARIABLE}")
    beside = {"prestart", "poststart"} & scripts.keys()
    if beside or program[0] in ("sh", "npm", "npx", "yarn", "pnpm"):
        cause = f"with {', '.join(sorted(beside))}" if beside else "which only a shell and npm understand"
        return port, _NPM_START, f"{why}; npm runs it, {cause}, and is part of what is measured"
    if program[0] != "node" and "/" not in program[0] and shutil.which(program[0]) is None:
        program = (f"node_modules/.bin/{program[0]}", *program[1:])
    return (*(() if has_port else port), *environment), program, why


def _completed(guess: Guess, composed: Composed) -> Guess:
    """Return the guess with what its Compose file adds: variables, a database, and a remark on all that is left out."""
    name, why = composed.file.name, guess.why["start"]
    environment: Collection[str] = guess.environment
    if "{port}" in str(composed.environment):  # this file says how it takes its port
        environment = [word for word in environment if word != "PORT={port}"]
        why = why.replace(BY_VARIABLE, "").strip("; ")
    if composed.environment:
        names = ", ".join(word.partition("=")[0] for word in composed.environment)
        why = "; ".join(filter(None, (why, f"{names} as in {name}")))
    built = "no service" if composed.service is None else f"service {composed.service!r}"
    return replace(
        guess,
        needs=("postgresql",) if composed.database is not None else (),
        schema=composed.schema,
        environment=(*composed.environment, *environment),
        remarks=(*guess.remarks, f"{name}: {built} is built in {guess.source}", *composed.remarks),
    ).because(start=why)
