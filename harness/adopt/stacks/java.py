# SPDX-License-Identifier: Apache-2.0
"""A Java program: Maven, Gradle, or a jar that is built already."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from harness.adopt.guess import Guess, Port, started
from harness.adopt.source_text import SourceText, port_or_variable
from harness.errors import InputError

_POM = "{http://maven.apache.org/POM/4.0.0}"
#: What names the framework, in a build file or a jar -> its name, and how it is told its address.
FRAMEWORKS = (
    ("spring-boot", "spring-boot", ("--server.port={port}", "--server.address={host}"), ()),
    ("quarkus", "quarkus", (), ("-Dquarkus.http.port={port}", "-Dquarkus.http.host={host}")),
    ("micronaut", "micronaut", (), ("-Dmicronaut.server.port={port}", "-Dmicronaut.server.host={host}")),
    ("helidon", "helidon", (), ("-Dserver.port={port}", "-Dserver.host={host}")),
)
_VERSION = re.compile(r"""^\s*version\s*=?\s*["']([^"']+)["']""", re.MULTILINE)
_ROOT_NAME = re.compile(r"""rootProject\.name\s*=\s*["']([^"']+)["']""")


def guess_maven(folder: Path) -> Guess | None:
    """Return what a folder with a ``pom.xml`` needs, or ``None``.

    Raises:
        InputError: the file is not XML.
    """
    file = folder / "pom.xml"
    if not file.is_file():
        return None
    try:
        root = ElementTree.fromstring(file.read_bytes())
    except ElementTree.ParseError as problem:
        raise InputError(f"not XML: {problem}", file=file) from None
    said = {name: _text(root, name) for name in ("artifactId", "version")}
    version = said["version"] or _text(root, "parent/version") or "0"
    final = _text(root, "build/finalName") or f"{said['artifactId']}-{version}"
    final = final.replace("${project.artifactId}", said["artifactId"] or "").replace(
        "${project.version}", version
    )
    quarkus = "quarkus" in file.read_text("utf-8", errors="replace")
    artifact = "target/quarkus-app/quarkus-run.jar" if quarkus else f"target/{final}.jar"
    return _program(folder, artifact, ("mvn", "-B", "-q", "package", "-DskipTests"), file).because(
        build="pom.xml", artifact="its artifactId and version, or finalName"
    )


def guess_gradle(folder: Path) -> Guess | None:
    """Return what a folder with a ``build.gradle`` needs, or ``None``."""
    file = next(
        (folder / name for name in ("build.gradle", "build.gradle.kts") if (folder / name).is_file()), None
    )
    if file is None:
        return None
    settings = [path.read_text("utf-8", errors="replace") for path in folder.glob("settings.gradle*")]
    named = next((found[1] for text in settings if (found := _ROOT_NAME.search(text))), folder.resolve().name)
    version = _VERSION.search(file.read_text("utf-8", errors="replace"))
    artifact = f"build/libs/{named}{f'-{version[1]}' if version else ''}.jar"
    program = ("sh", "gradlew") if (folder / "gradlew").is_file() else ("gradle",)
    build = (*program, "--no-daemon", "-q", "assemble")
    return _program(folder, artifact, build, file).because(
        build=file.name, artifact="project's name and version"
    )


def guess_jar(folder: Path) -> Guess | None:
    """Return what a folder with one runnable jar needs, or ``None``."""
    jars = [path for path in sorted(folder.glob("*.jar")) if _main_class(path)]
    if not jars:
        return None
    others = f"; others: {', '.join(path.name for path in jars[1:4])}" if jars[1:] else ""
    return _program(folder, jars[0].name, (), jars[0]).because(
        artifact=f"its manifest names a main class{others}"
    )


def _program(folder: Path, artifact: str, build: tuple[str, ...], evidence: Path) -> Guess:
    if evidence.suffix == ".jar":
        with zipfile.ZipFile(evidence) as archive:
            words = "\n".join(archive.namelist()) + (_manifest(archive) or "")
        text = None
    else:
        words, text = evidence.read_text("utf-8", errors="replace"), SourceText(folder)
    lowered = words.lower()
    known = next((row for row in FRAMEWORKS if row[0] in lowered), None)
    if known is not None:
        _, framework, arguments, properties = known
        port = Port(words=arguments, why=f"{evidence.name} has {framework}, which takes its port so")
    else:
        framework, properties = "java", ()
        guessed = Port(
            environment=("PORT={port}",), why="a jar does not show it; the variable PORT is the usual one"
        )
        port = guessed if text is None else port_or_variable(text)
    program = ("{java}", "{runtime_args}", *properties, "-jar", "{artifact}")
    return Guess(
        language="java",
        framework=framework,
        runtime="jvm",
        source=folder,
        build=build,
        artifact=artifact,
        start=started(program, port, inside=False),
        why={"start": port.why},
    )


def _text(root: ElementTree.Element, path: str) -> str | None:
    for prefix in (_POM, ""):
        found = root.find("/".join(f"{prefix}{part}" for part in path.split("/")))
        if found is not None and found.text:
            return found.text.strip()
    return None


def _manifest(archive: zipfile.ZipFile) -> str | None:
    name = "META-INF/MANIFEST.MF"
    return archive.read(name).decode("utf-8", "replace") if name in archive.namelist() else None


def _main_class(jar: Path) -> bool:
    try:
        with zipfile.ZipFile(jar) as archive:
            return "Main-Class:" in (_manifest(archive) or "")
    except (zipfile.BadZipFile, OSError):
        return False
