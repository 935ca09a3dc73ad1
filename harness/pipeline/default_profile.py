# SPDX-License-Identifier: Apache-2.0
"""The profile of ``run_all`` where none was asked for: whoever only reads must not begin to measure by accident."""

from __future__ import annotations

import os
from pathlib import Path

from harness.evidence.parameters import RunAllParameters
from harness.papermill_engine import UNDER_PAPERMILL
from harness.project import find_root
from harness.toolchains import MEASURING, Surroundings, find_tool, lacking_packages


def chosen_profile(settings: RunAllParameters, *, root: Path | None = None) -> RunAllParameters:
    """Return the parameters with a profile, and print which one was chosen and why where none was asked for.

    In JupyterLab it is ``sample``. Under papermill it is ``quick`` where the measuring tools are installed, and
    ``sample`` elsewhere.
    """
    if settings.profile != "auto":
        return settings
    measure = "to measure, set the parameter profile to smoke, quick or full"
    if os.environ.get(UNDER_PAPERMILL) != "1":
        profile, why = "sample", f"the notebook was opened to be read; {measure}"
    elif missing := missing_tools(root or find_root()):
        profile, why = (
            "sample",
            f"measuring needs {', '.join(missing)}, not installed here; make setup installs it",
        )
    else:
        profile, why = "quick", "the measuring tools are installed; -p profile sample measures nothing"
    print(f"profile: {profile}, because {why}", flush=True)
    return settings.model_copy(update={"profile": profile})


def missing_tools(root: Path) -> tuple[str, ...]:
    """Return the programs and Python packages that measuring needs and that are not installed here."""
    around = Surroundings(project=root)
    programs = [name for name in MEASURING if not find_tool(name, around).usable]
    return (*programs, *lacking_packages())
