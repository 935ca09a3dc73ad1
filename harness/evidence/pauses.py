# SPDX-License-Identifier: Apache-2.0
"""When the runtimes of trials paused, for figures over the time of a trial."""

from __future__ import annotations

import pandas as pd

from harness.analysis.attribution.log_clock import service_log
from harness.evidence.experiment import Evidence


def pauses_of_first_trials(evidence: Evidence, trials: pd.DataFrame) -> dict[str, tuple[float, ...]]:
    """Return variant -> seconds since launch at which its garbage collector paused it, in its first kept trial.

    The trials are those of :meth:`Evidence.samples`. A trial whose log cannot be placed in time has none.
    """
    kept = trials[~trials["excluded"].astype(bool) & ~trials["duplicate"].astype(bool)]
    first = kept.sort_values("position").drop_duplicates("variant")
    wanted = {(str(row["session_id"]), str(row["trial_id"])) for _, row in first.iterrows()}
    found: dict[str, tuple[float, ...]] = {}
    for row, session, record in evidence.with_records():
        if (str(row["session_id"]), str(row["trial_id"])) in wanted and record.instance is not None:
            launched_s = record.instance.launched.wall_epoch_s
            spans = service_log(session, record).events.get("gc_pause", ())
            found[str(row["variant"])] = tuple(low - launched_s for low, _ in spans)
    return found
