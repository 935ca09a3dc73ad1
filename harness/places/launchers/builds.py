# SPDX-License-Identifier: Apache-2.0
"""Builds: once per source content and toolchain, kept in a folder that git ignores.

Sources are copied out and built there: what is hashed is what is built, and no build
leaves anything in the source tree. A folder appears under its final name only when the
build is whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from harness.agent.files import file_sha256
from harness.definitions import service_folder, source_folder
from harness.errors import InputError, MissingTool, RematchError
from harness.model import BuildRecord, Frozen, Implementation
from harness.places.hosts.base import Command, Completed, Host, run_words
from harness.places.launchers import training
from harness.places.launchers.arguments import expand
from harness.places.launchers.tools import Tools, build_environment, build_words, named_program, version_of
from harness.toolchains import WANTED, Surroundings, how_to_get, one_maven, wanted

#: Folders that hold what tools made, not sources.
NOT_SOURCE = frozenset(
    {"target", "build", ".git", "__pycache__", "node_modules", ".gradle", ".idea", ".venv", "venv", ".vscode"}
)


def source_files(folder: Path) -> Iterator[Path]:
    """Yield the source files and links below ``folder``, relative, in a fixed order."""
    return (path for path in _files_below(folder) if not NOT_SOURCE.intersection(path.parts))


def source_sha256(folder: Path) -> str:
    """Return the hash over names, executable bits and content of all sources; times do not count. Raises InputError:
    there is nothing there."""
    files = tuple(source_files(folder))
    if not files:
        raise InputError("no sources of an implementation here", file=folder, allowed="a folder with sources")
    return _sha256_of(folder, files)


def artifact_sha256(artifact: Path) -> str:
    """Return the hash of a file, or of all files of a folder with their names and executable bits."""
    if artifact.is_dir():
        return _sha256_of(artifact, _files_below(artifact))
    return file_sha256(artifact)


def _sha256_of(folder: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for relative in files:
        link = _link(folder, relative)
        if link is not None:
            digest.update(f"{relative.as_posix()}\0link\0{link}\0".encode())
            continue
        content = (folder / relative).read_bytes()
        executable = (folder / relative).stat().st_mode & 0o100 != 0
        digest.update(f"{relative.as_posix()}\0{int(executable)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield files and links, relative. A link that leads out of the folder stands for what it leads to."""
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() or _link(folder, relative) is not None:
            yield relative
        elif path.is_symlink():
            yield from (relative / sub for sub in _files_below(path.resolve()) if (path / sub).is_file())


def _link(folder: Path, relative: Path) -> str | None:
    """Return where a link within the folder leads, relative to itself; ``None``: no link, or one that leads out."""
    path = folder / relative
    if not path.is_symlink():
        return None
    beside = path.parent.resolve()
    leads = os.path.normpath(beside / path.readlink())
    within = Path(leads).is_relative_to(folder.resolve()) or not path.exists()
    return os.path.relpath(leads, beside) if within else None


def copy_sources(folder: Path, target: Path) -> None:
    for relative in source_files(folder):
        _copy(folder, relative, target)


def _copy(folder: Path, relative: Path, target: Path) -> int:
    """Copy a file or link; return its bytes."""
    link, made = _link(folder, relative), target / relative
    made.parent.mkdir(parents=True, exist_ok=True)
    if link is not None:
        made.symlink_to(link)
        return 0
    shutil.copy2(folder / relative, made)
    return made.stat().st_size


#: Folder beside a service's jar with jars that it loads by name where a setting asks for them. They are copied with
#: it, and are no part of its class path, its size or its other forms.
LOADED_BY_NAME = "loggers"


def copy_artifact(folder: Path, artifact: str, target: Path) -> int:
    """Copy the artifact, a file or a folder with all its files; return its bytes. A jar comes with the files that its
    manifest's class path names, and with those of ``LOADED_BY_NAME`` beside it, which are not counted. Raises
    InputError: the build did not leave what it should."""
    made, total = folder / artifact, 0
    if made.is_dir():
        # a link out of the artifact stands for what it leads to, also where that is within the build
        return sum(_copy(made, file, target / artifact) for file in _files_below(made))
    for relative in (artifact, *_class_path(made, artifact)):
        file, copy = folder / relative, target / relative
        if not file.is_file():
            why = "the build did not leave this file or folder"
            raise InputError(why, file=folder, place="artifact", found=relative)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
        total += file.stat().st_size
    beside = (Path(artifact).parent / LOADED_BY_NAME).as_posix()
    if artifact.endswith(".jar") and (folder / beside).is_dir():
        shutil.copytree(folder / beside, target / beside, dirs_exist_ok=True)
    return total


