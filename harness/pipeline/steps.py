# SPDX-License-Identifier: Apache-2.0
"""What the notebooks before the analysis do: look at the machine, measure, tidy.

Checking and measuring go through the command line, which is the one way to measure; this module
itself needs nothing of the measuring side.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd

from harness.agent.platforms import die_with_parent
from harness.analysis.evidence.parameters import RunAllParameters, StageParameters
from harness.analysis.evidence.sessions import chosen_experiments, newest_session, sessions_read
from harness.analysis.tables.layout import Source
from harness.analysis.tables.tidy import tidy
from harness.errors import InputError, RematchError
from harness.papermill_engine import UNDER_PAPERMILL
from harness.project import find_root
from harness.store import Store
from harness.toolchains import MEASURING, Surroundings, find_tool, lacking_packages


class CommandFailed(RematchError):
    """A command of the harness ended with an error; carries its last line."""


def check_machine(*, root: Path | None = None) -> int:
    """Print what this machine can do and is fit for, and return the exit status of the check; 1: something is missing.

    Raises:
        CommandFailed: the check itself could not be made.
    """
    code, last = _harness(["check"], root or find_root())
    if code not in (0, 1):
        raise CommandFailed(f"the check ended with {code}: {last}")
    return code


def measure_all(settings: StageParameters, *, root: Path | None = None) -> pd.DataFrame:
    """Measure, or resume, every chosen experiment and return one row per session: trials planned and made. With the
    profile ``sample`` nothing is measured: the sessions that come with the project are listed.

    Raises:
        InputError: the profile ``newest``, which reads what there is and does not say what to measure.
        CommandFailed: a session did not come to its end; the message holds its last line.
    """
    project, allowed = root or find_root(), "smoke, quick, full, sample"
    if settings.newest:
        raise InputError(
            "does not say what to measure", place="parameter profile", found="newest", allowed=allowed
        )
    experiments = chosen_experiments(project, settings)
    for name in () if settings.bundled else experiments:
        arguments = ["measure", name, "--profile", settings.profile, "--host", settings.host]
        code, last = _harness([*arguments, "--seed", str(settings.seed)], project)
        if code:
            raise CommandFailed(f"measuring {name} ended with {code}: {last}")
    rows = [
        {"session": session.key, "planned": len(session.header.plan.trials), "made": len(session.finished())}
        for name in experiments
        for session in sessions_read(project, settings, name)
    ]
    return pd.DataFrame(rows, columns=["session", "planned", "made"])


def tidy_all(settings: StageParameters, *, root: Path | None = None) -> pd.DataFrame:
    """Derive ``data/processed`` from ``data/raw``; return one row per experiment: planned, made, kept, why not."""
    project = root or find_root()
    chosen = chosen_experiments(project, settings)
    sources: dict[str, Source] = {}
    for name in chosen:
        own = newest_session(project, name) is not None if settings.newest else not settings.bundled
        sources[name] = "measured" if own else "bundled"
    stored = Store(project)
    present = [name for name in chosen if stored.sessions(name, bundled=sources[name] == "bundled")]
    # in the order of the definitions
    rows: dict[str, dict[str, object]] = {name: {} for name in present or chosen}
    for source in dict.fromkeys(sources[name] for name in rows):
        of_source = [name for name in rows if sources[name] == source]
        for item in tidy(project, of_source, sources=[source]).experiments:
            rows[item.experiment] = {
                "experiment": item.experiment, "planned": item.n_planned, "made": item.n_made, "kept": item.n_kept,
                "left out": "; ".join(f"{n} {why}" for why, n in item.by_reason.items()) or "none",
                "unreadable sessions": len(item.problems),
            }  # fmt: skip
    return pd.DataFrame(list(rows.values()))


def _harness(arguments: list[str], root: Path) -> tuple[int, str]:
    """Run the command line, its words shown as they come; return status and last line."""
    path = os.pathsep.join(part for part in (str(root), os.environ.get("PYTHONPATH", "")) if part)
    child = subprocess.Popen(
        [sys.executable, "-u", "-m", "harness", *arguments], cwd=root, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=die_with_parent,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "110"},
    )  # fmt: skip
    last = ""
    assert child.stdout is not None  # asked for above
    with child.stdout as lines:
        for line in lines:
            print(line, end="", flush=True)
            last = line.strip() or last
    return child.wait(), last


def chosen_profile(settings: RunAllParameters, *, root: Path | None = None) -> RunAllParameters:
    """Return the parameters with a profile, and print which one was chosen and why where none was asked for.

    In JupyterLab it is ``sample``. Under papermill it is ``quick`` where the measuring tools are installed, and
    ``sample`` elsewhere.
    """
    if settings.profile != "auto":
        return settings
    profile, why = "quick", "the measuring tools are installed; -p profile sample measures nothing"
    if os.environ.get(UNDER_PAPERMILL) != "1":
        measure = "to measure, set the parameter profile to smoke, quick or full"
        profile, why = "sample", f"the notebook was opened to be read; {measure}"
    elif missing := missing_tools(root or find_root()):
        names = ", ".join(missing)
        profile, why = "sample", f"measuring needs {names}, not installed here; make setup installs it"
    print(f"profile: {profile}, because {why}", flush=True)
    return settings.model_copy(update={"profile": profile})


def missing_tools(root: Path) -> tuple[str, ...]:
    """Return the programs and Python packages that measuring needs and that are not installed here."""
    around = Surroundings(project=root)
    programs = [name for name in MEASURING if not find_tool(name, around).usable]
    return (*programs, *lacking_packages())
