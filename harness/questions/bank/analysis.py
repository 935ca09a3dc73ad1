# SPDX-License-Identifier: Apache-2.0
"""Where latency bends and where throughput ends as the load of the bank grows."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.knee import knee, saturation
from harness.analysis.stats.pairing import inputs_of
from harness.model import Estimate


def knees(table: pd.DataFrame | None, metric: str = "latency_p99_s") -> dict[str, Estimate]:
    """Return variant -> the offered load at which the metric begins to rise faster."""
    return _bends(table, metric, knee)


def saturations(table: pd.DataFrame | None) -> dict[str, Estimate]:
    """Return variant -> the offered load up to which right answers per second keep up with it; every trial counts."""
    return _bends(table, "sustained_per_s", saturation)


def _bends(table: pd.DataFrame | None, metric: str, find: Callable[..., Estimate]) -> dict[str, Estimate]:
    if table is None:
        return {}
    found = {}
    for name, mine in table[~table["duplicate"].astype(bool)].groupby("variant", sort=False):
        told = mine.dropna(subset=[metric, "offered_per_s"])
        inputs = inputs_of(told)
        if len(told) == 0:
            found[str(name)] = _nothing(metric)
            continue
        one = find(told["offered_per_s"], told[metric], inputs=inputs)
        lost = len(mine) - len(told)
        more = (f"{lost} trials without a {metric}",) if lost else ()
        found[str(name)] = one.model_copy(update={"warnings": (*one.warnings, *more)})
    return found


def _nothing(metric: str) -> Estimate:
    return nothing(f"no trial has a {metric}", estimand="bend", unit="1/s")
