# SPDX-License-Identifier: Apache-2.0
"""Rows of what pauses explain of the latency tail: pauses of both logs, laid over the requests.

The method is that of :mod:`harness.analysis.attribution`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from harness.analysis.attribution.table import attribution_table
from harness.analysis.attribution.trial import TrialAttribution, attribute_trial
from harness.rows.results import fact, of_estimate
from harness.rows.schema import empty, records, stack, tidy
from harness.rows.session import Session

#: name of the result -> number of the table of attribution
NUMBERS: Mapping[str, str] = {
    "memory": "rss_bytes",
    "latency": "latency_s",
    "pauses": "pauses_per_s",
    "paused": "paused_share",
    "longest": "longest_pause_s",
    "median": "median_pause_s",
    "collections": "collections",
    "limit": "detectability_s",
    "share": "share",
    "lower": "share_lower",
    "upper": "share_upper",
    "most": "most_share",
    "service_tail": "service_tail",
    "generator_tail": "generator_tail",
    "connect_tail": "connect_tail",
    "unexplained": "unexplained_tail",
    "throttle_most": "throttle_most",
    "jit_most": "jit_most",
    "run_queue_most": "run_queue_most",
    "cycles": "cycles_per_s",
    "cycle_excess": "cycle_excess",
}


def attribute(session: Session) -> tuple[TrialAttribution, ...]:
    """Return every counted trial with single requests, its tail taken apart; none: nothing was measured.

    Requests begun while generator and service still settled are left out, as everywhere: their latency is that of two
    programs that warm up, and it would be all there is to explain.
    """
    if (evidence := session.evidence) is None:
        return ()
    attributed = []
    for row in records(session.counted[["session_id", "trial_id"]]):
        requests = evidence.requests(row["session_id"], row["trial_id"])
        if requests is not None and int(requests["ok"].sum()) > 1:
            attributed.append(attribute_trial(evidence.folder(row["session_id"]), row["trial_id"], requests))
    return tuple(attributed)


def attribution(
    trials: Iterable[TrialAttribution],
    *,
    by: Sequence[str] = (),
    quantile: str = "p99",
    level: float = 0.95,
    prefix: str = "",
) -> pd.DataFrame:
    """Return the rows of each variant over its trials: its pauses, and what they explain of a quantile.

    Args:
        trials: as of :func:`attribute`. by: the factors that tell its cells apart. quantile: ``p99`` or ``p99.9``.
        prefix: of the names, where a question has two of these tables.
    """
    rows = []
    for cell in attribution_table(trials, quantile=quantile, level=level):
        about = {"variant": cell.variant, "label": cell.label} | {name: cell.levels[name] for name in by}
        if cell.memory:
            rows.append(fact(f"{prefix}setting", cell.memory) | about)
        rows += [
            of_estimate(cell.numbers[field], name=prefix + name, kind="mean", metric=field) | about
            for name, field in NUMBERS.items()
        ]
    return stack(empty(*by), tidy(rows))