def _class_path(jar: Path, artifact: str) -> tuple[str, ...]:
    """Paths beside the jar that its manifest wants, relative as ``artifact`` is; none for other files."""
    if jar.suffix != ".jar" or not jar.is_file():
        return ()
    with zipfile.ZipFile(jar) as archive:
        manifest = "META-INF/MANIFEST.MF"
        text = archive.read(manifest).decode("utf-8") if manifest in archive.namelist() else ""
    lines = text.replace("\r\n", "\n").replace("\n ", "").split("\n")  # a continued line starts with a blank
    listed = next((line.partition(":")[2].split() for line in lines if line.startswith("Class-Path:")), [])
    return tuple((Path(artifact).parent / entry).as_posix() for entry in listed)


BUILD_FILE = "build.json"
#: How the names of what is made of a build later begin; it lies in the build's folder.
MADE_LATER = (".tmp-", "jlink-", "native-", "aot-", "profile-")

#: A cold build fetches its libraries; one that takes longer than this hangs.
BUILD_WITHIN_S = 1800.0


class Built(Frozen):
    """A finished build: where it is and what is known of it."""

    folder: Path
    artifact: Path
    record: BuildRecord
    runtime_version: str | None


def first_complaint(output: str) -> str:
    """Return the first line of a build's output that tells of an error, else its last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"(?i)error|^fatal|^caused by", line)]
    return (errors or lines[-1:] or ["no output"])[0][:200]


class Builder:
    """Builds implementations of the project at ``root`` on ``host``, or finds what was built before. ``environment``
    is what build tools may need beyond the base (proxies, registries, caches); a service never sees it."""

    def __init__(self, host: Host, root: Path, tools: Tools) -> None:
        self.host, self._root, self.tools = host, root, tools
        self.environment = dict(os.environ)
        self._cache = root / ".cache" / "builds"
        self._answers: dict[str, str | None] = {}

    def source_folder(self, implementation: Implementation) -> Path:
        return source_folder(self._root, implementation)

    def service_toml(self, implementation: Implementation) -> Path:
        return service_folder(self._root, implementation) / "service.toml"

    def missing_tool(self, implementation: Implementation) -> MissingTool | None:
        """Return what the build lacks here, or ``None``."""
        why, tools = f"to build {implementation.name}", self.tools
        if implementation.runtime == "jvm" and tools.jdk_for(implementation.min_java) is None:
            return self.missing("jdk", why, f"JDK {implementation.min_java or ''}".strip())
        first = "".join(implementation.build[:1]).strip("{}")
        if first in ("go", "mvn"):
            name, path = ("go", tools.go) if first == "go" else ("maven", tools.maven)
            return None if path is not None else self.missing(name, why)
        return self.missing_program(implementation.build, why)

    def missing(self, tool: str, why: str | None = None, name: str | None = None) -> MissingTool:
        """Return that a tool of the catalogue is not here. ``why``: default: as the catalogue says; ``name``: default:
        the tool's."""
        row = wanted(tool)
        get = how_to_get(row, Surroundings(project=self._root))
        return MissingTool(name or tool, why=why or row.why, how_to_get=get)

    def short(self, path: Path) -> Path:
        """Return a path as it is shown: from the project's folder on."""
        return path.relative_to(self._root) if path.is_relative_to(self._root) else path

    def missing_program(self, command: tuple[str, ...], why: str = "") -> MissingTool | None:
        """Return the program of PATH that a command of ``service.toml`` names and that is not here, or ``None``."""
        program = named_program(command)
        if program is None or shutil.which(program, path=self.environment.get("PATH", os.defpath)):
            return None
        if any(row.name == program for row in WANTED):
            return self.missing(program, why)
        usual = f"the package manager of this system ({program} on PATH)"
        return MissingTool(program, why=why, how_to_get=usual)

    def folder(self, implementation: Implementation, source: str | None = None) -> Path:
        """Where the build of this source (its hash; default: as it stands now) is or would be kept."""
        source = source or source_sha256(self.source_folder(implementation))
        identity = [source, implementation.artifact, *implementation.build, self._toolchain(implementation)]
        identity += build_words(implementation, self.source_folder(implementation))
        identity += [f"{name}={value}" for name, value in build_environment(implementation).items()]
        identity += training.identity(implementation)
        key = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:12]
        return self._cache / f"{implementation.name}-{key}"

    def profile_file(self, implementation: Implementation, source: str | None = None) -> Path:
        """Where the CPU profile that this program is compiled with is or would be kept: beside the one it is of."""
        return training.profile_in(self.folder(training.profiled(implementation), source), implementation)

    def find(self, implementation: Implementation, source: str | None = None) -> Built | None:
        """Return the finished build of exactly this source with this toolchain, or ``None``."""
        folder = self.folder(implementation, source)
        try:
            document = json.loads((folder / BUILD_FILE).read_text())
        except (OSError, ValueError):
            return None
        return Built(
            folder=folder,
            artifact=folder / implementation.artifact,
            record=BuildRecord.model_validate_json(json.dumps(document["record"])),
            runtime_version=document["runtime_version"],
        )

    def build(self, implementation: Implementation) -> Built:
        """Return the build of this source, made now unless there is one. Raises MissingTool: the compiler or JDK is
        not here; RematchError: the build failed; the message ends with the log's path."""
        result = self.find(implementation)
        if result is not None:
            return result
        missing = self.missing_tool(implementation)
        if missing is not None:
            raise missing
        self._cache.mkdir(parents=True, exist_ok=True)
        for left in self._cache.glob(".tmp-*"):  # of a build that was killed
            if left.stat().st_mtime < time.time() - 2 * BUILD_WITHIN_S:
                shutil.rmtree(left, ignore_errors=True)
        uses_maven = implementation.build[:1] in (("mvn",), ("{mvn}",))
        with one_maven(self._root) if uses_maven else contextlib.nullcontext():
            if uses_maven and (result := self.find(implementation)) is not None:
                return result  # another process built it while this one waited
            with tempfile.TemporaryDirectory(prefix=".tmp-", dir=self._cache) as work:
                self._make(implementation, Path(work))
        built = self.find(implementation)
        if built is None:
            raise RematchError(f"{implementation.name}: its sources changed while it was built; start again")
        return built

    def _make(self, implementation: Implementation, work: Path) -> None:
        source, sources, finished = self.source_folder(implementation), work / "src", work / "out"
        copy_sources(source, sources)
        finished.mkdir()
        sha256 = source_sha256(sources)
        folder = self.folder(implementation, sha256)
        argv = self._argv(implementation)
        profile = training.add_to(sources, argv, implementation, self.profile_file(implementation, sha256))
        build_s = None
        if argv:
            log, environment = folder.with_suffix(".log"), self._build_environment(implementation)
            done = self.run(argv, sources, environment, BUILD_WITHIN_S, log)
            build_s = done.duration_s
            if done.exit_code != 0:
                why = f"ended with {done.exit_code} ({first_complaint(done.stdout + done.stderr)})"
                raise RematchError(f"{implementation.name}: its build {why}; all of it: {log}")
        size = copy_artifact(sources, implementation.artifact, finished)
        record = BuildRecord(
            implementation=implementation.name,
            source_sha256=sha256,
            argv=argv,
            build_s=build_s,
            artifact_bytes=size,
            artifact_sha256=artifact_sha256(finished / implementation.artifact),
            cpu_profile=profile,
        )
        version = self._runtime_version(implementation, finished / implementation.artifact)
        document = {"record": record.model_dump(mode="json"), "runtime_version": version}
        (finished / BUILD_FILE).write_text(json.dumps(document, indent=1) + "\n")
        try:
            finished.rename(folder)
        except OSError:
            if not (folder / BUILD_FILE).is_file():  # else somebody else built the very same meanwhile
                raise

    def run(
        self, argv: tuple[str, ...], folder: Path, environment: Mapping[str, str], within_s: float, log: Path
    ) -> Completed:
        """Run a tool to its end, and write what it said to ``log``; raises as ``Host.run``."""
        completed = self.host.run(Command(argv=argv, folder=folder, environment=dict(environment)), within_s)
        log.write_text(f"$ {' '.join(argv)}\n{completed.stdout}{completed.stderr}")
        return completed

    def _argv(self, implementation: Implementation) -> tuple[str, ...]:
        jdk = self.tools.jdk_for(implementation.min_java)
        values = {
            "mvn": str(self.tools.maven),
            "go": str(self.tools.go),
            "java": str(jdk.java) if jdk is not None else "java",
        }
        file = self.service_toml(implementation)
        argv = expand(implementation.build, values, file=file, place="build")
        words = build_words(implementation, self.source_folder(implementation))
        return (values.get(argv[0], argv[0]), *argv[1:2], *words, *argv[2:]) if argv else ()

    def _build_environment(self, implementation: Implementation) -> dict[str, str]:
        environment = dict(self.environment)
        jdk = self.tools.jdk_for(implementation.min_java)
        if implementation.runtime == "jvm" and jdk is not None:
            environment["JAVA_HOME"] = str(jdk.home)
        # the same source gives the same bytes: no stamp of the commit it happened to be built at
        environment["GOFLAGS"] = " ".join([environment.get("GOFLAGS", ""), "-buildvcs=false"]).strip()
        return environment | build_environment(implementation)

    def refused(self, implementation: Implementation) -> str | None:
        """Return why Go rejects the release or experiment that a variant names, or ``None``; nothing is fetched."""
        go, settings = self.tools.go, build_environment(implementation)
        if go is None or implementation.runtime != "go" or not settings:
            return None

        def ask() -> str | None:
            environment = {**self.environment, **settings, "GOPROXY": "off"}
            done = run_words(self.host, str(go), "tool", "-n", "compile", environment=environment)
            named = " ".join(f"{name}={value}" for name, value in settings.items())
            output = " ".join(done.stderr.strip().splitlines()[-1:])
            why = f"Go rejects {named}: {output}; get releases with: make toolchains"
            return None if done.exit_code == 0 else why

        return self._once(f"refused {settings}", ask)

    def _toolchain(self, implementation: Implementation) -> str:
        if implementation.runtime == "jvm":
            jdk = self.tools.jdk_for(implementation.min_java)
            return f"jdk {jdk.version}" if jdk is not None else "jdk"
        settings = build_environment(implementation)
        if implementation.runtime == "go" and self.tools.go is not None:
            return self._once(f"go {settings}", lambda: self._go_version(self._root, settings)) or ""
        return self._program_version(implementation) or ""

    def _go_version(self, folder: Path, settings: Mapping[str, str], *words: str) -> str:
        argv, environment = (str(self.tools.go), "version", *words), {**self.environment, **settings}
        return self.host.run(Command(argv=argv, folder=folder, environment=environment), 60.0).stdout.strip()

    def _runtime_version(self, implementation: Implementation, artifact: Path) -> str | None:
        """What the artifact contains or needs: the JDK's version, the Go release it was built with, or the version
        of the program that starts it."""
        if implementation.runtime == "jvm":
            jdk = self.tools.jdk_for(implementation.min_java)
            return None if jdk is None else jdk.full_version
        if implementation.runtime == "go" and self.tools.go is not None:
            return self._go_version(artifact.parent, {}, str(artifact)).rpartition(": ")[2] or None
        return self._program_version(implementation)

    def _program_version(self, implementation: Implementation) -> str | None:
        """What the program of PATH that starts a service of another language says of its version."""
        program = named_program(implementation.start)
        if implementation.runtime != "other" or program is None or self.missing_program(implementation.start):
            return None
        return self._once(program, lambda: version_of(self.host, program, self.environment))

    def _once(self, key: str, ask: Callable[[], str | None]) -> str | None:
        if key not in self._answers:
            self._answers[key] = ask()
        return self._answers[key]
