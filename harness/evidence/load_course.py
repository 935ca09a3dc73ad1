# SPDX-License-Identifier: Apache-2.0
"""How a load went in each trial: what the JVM compiled meanwhile, and the rate at its begin and end."""

from __future__ import annotations

import pandas as pd

from harness.analysis.load.within_load import quarter_rates
from harness.analysis.tables.runtime_columns import compiled_s
from harness.errors import InputError
from harness.evidence.experiment import Evidence

#: What ``load_course`` adds: the share of the load for which compiler threads were at work, all of them together,
#: and right answers per second in the first and the last quarter of the requests.
COMPILING, FIRST, LAST = "compiling_share", "first_quarter_per_s", "last_quarter_per_s"


def load_course(evidence: Evidence, trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials with the columns ``COMPILING``, ``FIRST`` and ``LAST``; NaN: not recorded, or no JVM."""
    sessions = {session.folder.name: session for session in evidence.sessions}
    rows = []
    for row in trials.itertuples():
        session, trial = sessions[str(row.session_id)], str(row.trial_id)
        found = compiled_s(session, session.record(trial))
        first, last = _quarters(evidence, str(row.session_id), trial)
        rows.append((None if found is None else found / float(str(row.measurement_s)), first, last))
    added = pd.DataFrame(rows, columns=[COMPILING, FIRST, LAST], index=trials.index, dtype="float64")
    return pd.concat([trials, added], axis=1)


def _quarters(evidence: Evidence, session_id: str, trial_id: str) -> tuple[float | None, float | None]:
    requests = evidence.requests(session_id, trial_id)
    if requests is None:
        return None, None
    try:
        rates = quarter_rates(requests)
    except InputError:
        return None, None  # too few of them, or too quick for the tool's clock: there are no quarters
    return rates[0], rates[-1]
