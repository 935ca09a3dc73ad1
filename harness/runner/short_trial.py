# SPDX-License-Identifier: Apache-2.0
"""A trial before the trials: short, in a folder that is thrown away, and nothing is kept but what it tells.

What is asked before a session's first trial (a capacity, a generator's headroom, whether a heap is enough) is asked
in the way that trials ask.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from harness.model import ClosedLoad, Configuration, LoadProfile, PlannedTrial, TrialRecord
from harness.runner import Then, TrialContext, TrialSpec, run_trial

MAX_REQUESTS = 50_000
MAX_S = 3.0


def rehearse(
    spec: TrialSpec,
    context: TrialContext,
    *,
    look: Callable[[Path], None] = lambda _folder: None,
    then: Then | None = None,
) -> TrialRecord:
    """Take a fresh instance through one configuration; ``order.folder`` is made anew before, and gone afterwards.

    ``look`` is given the folder before that; ``then`` may load the process again, see ``run_trial``.
    """
    shutil.rmtree(spec.folder, ignore_errors=True)
    (spec.folder / "load").mkdir(parents=True)
    try:
        record = run_trial(spec, context, then=then)
        look(spec.folder)
        return record
    finally:
        shutil.rmtree(spec.folder, ignore_errors=True)


def unplanned(name: str, configuration: Configuration) -> PlannedTrial:
    """Return the configuration as a trial that stands in no plan."""
    return PlannedTrial(trial_id=name, block=1, position=1, duplicate=False, configuration=configuration)


def bounded(profile: LoadProfile, n_steps: int = 1, most_s: float = MAX_S) -> LoadProfile:
    """Return the same load, short enough to be tried before the first trial; ``n_steps``: of a flow."""
    if not isinstance(profile, ClosedLoad):
        once = {"parts": 1, "pause_s": 0.0}
        return profile.model_copy(update={"duration_s": min(profile.duration_s, most_s), **once})
    if profile.whole_s is not None:
        return profile.model_copy(
            update={
                "stages": (),  # all users from the start
                "duration_s": min(profile.whole_s, most_s),
                "ramp_up_s": min(profile.ramp_up_s, 1.0),
                "think_time_s": profile.think_time_s,
            }
        )
    loops = max(1, min(profile.loops or 1, MAX_REQUESTS // (profile.users * n_steps)))
    return profile.model_copy(update={"loops": loops, "ramp_up_s": min(profile.ramp_up_s, 1.0)})
