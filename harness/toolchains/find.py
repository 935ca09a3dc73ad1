# SPDX-License-Identifier: Apache-2.0
"""Look for tools and JDKs where they usually stand; the environment in which services are built with them. Nothing is
installed or changed here."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .catalogue import (
    JAVA_MINIMUM,
    JAVA_REFERENCE,
    JMETER_VERSION,
    LATEX_FILES,
    WANTED,
    Entry,
    JavaRuntime,
    Jdk,
    State,
    Surroundings,
    Tool,
    as_tool,
    ask,
    parse_version,
    wanted,
    which,
)

_RATE_OPTION = re.compile(r"^\s*-R,\s", re.MULTILINE)


def find_jdks(around: Surroundings) -> tuple[Jdk, ...]:
    """Return every JDK here, the preferred one first: JAVA_HOME and the active conda environment (the user's choice),
    then the reference release, then newer before older; those below the minimum last."""
    results: dict[Path, Jdk] = {}
    named: list[Path] = []
    for home, chosen in _java_homes(around):
        real = home.resolve()
        jdk = results.get(real) or read_jdk(home)
        if jdk is not None:
            results.setdefault(real, jdk)
            named += [real] if chosen else []

    def preference(item: tuple[Path, Jdk]) -> tuple[bool, int, bool, tuple[int, ...], str]:
        real, jdk = item
        newest_first = tuple(-number for number in parse_version(jdk.version))
        rank = named.index(real) if real in named else len(named)
        return jdk.major < JAVA_MINIMUM, rank, jdk.major != JAVA_REFERENCE, newest_first, str(real)

    return tuple(jdk for _, jdk in sorted(results.items(), key=preference))


def find_runtimes(around: Surroundings) -> tuple[JavaRuntime, ...]:
    """Return every runtime without a compiler that set-up unpacked."""
    homes = [home for home in sorted(around.tools.glob("java-*")) if (home / "bin/java").exists()]
    read = [_release(home, (home / "release").read_text(encoding="utf-8")) for home in homes]
    return tuple(runtime for runtime in read if runtime is not None)


def read_jdk(home: Path) -> Jdk | None:
    """Read the JDK in a folder from its `release` file; None when it is a bare runtime or no Java at all."""
    if not (home / "bin/java").exists() or not (home / "bin/javac").exists():
        return None
    try:
        return jdk_of_release(home, (home / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def jdk_of_release(home: Path, text: str) -> Jdk | None:
    """Return the JDK whose `release` file has this text; None when it has no version."""
    named = _release(home, text)
    return None if named is None else Jdk(home=home, version=named.version, vendor=named.vendor)


def _release(home: Path, text: str) -> JavaRuntime | None:
    named = dict(re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', text, flags=re.MULTILINE))
    version = named.get("JAVA_RUNTIME_VERSION") or named.get("JAVA_VERSION")
    if version is None:
        return None
    return JavaRuntime(home=home, version=version.removesuffix("-LTS"), vendor=named.get("IMPLEMENTOR"))


def _java_homes(around: Surroundings) -> Iterator[tuple[Path, bool]]:
    """Yield folders that may be a JDK, each with whether the user chose it by a variable."""
    if around.environ.get("JAVA_HOME"):
        yield Path(around.environ["JAVA_HOME"]), True
    if around.conda is not None:
        yield around.conda / "lib/jvm", True
        yield around.conda, True
    if around.environ.get("GRAALVM_HOME"):
        yield Path(around.environ["GRAALVM_HOME"]), False
    for program in ("javac", "java"):
        on_path = which(program, around)
        if on_path is not None:
            yield on_path.resolve().parent.parent, False
    for folder, patterns in (
        (around.tools, ("jdk*", "jdk*/usr/lib/jvm/*")),
        (around.system, ("usr/lib/jvm/*", "Library/Java/JavaVirtualMachines/*/Contents/Home")),
        (Path(around.environ.get("HOME") or "/nowhere"), (".sdkman/candidates/java/*", ".jdks/*")),
    ):
        for pattern in patterns:
            yield from ((home.resolve(), False) for home in sorted(folder.glob(pattern)))


def find_jdk(around: Surroundings) -> Tool:
    """Return the preferred JDK as a tool; its path is the home folder."""
    row = wanted("jdk")
    jdks = find_jdks(around)
    if not jdks:
        return as_tool(row, around, None, None, "missing")
    best = jdks[0]
    state: State = "ok" if best.major >= JAVA_MINIMUM else "too old"
    return as_tool(row, around, best.home, best.full_version, state)


def find_latex(around: Surroundings) -> Tool:
    """Return latexmk with the classes and packages of the paper."""
    row = wanted("latex")
    latexmk, pdflatex = which("latexmk", around), which("pdflatex", around)
    absent: tuple[str, ...] = LATEX_FILES
    if latexmk is not None and pdflatex is not None:
        kpsewhich = which("kpsewhich", around)
        answer = ask([str(kpsewhich), *LATEX_FILES], around=around) if kpsewhich is not None else None
        seen = {Path(line).name for line in (answer or "").splitlines()}
        absent = tuple(name for name in LATEX_FILES if name not in seen)
        if not absent:
            match = re.search(r"[Vv]ersion (\d\S*)", ask([str(latexmk), "--version"], around=around) or "")
            return as_tool(row, around, latexmk, f"latexmk {match.group(1)}" if match else None, "ok")
    if latexmk is None and pdflatex is None:
        return as_tool(row, around, None, None, "missing")
    lacking = "pdflatex" if pdflatex is None else "latexmk" if latexmk is None else ", ".join(absent)
    return as_tool(row, around, latexmk or pdflatex, f"without {lacking}", "incomplete")


def _places(row: Entry, around: Surroundings) -> Iterator[Path]:
    """Yield where a program may stand: built by set-up, named by a variable, on PATH, in its usual folders."""
    if row.pinned is not None:
        yield around.tools / f"{row.name}-{row.pinned}" / "bin" / row.programs[0]
    named = around.environ.get("CC") if row.name == "cc" else None  # conda's compilers have no shorter name
    for program in (*filter(None, (named,)), *row.programs):
        if (on_path := which(program, around)) is not None:
            yield on_path
    if row.variable is not None and around.environ.get(row.variable):
        yield Path(around.environ[row.variable]) / "bin" / row.programs[0]
    for pattern in row.places:
        root = around.system if pattern.startswith("/") else around.project
        places = (place.relative_to(root) for place in root.glob(pattern.lstrip("/")))
        newest_first = sorted(
            places, key=lambda place: [int(n) for n in re.findall(r"\d+", str(place))], reverse=True
        )
        yield from (root / place for place in newest_first)


def find_program(row: Entry, around: Surroundings) -> Tool:
    """Return the first program that is new enough; the newest that is not, when none is."""
    old: list[tuple[tuple[int, ...], Path, str]] = []
    jdks = find_jdks(around) if row.name == "maven" else ()  # it may not start with another
    java_home = jdks[0].home if jdks else None
    for place in _places(row, around):
        if not place.exists() or (row.beside and not place.resolve().with_name(row.beside).exists()):
            continue
        program = place.resolve() if row.beside else place
        output = ask([str(program), row.version_flag], around=around, java_home=java_home) or ""
        if row.name in {"wrk", "wrk2"} and (_RATE_OPTION.search(output) is not None) != (row.name == "wrk2"):
            continue  # both may be called ``wrk``, and only wrk2 has ``-R`` for a rate
        match = re.search(row.version, output)
        if match is None and row.minimum is not None:
            continue
        version = None if match is None else match.group(1)
        if version is None or parse_version(version) >= parse_version(row.minimum or "0"):
            return as_tool(row, around, program, version, "ok")
        old.append((parse_version(version), program, version))
    if not old:
        return as_tool(row, around, None, None, "missing")
    _, program, version = max(old)
    return as_tool(row, around, program, version, "too old")


MANIFEST = Path("setup/jmeter/manifest.tsv")


def jmeter_home(project: Path) -> Path:
    return project / ".tools" / f"apache-jmeter-{JMETER_VERSION}"


def damage(home: Path, manifest: Path) -> list[str]:
    """Return the files that differ from the committed list, whose lines have hash, size and path; of those beyond it
    only jars, which JMeter would load."""
    text = manifest.read_text(encoding="utf-8") if manifest.is_file() else ""
    listed = {line for line in text.splitlines() if not line.startswith("#")}
    known = {line.rpartition("\t")[2] for line in listed}
    files = {file.relative_to(home).as_posix(): file for file in home.rglob("*") if file.is_file()}
    present = {
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}\t{file.stat().st_size}\t{path}"
        for path, file in files.items()
        if path in known or file.suffix == ".jar"
    }
    return sorted({line.rpartition("\t")[2] for line in listed ^ present})


def find_jmeter(around: Surroundings) -> Tool:
    """Return JMeter of this project, compared with the list file by file (72 MB, a fraction of a second)."""
    row = wanted("jmeter")
    home = jmeter_home(around.project)
    state: State = "missing"
    version = None
    if home.is_dir():
        damaged = damage(home, around.project / MANIFEST)
        state = "damaged" if damaged else "ok"
        version = f"{len(damaged)} files differ, first {damaged[0]}" if damaged else JMETER_VERSION
    path = home / "bin" / "ApacheJMeter.jar" if state != "missing" else None
    return replace(as_tool(row, around, path, version, state), wanted=JMETER_VERSION)


_HARNESS = Path(__file__).resolve().parents[1]
METRONOME = _HARNESS / "loadgen" / "tools" / "metronome.c"
#: A warning is an error: nobody would read it in the middle of a set-up.
METRONOME_FLAGS = (
    "-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
)  # fmt: skip


def metronome_program(tools: Path, source: Path = METRONOME) -> Path:
    """Return the path, below ``.tools``, of what is built of a source for this kind of machine; its folder is named
    after source and flags, so what was built of another is never used. Raises OSError: the source cannot be read."""
    digest = hashlib.sha256("\0".join((os.uname().machine, *METRONOME_FLAGS, "")).encode())
    digest.update(source.read_bytes())
    return tools / f"metronome-{digest.hexdigest()[:16]}" / "metronome"


def find_metronome(around: Surroundings) -> Tool:
    """Return what is built of the source that stands here, which names its version."""
    try:
        built = metronome_program(around.tools)
    except OSError:  # a package without its sources
        built = None
    if built is None or not built.is_file():
        return as_tool(wanted("metronome"), around, None, None, "missing")
    return as_tool(wanted("metronome"), around, built, built.parent.name.rpartition("-")[2], "ok")


def find_go(around: Surroundings) -> Tool:
    """Return the Go toolchain."""
    return find_tool("go", around)


def find_tool(name: str, around: Surroundings) -> Tool:
    """Return one tool by its name in `WANTED`; raises as ``wanted``."""
    own = {"jdk": find_jdk, "jmeter": find_jmeter, "latex": find_latex, "metronome": find_metronome}
    return own[name](around) if name in own else find_program(wanted(name), around)


def find_all(around: Surroundings) -> tuple[Tool, ...]:
    """Return every tool in the order of `WANTED`."""
    return tuple(find_tool(row.name, around) for row in WANTED)


def build_environment(around: Surroundings) -> dict[str, str]:
    """Return the variables of ``around`` with JAVA_HOME and PATH set so that `go`, `mvn`, `java` and `javac` are the
    preferred ones, and Maven quick unless it has options."""
    made = dict(around.environ)
    folders = []
    jdk = find_jdk(around)
    if jdk.path is not None:
        made["JAVA_HOME"] = str(jdk.path)
        folders.append(str(jdk.path / "bin"))
    tools = (find_tool(name, around) for name in ("go", "maven"))
    folders += [str(tool.path.parent) for tool in tools if tool.path is not None]
    made["PATH"] = os.pathsep.join((*folders, around.environ.get("PATH", "")))
    made.setdefault("MAVEN_OPTS", "-XX:TieredStopAtLevel=1")
    return made


@contextlib.contextmanager
def one_maven(project: Path) -> Iterator[None]:
    """Wait until no other process of this project is inside, and keep the others out; projects that share their builds
    share the lock."""
    file = project / ".cache" / "builds" / "maven.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given up when the file is closed, however this process ends
        yield
