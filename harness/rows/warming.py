# SPDX-License-Identifier: Apache-2.0
"""Rows of how programs become warm: after how many requests one that starts slowly has caught up with one that starts
fast; how much slower trials without a warm-up are at first, when they settle, and their classes.

The methods are those of :mod:`harness.analysis.warmup`: courses of what a process had spent since its launch, and
change points between levels of windows of equal counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.stats.summaries import summarise
from harness.analysis.warmup.curves import Course, WarmUpCurve, break_even, warm_up_curve, warm_up_table
from harness.rows.results import count, of_estimate
from harness.rows.schema import below, empty, records, stack, tidy
from harness.rows.session import Session

Spent = Literal["time", "cpu"]
SPENT: tuple[Spent, ...] = ("time", "cpu")


class Race(NamedTuple):
    """One program against another in one block, in time or in CPU time. ``trial``: of the first."""

    trial: Mapping[str, Any]
    against: str
    spent: Spent
    courses: tuple[Course, Course]


def races(session: Session, trials: pd.DataFrame, over: Mapping[str, str]) -> list[Race]:
    """Return each variant against the one that it is paired with, block by block, as far as both were measured.

    ``trials``: of processes that were warmed up in windows; ``over``: variant -> the other one.
    """
    windows = dict(iter(session.windows(trials).groupby(["session_id", "trial_id"])))
    runs = []
    for spent in SPENT:
        courses = {
            (row["variant"], row["block"]): (row, course)
            for row in records(trials)
            if (course := _course(row, windows.get((row["session_id"], row["trial_id"])), spent)) is not None
        }
        runs += [
            Race(row, over[name], spent, (course, courses[over[name], block][1]))
            for (name, block), (row, course) in courses.items()
            if name in over and (over[name], block) in courses
        ]
    return runs


def even(runs: list[Race], name: str = "even") -> pd.DataFrame:
    """Return after how many requests the other program has caught up for good, level ``spent``.

    The mean is over blocks where it did in every block; else the row says in how many, and who is ahead in the rest.
    """
    rows = []
    for spent in SPENT:
        for variant in dict.fromkeys(race.trial["variant"] for race in runs if race.spent == spent):
            own = [race for race in runs if (race.trial["variant"], race.spent) == (variant, spent)]
            ends = [break_even(*race.courses) for race in own]
            frame = pd.DataFrame([race.trial for race in own])
            frame["break_even_requests"] = np.array([end.n_requests for end in ends], dtype="float64")
            estimate = summarise(frame, "break_even_requests", unit="1")["estimate"].iloc[0]
            row = of_estimate(estimate, name=name, kind="mean", metric="break_even_requests")
            n, n_caught = len(ends), int(frame["break_even_requests"].notna().sum())
            if n_caught < n:
                ahead = sum(end.n_requests is None and end.first_ahead for end in ends)
                never = n - n_caught - ahead
                why = f"caught up in {n_caught} of {n} blocks, stays ahead in {ahead}, never ahead in {never}"
                row |= dict.fromkeys(("value", "low", "high"), None) | {"why": why, "warnings": [why]}
            elif beyond := sum(not end.within for end in ends):
                row["warnings"] += [f"beyond the last window in {beyond} of {n} blocks, by the warm cost"]
            about = {"variant": variant, "label": own[0].trial["label"], "reference": own[0].against}
            rows.append(row | about | {"spent": spent})
    return stack(empty("spent"), tidy(rows))


def leads(runs: list[Race]) -> pd.DataFrame:
    """Return how far each variant is ahead after so many requests: ``label block spent n_requests lead_s``."""
    frames = []
    for race in runs:
        first, second = race.courses
        places = np.geomspace(1, max(first.n_requests[-1], second.n_requests[-1], 2.0), 60)
        about = {name: race.trial[name] for name in ("label", "variant", "block")} | {"spent": race.spent}
        lead = [second.at(float(n)) - first.at(float(n)) for n in places]
        frames.append(pd.DataFrame({**about, "n_requests": places, "lead_s": lead}))
    return below(frames, "label", "variant", "block", "spent", "n_requests", "lead_s")


def _course(row: Mapping[str, Any], windows: pd.DataFrame | None, spent: Spent) -> Course | None:
    """Return what a process had spent when it had answered so many requests; ``None``: something is not known."""
    if windows is None:
        return None
    answered = 1 + (windows["n_requests"] - windows["n_errors"]).cumsum()
    if spent == "time":
        begin, used = row["time_to_first_response_s"], windows["start_s"] + windows["duration_s"]
        cost = 1 / row["throughput_per_s"] if row["throughput_per_s"] else None
    else:
        begin, used = row["cpu_s_at_first_response"], windows["cpu_s"].cumsum()
        cost = row["cpu_s_per_request"]
    if begin is None or cost is None or not np.isfinite(used.to_numpy(dtype="float64")).all():
        return None
    points = (float(begin), *map(float, begin + used))
    return Course(n_requests=(1.0, *map(float, answered)), spent=points, warm_cost=float(cost))


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
    frames = []
    for curve in curves:
        levels = [each.level for each in curve.found.segments for _ in range(each.first, each.end)]
        columns = {name: getattr(curve, name) for name in ("label", "block", "at_s", "latency_s")}
        frames.append(pd.DataFrame(columns).assign(level_s=pd.Series(levels)))
    return below(frames, "label", "block", "at_s", "latency_s", "level_s")
