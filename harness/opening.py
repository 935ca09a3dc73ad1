# SPDX-License-Identifier: Apache-2.0
"""From the parameters of a notebook to the evidence it reads: which sessions of an experiment are meant."""

from __future__ import annotations

from pathlib import Path

from harness.errors import InputError
from harness.evidence import Evidence
from harness.project import find_root
from harness.stages.parameters import StageParameters
from harness.stages.sessions import measured_experiments, sessions_read


def open_evidence(settings: StageParameters, experiment: str, *, root: Path | None = None) -> Evidence:
    """Open what was measured of an experiment under these parameters (``sample``: what comes with the project).

    Raises:
        InputError: nothing was measured yet.
    """
    here = root or find_root()
    sessions = sessions_read(here, settings, experiment)
    if not sessions:
        raise InputError(
            "nothing measured yet; run notebooks/10-measure.ipynb",
            place=experiment,
            found=f"profile {settings.profile}, host {settings.host}, seed {settings.seed}",
        )
    return Evidence(root=here, experiment=experiment, sessions=sessions)


def find_evidence(settings: StageParameters, experiment: str, *, root: Path | None = None) -> Evidence | None:
    """Open what was measured of an experiment; ``None``: nothing was, or it is not among the chosen ones.

    For notebooks that say "not measured in this profile" instead of failing.
    """
    here = root or find_root()
    if experiment not in measured_experiments(here, settings):
        return None
    return open_evidence(settings, experiment, root=here)
