# SPDX-License-Identifier: Apache-2.0
"""The tests that each service declares in its ``service.toml``, and how one is run."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

from harness.tests.support.available import only_in_ci
from harness.tests.support.sessions import REPOSITORY
from harness.toolchains import Surroundings, build_environment

SHOWN_LINES = 120
#: Services whose own tests bring up databases, other services and faults, or build with Maven what the contracts try as
#: well: CI runs them for every change, and every other run has the contracts of these services.
LONG = (
    "bank/go-gorilla",
    "bank/go-pgx",
    "bank/java-spring",
    "clients/go-nethttp",
    "clients/java-quarkus",
    "clients/java-vertx",
    "strings/java-helidon2-published",
    "strings/java-jaxrs",
    "strings/java-jaxrs-2020",
)


class OwnTest(NamedTuple):
    """A service's name, its folder, and the words of its test; ``{mvn}`` and the like are bare programs here."""

    name: str
    folder: Path
    words: tuple[str, ...]


def own_tests(*, program: str | None) -> list[ParameterSet]:
    """Return the tests that begin with a program as parameters; ``None``: those that begin with neither Go nor Maven."""
    every = []
    for file in sorted(REPOSITORY.glob("services/*/*/service.toml")):
        about = tomllib.loads(file.read_text("utf-8"))
        if "source" in about:  # the tests are where the source is
            continue
        words = tuple(word.strip("{}") for word in about["test"])
        every.append(OwnTest(f"{file.parent.parent.name}/{file.parent.name}", file.parent, words))
    rest = program is None
    those = [
        each for each in every if (each.words[0] not in ("go", "mvn") if rest else each.words[0] == program)
    ]
    mark = only_in_ci("long tests of services")
    return [pytest.param(each, id=each.name, marks=mark if each.name in LONG else ()) for each in those]


def run(words: Sequence[str], folder: Path = REPOSITORY, **appended: str) -> None:
    """Run a command with the preferred tools first on PATH; fail with the end of its output."""
    env = build_environment(Surroundings(project=REPOSITORY))
    env |= {name: f"{env.get(name, '')} {more}".strip() for name, more in appended.items()}
    done = subprocess.run(
        words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False,
    )  # fmt: skip
    assert done.returncode == 0, "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])
