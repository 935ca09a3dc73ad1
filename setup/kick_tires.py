# SPDX-License-Identifier: Apache-2.0
"""``make kick-tires``: every part of this project once, in minutes, with one line PASS or FAIL for each.

Set-up has run before. A step that fails does not keep the others from running.
Exit status 1: a step failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .finders import PROJECT
from .run_tests import environment
from .say import step

#: What each step prints, and the notebook as it was executed.
FOLDER = Path("results") / "kick-tires"
NOTEBOOK = "30-strings"
#: A step that hangs is a failure, not an evening; far beyond what each takes.
STEP_WITHIN_S = 600
LAST_LINES = 12
NEXT = (
    ("read what is claimed, and what each claim costs to check", "ARTIFACT.md"),
    ("build the paper from the bundled sessions, measure nothing", "make paper PROFILE=sample"),
    ("measure everything here", "make paper"),
    ("run all tests", "make test"),
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command that must end with status 0, and must print or leave what shows that it did its work."""

    name: str
    command: tuple[str, ...]
    #: A text that its output must have; a status alone would also be that of a command that did nothing.
    shows: str = ""
    #: A file that must be there afterwards.
    leaves: Path | None = None


def steps(project: Path) -> tuple[Step, ...]:
    """The steps in their order."""
    tools = project / ".venv" / "bin"
    rematch = str(tools / "rematch")
    executed = project / FOLDER / f"{NOTEBOOK}.ipynb"
    jmeter = project / "harness" / "tests" / "golden" / "jmeter"
    one, other = (str(path) for path in two_results(jmeter))
    return (
        Step(name="check the tools", command=(rematch, "check", "--json"), shows='"fit_for"'),
        Step(
            name="measure a session",
            command=(rematch, "measure", "smoke", "--profile", "smoke"),
            shows=" ok",
        ),
        Step(name="print its results", command=(rematch, "results", "smoke"), shows="java-jdkhttp"),
        Step(
            name="execute a notebook",
            command=(
                str(tools / "papermill"), f"notebooks/{NOTEBOOK}.ipynb", str(executed), "-p", "profile", "sample",
            ),
            leaves=executed,
        ),
        Step(
            name="compare two files",
            # one run an arm: it prints ratios, and refuses verdicts with the reason
            command=(rematch, "compare", one, "--", other),
            shows="one_run",
        ),
    )  # fmt: skip


def two_results(folder: Path) -> tuple[Path, Path]:
    """Two result files that JMeter wrote: a closed loop and an open one, so verdicts are withheld."""
    return folder / "closed-10-users.jtl.gz", folder / "open-arrivals.jtl.gz"


def run_step(one: Step, project: Path, env: Mapping[str, str]) -> tuple[str | None, float]:
    """Run a step; return why it failed, ``None`` where it passed, and the seconds that it took."""
    log = project / FOLDER / f"{one.name.replace(' ', '-')}.txt"
    if one.leaves is not None:
        one.leaves.unlink(missing_ok=True)
    began_s = time.monotonic()
    try:
        done = subprocess.run(
            one.command, cwd=project, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=STEP_WITHIN_S, check=False,
        )  # fmt: skip
        said, status = done.stdout, done.returncode
    except OSError as error:
        said, status = f"{one.command[0]} does not start: {error.strerror}", 127
    except subprocess.TimeoutExpired:
        said, status = f"it did not end within {STEP_WITHIN_S} s", 124
    took_s = time.monotonic() - began_s
    log.write_text(said, encoding="utf-8")
    why = None
    if status:
        why = f"exit status {status}; {log.relative_to(project)} ends:\n" + _end_of(said)
    elif one.shows not in said:
        why = f"its output lacks {one.shows!r}; {log.relative_to(project)} ends:\n" + _end_of(said)
    elif one.leaves is not None and not one.leaves.is_file():
        why = f"it did not write {one.leaves.relative_to(project)}"
    return why, took_s


def _end_of(said: str) -> str:
    return "\n".join(f"    {line}" for line in said.rstrip().splitlines()[-LAST_LINES:])


def run_all(every: Sequence[Step], project: Path, env: Mapping[str, str]) -> int:
    """Run every step and print its line; return how many failed."""
    (project / FOLDER).mkdir(parents=True, exist_ok=True)
    failed = 0
    for one in every:
        step(
            f"{one.name}: {' '.join(os.path.relpath(w, project) if os.path.isabs(w) else w for w in one.command)}"
        )
        why, took_s = run_step(one, project, env)
        failed += why is not None
        print(
            f"{'PASS' if why is None else 'FAIL'}  {one.name} ({took_s:.0f} s){'' if why is None else f': {why}'}"
        )
    print(f"\n{'FAIL' if failed else 'PASS'}: {len(every) - failed} of {len(every)} steps passed")
    print("Next:")
    for what, command in NEXT:
        print(f"  {command:<26} {what}")
    sys.stdout.flush()
    return failed


def main() -> int:
    env = environment(os.environ)
    return 1 if run_all(steps(PROJECT), PROJECT, env) else 0


if __name__ == "__main__":
    sys.exit(main())
