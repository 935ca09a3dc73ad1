# SPDX-License-Identifier: Apache-2.0
"""``python -m setup.outdated``: what this project uses that has a newer stable release.

Asked are the registries that uv, Go, Maven and cargo are set up with.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from . import python_env
from .finders import PROJECT, toolchains
from .say import SetupError, table, warn

VERSIONS_PLUGIN = "org.codehaus.mojo:versions-maven-plugin:2.18.0"
GOALS = ("display-property-updates", "display-plugin-updates", "display-parent-updates")
GO_FORMAT = "{{if and (not .Indirect) .Update}}{{.Path}} {{.Version}} {{.Update.Version}}{{end}}"
#: Columns of the table: kind, name, used, newest; with two spaces between them 80.
WIDTHS = (6, 40, 14, 14)
ANSWER_WITHIN_S = 600

_MAVEN_UPDATE = re.compile(r"^\[INFO\] +(\S+) \.+(?:\n\[INFO\])? +(\S+) -> (\S+)$", re.MULTILINE)
_MAVEN_LOST = re.compile(r"Could not transfer|Unknown host|Connection refused|timed out|BUILD FAILURE")
_UNSTABLE = re.compile(r"(?i)alpha|beta|rc|cr\d|-m\d|[.-]m\d|snapshot|dev|-ea")
_PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


class Behind(NamedTuple):
    """One thing that is used in an older version than there is."""

    kind: str
    name: str
    used: str
    newest: str


class Unanswered(Exception):
    """A registry gave no answer; the text is one line that names what was asked about."""


def python_packages(listing: str) -> list[Behind]:
    """Read ``uv pip list --outdated --format json``."""
    return [
        Behind("python", row["name"], row["version"], row["latest_version"]) for row in json.loads(listing)
    ]


def pinned_tools(pins: str, newest: str) -> list[Behind]:
    """Compare the pins of set-up with what ``uv pip compile`` chose for the same names."""
    found = dict(_PIN.findall(newest))
    return [
        Behind("tool", name, used, found[name])
        for name, used in _PIN.findall(pins)
        if name in found and found[name] != used
    ]


def go_modules(listing: str) -> list[Behind]:
    """Read lines ``PATH USED NEWEST`` of ``go list -m -u``."""
    rows = (line.split() for line in listing.splitlines() if line.strip())
    return [Behind("go", name, used, newest) for name, used, newest in rows]


def maven_updates(output: str) -> list[Behind]:
    """Read what the versions plugin says; of several newer versions the last stable one counts.

    Raises:
        Unanswered: the plugin could not ask.
    """
    if _MAVEN_LOST.search(output):
        raise Unanswered("maven")
    newest: dict[tuple[str, str], str] = {}
    for name, used, offered in _MAVEN_UPDATE.findall(output):
        key = (name.strip("${}"), used)
        if not _UNSTABLE.search(offered) and _order(offered) > _order(newest.get(key, used)):
            newest[key] = offered
    return [Behind("maven", name, used, offered) for (name, used), offered in newest.items()]


def cargo_program(name: str, used: str, listing: str) -> list[Behind]:
    """Read ``cargo search NAME``, whose first column is ``NAME = "VERSION"``."""
    match = re.search(rf'^{re.escape(name)} = "([^"]+)"', listing, re.MULTILINE)
    if match is None:
        raise Unanswered("cargo")
    return [] if match[1] == used else [Behind("tool", name, used, match[1])]


def as_table(rows: Iterable[Behind]) -> str:
    """All rows once, sorted, no line longer than 80 columns; a long cell keeps its beginning and gets a ``~``."""
    cells = [
        tuple(_cut(cell, width) for cell, width in zip(row, WIDTHS, strict=True)) for row in sorted(set(rows))
    ]
    return table(cells, Behind._fields)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "~"


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def ask(
    words: Sequence[str | Path], *, about: str, cwd: Path, env: Mapping[str, str], fed: str | None = None
) -> str:
    """Return what a tool prints.

    Raises:
        Unanswered: it does not start, fails, or takes longer than ten minutes.
    """
    try:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd, env=dict(env), input=fed or "", capture_output=True, text=True,
            errors="replace", timeout=ANSWER_WITHIN_S, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        raise Unanswered(about) from None
    return done.stdout


def _python(project: Path, environ: Mapping[str, str]) -> list[Behind]:
    uv, env = python_env.bring_uv(project, sys.executable, environ)
    python = project / ".venv/bin/python"
    listing = ask(
        [uv, "pip", "list", "--outdated", "--format", "json", "--python", python],
        about="python packages", cwd=project, env=env,
    )  # fmt: skip
    pins = "\n".join(file.read_text("utf-8") for file in sorted((project / python_env.PINS).glob("*.txt")))
    newest = ask(
        [uv, "pip", "compile", "-q", "--no-deps", "--no-header", "--no-annotate", "--python", python, "-"],
        about="pinned tools", cwd=project, env=env,
        fed="\n".join(name for name, _ in _PIN.findall(pins)),
    )  # fmt: skip
    return python_packages(listing) + pinned_tools(pins, newest)


def _go(module: Path, environ: Mapping[str, str]) -> list[Behind]:
    env = {**environ, "GOWORK": "off", "GOFLAGS": "-mod=readonly"}
    listing = ask(["go", "list", "-m", "-u", "-f", GO_FORMAT, "all"], about=f"{module}", cwd=module, env=env)
    return go_modules(listing)


def _maven(module: Path, environ: Mapping[str, str]) -> list[Behind]:
    goals = [f"{VERSIONS_PLUGIN}:{goal}" for goal in GOALS]
    with toolchains.one_maven(PROJECT):
        return maven_updates(ask(["mvn", "-B", "-U", *goals], about=f"{module}", cwd=module, env=environ))


def _cargo(environ: Mapping[str, str]) -> list[Behind]:
    listing = ask(["cargo", "search", "oha", "--limit", "1"], about="oha", cwd=PROJECT, env=environ)
    return cargo_program("oha", toolchains.OHA_VERSION, listing)


def main() -> int:
    """Print the table. Exit status: 0 all were asked, 2 a registry did not answer (one line each says which)."""
    environ = dict(os.environ)
    questions: list[tuple[str, Callable[[], list[Behind]]]] = [
        ("uv: python packages and pinned tools", partial(_python, PROJECT, environ)),
        ("cargo: oha", partial(_cargo, environ)),
    ]
    for tool, answer, name in (("go", _go, "go.mod"), ("maven", _maven, "pom.xml")):
        for file in (*sorted(PROJECT.glob(f"services/*/*/{name}")), *sorted(PROJECT.glob(f"setup/*/{name}"))):
            subject = f"{tool}: {file.relative_to(PROJECT)}"
            questions.append((subject, partial(answer, file.parent, environ)))
    rows: list[Behind] = []
    status = 0
    for subject, question in questions:
        try:
            rows += question()
        except (Unanswered, SetupError):
            warn(f"{subject}: its registry gave no answer; check the network and the tool's settings")
            status = 2
    print(as_table(rows) if rows else "nothing is behind")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
