# SPDX-License-Identifier: Apache-2.0
"""The same ratio in several sessions: rows of its mean over sessions and of the range in another one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.session_agreement import between_sessions
from harness.model import Verdict
from harness.rows.results import of_estimate
from harness.rows.schema import stack, tidy

#: As for a verdict: an interval over fewer blocks says little of its session.
FEWEST_BLOCKS = 5


def over_sessions(ratios: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Return for each result and variant the mean ratio over sessions, the range in another one, and I squared.

    A ratio without an interval, of fewer blocks than ``FEWEST_BLOCKS``, or not about the services, is left out, and so
    is what has fewer than two sessions then. The standard error of a session is that of its own interval: Student's,
    over its blocks.

    Args:
        ratios: rows of :func:`harness.rows.compare`, one a session for each result and variant.
        level: of both intervals.
    """
    usable = ratios[
        ratios["low"].notna()
        & (ratios["n_blocks"] >= FEWEST_BLOCKS)
        & (ratios["verdict"] != Verdict.NOT_ABOUT_SERVICES)
        & (ratios["variant"] != ratios["reference"])
    ]
    rows = []
    for (name, variant), arms in usable.groupby(["name", "variant"], sort=False):
        if len(arms) < 2:
            continue
        logs = np.log(arms[["low", "high"]].to_numpy(dtype=np.float64))
        critical = t_critical(float(arms["level"].iloc[0]), arms["n_blocks"].to_numpy(dtype=np.float64) - 1)
        combined = between_sessions(
            arms["value"].to_numpy(dtype=np.float64),
            (logs[:, 1] - logs[:, 0]) / (2 * critical),
            estimand=str(arms["estimand"].iloc[0]),
            level=level,
            inputs=[trial for inputs in arms["inputs"] for trial in inputs],
            n_trials=int(arms["n_trials"].sum()),
        )
        about = {
            "name": name,
            "variant": variant,
            **{column: arms[column].iloc[0] for column in ("metric", "label", "reference")},
            "n_blocks": int(arms["n_blocks"].sum()),
        }
        rows += [
            of_estimate(combined.mean, **about, kind="between"),
            of_estimate(combined.predicted, **about, kind="predicted"),
            {
                **of_estimate(combined.mean, **about, kind="share"),
                "value": combined.i2,
                "low": None,
                "high": None,
                "unit": "share",
                "name": f"{name}_i2",
                "estimand": "share of the variance between sessions that their own errors do not make (I squared)",
            },
        ]
    return stack(tidy(rows))
