# SPDX-License-Identifier: Apache-2.0
"""Other forms of a built Java program: a trimmed runtime (jlink), a native image. Kept beside the build.

A form that cannot be made is remembered with the reason: its variants are then unavailable, and the rest of an
experiment goes on. A trimmed runtime has the modules of the JDK that a program needs, and no others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from harness.agent.files import file_sha256, folder_bytes
from harness.errors import HostError, RematchError
from harness.model import FormBuild, Implementation, PreparedImage, RuntimeSettings
from harness.places.hosts.base import Completed, run_words
from harness.places.launchers.arguments import expand
from harness.places.launchers.builds import LOADED_BY_NAME, Builder, Built, copy_sources, first_complaint
from harness.places.launchers.tools import Form

RUNTIME = "runtime"

#: What jdeps cannot see because it is found by name: the contract's metrics come from these.
ALWAYS = ("java.management", "jdk.management")

#: It is not compressed, as unpacking would cost start-up, and it has an archive of the JDK's own classes,
#: as every JDK comes with one: without it a trimmed runtime starts later than the whole.
WORDS = ("--strip-java-debug-attributes", "--no-header-files", "--no-man-pages", "--generate-cds-archive")

_MODULES = re.compile(r"^\s*([a-z][\w.]*(?:,[a-z][\w.]*)*)\s*$", re.MULTILINE)


#: A native image of a large program takes minutes, on a busy machine many.
MADE_WITHIN_S = 3600.0


def form_of(runtime: RuntimeSettings) -> Form | None:
    """Return the form that has to be made, or ``None`` for a program on a whole JDK."""
    return None if runtime.form is None or runtime.form == "jvm" else runtime.form


class Forms:
    """Makes forms of what ``builder`` has built, or finds what was made before."""

    def __init__(self, builder: Builder) -> None:
        self._builder, self._tools = builder, builder.tools
        self._label: str | None = None

    def unavailable(self, implementation: Implementation, form: Form, built: Built | None) -> str | None:
        """Return why this form cannot be had here, or ``None``."""
        if form == "native":
            if implementation.forms.native_refused is not None:
                return f"no native image of {implementation.name}: {implementation.forms.native_refused}"
            if self._tools.native_image is None:
                return str(self._builder.missing("native-image"))
            prepared = implementation.forms.native_prepared
            if prepared is not None and prepared.build[0] == "{mvn}" and self._tools.maven is None:
                return str(self._builder.missing("maven"))
        elif (jdk := self._tools.jdk_for(implementation.min_java)) is None or not all(
            (jdk.home / "bin" / name).exists() for name in ("jlink", "jdeps")
        ):
            return "the JDK used here has no jlink and jdeps; get one with: make setup"
        made = self.find(implementation, form, built) if built is not None else None
        if made is None or made.problem is None or built is None:
            return None
        note = self.folder(implementation, form, built.folder) / "form.json"
        return f"{made.problem}; to try again remove {self._builder.short(note)}"

    def folder(self, implementation: Implementation, form: Form, artifacts: Path) -> Path:
        """Where this form of exactly this build (``artifacts`` is its folder) is or would be kept."""
        needs = implementation.forms
        identity = [form, self._tool(implementation, form), *needs.modules, "", *needs.native_args, ""]
        identity += WORDS if form == "jlink" else ()
        if needs.native_prepared is not None:
            identity += [*needs.native_prepared.build, needs.native_prepared.words]
        identity += [*needs.native_registers, ""]
        return artifacts / f"{form}-{hashlib.sha256('|'.join(identity).encode()).hexdigest()[:12]}"

    def find(self, implementation: Implementation, form: Form, built: Built) -> FormBuild | None:
        """Return what was made (or why it could not be), or ``None`` when it was never tried."""
        note = self.folder(implementation, form, built.folder) / "form.json"
        try:
            return FormBuild.model_validate_json(note.read_text())
        except (OSError, ValueError):
            return None

    def program(self, implementation: Implementation, form: Form, artifacts: Path) -> Path:
        """Return the native image, or the trimmed runtime's ``java``."""
        return program_in(self.folder(implementation, form, artifacts), form)

    def make(self, implementation: Implementation, form: Form, built: Built) -> FormBuild:
        """Return the form of this build, made now unless it stands already. A failure is a ``problem``."""
        result = self.find(implementation, form, built)
        if result is not None:
            return result
        folder = self.folder(implementation, form, built.folder)
        work = Path(tempfile.mkdtemp(prefix=f".tmp-{form}-", dir=built.folder))
        try:
            make = self._native if form == "native" else self._jlink
            made = make(implementation, built, work, folder.with_suffix(".log"))
            (work / "form.json").write_text(made.model_dump_json(indent=1) + "\n")
            work.chmod(0o755)
            with contextlib.suppress(OSError):  # somebody else made the very same meanwhile
                work.rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return made

    def _native(self, implementation: Implementation, built: Built, work: Path, log: Path) -> FormBuild:
        sources, image = work / "src", work / IMAGE
        copy_sources(self._builder.source_folder(implementation), sources)
        prepared = implementation.forms.native_prepared
        argv: tuple[str, ...] = ()
        output, why = "", None
        begin = time.monotonic()
        if prepared is not None:
            argv, why = self._prepare(implementation, prepared, sources, log.with_suffix(".build.log"))
        if why is None:
            argv, folder = self._image_command(implementation, built, work)
            completed = self._run(argv, folder, log)
            output = completed.stdout + completed.stderr
            if prepared is not None and (sources / prepared.image).is_file():
                (sources / prepared.image).rename(image)
            if completed.exit_code != 0 or not image.is_file():
                why = f"native-image could not compile it {self._words(output, log)}"
        result = FormBuild(
            form="native",
            tool=self._tool(implementation, "native"),
            argv=argv,
            build_s=time.monotonic() - begin,
            image_bytes=image.stat().st_size if why is None else None,
            image_sha256=file_sha256(image) if why is None else None,
            peak_rss_bytes=peak_rss_bytes(output),
            problem=why,
        )
        for left in work.iterdir():  # what the compiler leaves beside the image is no part of it
            if left != image:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        return result

    def _prepare(
        self, implementation: Implementation, prepared: PreparedImage, sources: Path, log: Path
    ) -> tuple[tuple[str, ...], str | None]:
        """Run the framework's own preparation; return its command, and why there is nothing to compile."""
        jdk = self._tools.jdk_for(implementation.min_java)
        values = {"mvn": str(self._tools.maven), "java": str(jdk.java) if jdk is not None else "java"}
        file = self._builder.service_toml(implementation)
        argv = expand(prepared.build, values, file=file, place="forms.native_prepared.build")
        completed = self._run(argv, sources, log, {"JAVA_HOME": str(jdk.home)} if jdk is not None else {})
        if completed.exit_code == 0 and (sources / prepared.words).is_file():
            return argv, None
        why = self._words(completed.stdout + completed.stderr, log)
        return argv, f"nothing to compile was prepared {why}"

    def _image_command(
        self, implementation: Implementation, built: Built, work: Path
    ) -> tuple[tuple[str, ...], Path]:
        """Return native-image's command and the folder to run it in."""
        tool, needs, sources = self._tools.native_image, implementation.forms, work / "src"
        assert tool is not None  # unavailable() said so before
        values = {"source": str(sources)}
        file = self._builder.service_toml(implementation)
        further = expand(needs.native_args, values, file=file, place="forms.native_args")
        if needs.native_prepared is not None:
            words = sources / needs.native_prepared.words
            return (str(tool), *further, *words.read_text().split()), words.parent
        registered: tuple[str, ...] = ()
        if needs.native_registers:
            registered = (f"-H:ConfigurationFileDirectories={work / 'registered'}",)
            jars = [jar for jar in sorted(built.folder.rglob("*.jar")) if jar.parent.name != LOADED_BY_NAME]
            write_registrations(jars, needs.native_registers, work / "registered")
        jar = ("-jar", str(built.artifact), "-o", str(work / IMAGE))
        return (str(tool), "--no-fallback", *registered, *further, *jar), work

    def _jlink(self, implementation: Implementation, built: Built, work: Path, log: Path) -> FormBuild:
        jdk = self._tools.jdk_for(implementation.min_java)
        assert jdk is not None  # unavailable() said so before
        begin = time.monotonic()
        libraries = [str(jar) for jar in sorted(built.folder.rglob("*.jar")) if jar != built.artifact]
        path = ("--class-path", ":".join(libraries)) if libraries else ()
        words = ("--print-module-deps", "--ignore-missing-deps", "--recursive", "--multi-release")
        path = (str(jdk.major), *path)
        asked = self._run((str(jdk.home / "bin" / "jdeps"), *words, *path, str(built.artifact)), work, log)
        printed = _MODULES.findall(asked.stdout)[-1:]
        named = (*implementation.forms.modules, *ALWAYS)
        modules = tuple(sorted({*printed[0].split(","), *named})) if printed else ()
        jlink = (str(jdk.home / "bin" / "jlink"), "--add-modules", ",".join(modules), *WORDS)
        argv = (*jlink, "--output", str(work / RUNTIME))
        linked = self._run(argv, work, log) if modules else asked
        made = bool(modules) and linked.exit_code == 0
        why = None if made else self._words(linked.stdout + linked.stderr, log)
        return FormBuild(
            form="jlink",
            tool=self._tool(implementation, "jlink"),
            argv=argv,
            build_s=time.monotonic() - begin,
            image_bytes=folder_bytes(work / RUNTIME) if made else None,
            modules=modules,
            problem=None if made else f"no trimmed runtime could be made {why}",
        )

    def _words(self, output: str, log: Path) -> str:
        return f"({first_complaint(output)}); all of it: {self._builder.short(log)}"

    def _run(
        self, argv: tuple[str, ...], folder: Path, log: Path, environment: Mapping[str, str] | None = None
    ) -> Completed:
        settings = {**self._builder.environment, **(environment or {})}
        try:
            return self._builder.run(argv, folder, settings, MADE_WITHIN_S, log)
        except HostError as problem:
            log.write_text(f"{problem}\n")
            return Completed(exit_code=1, stdout="", stderr=f"{problem}\n", duration_s=0.0)

    def _tool(self, implementation: Implementation, form: Form) -> str:
        if form == "jlink":
            jdk = self._tools.jdk_for(implementation.min_java)
            return f"jlink of JDK {jdk.version}" if jdk is not None else "jlink"
        if self._label is None and self._tools.native_image is not None:
            tool, environment = str(self._tools.native_image), self._builder.environment
            answer = run_words(self._builder.host, tool, "--version", environment=environment)
            if answer.exit_code != 0:
                why = first_complaint(answer.stderr)
                raise RematchError(f"{tool} --version ended with {answer.exit_code}: {why}")
            self._label = label(answer.stdout)
        return self._label or "native-image"


