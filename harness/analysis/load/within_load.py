# SPDX-License-Identifier: Apache-2.0
"""How the rate changes within one load: from the first quarter of the requests to the last."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from harness.errors import InputError

N_QUARTERS = 4


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
