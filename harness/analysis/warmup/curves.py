# SPDX-License-Identifier: Apache-2.0
"""Warm-up curves: one trial's latency in windows of equal counts, and when it settles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.means import mean_within
from harness.analysis.warmup.classify import MIN_WINDOWS, SteadyState, WarmUp, classify_warmup
from harness.errors import InputError
from harness.model import Estimate, Frozen

#: As many windows as the classifier was calibrated for; fewer where a window would hold too few requests.
WINDOWS = 400
FEWEST_A_WINDOW = 10
#: Fewer windows than this have no first tenth worth the name.
MIN_COLD_WINDOWS = 20


class WarmUpCurve(Frozen):
    """One trial's mean latency over time, and what its levels do."""

    trial: str = Field(description="experiment/session/trial")
    variant: str
    label: str
    block: int
    at_s: tuple[float, ...] = Field(description="middle of each window, seconds since the first request")
    latency_s: tuple[float, ...] = Field(description="mean latency of each window")
    requests_a_window: int
    found: WarmUp

    @property
    def steady_from_s(self) -> float | None:
        """When the steady state begins, seconds since the first request; ``None``: never, or cannot be said."""
        first = self.found.steady_from
        return None if first is None else self.at_s[first] if first else 0.0

    @property
    def cold_ratio(self) -> float | None:
        """Mean latency of the first tenth of the windows over that of the second half; ``None``: too few windows."""
        n = len(self.latency_s)
        if n < MIN_COLD_WINDOWS:
            return None
        return float(np.mean(self.latency_s[: n // 10]) / np.mean(self.latency_s[n // 2 :]))

    @property
    def levels(self) -> tuple[tuple[float, float, float], ...]:
        """The levels between change points: start and end in seconds, and the latency in seconds."""
        last = len(self.at_s) - 1
        return tuple((self.at_s[s.first], self.at_s[min(s.end, last)], s.level) for s in self.found.segments)


class WarmUpRow(Frozen):
    """One variant's trials by class, and when those that settle do."""

    variant: str
    label: str
    n_trials: int
    classes: dict[SteadyState, int]
    steady_from_s: Estimate = Field(description="over the trials that have a steady state")
    cold_ratio: Estimate = Field(
        description="latency of the first tenth of the requests over the second half"
    )
    why_undecidable: str | None


def warm_up_curve(
    requests: pd.DataFrame, *, trial: str, variant: str, label: str, block: int, seed: int = 0
) -> WarmUpCurve:
    """Cut one trial's correct answers into windows of equal counts, in order of their start, and classify it.

    Windows of equal counts have equal noise; in a closed loop they are shorter where the service is faster,
    so times are read from ``at_s``. A trial with too few requests is undecidable, and says so.

    Raises:
        InputError: no request was answered correctly.
    """
    ok = requests[requests["ok"].astype(bool)].sort_values("start_epoch_s", kind="stable")
    if ok.empty:
        raise InputError("no request was answered correctly", place=trial, found="0", allowed="at least one")
    size = max(len(ok) // WINDOWS, FEWEST_A_WINDOW)
    n = max(len(ok) // size, 1)
    size = min(size, len(ok))
    latency = ok["latency_s"].to_numpy(dtype=np.float64)[: n * size].reshape(n, size)
    start = ok["start_epoch_s"].to_numpy(dtype=np.float64)[: n * size].reshape(n, size)
    values = latency.mean(axis=1)
    middle = np.median(start, axis=1) - float(start[0, 0])
    return WarmUpCurve(
        trial=trial,
        variant=variant,
        label=label,
        block=block,
        at_s=tuple(map(float, middle)),
        latency_s=tuple(map(float, values)),
        requests_a_window=size,
        found=classify_warmup(values, better="lower", seed=seed),
    )


def warm_up_table(curves: Iterable[WarmUpCurve], *, level: float = 0.95) -> tuple[WarmUpRow, ...]:
    """Return one row per variant, in order of appearance."""
    groups: dict[str, list[WarmUpCurve]] = {}
    for curve in curves:
        groups.setdefault(curve.variant, []).append(curve)
    return tuple(_row(group, level) for group in groups.values())


def _row(group: list[WarmUpCurve], level: float) -> WarmUpRow:
    classes = Counter(curve.found.kind for curve in group)
    settled = [(curve, at) for curve in group if (at := curve.steady_from_s) is not None]
    doubts = Counter(
        curve.found.warnings[0] for curve in group if curve.found.kind == SteadyState.UNDECIDABLE
    )
    return WarmUpRow(
        variant=group[0].variant,
        label=group[0].label,
        n_trials=len(group),
        classes={kind: classes.get(kind, 0) for kind in SteadyState},
        steady_from_s=_mean(settled, level),
        cold_ratio=_cold(group, level),
        why_undecidable=doubts.most_common(1)[0][0] if doubts else None,
    )


def _mean(settled: list[tuple[WarmUpCurve, float]], level: float) -> Estimate:
    if not settled:
        why = f"no trial was found steady; below {MIN_WINDOWS} windows none can be"
        return nothing(why, estimand="start of the steady state", unit="s", level=level)
    return mean_within(
        [at for _, at in settled],  # a trial that is steady from the start has zero
        level=level,
        unit="s",
        what="the start of the steady state",
        inputs=tuple(curve.trial for curve, _ in settled),
    )


def _cold(group: list[WarmUpCurve], level: float) -> Estimate:
    told = [(curve, ratio) for curve in group if (ratio := curve.cold_ratio) is not None]
    what = "latency of the first tenth of the requests over the second half"
    if not told:
        why = f"fewer than {MIN_COLD_WINDOWS} windows in a trial"
        return nothing(why, estimand=what, unit="ratio", level=level)
    inputs = tuple(curve.trial for curve, _ in told)
    return mean_within([ratio for _, ratio in told], level=level, unit="ratio", what=what, inputs=inputs)
