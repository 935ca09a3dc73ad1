# SPDX-License-Identifier: Apache-2.0
"""``make test``, ``make test-fast`` and ``make test-all``.

``make test`` runs the checks of the source, every service's own tests, then pytest.
``--fast`` leaves out services and every test that starts one; ``--all`` adds simulations
at full size and tests of a minute each. ``--busy N`` runs beside N busy loops, ``--memory
N`` beside a process with which N per cent of the memory are in use: no test may fail
because the machine is busy. Further words go to pytest.

Services are found by their ``service.toml`` and say themselves how they are
tested. Two lanes run beside pytest: Maven in one (its repository does not bear two
writers; what pytest's tests build with it comes first), every other check in the second.
All three wait often, for processes, databases and the disk. Where memory is short, pytest
begins when the lanes are done. Below pytest's summary stands what failed beside it, with its
reason once more: a log is often read from its end, or has nothing but its end.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .finders import PROJECT, toolchains
from .say import step, warn
from .scope import WISHED_BY_TESTS
from .tested import Passed

SHOWN_LINES = 120
#: Of these a failure's reason is made, when it is told again at the end.
TELLING_LINES = 12
TELLING = re.compile(r"error|fail|panic|expected|not ok|assert|exception", re.IGNORECASE)
#: Services that pytest's own tests build with Maven: built first, for its lock is then taken for minutes.
SHARED_BUILDS = ("strings/java-helidon",)
#: Folders of harness/tests/ whose tests start no service and no load: those of `make test-fast`.
FAST = ("analysis", "definitions", "evidence", "formats", "model", "report", "store")
#: Tests that start much and repeat little: what C2 would compile is not used long enough.
QUICK_JVM = "-XX:TieredStopAtLevel=1"
#: Go compiles for these checks what services are built of, once; `go vet` is a check of its own.
QUICK_GO = "-trimpath -tags=netgo,osusergo -vet=off"
#: What asks for the tests that are left out of `make test`; harness/tests/support/available.py reads them.
EVERYTHING = {"REMATCH_LONG_TESTS": "1", "REMATCH_UNCUT_TESTS": "1"}
#: Where CI is set, and in `make test-all`, everything runs again.
PASSED = PROJECT / ".cache" / "tests-passed.json"
#: A loop that ends with the process that started it, however that ends.
BUSY_LOOP = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n    sum(range(1_000_000))"
#: Writes to so many bytes and keeps them, until the process that started it has ended.
MEMORY_HOLDER = (
    "import os, sys, time\nheld = bytearray(b'x') * int(sys.argv[2])\nprint(len(held), flush=True)\n"
    "while os.getppid() == int(sys.argv[1]):\n    time.sleep(1)"
)
MEMINFO = Path("/proc/meminfo")
#: Four workers and two lanes, a GiB each: with less, programs are read from the disk again and again.
ENOUGH_MEMORY_BYTES = 6 * 2**30
#: Programs a service may name as placeholders; `environment` puts the preferred ones first on PATH.
PROGRAMS = {name: name for name in ("go", "mvn", "java", "javac")}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One command that must end with status 0."""

    name: str
    command: tuple[str, ...]
    folder: Path
    #: All that it reads, where its success on the same content need not be repeated; ``None``: it always runs.
    reads: Path | None = None


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
        return "\n".join((f"FAILED beside pytest: {self.name}", *(f"    {line[:300]}" for line in shown)))


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
        reads = None if test[0] == "go" else file.parent.parent  # `go test` keeps what passed itself
        checks.append(
            Check(name=f"{name}: {' '.join(test[:2])}", command=test, folder=file.parent, reads=reads)
        )
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


def run_lane(
    checks: Sequence[Check], env: Mapping[str, str], failed: list[Failure], passed: Passed | None = None
) -> None:
    """Run checks one after another; append those that fail and show what they said.

    ``passed``: those that passed on the same content with the same tools are not run again.
    """
    kept = passed or Passed(None)
    for check in checks:
        tools = (*check.command, *(env.get(name, "") for name in ("JAVA_HOME", "MAVEN_OPTS", "PATH")))
        content = kept.hash_of(check.reads, tools)
        if kept.knows(check.name, content):
            step(f"ok      {check.name} (unchanged since it passed)")
            continue
        started_s = time.monotonic()
        try:
            with toolchains.one_maven(PROJECT) if is_maven(check) else contextlib.nullcontext():
                done = subprocess.run(
                    check.command, cwd=check.folder, env=dict(env), stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                )  # fmt: skip
            status, said = done.returncode, done.stdout
        except OSError as error:
            status, said = 127, f"{check.command[0]} does not start: {error.strerror}"
        took_s = time.monotonic() - started_s
        if status == 0:
            kept.keep(check.name, content)
            step(f"ok      {check.name} ({took_s:.1f} s)")
        else:
            failed.append(Failure(name=check.name, said=said))
            lines = "\n".join(f"    {line}" for line in said.splitlines()[-SHOWN_LINES:])
            step(f"FAILED  {check.name} (status {status}, {took_s:.1f} s)\n{lines}")


