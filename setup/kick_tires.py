# SPDX-License-Identifier: Apache-2.0
"""``make kick-tires``: each part of this project once, in minutes, with one line PASS or FAIL for each.

Set-up has run before. A step that fails does not keep the others from running.
Exit status 1: a step failed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .finders import PROJECT, toolchains

#: Folder of what each step prints, and of the notebook as it was executed.
FOLDER = Path("results") / "kick-tires"
NOTEBOOK = "30-strings"
#: Time limit of a step, far beyond what each takes.
STEP_WITHIN_S = 600
LAST_LINES = 12
NEXT = """Next:
  read what is claimed, and what each claim costs to check: ARTIFACT.md
  build the paper from the bundled sessions, measure nothing: make paper PROFILE=sample
  measure everything here: make paper
  run all tests: make test"""


class Step(NamedTuple):
    """A command that must end with status 0, print the text ``shows`` and leave the file ``leaves``."""

    name: str
    command: tuple[str, ...]
    shows: str = ""
    leaves: Path | None = None


def steps(project: Path) -> tuple[Step, ...]:
    """Return the steps in their order."""
    programs = project / ".venv" / "bin"
    rematch, papermill = str(programs / "rematch"), str(programs / "papermill")
    executed = project / FOLDER / f"{NOTEBOOK}.ipynb"
    closed, opened = (
        str(project / "harness/tests/golden/jmeter" / name)
        for name in ("closed-10-users.jtl.gz", "open-arrivals.jtl.gz")
    )
    sample = (f"notebooks/{NOTEBOOK}.ipynb", str(executed), "-p", "profile", "sample")
    return (
        Step("check the tools", (rematch, "check", "--json"), shows='"fit_for"'),
        Step("measure a session", (rematch, "measure", "smoke", "--profile", "smoke"), shows=" ok"),
        Step("print its results", (rematch, "results", "smoke"), shows="java-jdkhttp"),
        Step("execute a notebook", (papermill, *sample), leaves=executed),
        # one run an arm: it prints ratios, and refuses verdicts with the reason
        Step("compare two files", (rematch, "compare", closed, "--", opened), shows="one_run"),
    )


def run_step(step: Step, project: Path, env: Mapping[str, str]) -> str | None:
    """Run a step; return why it failed, ``None`` where it passed."""
    log = project / FOLDER / f"{step.name.replace(' ', '-')}.txt"
    if step.leaves is not None:
        step.leaves.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            step.command, cwd=project, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=STEP_WITHIN_S, check=False,
        )  # fmt: skip
    except OSError as error:
        return f"{step.command[0]} does not start: {error.strerror}"
    except subprocess.TimeoutExpired:
        return f"it did not end within {STEP_WITHIN_S} s"
    log.write_text(done.stdout, encoding="utf-8")
    end = "\n".join(f"    {line}" for line in done.stdout.rstrip().splitlines()[-LAST_LINES:])
    if done.returncode:
        return f"exit status {done.returncode}; {log.relative_to(project)} ends:\n{end}"
    if step.shows not in done.stdout:
        return f"its output lacks {step.shows!r}; {log.relative_to(project)} ends:\n{end}"
    if step.leaves is not None and not step.leaves.is_file():
        return f"it did not write {step.leaves.relative_to(project)}"
    return None


def run_all(every: Sequence[Step], project: Path, env: Mapping[str, str]) -> int:
    """Run every step and print its line; return how many failed."""
    (project / FOLDER).mkdir(parents=True, exist_ok=True)
    n_failed = 0
    for step in every:
        began_s = time.monotonic()
        reason = run_step(step, project, env)
        n_failed += reason is not None
        verdict = "PASS" if reason is None else "FAIL"
        print(
            f"{verdict}  {step.name} ({time.monotonic() - began_s:.0f} s){f': {reason}' if reason else ''}",
            flush=True,
        )
    print(
        f"\n{'FAIL' if n_failed else 'PASS'}: {len(every) - n_failed} of {len(every)} steps passed\n{NEXT}",
        flush=True,
    )
    return n_failed


if __name__ == "__main__":
    environment = toolchains.build_environment(toolchains.Surroundings(project=PROJECT))
    sys.exit(1 if run_all(steps(PROJECT), PROJECT, environment) else 0)
