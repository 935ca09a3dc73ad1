# SPDX-License-Identifier: Apache-2.0
"""Where the curves of a bank bend as its load grows: segmented regression, a fit for each variant."""

from __future__ import annotations

import pandas as pd

from harness.analysis.stats.intervals import nothing
from harness.analysis.stats.pairing import inputs_of
from harness.analysis.stats.scaling import knee, saturation
from harness.rows import of_estimate, tidy

#: Name of the fit -> the method, and the column of ``Session.loads`` that bends.
_BENDS = {"knee": (knee, "latency_p99_s"), "follows": (saturation, "sustained_per_s")}


def bends(trials: pd.DataFrame) -> pd.DataFrame:
    """Return ``knee``, the load from which p99 grows faster, and ``follows``, up to which right answers keep up.

    Every trial of ``Session.loads`` counts, overloaded ones too.
    """
    rows = []
    for variant, own in trials[~trials["duplicate"].astype(bool)].groupby("variant", sort=False):
        for name, (bend, metric) in _BENDS.items():
            measured = own.dropna(subset=[metric, "offered_per_s"])
            estimate = nothing(f"no trial has a {metric}", estimand="bend", unit="1/s")
            if len(measured):
                estimate = bend(measured["offered_per_s"], measured[metric], inputs=inputs_of(measured))
            about = {"variant": str(variant), "label": str(own["label"].iloc[0]), "metric": metric}
            rows.append(of_estimate(estimate, name=name, kind="fit", **about))
    return tidy(rows)
