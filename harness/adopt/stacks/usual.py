# SPDX-License-Identifier: Apache-2.0
"""How programs of a language are usually built and started, by the file that their tools leave.

Sources are not searched for how a program takes its port: where its files do not say so it is told by the variable
``PORT``, and where that is wrong the first start ends with the line of ``service.toml`` to change.
"""

from __future__ import annotations

import re
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from harness.adopt.guess import BY_VARIABLE, Guess, RuntimeName, started
from harness.adopt.stacks.commands import PYTHON_SERVERS
from harness.errors import InputError
from harness.launchers.sources import NOT_SOURCE

SITE = "site-packages-of-service"
#: What names a Java framework in a build file or a jar, and how it is told its address: arguments and properties.
_JAVA = {
    "spring-boot": (("--server.port={port}", "--server.address={host}"), ()),
    "quarkus": ((), ("-Dquarkus.http.port={port}", "-Dquarkus.http.host={host}")),
    "micronaut": ((), ("-Dmicronaut.server.port={port}", "-Dmicronaut.server.host={host}")),
    "helidon": ((), ("-Dserver.port={port}", "-Dserver.host={host}")),
}
_APP = re.compile(
    r"^(?P<name>\w+)\s*(?::\s*\w+\s*)?=\s*(?P<kind>FastAPI|Starlette|Litestar|Flask|Quart)\(", re.MULTILINE
)
_ENTRIES = ("main.py", "app.py", "server.py", "service.py")
_GRADLE_VERSION = re.compile(r"""^\s*version\s*=?\s*["']([^"']+)["']""", re.MULTILINE)
_GRADLE_NAME = re.compile(r"""rootProject\.name\s*=\s*["']([^"']+)["']""")
_MAIN = re.compile(r"^package main\b", re.MULTILINE)


def go(folder: Path) -> Guess | None:
    """Return what a folder with a ``go.mod`` needs, or ``None``."""
    if not (folder / "go.mod").is_file():
        return None
    mains = [place for place in (folder, *sorted(folder.glob("cmd/*"))) if _has_main(place)]
    package = "." if not mains or mains[0] == folder else f"./{mains[0].relative_to(folder).as_posix()}"
    others = ", ".join(place.name for place in mains[1:])
    return _compiled(
        folder, "go", "go", ("go", "build", "-o", "target/service", package), "target/service",
        f"go.mod; package main is in {package}{f'; others: {others}' if others else ''}",
    )  # fmt: skip


def _has_main(folder: Path) -> bool:
    return any(_MAIN.search(file.read_text("utf-8", "replace")) for file in folder.glob("*.go"))


def rust(folder: Path) -> Guess | None:
    """Return what a folder with a ``Cargo.toml`` needs, or ``None``."""
    file = folder / "Cargo.toml"
    if not file.is_file():
        return None
    data = _toml(file)
    name = next(iter(data.get("bin", [])), data.get("package", {})).get("name", folder.resolve().name)
    return _compiled(
        folder,
        "rust",
        "native",
        ("cargo", "build", "--release"),
        f"target/release/{name}",
        "Cargo.toml: its name",
    )


def _compiled(
    folder: Path, language: str, runtime: RuntimeName, build: tuple[str, ...], artifact: str, why: str
) -> Guess:
    return Guess(
        language=language, framework="unknown", runtime=runtime, source=folder, build=build, artifact=artifact,
        start=started(("{artifact}",), "PORT={port}", inside=False), why={"build": why, "start": BY_VARIABLE},
    )  # fmt: skip


def java(folder: Path) -> Guess | None:
    """Return what a folder with a ``pom.xml``, a ``build.gradle`` or a runnable jar needs, or ``None``."""
    pom = folder / "pom.xml"
    gradle = next((file for file in sorted(folder.glob("build.gradle*")) if file.is_file()), None)
    if pom.is_file():
        text = pom.read_text("utf-8", errors="replace")
        artifact, build = _maven_jar(pom), ("mvn", "-B", "-q", "package", "-DskipTests")
        return _java(folder, text, build, artifact, "pom.xml: its artifactId and version, or finalName")
    if gradle is not None:
        text = gradle.read_text("utf-8", errors="replace")
        settings = "".join(file.read_text("utf-8", "replace") for file in folder.glob("settings.gradle*"))
        name, version = _GRADLE_NAME.search(settings), _GRADLE_VERSION.search(text)
        program = ("sh", "gradlew") if (folder / "gradlew").is_file() else ("gradle",)
        jar = f"{name[1] if name else folder.resolve().name}{f'-{version[1]}' if version else ''}.jar"
        build = (*program, "--no-daemon", "-q", "assemble")
        return _java(
            folder, text, build, f"build/libs/{jar}", f"{gradle.name}: the project's name and version"
        )
    for jar_file in sorted(folder.glob("*.jar")):
        words = _of_jar(jar_file)
        if "Main-Class:" in words:
            return _java(folder, words, (), jar_file.name, "its manifest names a main class")
    return None


def _java(folder: Path, text: str, build: tuple[str, ...], artifact: str, why: str) -> Guess:
    framework = next((name for name in _JAVA if name in text.lower()), None)
    arguments, properties = _JAVA[framework] if framework else ((), ())
    told = () if framework else ("PORT={port}",)
    program = ("{java}", "{runtime_args}", *properties, "-jar", "{artifact}", *arguments)
    return Guess(
        language="java", framework=framework or "java", runtime="jvm", source=folder, build=build, artifact=artifact,
        start=started(program, *told, inside=False),
        why={"artifact": why, "start": f"{framework} takes its port so" if framework else BY_VARIABLE},
    )  # fmt: skip


