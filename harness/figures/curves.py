# SPDX-License-Identifier: Apache-2.0
"""Curves over trials, drawn by seaborn: the median with the range of the trials, or every trial as a thin line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harness.analysis.stats.inputs import Floats
from harness.figures.variant_style import VariantStyle
from harness.model.digits import percent, plain


def median_and_range(
    axes: Axes, at: Floats, curves: Sequence[Floats], *, colour: str, line: Any, label: str | None = None
) -> Floats:
    """Draw the median over trials as a line and their range as a band; return the median.

    Args:
        at: where the curves have their values, shape (n,). curves: one a trial, each of shape (n,).
    """
    import seaborn as sns  # loads pyplot and scipy.stats: a second for who draws nothing

    stacked = np.array(curves)
    sns.lineplot(
        x=np.tile(at, len(stacked)),
        y=stacked.ravel(),
        estimator="median",
        errorbar=("pi", 100),
        color=colour,
        linestyle=line,
        label=label,
        legend=False,
        err_kws={"alpha": 0.18, "linewidth": 0},
        ax=axes,
    )
    middle: Floats = np.median(stacked, axis=0)
    return middle


def line_of_medians(
    axes: Axes, frame: pd.DataFrame, x: str, y: str, look: VariantStyle, **options: Any
) -> pd.Series:
    """Join the medians of ``y`` at each ``x`` with a line in a variant's style; return them by ``x``."""
    import seaborn as sns  # loads pyplot and scipy.stats: a second for who draws nothing

    sns.lineplot(
        data=frame,
        x=x,
        y=y,
        estimator="median",
        errorbar=None,
        color=look.colour,
        linestyle=look.line,
        legend=False,
        ax=axes,
        **options,
    )
    return frame.groupby(x)[y].median()


def line_of_each_trial(axes: Axes, frame: pd.DataFrame, x: str, y: str, colour: str) -> None:
    """Draw one thin line a trial."""
    import seaborn as sns  # loads pyplot and scipy.stats: a second for who draws nothing

    sns.lineplot(
        data=frame.assign(trial=frame["session_id"].astype(str) + "/" + frame["trial_id"].astype(str)),
        x=x,
        y=y,
        units="trial",
        estimator=None,
        color=colour,
        linewidth=0.5,
        alpha=0.5,
        legend=False,
        ax=axes,
    )


def quantile_notes(shares: Floats, middle_ms: Floats) -> list[str]:
    """Return what a reader of a percentile curve is told of each of its points."""
    return [
        f"{percent(share, 4)} of requests within {plain(value)} ms"
        for share, value in zip(shares, middle_ms, strict=True)
    ]


__all__ = ["line_of_each_trial", "line_of_medians", "median_and_range", "quantile_notes"]
