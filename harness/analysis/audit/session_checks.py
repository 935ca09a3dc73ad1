# SPDX-License-Identifier: Apache-2.0
"""Is a session to be trusted? Equal against equal; whether a metric followed the speed of the machine's CPUs; and
whether the arithmetic of each trial holds: totals, ratios, Little's law, and the law of its load. A check that cannot
be made says why, and is neither held nor failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
import scipy  # loads its slow submodules when they are first used

from harness.analysis.stats import intervals
from harness.analysis.stats.aa_noise import AANoise, aa_noise
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.intervals import nothing, t_critical, t_two_sided_p
from harness.analysis.stats.pairing import inputs_of, require, split_excluded, split_missing
from harness.analysis.stats.quantiles import rank
from harness.analysis.stats.sample_size import FEWEST_PAIRS
from harness.analysis.stats.scaling import closed_loop_per_s, time_between
from harness.analysis.tables.resource_columns import SERVICE, at_other_speed
from harness.analysis.tables.trial_row import settled_requests
from harness.errors import InputError
from harness.formats.wrk_histogram import LatencyHistogram
from harness.model import ClosedLoad, Estimate, Frozen, LoadProfile, LoadSummary, OpenLoad, Support


def leading_metric(trials: pd.DataFrame) -> str:
    """Return what a load can differ in: throughput where users wait, mean latency where arrivals come at a rate."""
    return "throughput_per_s" if (trials["load_model"] == "closed").any() else "latency_mean_s"


def equal_cells(trials: pd.DataFrame, factors: Sequence[str]) -> tuple[tuple[dict[str, str], AANoise], ...]:
    """Return each cell's levels with the reference over its duplicate, where ``FEWEST_PAIRS`` blocks hold both."""
    metric = leading_metric(trials)
    require(trials, metric, ("load_model", *factors))
    counted, _ = split_missing(split_excluded(trials)[0], metric)
    model = "closed" if metric == "throughput_per_s" else "open"
    usable = counted[(counted["load_model"] == model) & (counted[metric] > 0)]
    groups = usable.groupby(list(factors), sort=False) if factors else [((), usable)]
    cells = [(dict(zip(factors, map(str, key), strict=True)), aa_noise(cell, metric)) for key, cell in groups]
    return tuple((levels, noise) for levels, noise in cells if noise.n_blocks >= FEWEST_PAIRS)


#: Fewer equal trials than this cannot be dealt into two arms in a way that says anything.
FEWEST_EQUAL = 4
DRAWS = 4000


class EqualArms(Frozen):
    """Equal trials dealt into two arms again and again: how often a method sees a difference that is not there."""

    metric: str
    blocked: Estimate  # share of deals within blocks in which the paired interval excludes one
    #: first half of the session over its second half: what measuring one variant after the other would have
    #: said of two equal ones
    ordered: Estimate
    spread: Estimate  # coefficient of variation over equal trials


def equal_arms(trials: pd.DataFrame, metric: str) -> EqualArms:
    """Deal trials that differ in nothing but their name into two arms, within blocks, and count false alarms. Raises
    InputError: no such column, or fewer than ``FEWEST_EQUAL`` trials."""
    require(trials, metric, ())
    counted, _ = split_missing(split_excluded(trials)[0], metric)
    counted = counted.sort_values("position")
    if len(counted) < FEWEST_EQUAL or (counted[metric] <= 0).any():
        allowed = f"{FEWEST_EQUAL} or more, all above 0"
        raise InputError("too few equal trials", place=metric, found=len(counted), allowed=allowed)
    values, inputs = counted[metric].to_numpy(dtype=np.float64), inputs_of(counted)
    grouped = counted.groupby(["session_id", "block"])[metric]
    blocks = [np.log(block.to_numpy(np.float64)) for _, block in grouped]
    dealt = [block for block in blocks if len(block) >= 2]
    half = len(values) // 2
    ordered = effect_size_ci(
        values[:half], values[half:], paired=False, estimator="welch_log_t", inputs=inputs
    )
    spread = Estimate(
        value=float(np.std(np.log(values), ddof=1)), unit="relative", method="standard deviation of logarithms",
        estimand=f"spread of {metric} over equal trials", n_trials=len(counted), inputs=inputs,
    )  # fmt: skip
    estimand = f"{metric}: first half of the session over the second"
    return EqualArms(
        metric=metric, blocked=_false_alarms(dealt, inputs, metric),
        ordered=ordered.model_copy(update={"estimand": estimand}), spread=spread,
    )  # fmt: skip


