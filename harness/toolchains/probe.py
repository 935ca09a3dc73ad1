# SPDX-License-Identifier: Apache-2.0
"""Where a program stands, what it says of itself, and whether that is what is wanted."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from .catalogue import Wanted, how_to_get
from .tool import State, Surroundings, Tool, parse_version

#: A tool that takes longer than this to tell its version is treated as if it would not tell.
ANSWER_WITHIN_S = 30.0
#: What the strings services need; everything else widens what can be measured.
REQUIRED = frozenset({"go", "jdk", "maven", "jmeter", "latex"})


def which(program: str, around: Surroundings) -> Path | None:
    """Where a program stands: in the active conda environment, else on PATH."""
    if around.conda is not None and (around.conda / "bin" / program).exists():
        return around.conda / "bin" / program
    result = shutil.which(program, path=around.environ.get("PATH", ""))
    return Path(result) if result is not None else None


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


def version_in(output: str | None) -> str | None:
    """The first number that looks like a version in what a program said."""
    match = re.search(r"\d+\.\d+[\w.+-]*", output or "")
    return match.group() if match else None


def new_enough(version: str, minimum: str | None) -> bool:
    """Whether a version is at least the one that is wanted, where one is."""
    return minimum is None or parse_version(version) >= parse_version(minimum)


def as_tool(row: Wanted, around: Surroundings, path: Path | None, version: str | None, state: State) -> Tool:
    """What was found of a tool, together with why it is wanted and how it can be had."""
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
