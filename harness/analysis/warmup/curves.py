# SPDX-License-Identifier: Apache-2.0
"""Warm-up curves: latency in windows of equal counts and when it settles; how long a process is cold; and after how
many requests one that starts slowly has caught up with one that starts fast, for good."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.analysis.stats.intervals import nothing
from harness.analysis.stats.summaries import mean_within
from harness.analysis.warmup.classify import MIN_WINDOWS, SteadyState, WarmUp, classify_warmup
from harness.errors import InputError
from harness.model import Estimate, Frozen, WarmUpRecord, WarmUpWindow

#: Warm is this close to the throughput of the settled windows.
NEAR = 0.10
#: A window counts with those after it, so many together: a single quick one is not the end of cold. What is slow later
#: is the machine's, not the service's: a service that was warm stays so.
TOGETHER = 3


@dataclass(frozen=True, kw_only=True)
class ColdStart:
    """What a process needed to become warm, of the windows before the first one whose throughput is within 10 % of
    warm, alone and in the median with the next two; ``extra_cpu_s``: what all windows used beyond the warm CPU time of
    as many requests. ``None``: it did not within its warm-up, or it is not known."""

    seconds: float | None = None
    n_requests: int | None = None
    cpu_s: float | None = None
    extra_cpu_s: float | None = None


def cold_start(record: WarmUpRecord) -> ColdStart:
    """Return what the process of a warm-up needed to become warm."""
    windows, n = record.windows, record.spec.n_windows
    if record.end != "settled" or len(windows) < n:
        return ColdStart()
    rates = [window.per_s for window in windows]
    enough_per_s = (1 - NEAR) * statistics.median(rates[-n:])
    together = (min(rate, statistics.median(rates[at : at + TOGETHER])) for at, rate in enumerate(rates))
    # where the settled windows themselves scatter so widely, the last one
    first = next((at for at, per_s in enumerate(together) if per_s >= enough_per_s), len(rates) - 1)
    before, total_s = windows[:first], _cpu_s(windows)
    warm = [cost for window in windows[-n:] if (cost := window.cpu_s_per_request) is not None]
    extra_s = None
    if len(warm) == n and total_s is not None:
        extra_s = max(0.0, total_s - sum(window.n_requests for window in windows) * statistics.median(warm))
    return ColdStart(
        # the first window begins with the first request, or a moment after it
        seconds=windows[first].start_s if first else 0.0,
        n_requests=sum(window.n_requests for window in before), cpu_s=_cpu_s(before), extra_cpu_s=extra_s,
    )  # fmt: skip


def _cpu_s(windows: tuple[WarmUpWindow, ...]) -> float | None:
    known = [window.cpu_s for window in windows if window.cpu_s is not None]
    return sum(known) if len(known) == len(windows) else None


@dataclass(frozen=True, kw_only=True)
class Course:
    """What one process had spent (seconds, or CPU seconds) after so many requests; beyond, each costs ``warm_cost``."""

    n_requests: tuple[float, ...]
    spent: tuple[float, ...]
    warm_cost: float

    def at(self, n_requests: float) -> float:
        """Return what was spent when so many requests had been answered; none before the first answer."""
        beyond = n_requests - self.n_requests[-1]
        if beyond > 0:
            return self.spent[-1] + beyond * self.warm_cost
        return float(np.interp(n_requests, self.n_requests, self.spent))


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """Where the later one has caught up; ``n_requests`` ``None``: it never does, or was never behind. ``first_ahead``:
    the first course is ahead until then. ``within``: within what was measured of both."""

    n_requests: float | None
    first_ahead: bool
    within: bool = True


def break_even(first: Course, second: Course) -> BreakEven:
    """Return after how many requests ``second`` has caught up with ``first`` for good."""
    places = sorted({*first.n_requests, *second.n_requests})
    last, end = places[-1], min(first.n_requests[-1], second.n_requests[-1])
    leads = [second.at(n) - first.at(n) for n in places]  # positive: the first one is ahead
    gained = first.warm_cost - second.warm_cost  # by the second, with each request after the last place
    if leads[-1] > 0:
        if gained <= 0:
            return BreakEven(n_requests=None, first_ahead=True)
        return BreakEven(n_requests=last + leads[-1] / gained, first_ahead=True, within=False)
    if gained < 0:  # the second one is ahead now, and will lose that again: nobody has caught up for good
        return BreakEven(n_requests=None, first_ahead=True, within=False)
    # the last place at which the first one was ahead, and the point after it at which it no longer was
    ahead = [at for at, lead in enumerate(leads) if lead > 0]
    if not ahead:
        return BreakEven(n_requests=None, first_ahead=False)
    at = ahead[-1]
    share = leads[at] / (leads[at] - leads[at + 1])
    n_requests = places[at] + share * (places[at + 1] - places[at])
    return BreakEven(n_requests=n_requests, first_ahead=True, within=n_requests <= end)


#: As many windows as the classifier was calibrated for; fewer where a window would hold too few requests.
WINDOWS = 400
FEWEST_A_WINDOW = 10
#: Fewer windows than this have no first tenth worth the name.
MIN_COLD_WINDOWS = 20


class WarmUpCurve(Frozen):
    """One trial's mean latency over time, and what its levels do."""

    trial: str  # experiment/session/trial
    variant: str
    label: str
    block: int
    at_s: tuple[float, ...]  # middle of each window, seconds since the first request
    latency_s: tuple[float, ...]  # mean latency of each window
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


