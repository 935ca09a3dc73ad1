# SPDX-License-Identifier: Apache-2.0
"""The JDKs of this machine: where they usually stand, what each is, and which one is preferred; and old runtimes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .catalogue import JAVA_MINIMUM, JAVA_REFERENCE, wanted
from .probe import as_tool, ask, which
from .tool import JavaRuntime, Jdk, State, Surroundings, Tool, parse_version


def find_jdks(around: Surroundings) -> tuple[Jdk, ...]:
    """Every JDK here, the preferred one first.

    Order: JAVA_HOME and the active conda environment (the user's word), then the
    reference release, then newer before older. JDKs below the minimum are listed last.
    """
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
