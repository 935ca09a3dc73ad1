# SPDX-License-Identifier: Apache-2.0
"""From an experiment on the clients to tables of what each service used, and of its latency by percentile.

``None`` in place of the evidence stands for an experiment that was not measured, and then nothing is returned.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from harness.analysis.load.load_segments import last_part
from harness.analysis.stats.inputs import Floats, finite
from harness.analysis.stats.quantiles import quantile_refused, rank
from harness.analysis.tables.resource_columns import load_window
from harness.analysis.tables.runtime_columns import gauge_growth
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.load_response import database_columns
from harness.model import LoadSummary, OpenLoad, TrialRecord
from harness.model.load_tools import BY_NAME, LoadTool
from harness.store import SessionFolder

#: column -> quantile: those that the published comparison of clients prints.
PERCENTILES = {
    "p50_s": 0.50,
    "p75_s": 0.75,
    "p90_s": 0.90,
    "p99_s": 0.99,
    "p999_s": 0.999,
    "p9999_s": 0.9999,
    "p99999_s": 0.99999,
}
#: The same of what was answered in the second half of the load: in a load of 20 s the window of the published
#: numbers, whose tool leaves out its first ten seconds.
SECOND_HALF = {column.replace("_s", "_half_s"): q for column, q in PERCENTILES.items()}
#: A busy moment shorter than this is no load on a machine; a system monitor shows about as much.
BUSY_OVER_S = 1.0


def percentiles_of(latency_s: ArrayLike, columns: Mapping[str, float] = PERCENTILES) -> dict[str, float]:
    """Return ``columns`` of one trial's right answers; NaN for what so few requests cannot tell."""
    ordered = np.sort(finite(latency_s, "latency_s"))
    n = ordered.size
    return {
        column: float(ordered[rank(n, q) - 1]) if quantile_refused(n, q) is None else float("nan")
        for column, q in columns.items()
    }


def second_half(requests: pd.DataFrame, duration_s: float) -> pd.DataFrame:
    """Return the requests of a load that were answered after its middle, as a tool that begins there counts them."""
    answered_s = requests["start_epoch_s"] + requests["latency_s"] - requests["start_epoch_s"].min()
    chosen: pd.DataFrame = requests[answered_s >= duration_s / 2]
    return chosen


def printed_percentiles(load: LoadSummary, tool: LoadTool, duration_s: float) -> dict[str, float]:
    """Return the percentiles that a tool without single requests printed, of the window that they are of.

    Those of a tool that leaves out half of the load are ``SECOND_HALF``; of any other share of it there are none.
    """
    left_out_s = tool.latencies_after_s if duration_s > tool.latencies_after_s else 0.0
    columns = {0.0: PERCENTILES, duration_s / 2: SECOND_HALF}.get(left_out_s, {})
    n = load.n_requests if load.n_latencies is None else load.n_latencies
    printed = {column: load.quantile_s(q) for column, q in columns.items() if quantile_refused(n, q) is None}
    return {column: value for column, value in printed.items() if value is not None}


def most_cores(
    samples: pd.DataFrame, window: tuple[float, float], *, over_s: float = BUSY_OVER_S
) -> float | None:
    """Return the most CPUs that the service kept busy for ``over_s`` within a window of the samples' clock.

    ``None``: the window is shorter than that, or holds fewer than two readings.
    """
    rows = samples[(samples["role"] == "service") & samples["cpu_s"].notna()]
    at, used = rows["monotonic_s"].to_numpy(dtype=np.float64), rows["cpu_s"].to_numpy(dtype=np.float64)
    inside = (at >= window[0]) & (at <= window[1] - over_s)
    if at.size < 2 or not inside.any() or at[-1] < window[0] + over_s:
        return None
    begins = at[inside]
    return float(np.max(np.interp(begins + over_s, at, used) - np.interp(begins, at, used)) / over_s)


#: What go-nethttp counts: every connection to the upstream that it ever opened.
OPENED = "upstream_connections_opened_total"
_FLOATS = ("most_connections", "most_active", "most_cores", "upstream_opened", *PERCENTILES, *SECOND_HALF)


def use_table(evidence: Evidence | None) -> pd.DataFrame | None:
    """Return the table of trials with what each service used: one row per trial.

    Beside the columns of ``docs/data.md``: ``most_cores`` (kept busy for a second), ``most_connections`` and
    ``most_active`` (as the database's server said twice a second), ``upstream_opened`` (connections to the
    upstream opened under load; only Go counts them), and ``PERCENTILES`` and ``SECOND_HALF`` of the load's last part.
    """
    if evidence is None:
        return None
    frame = pd.DataFrame([
        dict(row) | _percentiles(evidence, record) | _cores(evidence, record) | _opened(session, record)
        | database_columns(session, record)
        for row, session, record in evidence.with_records()
    ])  # fmt: skip
    absent = [name for name in _FLOATS if name not in frame]
    return frame.assign(**dict.fromkeys(absent, np.nan)).astype(dict.fromkeys(_FLOATS, "float64"))


def _percentiles(evidence: Evidence, record: TrialRecord) -> dict[str, object]:
    load, trial = record.planned.configuration.load, (record.session_id, record.planned.trial_id)
    if load is None or load.profile.duration_s is None:
        return {}
    duration_s = load.profile.duration_s
    requests = evidence.requests(*trial)
    if requests is None and record.load is not None:
        return dict(printed_percentiles(record.load, BY_NAME[load.generator], duration_s))
    if requests is None or requests.empty:
        return {}
    if isinstance(load.profile, OpenLoad) and load.profile.parts > 1:
        whole = evidence.whole_requests(*trial)  # parts are told from the first request on
        assert whole is not None
        requests = last_part(whole, duration_s, load.profile.begins_s)
    of_all, late = _right(requests), _right(second_half(requests, duration_s))
    found: dict[str, object] = {}
    found |= percentiles_of(of_all) if len(of_all) else {}
    found |= percentiles_of(late, SECOND_HALF) if len(late) else {}
    return found


def _right(requests: pd.DataFrame) -> Floats:
    return requests.loc[requests["ok"].astype(bool), "latency_s"].to_numpy(dtype=np.float64)


def _cores(evidence: Evidence, record: TrialRecord) -> dict[str, object]:
    samples = evidence.trial_samples(record.session_id, record.planned.trial_id)
    window = load_window(record, evidence.settle_s)
    return {} if samples is None or window is None else {"most_cores": most_cores(samples, window)}


def _opened(session: SessionFolder, record: TrialRecord) -> dict[str, object]:
    try:
        opened = gauge_growth(session, record, OPENED, at_first=0.0)
    except InputError:  # a damaged file tells nothing
        return {}
    return {} if opened is None else {"upstream_opened": opened}
