# SPDX-License-Identifier: Apache-2.0
"""What changes within one load: a JVM's compiling, and the rate from the first quarter of the requests to the last."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from harness.analysis.tables.runtime_columns import COMPILED, gauge_growth
from harness.errors import InputError
from harness.model import TrialRecord
from harness.store import SessionFolder

N_QUARTERS = 4


def compiling_s(session: SessionFolder, record: TrialRecord) -> float | None:
    """Return for how many seconds the compilers of a JVM worked during the load, those of all its pods together.

    ``None``: the runtime has no compiler, or did not tell at both ends of the load.

    Source: ``jvm_compilation_time_seconds_total``, which is the JVM's own ``CompilationMXBean``.
    """
    grown_s = gauge_growth(session, record, COMPILED)
    return None if grown_s is None else max(grown_s, 0.0)


def quarter_rates(requests: pd.DataFrame) -> tuple[float, ...]:
    """Return right answers per second in each quarter of a trial's requests, cut by count in order of their end.

    Args:
        requests: of one trial: ``start_epoch_s``, ``latency_s``, ``ok``.

    Raises:
        InputError: fewer than two requests to a quarter, or a quarter that took no time.
    """
    end_s = (requests["start_epoch_s"] + requests["latency_s"]).to_numpy(dtype=np.float64)
    order = np.argsort(end_s, kind="stable")
    end_s, ok = end_s[order], requests["ok"].to_numpy(dtype=np.bool_)[order]
    if end_s.size < 2 * N_QUARTERS:
        raise InputError(
            "too few requests for quarters", found=end_s.size, allowed=f"at least {2 * N_QUARTERS}"
        )
    edges = np.linspace(0, end_s.size, N_QUARTERS + 1).astype(int)
    begin_s = float(requests["start_epoch_s"].min())
    rates = []
    for low, high in pairwise(edges.tolist()):
        until_s = float(end_s[high - 1])
        if until_s <= begin_s:
            raise InputError(
                "a quarter of the requests took no time by the tool's clock", found=until_s - begin_s
            )
        rates.append(int(np.count_nonzero(ok[low:high])) / (until_s - begin_s))
        begin_s = until_s
    return tuple(rates)
