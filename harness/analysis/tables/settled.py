# SPDX-License-Identifier: Apache-2.0
"""Which part of a load counts: all of it but the first ``settle_s`` of the profile, in which programs still warm up.

Columns of ``trials.parquet`` and the requests of an ``Evidence`` both go by this rule, so that a table, a figure and a
ratio speak of the same requests.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from harness.analysis.stats.inputs import Floats
from harness.formats.table import RequestTable


def is_settled(start_epoch_s: ArrayLike, settle_s: float) -> NDArray[np.bool_]:
    """Return which requests count: those begun ``settle_s`` or more after the first one, shape (n,).

    A request without a start time counts only where the whole load does (``settle_s`` is 0).
    """
    start: Floats = np.asarray(start_epoch_s, dtype=np.float64)
    if settle_s == 0 or np.isnan(start).all():
        return np.full(start.shape, settle_s == 0)
    return np.asarray(start >= np.nanmin(start) + settle_s)


def settled_requests(requests: pd.DataFrame, settle_s: float) -> pd.DataFrame:
    """Return the requests that count, of one trial's table with ``start_epoch_s``."""
    if settle_s == 0:
        return requests
    chosen: pd.DataFrame = requests[is_settled(requests["start_epoch_s"], settle_s)]
    return chosen


def settled_answers(requests: RequestTable, settle_s: float) -> tuple[Floats, int]:
    """Return the latencies in seconds of the correct answers that count, and how many requests count in all."""
    counted = is_settled(requests.start_epoch_s, settle_s)
    return requests.latency_s[counted & requests.ok], int(np.count_nonzero(counted))
