# SPDX-License-Identifier: Apache-2.0
"""One estimate per group of trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.analysis.stats.assumptions import Statistic, judge_resolution
from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.means import mean_within
from harness.analysis.stats.pairing import (
    inputs_of,
    narrowed,
    require,
    split_excluded,
    split_missing,
    unit_of,
)
from harness.model import Estimate

#: What is asked of trials beside their values, where a table has it.
SUMMED = ("source", "n_requests", "latency_resolution_s")


def summarise(
    trials: pd.DataFrame,
    metric: str,
    *,
    by: Sequence[str] = ("variant",),
    level: float = 0.95,
    unit: str | None = None,
) -> pd.DataFrame:
    """Return one row per group with the estimate over its trials.

    Args:
        trials: one row per trial. metric: a numeric column of it, per trial.
        by: columns that make the groups; rows keep the order in which groups first appear.
        level: of the intervals. unit: of the metric; absent: the one that its name carries.

    The mean is geometric (log-t), of shares that of the log odds; where a trial has zero it is arithmetic, without
    an interval (:func:`harness.analysis.stats.means.mean_within`).

    Returns:
        Columns: those of ``by``, ``metric``, ``n_trials``, ``n_excluded``, ``value``, ``low``, ``high``
        (NaN: cannot be said), ``unit``, and ``estimate`` with the :class:`Estimate` itself.

    Raises:
        InputError: no such column; a metric that is not numeric.
    """
    require(trials, metric, by)
    rows = []
    narrow = narrowed(trials, metric, *by, *SUMMED)
    for key, group in narrow.groupby(list(by), sort=False, dropna=False, observed=True):
        kept, n_excluded = split_excluded(group[~group["duplicate"].astype(bool)])
        estimate = _summary(kept, metric, unit=unit or unit_of(metric), level=level, n_excluded=n_excluded)
        rows.append(
            dict(zip(by, key, strict=True))
            | {"metric": metric, "n_trials": estimate.n_trials, "n_excluded": n_excluded}
            | {bound: getattr(estimate, bound) for bound in ("value", "low", "high")}
            | {"unit": estimate.unit, "estimate": estimate}
        )
    columns = [*by, "metric", "n_trials", "n_excluded", "value", "low", "high", "unit", "estimate"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"value": "float64", "low": "float64", "high": "float64"})


def summarised(trials: pd.DataFrame, metric: str, *, unit: str | None = None) -> Estimate:
    """Return the estimate that ``summarise`` makes of the first variant: of trials that all are of one, theirs."""
    require(trials, metric, ())
    narrow = narrowed(trials, metric, *SUMMED)
    first = (narrow["variant"] == narrow["variant"].iloc[0]) & ~narrow["duplicate"].astype(bool)
    kept, n_excluded = split_excluded(narrow[first])
    return _summary(kept, metric, unit=unit or unit_of(metric), level=0.95, n_excluded=n_excluded)


def _summary(kept: pd.DataFrame, metric: str, *, unit: str, level: float, n_excluded: int) -> Estimate:
    present, warnings = split_missing(kept, metric)
    if n_excluded:
        warnings += (f"{n_excluded} trials excluded",)
    estimand = f"mean over trials of {metric}"
    if present.empty:
        return nothing(*warnings, "no trial has this value", estimand=estimand, unit=unit, level=level)
    refused, notes = resolution_of(present, metric)
    if refused:
        return nothing(
            *warnings, *notes, method="refused", estimand=estimand, unit=unit, level=level, n_trials=len(present),
            inputs=inputs_of(present),
        )  # fmt: skip
    estimate = mean_within(
        present[metric].to_numpy(dtype=np.float64),
        level=level,
        unit=unit,
        what=metric,
        inputs=inputs_of(present),
    )
    return estimate.model_copy(
        update={"warnings": (*estimate.warnings, *warnings, *notes), "n_requests": requests_of(present)}
    )


def resolution_of(trials: pd.DataFrame, metric: str) -> tuple[bool, tuple[str, ...]]:
    """Tell whether a latency lies below what the tool can tell, and what must be said about it."""
    if not metric.startswith("latency_") or "latency_resolution_s" not in trials:
        return False, ()
    steps = trials["latency_resolution_s"].dropna()
    if steps.empty:
        return False, ()
    statistic: Statistic = "mean" if "mean" in metric else "quantile"
    kind, _, warnings = judge_resolution(float(trials[metric].median()), float(steps.max()), statistic)
    return kind == "refused", warnings


def requests_of(trials: pd.DataFrame) -> int | None:
    """Return how many requests the trials answered in all; ``None``: not known of each."""
    if "n_requests" not in trials or trials["n_requests"].isna().any():
        return None
    return int(trials["n_requests"].sum())
