# SPDX-License-Identifier: Apache-2.0
"""Run ``make test``, ``make test-fast`` and ``make test-all``.

``make test`` runs the checks of the source, every service's own tests, and pytest. ``--fast`` leaves out services and
every test that starts one; ``--all`` adds simulations at full size and tests of a minute each. Further words go to
pytest. Each ``service.toml`` declares how its service is tested.

Two lanes run beside pytest: Maven in one, because its repository does not bear two writers, every other check in the
second. All three wait often, for processes, databases and the disk. The names of the checks that failed are repeated
below pytest's summary.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .finders import PROJECT, toolchains
from .say import step, warn
from .scope import WISHED_BY_TESTS

SHOWN_LINES = 120
#: Services that pytest's own tests build with Maven: built first, because services' tests hold its lock for minutes.
SHARED_BUILDS = ("strings/java-helidon",)
#: Folders of harness/tests/ whose tests start no service and no load: those of `make test-fast`.
FAST = ("analysis", "definitions", "evidence", "formats", "model", "report", "store")
#: Tests that start much and repeat little: what C2 would compile is not used long enough.
QUICK_JVM = "-XX:TieredStopAtLevel=1"
#: The flags that services are built with, so that Go compiles their packages once; `go vet` is a check of its own.
QUICK_GO = "-trimpath -tags=netgo,osusergo -vet=off"
#: Variables that ask for the tests that `make test` leaves out; harness/tests/support/available.py reads them.
EVERYTHING = {"REMATCH_LONG_TESTS": "1", "REMATCH_UNCUT_TESTS": "1"}
#: Programs a service may name as placeholders; `environment` puts the preferred ones first on PATH.
PROGRAMS = {name: name for name in ("go", "mvn", "java", "javac")}
#: Two that compute, and two more that work while those wait.
WORKERS = 4


@dataclass(frozen=True, kw_only=True)
class Check:
    """One command that must end with status 0."""

    name: str
    command: tuple[str, ...]
    folder: Path


def source_checks(project: Path) -> list[Check]:
    """Style, types and import rules of the Python code."""
    tools = project / ".venv/bin"
    commands = {
        "ruff check": (str(tools / "ruff"), "check", "harness", "setup"),
        "ruff format": (str(tools / "ruff"), "format", "--check", "harness", "setup"),
        "mypy": (str(tools / "mypy"), "--strict", "harness", "setup"),
        "import rules": (str(tools / "lint-imports"),),
    }
    return [Check(name=name, command=command, folder=project) for name, command in commands.items()]


def service_checks(project: Path) -> list[Check]:
    """The tests each service declares; a Go service is vetted as well.

    Raises:
        SystemExit: a ``service.toml`` cannot be read or declares no test; one line names it. Status 2.
    """
    checks = []
    for file in sorted(project.glob("services/*/*/service.toml")):
        try:
            service = tomllib.loads(file.read_text(encoding="utf-8"))
            test = tuple(str(word).format_map(PROGRAMS) for word in service["test"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            warn(
                f"{file.relative_to(project)}: test: {error!r}; allowed: the words of a command,"
                f" placeholders {sorted(PROGRAMS)}"
            )
            raise SystemExit(2) from error
        name = f"{file.parent.parent.name}/{file.parent.name}"
        if service.get("language") == "go":
            checks.append(Check(name=f"{name}: go vet", command=("go", "vet", "./..."), folder=file.parent))
        checks.append(Check(name=f"{name}: {' '.join(test[:2])}", command=test, folder=file.parent))
    return checks


def shared_builds(project: Path) -> Check:
    """The builds that tests of pytest would wait for while Maven tests other services."""
    words = (str(project / ".venv/bin/python"), "-m", "harness.tests.support.shared_builds", *SHARED_BUILDS)
    return Check(name=f"build of {', '.join(SHARED_BUILDS)}", command=words, folder=project)


def without_absent(checks: Iterable[Check], environ: Mapping[str, str]) -> list[Check]:
    """The checks whose program is here. One that set-up could not install is named; where ``CI`` is set it fails."""
    around = toolchains.Surroundings(project=PROJECT, environ=environ)
    in_ci = environ.get("CI", "").lower() not in ("", "0", "false")
    kept = []
    for check in checks:
        program = check.command[0]
        tool = toolchains.find_tool(program, around) if program in WISHED_BY_TESTS else None
        if tool is None or tool.usable or in_ci:
            kept.append(check)
        else:
            step(f"not run: {check.name}; {tool.complaint()}")
    return kept


def is_maven(check: Check) -> bool:
    return Path(check.command[0]).name in ("mvn", "mvnw")


def lanes(checks: Iterable[Check]) -> tuple[list[Check], list[Check]]:
    """Maven's checks, and the others, each in the order given."""
    every = list(checks)
    maven = [check for check in every if is_maven(check)]
    return maven, [check for check in every if check not in maven]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of all checks: `.venv` first, then the tools that the finders prefer."""
    made = toolchains.build_environment(toolchains.Surroundings(project=PROJECT, environ=environ))
    made.pop("PYTHONPATH", None)  # another checkout on it would be tested in place of this one
    # hundreds of Pythons are started: without byte code each compiles pandas, scipy and the rest again
    made.pop("PYTHONDONTWRITEBYTECODE", None)
    made["PATH"] = os.pathsep.join((str(PROJECT / ".venv/bin"), made["PATH"]))
    return made


def run_lane(checks: Sequence[Check], env: Mapping[str, str], failures: list[str]) -> None:
    """Run checks one after another; append the names of those that fail and show their output."""
    for check in checks:
        started_s = time.monotonic()
        try:
            with toolchains.one_maven(PROJECT) if is_maven(check) else contextlib.nullcontext():
                done = subprocess.run(
                    check.command, cwd=check.folder, env=dict(env), stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                )  # fmt: skip
            status, output = done.returncode, done.stdout
        except OSError as error:
            status, output = 127, f"{check.command[0]} does not start: {error.strerror}"
        took_s = time.monotonic() - started_s
        if status == 0:
            step(f"ok      {check.name} ({took_s:.1f} s)")
        else:
            failures.append(check.name)
            lines = "\n".join(f"    {line}" for line in output.splitlines()[-SHOWN_LINES:])
            step(f"FAILED  {check.name} (status {status}, {took_s:.1f} s)\n{lines}")


def for_maven(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of Maven's lane alone: the tests of services compile as little as their builds do."""
    options = f"{env.get('MAVEN_OPTS', '')} -DargLine={QUICK_JVM}".strip()
    return {**env, "MAVEN_OPTS": options}


