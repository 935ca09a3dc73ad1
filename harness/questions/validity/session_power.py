# SPDX-License-Identifier: Apache-2.0
"""What the session of the headline can tell: its smallest ratios, and where its variation comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from harness.analysis.stats.detectable import BLOCKS, PowerCurve, power_curve
from harness.analysis.stats.variance_split import VarianceSplit, variance_split
from harness.errors import InputError
from harness.evidence.warm import SETTLED, Warm, warm_services
from harness.model.base import Frozen
from harness.model.digits import percent, spoken
from harness.publish.cells import Cell
from harness.publish.detectable import smallest_differences

#: column -> what a figure and a table call it
METRICS = {
    "throughput_per_s": "throughput per core",
    "cpu_s_per_request": "CPU time per request",
    "rss_after_bytes": "memory after the load",
}
#: The last windows of a warm-up, of which the settled ones are.
SETTLED_WINDOWS = 5
LEVELS = ("session", "block", "trial")
WINDOW = "window"
_OF_WINDOWS = {"throughput": "throughput_per_s", "CPU time per request": "cpu_s_per_request"}
Rows = list[Mapping[str, Cell] | None]


class SplitOf(Frozen):
    """The variance of one metric of one variant over sessions; ``split``: None, and ``why``, where it has too few."""

    variant: str
    metric: str
    n_sessions: int
    split: VarianceSplit | None
    why: str | None = None


def session_curves(
    warm: Warm | None, blocks: Sequence[int] = (*BLOCKS, 40)
) -> dict[str, tuple[PowerCurve, ...]]:
    """Return column -> the power curve of every pair at saturation, where any tells one; empty: not measured."""
    if warm is None:
        return {}
    found = {
        metric: power_curve(warm.saturation, metric, reference=warm.evidence.reference, blocks=blocks)
        for metric in METRICS
        if warm.saturation[metric].notna().any()
    }
    return {
        metric: curves
        for metric, curves in found.items()
        if any(point.ratio.value is not None for one in curves for point in one.smallest)
    }


def curve_rows(curves: Mapping[str, Sequence[PowerCurve]], warm: Warm | None) -> Rows:
    """Return one row a pair and metric: pairs, spread, and the smallest difference at each number of blocks."""
    rows: Rows = []
    labels = {} if warm is None else warm.evidence.variants
    for metric, ones in curves.items():
        rows += [None] if rows else []
        for one in ones:
            name = labels.get(one.variant, one.variant)
            smallest = dict(
                zip((str(point.n_blocks) for point in one.smallest), smallest_differences(one), strict=True)
            )
            rows.append(
                {
                    "metric": METRICS[metric],
                    "pair": f"{name}, twice" if one.twice else name,
                    "pairs": one.n_pairs,
                    "sd": None if one.sd_log_ratio is None else percent(one.sd_log_ratio),
                    **{f"blocks_{n}": smallest.get(str(n)) for n in BLOCKS},
                }
            )
    return rows


def splits(warm: Warm | None) -> tuple[SplitOf, ...]:
    """Return the variance of each variant's settled windows: of sessions, blocks, trials, and windows.

    Only the reference has two trials in a block, so only there blocks are told from trials; of the others a trial's
    component holds its block's, too. Windows are those that a process had settled in, under the load of the saturation.
    """
    if warm is None:
        return ()
    sessions = [warm, *filter(None, map(warm_services, warm.evidence.others))]
    frames = [frame for one in sessions if (frame := settled_windows(one)) is not None]
    if not frames:
        return ()
    windows = pd.concat(frames, ignore_index=True)
    found = []
    for variant in warm.evidence.variants:
        mine = windows[windows["variant"] == variant]
        for words, metric in _OF_WINDOWS.items():
            if len(mine):
                found.append(_split(mine, variant, words, metric, reference=warm.evidence.reference))
    return tuple(found)


def _split(mine: pd.DataFrame, variant: str, words: str, metric: str, *, reference: str) -> SplitOf:
    n = int(mine["session"].nunique())
    levels = [name for name in LEVELS if name != "block" or variant == reference]
    levels = levels if n > 1 else levels[1:]
    table = mine[mine[metric] > 0].assign(log=lambda frame: np.log(frame[metric]))
    try:
        split, why = variance_split(table, "log", levels, within=WINDOW), None
    except InputError as error:
        split, why = None, str(error)
    return SplitOf(variant=variant, metric=words, n_sessions=n, split=split, why=why)


def settled_windows(warm: Warm) -> pd.DataFrame | None:
    """Return one row per settled window: ``session block trial variant throughput_per_s cpu_s_per_request``."""
    # a process that took both loads has its windows with the first of them
    trials = pd.concat([warm.saturation, warm.rate])
    kept = trials[~trials["excluded"].astype(bool) & (trials["warm_class"] == SETTLED)]
    found = []
    for _, row in kept.iterrows():
        windows = warm.evidence.windows(str(row["session_id"]), str(row["trial_id"]))
        if windows is None or len(windows) < SETTLED_WINDOWS:
            continue
        last = windows.tail(SETTLED_WINDOWS)
        right = last["n_requests"] - last["n_errors"]
        found.append(
            pd.DataFrame(
                {
                    "session": str(row["session_id"]),
                    "block": int(row["block"]),
                    "trial": str(row["trial_id"]),
                    "variant": str(row["variant"]),
                    "throughput_per_s": right / last["duration_s"],
                    "cpu_s_per_request": last["cpu_s"] / last["n_requests"].where(last["n_requests"] > 0),
                }
            )
        )
    return pd.concat(found, ignore_index=True) if found else None


def split_rows(found: Sequence[SplitOf], warm: Warm | None) -> Rows:
    """Return one row a variant and metric: the standard deviation of each level, with its interval."""
    rows: Rows = []
    labels = {} if warm is None else warm.evidence.variants
    for one in found:
        row: dict[str, Cell] = {
            "variant": labels.get(one.variant, one.variant),
            "metric": one.metric,
            "sessions": one.n_sessions,
        }
        if one.split is None:
            rows.append({**row, "why": one.why})
            continue
        rows.append(
            row | {level.name: _spread(level.variance, level.low, level.high) for level in one.split.levels}
        )
    return rows


def _spread(variance: float, low: float, high: float) -> str:
    """``3.1 % (2.4 to 4.2)``: the standard deviation of logs, as a share."""
    middle, least, most = (100 * float(np.sqrt(one)) for one in (variance, low, high))
    return spoken(middle, least, most, " %")