def _false_alarms(blocks: list[Floats], inputs: tuple[str, ...], metric: str) -> Estimate:
    what = f"{metric}: deals of equal trials in which the paired interval excludes one"
    if len(blocks) < 3:
        why = f"{len(blocks)} blocks with two equal trials: too few"
        return nothing(why, estimand=what, unit="share")
    rng = np.random.default_rng(0)
    differences = []
    for block in blocks:  # each deal takes two trials of every block at random, in random order
        first = rng.integers(len(block), size=DRAWS)
        second = (first + rng.integers(1, len(block), size=DRAWS)) % len(block)
        differences.append(block[first] - block[second])
    deals = np.stack(differences, axis=1)
    bounds = intervals.student(deals, 0.95)
    alarms = int(np.count_nonzero((bounds.low > 0) | (bounds.high < 0)))
    low, high = scipy.stats.binomtest(alarms, DRAWS).proportion_ci(0.95, method="wilson")
    return Estimate(
        value=alarms / DRAWS, low=float(low), high=float(high), unit="share",
        method=f"{DRAWS} deals at random; the interval is of the deals, not of the trials", estimand=what,
        n_trials=sum(map(len, blocks)), seed=0, inputs=inputs,
    )  # fmt: skip


#: Degrees of freedom below which no interval is given.
FEWEST_DEGREES = 2


@dataclass(frozen=True, kw_only=True)
class Slope:
    """A least-squares slope with its t interval. ``p_value``: of no slope; ``None``: all points are on the line."""

    value: float
    low: float
    high: float
    p_value: float | None


def slope_within(
    x: Floats, y: Floats, groups: np.ndarray[tuple[int, ...], np.dtype[np.object_]], *, level: float = 0.95
) -> Slope | None:
    """Return the common slope of ``y`` over ``x`` within groups, shapes (n,), with its t interval (analysis of
    covariance). ``None``: fewer than ``FEWEST_DEGREES`` degrees of freedom are left, or no group has two different
    values of ``x``."""
    degrees = len(y) - len(set(groups)) - 1
    x, y = _centred(x, groups), _centred(y, groups)
    spread = float(x @ x)
    if degrees < FEWEST_DEGREES or spread <= 0:
        return None
    slope = float(x @ y) / spread
    error = float(np.sqrt(((y - slope * x) ** 2).sum() / degrees / spread))
    wide = float(t_critical(level, degrees)) * error
    p_value = float(t_two_sided_p(slope / error, degrees)) if error > 0 else None
    return Slope(value=slope, low=slope - wide, high=slope + wide, p_value=p_value)