def _maven_jar(pom: Path) -> str:
    try:
        root = ElementTree.fromstring(pom.read_bytes())
    except ElementTree.ParseError as problem:
        raise InputError(f"not XML: {problem}", file=pom) from None

    def said(path: str) -> str:
        return (root.findtext("/".join(f"{{*}}{part}" for part in path.split("/"))) or "").strip()

    name, version = said("artifactId"), said("version") or said("parent/version") or "0"
    final = said("build/finalName") or f"{name}-{version}"
    final = final.replace("${project.artifactId}", name).replace("${project.version}", version)
    quarkus = "quarkus" in pom.read_text("utf-8", errors="replace")
    return "target/quarkus-app/quarkus-run.jar" if quarkus else f"target/{final}.jar"


def _of_jar(jar: Path) -> str:
    """The names in a jar, and its manifest."""
    try:
        with zipfile.ZipFile(jar) as archive:
            names = archive.namelist()
            manifest = "META-INF/MANIFEST.MF"
            return "\n".join(names) + (
                archive.read(manifest).decode("utf-8", "replace") if manifest in names else ""
            )
    except (zipfile.BadZipFile, OSError):
        return ""


def python(folder: Path) -> Guess | None:
    """Return what a folder with ``requirements.txt``, ``pyproject.toml`` or a script needs, or ``None``."""
    requirements, project = folder / "requirements.txt", folder / "pyproject.toml"
    script = next((name for name in _ENTRIES if (folder / name).is_file()), None)
    if not requirements.is_file() and not project.is_file() and script is None:
        return None
    wanted = _lines(requirements) if requirements.is_file() else _dependencies(project)
    given = ("-r", requirements.name) if requirements.is_file() else wanted
    build = (
        ("python3", "-m", "pip", "install", "--quiet", "--no-input", "--target", SITE, *given)
        if wanted
        else ()
    )
    paths = ["{artifact}", *(["{artifact}/src"] if (folder / "src").is_dir() else [])]
    path = f"PYTHONPATH={':'.join([f'{{artifact}}/{SITE}', *paths] if build else paths)}"
    servers = [
        one for one in PYTHON_SERVERS if any(re.match(rf"{one}\b", line, re.IGNORECASE) for line in wanted)
    ]
    framework, words, why, remarks = _served(folder, servers, script)
    port = () if any("{port}" in word for word in words) else ("PORT={port}",)
    return Guess(
        language="python", framework=framework, runtime="other", source=folder, build=build, artifact=".",
        start=started(("python3", *words), path, *port),
        why={"build": " ".join(given) if wanted else "nothing is to be installed", "start": why}, remarks=remarks,
    )  # fmt: skip


def _served(
    folder: Path, servers: list[str], script: str | None
) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
    """Framework, words behind ``python3``, their reason, and what there is to doubt."""
    django = next(iter(sorted(folder.glob("*/wsgi.py"))), None) if (folder / "manage.py").is_file() else None
    found = (
        next(_apps(folder), None)
        if django is None
        else (f"{django.parent.name}.wsgi:application", "Django", django.name)
    )
    if found is None:
        seen = f"{script} is there" if script else "no file looks like a program"
        return "python", (script or "main.py",), f"{seen}; {BY_VARIABLE}", ()
    app, kind, place = found
    listed, address = "its requirements", ("--host", "{host}", "--port", "{port}")
    if kind in ("FastAPI", "Starlette", "Litestar", "Quart"):
        words: tuple[str, ...] = ("-m", "uvicorn", app, *address, "--no-access-log")
        if "gunicorn" in servers:
            words = ("-m", "gunicorn", "-k", "uvicorn.workers.UvicornWorker", "--bind", "{host}:{port}", app)
    elif "gunicorn" in servers:
        words = ("-m", "gunicorn", "--bind", "{host}:{port}", app)
    elif "waitress" in servers:
        words = ("-m", "waitress", "--listen={host}:{port}", app)
    else:
        words = ("-m", "flask", "--app", app, "run", *address)
        if kind == "Django":
            words = ("manage.py", "runserver", "--noreload", "{host}:{port}")
        doubt = (
            f"this is the development server of {kind}, because {listed} name no other: --start says another"
        )
        return kind.lower(), words, f"{place} makes a {kind} application", (doubt,)
    return kind.lower(), words, f"{place} makes a {kind} application; {words[1]} as in {listed}", ()


def _apps(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Applications in Python files of a folder and those in it: how a server is told of it, kind, and file."""
    for file in (
        *sorted(folder.glob("*.py")),
        *sorted(folder.glob("*/*.py")),
        *sorted(folder.glob("src/*/*.py")),
    ):
        place = file.relative_to(folder)
        if not NOT_SOURCE & set(place.parts) and (found := _APP.search(file.read_text("utf-8", "replace"))):
            module = ".".join(place.with_suffix("").parts).removeprefix("src.").removesuffix(".__init__")
            yield f"{module}:{found['name']}", found["kind"], place.as_posix()


def _lines(requirements: Path) -> list[str]:
    """The packages of a file and of those that it names (``-r``)."""
    files, wanted = [requirements], []
    for file in files:  # more of them while it is gone through
        for line in map(str.strip, file.read_text("utf-8", errors="replace").splitlines()):
            wanted += [line] if line and not line.startswith("#") else []
            named = file.parent / line.removeprefix("-r").strip()
            files += [named] if line.startswith("-r") and named.is_file() and named not in files else []
    return wanted


def _dependencies(project: Path) -> list[str]:
    listed = _toml(project).get("project", {}).get("dependencies", []) if project.is_file() else []
    return [str(line) for line in listed]


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"broken TOML: {problem}", file=file) from None
