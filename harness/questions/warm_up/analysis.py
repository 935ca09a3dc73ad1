# SPDX-License-Identifier: Apache-2.0
"""Warm-up curves of the trials of an experiment."""

from __future__ import annotations

import pandas as pd

from harness.analysis.warmup.curves import WarmUpCurve, warm_up_curve
from harness.evidence import Evidence
from harness.evidence.requests import _with_requests


def warm_up_curves(evidence: Evidence | None, trials: pd.DataFrame | None = None) -> tuple[WarmUpCurve, ...]:
    """Return the warm-up curve of every kept trial that has single requests, in the order of the table.

    The head of the load is part of it.

    Args:
        trials: those to look at; ``None``: all of the evidence.
    """
    if evidence is None:
        return ()
    chosen = evidence.trials if trials is None else trials
    keys = {session.folder.name: session.key for session in evidence.sessions}
    return tuple(
        warm_up_curve(
            requests,
            trial=f"{keys[session_id]}/{trial_id}",
            variant=str(row["variant"]),
            label=str(row["label"]),
            block=int(row["block"]),
        )
        for session_id, trial_id, row, requests in _with_requests(evidence, chosen, evidence.whole_requests)
    )
