# SPDX-License-Identifier: Apache-2.0
"""Rows of how trials without a warm-up begin: how much slower at first, when they settle, and their classes.

The method is that of :mod:`harness.analysis.warmup`: change points between levels of windows of equal counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.warmup.curves import WarmUpCurve, warm_up_curve, warm_up_table
from harness.rows.results import count, of_estimate
from harness.rows.schema import empty, records, stack, tidy
from harness.rows.session import Session


def warm_up_curves(session: Session, trials: pd.DataFrame) -> tuple[WarmUpCurve, ...]:
    """Return the latency of windows of each counted trial with single requests, from the first request on."""
    if session.evidence is None:
        return ()
    curves, counted = [], counting(trials)
    for row, trial in zip(records(counted), inputs_of(counted), strict=True):
        requests = session.evidence.whole_requests(row["session_id"], row["trial_id"])
        if requests is not None and int(requests["ok"].sum()) > 1:
            about = {"variant": row["variant"], "label": row["label"], "block": int(row["block"])}
            curves.append(warm_up_curve(requests, trial=trial, **about))
    return tuple(curves)


def warm_up(curves: Sequence[WarmUpCurve], *, level: float = 0.95) -> pd.DataFrame:
    """Return ``cold``, the latency of the first tenth of the requests over that of the second half, ``steady_from`` in
    seconds, and ``classes``: trials by what their levels do (level ``what``) of each variant."""
    rows: list[dict[str, Any]] = []
    for cell in warm_up_table(curves, level=level):
        about = {"variant": cell.variant, "label": cell.label}
        rows += [
            of_estimate(cell.cold_ratio, name="cold", kind="mean") | about,
            of_estimate(cell.steady_from_s, name="steady_from", kind="mean") | about,
        ]
        rows += [
            count("classes", n, "trials of a class") | about | {"what": str(kind)}
            for kind, n in cell.classes.items()
            if n
        ]
    return stack(empty("what"), tidy(rows))


def warm_up_windows(curves: Sequence[WarmUpCurve]) -> pd.DataFrame:
    """Return the windows of curves: ``label block at_s latency_s``, and ``level_s`` between change points."""
    frames = [pd.DataFrame(columns=["label", "block", "at_s", "latency_s", "level_s"])]
    for curve in curves:
        levels = [
            segment.level for segment in curve.found.segments for _ in range(segment.first, segment.end)
        ]
        frames.append(
            pd.DataFrame(
                {"label": curve.label, "block": curve.block, "at_s": curve.at_s, "latency_s": curve.latency_s}
            ).assign(level_s=pd.Series(levels))
        )
    return pd.concat(frames[1:] or frames, ignore_index=True)
