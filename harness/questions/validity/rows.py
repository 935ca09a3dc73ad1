# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables on validity: blocks, requests of a trial, pooled percentiles, and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.model.digits import percent, plain, span, spoken
from harness.publish.cells import Cell
from harness.questions.validity.adequacy import Enough
from harness.questions.validity.audit import NONE_FAILED, PARTS

_BEYOND = "beyond any practical number"
_METRICS = {"throughput_per_s": "throughput", "latency_mean_s": "mean latency"}
Rows = list[Mapping[str, Cell] | None]


def block_rows(found: Enough) -> Rows:
    """Return one row an experiment that compares anything."""
    rows: Rows = []
    for name, one in found.blocks.items():
        noise = [cell.found.noise for cell in found.equal[name] if cell.found.noise is not None]
        rows.append(
            {
                "experiment": name,
                "metric": _METRICS[one.metric],
                "comparisons": one.n_comparisons,
                "blocks": one.n_blocks,
                "half_width": percent(one.half_width),
                "needed": _BEYOND if one.needed is None else one.needed,
                "needed_most": _BEYOND if one.needed_most is None else one.needed_most,
                "unseen": percent(one.unseen_share),
                "noise": percent(max(noise)) if noise else None,
            }
        )
    return rows


def worth_rows(found: Enough) -> Rows:
    """Return one row an experiment, medians over the first trial of each variant."""
    return [
        {
            "experiment": name,
            "trials": len(ones),
            "requests": round(float(np.median([one.n_requests for one in ones]))),
            "effective": _spread([one.effective for one in ones]),
            "independent": _median_percent([one.as_if_independent for one in ones]),
            "batches": _median_percent([one.batch_means for one in ones]),
            "bootstrap": _median_percent([one.block_bootstrap for one in ones]),
        }
        for name, ones in found.worth.items()
    ]


def pooled_rows(found: Enough) -> Rows:
    """Return one row a variant; the cluster bootstrap's interval as text."""
    return [
        {
            "variant": label,
            "trials": one.jackknife.n_trials,
            "p99": one.jackknife,
            "cluster": None
            if one.cluster_low is None or one.cluster_high is None
            else span(one.cluster_low * 1e3, one.cluster_high * 1e3, " ms"),
            # the reason is the same for all, and is printed below the table once
            "p999": "refused" if found.p999[label].jackknife.value is None else found.p999[label].jackknife,
            "step": None if found.step_s is None else f"{plain(found.step_s * 1e3)} ms",
        }
        for label, one in found.p99.items()
    ]


def audit_rows(checks: pd.DataFrame) -> Rows:
    """Return one row an experiment, with the names of the checks that failed."""
    rows: Rows = []
    for name, mine in checks.groupby("experiment", sort=False):
        counts = mine["result"].value_counts()
        failed = mine.loc[mine["result"] == "failed", "check"].unique()
        rows.append(
            {
                "experiment": str(name),
                "trials": int(mine["trial_id"].nunique()),
                **{part: int(counts.get(word, 0)) for part, word in PARTS.items()},
                "which": "; ".join(map(str, failed)) or NONE_FAILED,
            }
        )
    return rows


def failure_rows(checks: pd.DataFrame) -> Rows:
    """Return every check that failed, by experiment and tool, with the trial that is furthest off."""
    rows: Rows = []
    failed = checks[checks["result"] == "failed"]
    for (name, tool, check), mine in failed.groupby(["experiment", "generator", "check"], sort=False):
        away = (mine["found"] / mine["expected"] - 1).abs().fillna(float("inf"))
        worst = mine.iloc[int(away.to_numpy(dtype=np.float64).argmax())]
        rows.append(
            {
                "experiment": str(name),
                "generator": str(tool),
                "check": str(check),
                "trials": len(mine),
                "why": str(worst["why"]),
            }
        )
    return rows


def _median_percent(values: Sequence[float | None]) -> str | None:
    told = [value for value in values if value is not None]
    return percent(float(np.median(told))) if told else None


def _spread(values: Sequence[float | None]) -> str | None:
    told = sorted(value for value in values if value is not None)
    return spoken(float(np.median(told)), told[0], told[-1]) if told else None