class WarmUpRow(Frozen):
    """One variant's trials by class, and when those that settle do."""

    variant: str
    label: str
    n_trials: int
    classes: dict[SteadyState, int]
    steady_from_s: Estimate  # over the trials that have a steady state
    cold_ratio: Estimate  # latency of the first tenth of the requests over the second half


def warm_up_curve(requests: pd.DataFrame, *, trial: str, variant: str, label: str, block: int) -> WarmUpCurve:
    """Cut one trial's correct answers into windows of equal counts by start, and classify it. Raises InputError:
    none."""
    ok = requests[requests["ok"].astype(bool)].sort_values("start_epoch_s", kind="stable")
    if ok.empty:
        raise InputError("no request was answered correctly", place=trial, found="0", allowed="at least one")
    size = max(len(ok) // WINDOWS, FEWEST_A_WINDOW)
    n = max(len(ok) // size, 1)
    size = min(size, len(ok))
    start, latency = (
        ok[name].to_numpy(dtype=np.float64)[: n * size].reshape(n, size)
        for name in ("start_epoch_s", "latency_s")
    )
    values = latency.mean(axis=1)
    middle = np.median(start, axis=1) - float(start[0, 0])
    return WarmUpCurve(
        trial=trial, variant=variant, label=label, block=block, at_s=tuple(map(float, middle)),
        latency_s=tuple(map(float, values)), found=classify_warmup(values),
    )  # fmt: skip


def warm_up_table(curves: Iterable[WarmUpCurve], *, level: float = 0.95) -> tuple[WarmUpRow, ...]:
    """Return one row per variant, in order of appearance."""
    groups: dict[str, list[WarmUpCurve]] = {}
    for curve in curves:
        groups.setdefault(curve.variant, []).append(curve)
    return tuple(_row(group, level) for group in groups.values())


def _row(group: list[WarmUpCurve], level: float) -> WarmUpRow:
    classes = Counter(curve.found.kind for curve in group)

    def over(values: list[float | None], what: str, unit: str, why: str) -> Estimate:
        pairs = zip(group, values, strict=True)
        known = [(curve.trial, value) for curve, value in pairs if value is not None]
        if not known:
            return nothing(why, estimand=what.removeprefix("the "), unit=unit, level=level)
        inputs = tuple(trial for trial, _ in known)
        return mean_within([value for _, value in known], level=level, unit=unit, what=what, inputs=inputs)

    return WarmUpRow(
        variant=group[0].variant, label=group[0].label, n_trials=len(group),
        classes={kind: classes.get(kind, 0) for kind in SteadyState},
        steady_from_s=over(
            [curve.steady_from_s for curve in group], "the start of the steady state", "s",
            f"no trial was found steady; below {MIN_WINDOWS} windows none can be",
        ),
        cold_ratio=over(
            [curve.cold_ratio for curve in group],
            "latency of the first tenth of the requests over the second half", "ratio",
            f"fewer than {MIN_COLD_WINDOWS} windows in a trial",
        ),
    )  # fmt: skip
