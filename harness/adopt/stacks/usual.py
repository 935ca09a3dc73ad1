# SPDX-License-Identifier: Apache-2.0
"""What the file of a language's build tool tells: the language, and how its programs are built.

How a program is started, and takes its port, is told by a Procfile, a Compose file, ``package.json`` or a person. Only
a Go program and a script alone are started without: by the variable ``PORT``, and where that is wrong the first start
ends with the line of ``service.toml`` to change.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from harness.adopt.guess import BY_VARIABLE, Guess, RuntimeName, started
from harness.errors import InputError

SITE = "site-packages-of-service"
_PIP = ("python3", "-m", "pip", "install", "--quiet", "--no-input", "--target", SITE)
_SERVERS = "python3 -m gunicorn --bind {host}:{port} app:app"
#: File -> language, kind of runtime, build, and the form that start commands of such programs often have.
BUILD_FILES: dict[str, tuple[str, RuntimeName, tuple[str, ...], str]] = {
    "Cargo.toml": ("rust", "native", ("cargo", "build", "--release"), "target/release/NAME --port {port}"),
    "pom.xml": (
        "java", "jvm", ("mvn", "-B", "-q", "package", "-DskipTests"), "java -jar target/NAME.jar --server.port={port}",
    ),
    "build.gradle": (
        "java", "jvm", ("sh", "gradlew", "--no-daemon", "-q", "assemble"),
        "java -jar build/libs/NAME.jar --server.port={port}",
    ),
    "requirements.txt": ("python", "other", (*_PIP, "-r", "requirements.txt"), _SERVERS),
    "pyproject.toml": ("python", "other", _PIP, _SERVERS),
}  # fmt: skip
_SCRIPTS = ("main.py", "app.py", "server.py", "service.py")
_MAIN = re.compile(r"^package main\b", re.MULTILINE)


def go(folder: Path) -> Guess | None:
    """Return what a folder with a ``go.mod`` needs, or ``None``."""
    if not (folder / "go.mod").is_file():
        return None
    mains = [place for place in (folder, *sorted(folder.glob("cmd/*"))) if _has_main(place)]
    package = "." if not mains or mains[0] == folder else f"./{mains[0].relative_to(folder).as_posix()}"
    further = "".join(f"; another: {place.name}" for place in mains[1:])
    return Guess(
        language="go", framework="unknown", runtime="go", source=folder,
        build=("go", "build", "-o", "target/service", package), artifact="target/service",
        start=started(("{artifact}",), "PORT={port}", inside=False),
        why={"build": f"go.mod; package main is in {package}{further}", "start": BY_VARIABLE},
    )  # fmt: skip


def _has_main(folder: Path) -> bool:
    return any(_MAIN.search(file.read_text("utf-8", "replace")) for file in folder.glob("*.go"))


def built(folder: Path) -> Guess | None:
    """Return what a folder with one of ``BUILD_FILES``, or with a script alone, needs, or ``None``.

    ``start`` is empty where no file says it.
    """
    script = next((name for name in _SCRIPTS if (folder / name).is_file()), None)
    name = next((name for name in BUILD_FILES if any(folder.glob(f"{name}*"))), None)
    if name is None:
        return None if script is None else _python(folder, (), ("python3", script), f"{script} is there")
    language, runtime, build, _ = BUILD_FILES[name]
    if name == "pyproject.toml":
        wanted = _dependencies(folder / name)
        if not wanted and script is not None:
            return _python(folder, (), ("python3", script), f"{script} is there")
        build = (*build, *wanted) if wanted else ()
    if language == "python":
        return _python(folder, build, (), name)
    return Guess(
        language=language, framework="unknown", runtime=runtime, source=folder, build=build, artifact=".", start=(),
        why={"build": name},
    )  # fmt: skip


def refused(guess: Guess) -> InputError:
    """Return the refusal of sources whose start command no file says, with a form that it may have."""
    name = next((name for name in BUILD_FILES if name == guess.why["build"]), "pyproject.toml")
    return InputError(
        "nothing here tells how the service is started", file=guess.source, found=guess.why["build"],
        allowed=f"a line `web: COMMAND` in a Procfile, or a command such as: --start '{BUILD_FILES[name][3]}'",
    )  # fmt: skip


def _python(folder: Path, build: tuple[str, ...], program: tuple[str, ...], why: str) -> Guess:
    source = ("{artifact}/src",) if (folder / "src").is_dir() else ()
    path = ":".join([*((f"{{artifact}}/{SITE}",) if build else ()), "{artifact}", *source])
    start = started(program, f"PYTHONPATH={path}", *(("PORT={port}",) if program else ()))
    return Guess(
        language="python", framework="unknown", runtime="other", source=folder, build=build, artifact=".", start=start,
        why={"build": why if build else "nothing is to be installed", "start": f"{why}; {BY_VARIABLE}"},
    )  # fmt: skip


def _dependencies(project: Path) -> list[str]:
    try:
        data = tomllib.loads(project.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"broken TOML: {problem}", file=project) from None
    return [str(line) for line in data.get("project", {}).get("dependencies", [])]