def for_maven(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of Maven's lane alone: the tests of services compile as little as their builds do."""
    options = f"{env.get('MAVEN_OPTS', '')} -DargLine={QUICK_JVM}".strip()
    return {**env, "MAVEN_OPTS": options}


def for_go(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of the lane in which Go services are vetted and tested."""
    return {**env, "GOFLAGS": f"{env.get('GOFLAGS', '')} {QUICK_GO}".strip()}


def available_bytes(meminfo: Path) -> int | None:
    """How much memory new processes can have; ``None`` where the system does not say."""
    try:
        found = re.search(r"^MemAvailable: +(\d+) kB", meminfo.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def workers_for(cpus: int, memory_bytes: int | None) -> int:
    """How many processes run tests: two, and two more that work while those wait; fewer where memory is short.

    A worker has half a GiB of its own, and its services, databases and builds as much again.
    """
    wished = 2 * min(2, cpus)
    return wished if memory_bytes is None else max(1, min(wished, memory_bytes // 2**30))


def run_pytest(env: Mapping[str, str], arguments: Sequence[str], workers: int) -> int:
    # a file at a time, so that what its tests share is made once
    command = [
        str(PROJECT / ".venv/bin/python"), "-m", "pytest", "-q", "-rs", "-n", str(workers),
        "--dist", "loadfile", "--no-loadscope-reorder", "--durations", "25", "--durations-min", "2", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, cwd=PROJECT, env=dict(env), check=False).returncode


@contextlib.contextmanager
def busy_loops(n: int) -> Iterator[list[int]]:
    """Keep ``n`` processes busy on any CPU; yield their ids and end each of them."""
    loops = [
        subprocess.Popen([sys.executable, "-S", "-c", BUSY_LOOP, str(os.getpid())], stdin=subprocess.DEVNULL)
        for _ in range(n)
    ]
    if loops:
        step(f"beside {n} busy loops: {' '.join(str(loop.pid) for loop in loops)}")
    try:
        yield [loop.pid for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def memory_to_hold(percent: float, meminfo: str) -> int:
    """How many bytes must be taken until ``percent`` of the memory are not available; 0 when they are not now.

    ``meminfo``: what ``/proc/meminfo`` says.
    """
    kib = {
        name: int(value)
        for name, value in re.findall(r"^(MemTotal|MemAvailable): +(\d+) kB", meminfo, re.MULTILINE)
    }
    return max(0, round((kib["MemAvailable"] - kib["MemTotal"] * (100 - percent) / 100) * 1024))


@contextlib.contextmanager
def memory_held(percent: float) -> Iterator[int | None]:
    """Keep memory so that ``percent`` of it are in use; yield the id of the process that has it, and end it.

    Not asked for (0): nothing is held and ``None`` is yielded. What the tests take comes on top.
    """
    if not percent:
        yield None
        return
    held_bytes = memory_to_hold(percent, MEMINFO.read_text(encoding="ascii"))
    words = [sys.executable, "-S", "-c", MEMORY_HOLDER, str(os.getpid()), str(held_bytes)]
    holder = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        step(
            f"beside {percent:g} % of the memory in use: process {holder.pid} holds {held_bytes / 2**30:.1f} GiB"
        )
        yield holder.pid
        if holder.poll() is not None:
            warn(
                "the process that held memory was ended before the tests were over: by the system, for want of memory?"
            )
    finally:
        holder.kill()
        holder.wait()


def run_all(env: Mapping[str, str], words: Sequence[str], passed: Passed, *, fast: bool) -> int:
    """Run pytest, and two lanes beside it, or before it where memory is short; status 1 when anything failed."""
    failed: list[Failure] = []
    memory_bytes = available_bytes(MEMINFO)
    short = memory_bytes is not None and memory_bytes < ENOUGH_MEMORY_BYTES
    source = without_absent(source_checks(PROJECT), env)
    maven, others = lanes(without_absent([] if fast else service_checks(PROJECT), env))

    def in_mavens_lane() -> None:
        if maven:
            run_lane([shared_builds(PROJECT)], env, failed)
        run_lane(maven, for_maven(env), failed, passed)

    if short:
        step("memory is short: pytest begins when the other checks are done")
        run_lane(source, for_go(env), failed)
        source = []
    beside = [
        threading.Thread(target=run_lane, args=([*source, *others], for_go(env), failed)),
        threading.Thread(target=in_mavens_lane),
    ]
    for lane in beside:
        lane.start()
    for lane in beside if short else ():
        lane.join()
    workers = workers_for(os.cpu_count() or 1, memory_bytes)
    step(f"pytest, {workers} at a time")
    folders = [f"harness/tests/{name}" for name in FAST] if fast else []
    status = run_pytest(env, [*folders, *words], workers)
    for lane in beside:
        lane.join()
    for failure in failed:
        print(failure.reason(), flush=True)
    return 1 if failed or status != 0 else 0


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for; 0 when all of it is well."""
    parser = argparse.ArgumentParser(prog="python -m setup.run_tests", allow_abbrev=False, add_help=False)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--fast", action="store_true")
    size.add_argument("--all", action="store_true")
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--memory", type=float, default=0)
    asked, words = parser.parse_known_args(list(arguments))
    env = environment(os.environ)
    again = asked.all or env.get("CI", "").lower() not in ("", "0", "false")
    if asked.all:
        env |= EVERYTHING
    with busy_loops(asked.busy), memory_held(asked.memory):
        return run_all(env, words, Passed(None if again else PASSED), fast=asked.fast)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
