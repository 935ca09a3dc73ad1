# SPDX-License-Identifier: Apache-2.0
"""``make test``: the checks of the source, every service's own tests, then pytest.

Services are found by their ``service.toml`` and say themselves how they are
tested. Two lanes run beside each other: Maven in one (its repository does not
bear two writers), everything else in the other, with the tests that only compute
at its end: Maven takes longer. The other tests come last, alone, and their summary
is the last line when all is well. Below it stands what failed before, with its
reason once more: a log is often read from its end, or has nothing but its end.
"""

from __future__ import annotations

import os
import re
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
#: Of these a failure's reason is made, when it is told again at the end.
TELLING_LINES = 12
TELLING = re.compile(r"error|fail|panic|expected|not ok|assert|exception", re.IGNORECASE)
#: The marker of tests that only compute (pyproject.toml).
COMPUTING = "computes"
#: Programs a service may name as placeholders; `environment` puts the preferred ones first on PATH.
PROGRAMS = {name: name for name in ("go", "mvn", "java", "javac")}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One command that must end with status 0."""

    name: str
    command: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A check that ended with another status than 0, and what it said."""

    name: str
    said: str

    def reason(self) -> str:
        """The first lines that tell of an error, or the last ones when none does."""
        lines = [line.rstrip() for line in self.said.splitlines() if line.strip()]
        telling = [line for line in lines if TELLING.search(line)]
        shown = telling[:TELLING_LINES] or lines[-TELLING_LINES:]
        return "\n".join((f"FAILED before pytest: {self.name}", *(f"    {line[:300]}" for line in shown)))


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


def lanes(checks: Iterable[Check]) -> tuple[list[Check], list[Check]]:
    """Maven's checks, and the others, each in the order given."""
    every = list(checks)
    maven = [check for check in every if Path(check.command[0]).name in ("mvn", "mvnw")]
    return maven, [check for check in every if check not in maven]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of all checks: `.venv` first, then the tools that the finders prefer."""
    made = toolchains.build_environment(toolchains.Surroundings(project=PROJECT, environ=environ))
    made.pop("PYTHONPATH", None)  # another checkout on it would be tested in place of this one
    made["PATH"] = os.pathsep.join((str(PROJECT / ".venv/bin"), made["PATH"]))
    return made


def run_lane(checks: Sequence[Check], env: Mapping[str, str], failed: list[Failure]) -> None:
    """Run checks one after another; append those that fail and show what they said."""
    for check in checks:
        started_s = time.monotonic()
        try:
            done = subprocess.run(
                check.command, cwd=check.folder, env=dict(env), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
            )  # fmt: skip
            status, said = done.returncode, done.stdout
        except OSError as error:
            status, said = 127, f"{check.command[0]} does not start: {error.strerror}"
        took_s = time.monotonic() - started_s
        if status == 0:
            step(f"ok      {check.name} ({took_s:.1f} s)")
        else:
            failed.append(Failure(name=check.name, said=said))
            lines = "\n".join(f"    {line}" for line in said.splitlines()[-SHOWN_LINES:])
            step(f"FAILED  {check.name} (status {status}, {took_s:.1f} s)\n{lines}")


def computing_check(project: Path) -> Check:
    """The tests that start nothing and need nothing but a core: they disturb no other lane."""
    command = (str(project / ".venv/bin/python"), "-m", "pytest", "-q", "-rs", "-n", "0", "-m", COMPUTING)
    return Check(name="pytest: tests that only compute", command=command, folder=project)


def run_pytest(env: Mapping[str, str], arguments: Sequence[str]) -> int:
    workers = min(2, os.cpu_count() or 1)
    command = [str(PROJECT / ".venv/bin/python"), "-m", "pytest", "-q", "-rs", "-n", str(workers), *arguments]
    return subprocess.run(command, cwd=PROJECT, env=dict(env), check=False).returncode


def main(arguments: Sequence[str]) -> int:
    """Run everything; status 1 when anything failed. Words on the command line go to pytest, then undivided."""
    env = environment(os.environ)
    checks = [*source_checks(PROJECT), *service_checks(PROJECT)]
    maven, others = lanes(without_absent(checks, env))
    if not arguments:
        others.append(computing_check(PROJECT))
        arguments = ("-m", f"not {COMPUTING}")
    failed: list[Failure] = []
    beside = threading.Thread(target=run_lane, args=(maven, env, failed))
    beside.start()
    run_lane(others, env, failed)
    beside.join()
    step("pytest")
    status = run_pytest(env, arguments)
    for failure in failed:
        print(failure.reason(), flush=True)
    return 1 if failed or status != 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
