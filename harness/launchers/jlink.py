# SPDX-License-Identifier: Apache-2.0
"""Trimmed runtimes: the modules of the JDK that a program needs, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from harness.toolchains import Jdk

RUNTIME = "runtime"

#: What jdeps cannot see because it is found by name: the contract's metrics come from these.
ALWAYS = ("java.management", "jdk.management")

#: It is not compressed, as unpacking would cost start-up, and it has an archive of the JDK's own classes,
#: as every JDK comes with one: without it a trimmed runtime starts later than the whole.
WORDS = (
    "--strip-java-debug-attributes",
    "--no-header-files",
    "--no-man-pages",
    "--generate-cds-archive",
)

_MODULE = re.compile(r"^[a-z][\w.]*(,[a-z][\w.]*)*$")


def modules_argv(jdk: Jdk, jar: Path, libraries: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the command that prints which modules the program uses."""
    path = ("--class-path", ":".join(map(str, libraries))) if libraries else ()
    release = ("--multi-release", str(jdk.major))
    words = ("--print-module-deps", "--ignore-missing-deps", "--recursive")
    return (str(jdk.home / "bin" / "jdeps"), *words, *release, *path, str(jar))


def read_modules(said: str, further: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the modules that jdeps printed, those named in ``service.toml``, and those always needed.

    ``None``: it printed no such line.
    """
    lines = [line.strip() for line in said.splitlines() if _MODULE.match(line.strip())]
    return tuple(sorted({*lines[-1].split(","), *further, *ALWAYS})) if lines else None


def link_argv(jdk: Jdk, modules: tuple[str, ...], target: Path) -> tuple[str, ...]:
    """Return the command that makes the runtime."""
    return (
        str(jdk.home / "bin" / "jlink"), "--add-modules", ",".join(modules), *WORDS, "--output", str(target),
    )  # fmt: skip