def for_go(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of the lane in which Go services are vetted and tested."""
    return {**env, "GOFLAGS": f"{env.get('GOFLAGS', '')} {QUICK_GO}".strip()}


def run_pytest(env: Mapping[str, str], arguments: Sequence[str]) -> int:
    """Run pytest; return its status."""
    # a file at a time, so that what its tests share is made once
    command = [
        str(PROJECT / ".venv/bin/python"), "-m", "pytest", "-q", "-rs", "-n", str(WORKERS),
        "--dist", "loadfile", "--no-loadscope-reorder", "--durations", "25", "--durations-min", "2", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, cwd=PROJECT, env=dict(env), check=False).returncode


def run_all(env: Mapping[str, str], words: Sequence[str], *, fast: bool) -> int:
    """Run pytest and two lanes of checks beside it; return 1 when anything failed."""
    failures: list[str] = []
    maven, others = lanes(without_absent([] if fast else service_checks(PROJECT), env))

    def in_mavens_lane() -> None:
        if maven:
            run_lane([shared_builds(PROJECT)], env, failures)
        run_lane(maven, for_maven(env), failures)

    beside = [
        threading.Thread(target=run_lane, args=([*source_checks(PROJECT), *others], for_go(env), failures)),
        threading.Thread(target=in_mavens_lane),
    ]
    for lane in beside:
        lane.start()
    folders = [f"harness/tests/{name}" for name in FAST] if fast else []
    status = run_pytest(env, [*folders, *words])
    for lane in beside:
        lane.join()
    for name in failures:
        print(f"FAILED beside pytest: {name}; its output is above", flush=True)
    return 1 if failures or status != 0 else 0


def main(arguments: Sequence[str]) -> int:
    """Run the tests that are asked for; return 0 when all passed."""
    parser = argparse.ArgumentParser(prog="python -m setup.run_tests", allow_abbrev=False, add_help=False)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--fast", action="store_true")
    size.add_argument("--all", action="store_true")
    asked, words = parser.parse_known_args(list(arguments))
    env = environment(os.environ) | (EVERYTHING if asked.all else {})
    return run_all(env, words, fast=asked.fast)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
