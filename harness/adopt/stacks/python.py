# SPDX-License-Identifier: Apache-2.0
"""A Python program: ASGI (FastAPI, Starlette), Flask, Django, or a script of its own."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from harness.adopt.guess import Guess, Port, started
from harness.adopt.source_text import SourceText, port_or_variable
from harness.errors import InputError

SITE = "site-packages-of-service"
_APP = re.compile(
    r"^(?P<name>\w+)\s*(?::\s*\w+\s*)?=\s*(?P<kind>FastAPI|Starlette|Litestar|Flask|Quart)\(", re.MULTILINE
)
_ASGI = ("FastAPI", "Starlette", "Litestar", "Quart")
_MAIN = re.compile(r"""^if __name__ == ["']__main__["']|serve_forever\(""", re.MULTILINE)
_ENTRIES = ("main.py", "app.py", "server.py", "service.py", "src/main.py", "src/app.py")


def guess(folder: Path) -> Guess | None:
    """Return what a folder with ``requirements.txt`` or ``pyproject.toml`` needs, or ``None``."""
    requirements, project = folder / "requirements.txt", folder / "pyproject.toml"
    if not requirements.is_file() and not project.is_file():
        return None
    build: tuple[str, ...] = ()
    seen = "nothing is to be installed"
    install = ("python3", "-m", "pip", "install", "--quiet", "--no-input", "--target", SITE)
    if requirements.is_file() and _wanted(requirements):
        build, seen = (*install, "-r", "requirements.txt"), "requirements.txt"
    elif not requirements.is_file() and (needed := _dependencies(project)):
        build, seen = (*install, *needed), "pyproject.toml: project.dependencies"
    return program(folder, build).because(build=seen)


def program(folder: Path, build: tuple[str, ...] = ()) -> Guess:
    """Return how the Python program of a folder is started."""
    text = SourceText(folder)
    paths = ["{artifact}"] + (["{artifact}/src"] if (folder / "src").is_dir() else [])
    if build:
        paths.insert(0, f"{{artifact}}/{SITE}")
    environment = (f"PYTHONPATH={':'.join(paths)}",)
    words, framework, port = _entry(folder, text)
    return Guess(
        language="python",
        framework=framework,
        runtime="other",
        source=folder,
        build=build,
        artifact=".",
        start=started(("python3", *words), port, inside=True, environment=environment),
        why={"start": port.why},
    )


def _entry(folder: Path, text: SourceText) -> tuple[tuple[str, ...], str, Port]:
    found = text.first(_APP)
    if (folder / "manage.py").is_file():
        port = Port(words=("{host}:{port}",), why="manage.py: a Django project, whose server takes host:port")
        return ("manage.py", "runserver", "--noreload"), "django", port
    if found is not None:
        match, place = found
        module = place.rpartition(":")[0].removesuffix(".py").removeprefix("src/").replace("/", ".")
        app, kind = f"{module.removesuffix('.__init__')}:{match['name']}", match["kind"]
        port = Port(words=("--host", "{host}", "--port", "{port}"), why=f"{place} makes a {kind} application")
        if kind in _ASGI:
            return ("-m", "uvicorn", app, "--no-access-log"), kind.lower(), port
        return ("-m", "flask", "--app", app, "run"), "flask", port
    mains = [
        path.as_posix() for path, content in text.files if path.suffix == ".py" and _MAIN.search(content)
    ]
    entry = next((name for name in _ENTRIES if (folder / name).is_file()), mains[0] if mains else None)
    port = port_or_variable(text)
    if entry is None:
        return (
            ("main.py",),
            "python",
            Port(
                words=port.words,
                environment=port.environment,
                why=f"no file looks like a program; {port.why}",
            ),
        )
    framework = "http.server" if text.has("http.server") else "python"
    return (
        (entry,),
        framework,
        Port(words=port.words, environment=port.environment, why=f"{entry} is there; {port.why}"),
    )


def _wanted(requirements: Path) -> bool:
    lines = requirements.read_text("utf-8", errors="replace").splitlines()
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def _dependencies(project: Path) -> tuple[str, ...]:
    try:
        data = tomllib.loads(project.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"broken TOML: {problem}", file=project) from None
    listed = data.get("project", {}).get("dependencies", [])
    return tuple(str(line) for line in listed)
