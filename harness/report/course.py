# SPDX-License-Identifier: Apache-2.0
"""Rate, errors and percentiles over the time of a file, for the plots of a report's page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.formats.arrays import BoolArray, FloatArray

#: As many points as a page has room for.
MOST_SLICES = 120
#: Requests that a slice has on average at least; and that a percentile of one slice needs.
_PER_SLICE = 150
_FEWEST = {"p50": 10, "p99": 100}


@dataclass(frozen=True, kw_only=True)
class Course:
    """One value a slice of time, shapes (k,). NaN: too few requests.

    ``at_s``: the middle of each slice, epoch seconds.
    """

    at_s: FloatArray
    answers_per_s: FloatArray
    errors_per_s: FloatArray
    p50_ms: FloatArray
    p99_ms: FloatArray


def course_of(start_s: FloatArray, latency_s: FloatArray, ok: BoolArray, *, step_s: float = 0.0) -> Course:
    """Return the course of a file. Answers count when they come, latencies where their request began.

    Args:
        start_s, latency_s, ok: of every request, shapes (n,), n > 0, by start.
        step_s: the smallest step of the time stamps; no slice is narrower.
    """
    end_s = start_s + latency_s
    first_s, last_s = float(start_s[0]), float(end_s.max())
    n_slices = int(np.clip(len(start_s) // _PER_SLICE, 1, MOST_SLICES))
    width_s = max((last_s - first_s) / n_slices, 1e-9)
    if step_s > 0:
        width_s = float(np.ceil(width_s / step_s) * step_s)
    n_slices = max(1, int(np.ceil((last_s - first_s) / width_s - 1e-9)))

    def place(at_s: FloatArray) -> npt.NDArray[np.int64]:
        return np.minimum(((at_s - first_s) / width_s).astype(np.int64), n_slices - 1)

    # The last slice may be cut short by the end of the file.
    widths = np.full(n_slices, width_s)
    widths[-1] = max(last_s - first_s - width_s * (n_slices - 1), width_s / 2)
    ended = place(end_s)
    latency = latency_s[ok]
    edges = np.searchsorted(place(start_s[ok]), np.arange(n_slices + 1))
    return Course(
        at_s=np.asarray(first_s + width_s * (np.arange(n_slices) + 0.5), dtype=np.float64),
        answers_per_s=np.bincount(ended, minlength=n_slices) / widths,
        errors_per_s=np.bincount(ended[~ok], minlength=n_slices) / widths,
        p50_ms=_quantiles(latency, edges, 0.5, _FEWEST["p50"]),
        p99_ms=_quantiles(latency, edges, 0.99, _FEWEST["p99"]),
    )


def _quantiles(latency_s: FloatArray, edges: npt.NDArray[np.intp], q: float, fewest: int) -> FloatArray:
    return np.array([
        float(np.quantile(latency_s[low:high], q)) * 1e3 if high - low >= fewest else np.nan
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ])  # fmt: skip
