# SPDX-License-Identifier: Apache-2.0
"""The latencies of a report with their intervals over the one trial that the file is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from harness.analysis.checks import judge_resolution
from harness.analysis.quantiles import quantile_ci
from harness.analysis.report_result import QUANTILES, in_ms
from harness.analysis.within_trial import batch_means_ci
from harness.model import Estimate

FloatArray = npt.NDArray[np.float64]
FEWEST_FOR_INTERVALS = 100


def summarise_latencies(
    latency: FloatArray, resolution_s: float, said: list[str]
) -> tuple[dict[str, float | None], dict[str, tuple[float, float] | None]]:
    """Return mean, percentiles and maximum in ms with the intervals of those that have one.

    Args:
        latency: of every successful request, in the order of their starts, shape (n,), seconds.
        said: what is to be known about them is added here.
    """
    names = ["mean", *QUANTILES, "max"]
    if not len(latency):
        return dict.fromkeys(names), dict.fromkeys(names[:-1])
    values: dict[str, float | None] = {"mean": float(latency.mean()) * 1e3}
    intervals: dict[str, tuple[float, float] | None] = {"mean": None}
    if len(latency) >= FEWEST_FOR_INTERVALS:
        intervals["mean"] = _bounds_ms(batch_means_ci(latency))
    else:
        said.append(f"{len(latency)} successful requests: too few for an interval")
    for name, q in QUANTILES.items():
        estimate = quantile_ci(latency, q)
        values[name] = in_ms(estimate.value)
        intervals[name] = _bounds_ms(estimate)
        said += [f"{name}: {warning}" for warning in estimate.warnings if estimate.value is None]
    values["max"] = float(latency.max()) * 1e3
    said += judge_resolution(float(np.median(latency)), resolution_s, "quantile")[2]
    said.append(
        "intervals speak of this one trial only; another start of the same process may lie outside them"
    )
    return values, intervals


def _bounds_ms(estimate: Estimate) -> tuple[float, float] | None:
    if estimate.low is None or estimate.high is None:
        return None
    return estimate.low * 1e3, estimate.high * 1e3