def _centred(values: Floats, groups: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> Floats:
    frame = pd.Series(values)
    return np.asarray((frame - frame.groupby(groups).transform("mean")).to_numpy(dtype=np.float64))


def speed_response(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> Estimate | None:
    """Return by how many percent a metric changes where the fixed calculation takes one percent more CPU time: slope of
    logarithms within variants; ``None``: the speed was not read. ``trials``: of one session under one load; those
    excluded for their speed count here."""
    known = trials[(~trials["excluded"].astype(bool) | at_other_speed(trials)) & trials[SERVICE].notna()]
    known = known[known[metric] > 0]
    if known.empty:
        return None
    what = f"percent by which {metric} changes where a fixed calculation takes one percent more CPU time"
    x, y = (np.log(known[name].to_numpy(dtype=np.float64)) for name in (SERVICE, metric))
    line = slope_within(x, y, known["variant"].to_numpy(dtype=object), level=level)
    if line is None:
        return nothing("too few trials of each variant", estimand=what, unit="1", level=level)
    return Estimate(
        value=line.value, low=line.low, high=line.high, level=level, unit="1", support=Support.REAL,
        method="line through logarithms within variants", estimand=what, n_trials=len(known),
        inputs=inputs_of(known),
    )  # fmt: skip


#: Of the laws, as a share: users are not alike, and means stand for all of them.
LAW_TOLERANCE = 0.10
#: Of Little's law, counted at even instants.
COUNTED_TOLERANCE = 0.05
#: Of what is one number written twice.
SAME = 1e-6

Result = Literal["held", "failed", "not applicable"]


class TrialCheck(Frozen):
    """One check of one trial."""

    name: str
    result: Result
    why: str = ""  # why it could not be made; of a failure, both numbers


@dataclass(frozen=True, kw_only=True)
class AuditedTrial:
    """What is known of a trial in three ways: its row in ``trials.parquet``, its record's load, its requests."""

    row: Mapping[str, object]
    load: LoadSummary
    profile: LoadProfile
    requests: pd.DataFrame | None  # from the first one on
    settle_s: float = 0.0  # the head of the load that its row does not count
    histogram: LatencyHistogram | None = None  # of a tool that writes no single requests, from its file

    @cached_property
    def counted(self) -> pd.DataFrame | None:
        """The requests that the row speaks of; ``None``: the tool writes no single ones."""
        return None if self.requests is None else settled_requests(self.requests, self.settle_s)

    @property
    def counted_s(self) -> float:
        """For how long they were under way: from the end of the head to the last answer."""
        return self.load.duration_s - self.settle_s

    @property
    def n_counted(self) -> tuple[int, int] | None:
        """How many requests count, and how many of them were answered rightly; ``None``: it cannot be told."""
        if self.settle_s == 0:
            return self.load.n_requests, self.load.n_requests - self.load.n_errors
        counted = self.counted
        return None if counted is None else (len(counted), int(counted["ok"].sum()))

    @property
    def requests_each(self) -> tuple[int | None, str]:
        """How many requests each user sends; ``None`` with the reason where that is not fixed."""
        profile, load = self.profile, self.load
        if not isinstance(profile, ClosedLoad) or profile.loops is None:
            return None, "the load ends after a time, not after loops"
        if load.n_flows is None:
            return profile.loops, ""
        if load.n_flows_right != load.n_flows or load.n_errors:
            return None, "passes ended at their first wrong answer"
        if not load.n_flows or load.n_requests % load.n_flows:
            return None, "passes differ in length"
        return profile.loops * (load.n_requests // load.n_flows), ""

    @cached_property
    def between_s(self) -> float | None:
        """What users waited inside the generator; ``None``: not known. Raises InputError: more requests than theirs."""
        (each, _), requests, profile = self.requests_each, self.requests, self.profile
        if requests is None or each is None or not isinstance(profile, ClosedLoad):
            return None
        return time_between(
            requests["start_epoch_s"].to_numpy(), requests["latency_s"].to_numpy(), users=profile.users,
            requests_each=each, ramp_up_s=profile.ramp_up_s,
        )  # fmt: skip


def number_of(trial: AuditedTrial, column: str) -> float | None:
    """Return a cell of the trial's row; ``None``: the table has no such column, or no number there."""
    value = trial.row.get(column)
    # a cell of a table: a number or NaN
    return None if value is None or pd.isna(value) else float(value)  # type: ignore[arg-type, call-overload]


_ABSENT = "it is not in the table"


def near(
    name: str, expected: float | None, actual: float | None, tolerance: float = 0.0, why: str = _ABSENT
) -> TrialCheck:
    """Hold a number against the expected one; ``tolerance``: a share of that; ``why``: where one is not known."""
    if expected is None or actual is None:
        return cannot(name, why)
    return judged(name, float(expected), float(actual), abs(actual - expected) <= tolerance * abs(expected))


def judged(name: str, expected: float, actual: float, held: bool, bound: str = "") -> TrialCheck:
    """Return a check that was made; ``bound``: words before the expected number, such as ``at most``."""
    if held:
        return TrialCheck(name=name, result="held")
    return TrialCheck(name=name, result="failed", why=f"expected {bound}{expected:.6g}, found {actual:.6g}")


def cannot(name: str, why: str) -> TrialCheck:
    """Return a check that could not be made."""
    return TrialCheck(name=name, result="not applicable", why=why)


LAW = "throughput follows from users, loops, ramp, latency and time between"


def _closed(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Users who wait: how many requests, how many in flight (throughput times latency), and how fast."""
    profile, load = trial.profile, trial.load
    assert isinstance(profile, ClosedLoad)
    each, why = trial.requests_each
    yield near("requests are users times loops", each and profile.users * each, load.n_requests, why=why)
    name = "no more requests in flight than users"
    mean_s, throughput = number_of(trial, "latency_mean_s"), number_of(trial, "throughput_per_s")
    if mean_s is None or throughput is None:
        yield cannot(name, "no mean latency is known")
    else:
        flight = throughput * mean_s
        held = flight <= profile.users * (1 + COUNTED_TOLERANCE)
        yield judged(name, float(profile.users), flight, held, "at most ")
    if trial.settle_s:
        yield cannot(LAW, "the law is that of a whole load, and its head does not count")
    else:
        yield _law(trial, profile, each)


def _law(trial: AuditedTrial, profile: ClosedLoad, each: int | None) -> TrialCheck:
    """Throughput from users, loops, ramp, latency, and what users wait inside the generator; users are alike."""
    mean_s, requests = number_of(trial, "latency_mean_s"), trial.requests
    if profile.stages:
        return cannot(LAW, "users come and go in stages")
    if requests is None:
        return cannot(LAW, "the time between requests is not known: the tool writes no single ones")
    if each is None:
        return cannot(LAW, "the requests of each user are not fixed")
    if mean_s is None or not mean_s > 0:
        return cannot(LAW, "no mean latency is known")
    try:
        between_s = trial.between_s or 0.0
    except InputError as problem:
        return TrialCheck(name=LAW, result="failed", why=str(problem))
    think_s = min(profile.think_time_s, between_s)
    expected_per_s = closed_loop_per_s(
        users=profile.users, loops=each, mean_response_s=mean_s, ramp_up_s=profile.ramp_up_s, think_time_s=think_s,
        between_s=between_s - think_s,
    )  # fmt: skip
    return near(LAW, expected_per_s, number_of(trial, "throughput_per_s"), LAW_TOLERANCE)


def _open(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Arrivals: what was to be offered was sent, or is counted as never sent; and at the rate it was to be."""
    profile, load = trial.profile, trial.load
    assert isinstance(profile, OpenLoad)
    whole_s = profile.parts * profile.duration_s
    planned = profile.rate_per_s * whole_s
    sent = load.n_requests if load.n_flows is None else load.n_flows
    name = "arrivals planned are arrivals sent and dropped"
    # Poisson arrivals are themselves random; even ones may lose one at each end of each part
    slack = 4 * np.sqrt(planned) if profile.arrivals == "poisson" else 2.0 * profile.parts
    arrived = sent + (load.n_dropped or 0)
    yield judged(name, planned, float(arrived), abs(arrived - planned) <= slack)
    name = "the rate that was reported is the rate that was asked for"
    if load.offered_per_s is None:
        yield cannot(name, "the tool does not tell")
    elif load.n_flows is None:
        yield near(name, profile.rate_per_s, load.offered_per_s, SAME)
    else:
        yield cannot(name, "of a flow requests are counted, not passes")
    name = "arrivals come within the time of the load"
    requests = trial.requests
    if requests is None or load.n_flows is not None:
        yield cannot(name, "the tool writes no single arrivals")
    else:
        span = float(np.ptp(requests["start_epoch_s"].to_numpy(dtype=np.float64)))
        yield judged(name, profile.whole_s, span, span <= profile.whole_s * (1 + LAW_TOLERANCE), "at most ")


INSTANTS = 100_000
HEAD = "the tool writes no single requests, and the head of the load does not count"
FEW = "too few requests beyond it"


def audit_trial(trial: AuditedTrial) -> tuple[TrialCheck, ...]:
    """Return every check of one trial, those that cannot be made too."""
    laws = _closed(trial) if isinstance(trial.profile, ClosedLoad) else _open(trial)
    return (*_totals(trial), *_ratios(trial), *_little(trial), *laws)


def _totals(trial: AuditedTrial) -> Iterator[TrialCheck]:
    load, requests, counted = trial.load, trial.requests, trial.n_counted
    name = "the table counts the requests of the record"
    yield near(name, counted[0], number_of(trial, "n_requests")) if counted else cannot(name, HEAD)
    name, right = "rows are the requests, wrong ones too", load.n_requests - load.n_errors
    if requests is None:
        yield cannot(name, "the tool writes no single requests")
    else:
        n_right = int(requests["ok"].sum())
        yield near(f"{name}: right", right, n_right)
        yield near(f"{name}: wrong", load.n_errors, len(requests) - n_right)
    name = "requests by name add up"
    if not load.answers:
        yield cannot(name, "the record has no counts by name")
    else:
        yield near(f"{name}: sent", load.n_requests, sum(a.n_requests for a in load.answers.values()))
        yield near(f"{name}: right", right, sum(a.n_right for a in load.answers.values()))


def _ratios(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """A ratio is what its words say, computed from the parts again."""
    load, profile = trial.load, trial.profile
    paused_s = profile.paused_s if isinstance(profile, OpenLoad) else 0.0
    asked_s, counted = trial.counted_s - paused_s, trial.n_counted
    name, throughput = "throughput is right answers over time", number_of(trial, "throughput_per_s")
    yield near(name, counted[1] / asked_s, throughput, SAME) if counted else cannot(name, HEAD)
    cpu_s, cores = number_of(trial, "cpu_s_per_request"), number_of(trial, "service_cores")
    # the window may be cut at the edges of the measurement's own phase
    name = "CPU time per request times requests is the service's CPU time"
    why = "the service's CPU time is not known"
    used_s = None if cpu_s is None or counted is None else cpu_s * counted[0]
    yield near(name, None if cores is None else cores * trial.counted_s, used_s, LAW_TOLERANCE, why)
    headroom, echo = number_of(trial, "headroom_ratio"), number_of(trial, "echo_per_s")
    name, why = "headroom is the echo's rate over that of the trial", "the generator's own limit is not known"
    ratio = None if echo is None or headroom is None else echo / load.achieved_per_s
    yield near(name, ratio, headroom, SAME, why)


def _little(trial: AuditedTrial) -> Iterator[TrialCheck]:
    """Requests in flight: throughput times latency, counted from the rows at even instants."""
    of_rows = "mean latency is that of the rows", "p99 is that of the rows"
    names = (*of_rows, "Little's law, counted in the rows")
    if trial.requests is None and trial.histogram is not None:
        yield from _counted(trial, trial.histogram)
        return
    requests = trial.counted
    if requests is None or not requests["ok"].any():
        yield from (cannot(name, "the tool writes no single requests") for name in names)
        return
    ok = requests[requests["ok"].astype(bool)]
    start, latency = (ok[name].to_numpy(dtype=np.float64) for name in ("start_epoch_s", "latency_s"))
    yield near(names[0], float(latency.mean()), number_of(trial, "latency_mean_s"), SAME)
    p99 = float(np.sort(latency)[rank(latency.size, 0.99) - 1])
    yield near(names[1], p99, number_of(trial, "latency_p99_s"), SAME, FEW)
    mean_s = number_of(trial, "latency_mean_s")
    known = None if mean_s is None else ok.shape[0] / trial.counted_s * mean_s
    yield near(names[2], in_flight(start, latency), known, COUNTED_TOLERANCE, "no mean latency is known")


def _counted(trial: AuditedTrial, histogram: LatencyHistogram) -> Iterator[TrialCheck]:
    names = ("mean latency is that of the histogram", "p99 is that of the histogram")
    yield near("the histogram holds the latencies of the record", trial.load.n_latencies or 0, histogram.n)
    if not histogram.n:
        yield from (cannot(name, "no latency was measured") for name in names)
        return
    each_s = np.repeat(histogram.value_us, histogram.count) / 1e6
    yield near(names[0], float(each_s.mean()), number_of(trial, "latency_mean_s"), SAME)
    p99 = float(each_s[rank(histogram.n, 0.99) - 1])
    yield near(names[1], p99, number_of(trial, "latency_p99_s"), SAME, FEW)


def in_flight(start_s: np.ndarray, latency_s: np.ndarray) -> float:
    """Return how many requests overlap on average, counted at ``INSTANTS`` even instants of the load."""
    begins, ends = np.sort(start_s), np.sort(start_s + latency_s)
    step = (ends[-1] - begins[0]) / INSTANTS
    at = begins[0] + step * (np.arange(INSTANTS) + 0.5)
    return float(np.mean(np.searchsorted(begins, at, "right") - np.searchsorted(ends, at, "right")))