def program_in(folder: Path, form: Form) -> Path:
    """Return the native image in the folder of a form, or the trimmed runtime's ``java``."""
    return folder / IMAGE if form == "native" else folder / RUNTIME / "bin" / "java"


IMAGE = "service"

_CLASS_NAME = re.compile(r"[a-z]\w*(?:\.[\w$]+)+")
_PEAK = re.compile(r"Peak RSS: ([\d.]+) ?([KMG])i?B")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_EVERYTHING = {"allDeclaredConstructors": True, "allDeclaredMethods": True, "allDeclaredFields": True}


def label(output: str) -> str:
    """Return what ``--version`` printed, on one line: it tells whose compiler this is."""
    return "; ".join(line.strip() for line in output.splitlines() if line.strip())


def peak_rss_bytes(output: str) -> int | None:
    """Return the highest memory that the compiler says it had; ``None``: it does not say."""
    result = _PEAK.findall(output)
    return round(float(result[-1][0]) * _UNITS[result[-1][1]]) if result else None


def write_registrations(jars: Iterable[Path], folders: tuple[str, ...], target: Path) -> None:
    """Write ``reflect-config.json`` and ``resource-config.json``: the files below ``folders`` in the jars, and every
    class of the jars that is named in one of them or by its name. What a library finds by such names (service
    loaders, Helidon's registry) an image lacks otherwise."""
    classes: set[str] = set()
    named: set[str] = set()
    files: set[str] = set()
    prefixes = tuple(folder.rstrip("/") + "/" for folder in folders)
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if entry.endswith(".class"):
                    classes.add(entry.removesuffix(".class").replace("/", "."))
                elif entry.startswith(prefixes) and not entry.endswith("/"):
                    files.add(entry)
                    text = archive.read(entry).decode("utf-8", "replace")
                    named.update(_CLASS_NAME.findall(f"{text} {entry.rpartition('/')[2]}"))
    reflect = [{"name": name, **_EVERYTHING} for name in sorted(named & classes)]
    resources = {"resources": {"includes": [{"pattern": rf"\Q{name}\E"} for name in sorted(files)]}}
    target.mkdir(parents=True, exist_ok=True)
    (target / "reflect-config.json").write_text(json.dumps(reflect, indent=1) + "\n")
    (target / "resource-config.json").write_text(json.dumps(resources, indent=1) + "\n")
