# SPDX-License-Identifier: Apache-2.0
"""What became of what a load asked for: the share that failed, and the share answered rightly, per trial.

An arrival that the generator never sent got no answer either, so it counts as wanted and as failed. Of a
flow passes are counted, not requests: a pass ends at its first wrong answer, and the steps after it, which
nobody sent, would otherwise make a service that fails early look better than one that fails late.
"""

from __future__ import annotations

import pandas as pd


def failed_share(trials: pd.DataFrame) -> pd.Series:
    """Return (errors + dropped) / (requests + dropped) per trial, of a flow in passes; NaN: nothing was wanted.

    Args:
        trials: ``n_requests``, ``n_errors``, and where there are any ``n_dropped``, ``n_flows``.
    """
    return (_column(trials, "n_errors").fillna(0) + _dropped(trials)) / wanted(trials)


def right_share(trials: pd.DataFrame) -> pd.Series:
    """Return the share of what was wanted that was answered rightly, of a flow in whole passes.

    Together with ``failed_share`` it is one, but for passes that were neither: begun, and cut off at the end.
    """
    right = _column(trials, "n_requests") - _column(trials, "n_errors").fillna(0)
    return _column(trials, "n_flows_right").fillna(right) / wanted(trials)


def wanted(trials: pd.DataFrame) -> pd.Series:
    """Return how many requests, of a flow passes, each trial's load asked for: begun and never sent; NaN: none."""
    asked = _column(trials, "n_flows").fillna(_column(trials, "n_requests")) + _dropped(trials)
    return asked.where(asked > 0)


def counted_in(trials: pd.DataFrame) -> str:
    """Return what the shares of these trials count: ``requests``, ``passes``, or both."""
    flows = _column(trials, "n_flows").notna()
    return "passes" if flows.all() and len(flows) else "passes or requests" if flows.any() else "requests"


def _dropped(trials: pd.DataFrame) -> pd.Series:
    return _column(trials, "n_dropped").fillna(0)


def _column(trials: pd.DataFrame, name: str) -> pd.Series:
    if name not in trials:
        return pd.Series(float("nan"), index=trials.index)
    return pd.to_numeric(trials[name]).astype("float64")
