# SPDX-License-Identifier: Apache-2.0
"""How a service scales: with load, up to a knee; with cores, by the universal scalability law. Intervals over trials.

A bend: y = a + b load + c max(0, load - knee), by least squares over a grid of knees (Hudson 1966; Muggeo 2003), with
the percentile interval of a bootstrap of whole trials within each load. ``knee``: y is log latency, c > 0;
``saturation``: y is right answers per second, c < 0. A bend at the first or last place is none.

Cores (Gunther 2007): X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)); lambda: throughput of one core, sigma:
contention, kappa: coherency. Nothing is extrapolated beyond the sizes that were measured.
"""

from __future__ import annotations

import heapq

import numpy as np
import scipy  # loads its slow submodules when they are first used
from numpy.typing import ArrayLike

from harness.analysis.stats.inputs import Floats, finite, trial_values
from harness.errors import InputError
from harness.model import Estimate
from harness.model.base import Frozen

#: Ends of the 95 % intervals.
_ENDS = [(1 - 0.95) / 2, (1 + 0.95) / 2]
#: Fewer distinct loads than this leave a segment without a load to spare: each needs three points.
MIN_LOADS = 6
#: Candidate knees between the second load and the last but one; beyond these a bend cannot be told from a point
#: that lies off the line.
GRID = 121
#: The bend must take this share of the squares that a straight line leaves, else there is none.
MIN_GAIN = 0.5
#: A bend found in fewer resamples than this is not one that another session would show.
MIN_FOUND_SHARE = 0.9
_HOW = "segmented regression of {}, bootstrap over trials"


#: What is looked for: method and estimand in words.
_KNEE = {
    "method": _HOW.format("log latency"), "estimand": "load at which log latency begins to rise faster", "unit": "1/s"
}  # fmt: skip
_SATURATION = {
    "method": _HOW.format("right answers per second"), "unit": "1/s",
    "estimand": "load up to which right answers follow what is offered",
}  # fmt: skip


def knee(
    load_per_s: ArrayLike, latency_s: ArrayLike, *, n_resamples: int = 500, seed: int = 0, inputs: tuple[str, ...] = ()
) -> Estimate:  # fmt: skip
    """Return the load at which latency begins to rise faster, in the unit of ``load_per_s``; no value: none is shown.
    ``load_per_s, latency_s``: one value per trial, shape (k,), both above zero, else InputError."""
    load, latency = _pairs(load_per_s, latency_s, "latency_s")
    if (latency <= 0).any():
        raise InputError("latencies are above zero", found="0 or less", allowed="positive numbers")
    return _bend(load, np.log(latency), _KNEE, n_resamples, seed, inputs)


def saturation(
    load_per_s: ArrayLike, answered_per_s: ArrayLike, *, n_resamples: int = 500, seed: int = 0,
    inputs: tuple[str, ...] = (),
) -> Estimate:  # fmt: skip
    """Return the load beyond which right answers fall behind what is offered; as :func:`knee`, answers may be 0."""
    load, answered = _pairs(load_per_s, answered_per_s, "answered_per_s")
    if (answered < 0).any():
        raise InputError("answers are counted", found="less than 0", allowed="0 or more per second")
    return _bend(load, -answered, _SATURATION, n_resamples, seed, inputs)


def _pairs(load_per_s: ArrayLike, values: ArrayLike, name: str) -> tuple[Floats, Floats]:
    load, values_at = trial_values(load_per_s, "load_per_s"), trial_values(values, name)
    if load.shape != values_at.shape:
        raise InputError(f"one {name} per load", found=f"{values_at.shape}", allowed=f"{load.shape}")
    if (load <= 0).any():
        raise InputError("loads are above zero", found="0 or less", allowed="positive numbers")
    return load, values_at


def _bend(
    load: Floats, y: Floats, sought: dict[str, str], n_resamples: int, seed: int, inputs: tuple[str, ...]
) -> Estimate:
    loads = np.unique(load)
    about: dict[str, object] = {**sought, "n_trials": load.size, "inputs": inputs}

    def none(why: str) -> Estimate:
        return Estimate.model_validate({**about, "value": None, "warnings": (why,)})

    if loads.size < MIN_LOADS:
        return none(f"{loads.size} loads, {MIN_LOADS} needed for two segments")
    groups = [y[load == item] for item in loads]
    sizes = np.array([group.size for group in groups], dtype=np.float64)
    fit = _Fit(loads, sizes)
    places, gain = fit.best(
        np.array([[group.mean()] for group in groups]),
        np.array([sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)]),
    )
    if not np.isfinite(places[0]) or gain[0] < MIN_GAIN:
        return none("no bend: a straight line fits as well")
    again, gained = fit.best(*_resampled(groups, n_resamples, np.random.default_rng(seed)))
    draws = again[np.isfinite(again) & (gained >= MIN_GAIN)]
    if draws.size < MIN_FOUND_SHARE * n_resamples:
        return none(f"a bend in {draws.size / max(n_resamples, 1):.0%} of the resamples only")
    first, last = fit.reach
    if not first < places[0] < last:
        side = "before" if places[0] <= first else "beyond"
        edge = f"it may lie {side} {places[0]:.4g} per second, where too few loads were offered"
        return none(f"the bend is at the edge of what can be told: {edge}")
    low, high = (float(q) for q in np.quantile(draws, _ENDS))
    warnings = [f"{loads.size} loads: the bend is no finer than they are"]
    if low <= first:
        warnings.append("the interval is open below: no bend before the second load could be told")
    if high >= last:
        warnings.append("the interval is open above: no bend after the last load but one could be told")
    if sizes.min() < 10:
        warnings.append(f"{int(sizes.min())} trials at a load: the interval is too narrow")
    ends: dict[str, object] = {"low": low if low > first else None, "high": high if high < last else None}
    value: dict[str, object] = {"value": float(places[0]), "seed": seed, "warnings": tuple(warnings)}
    return Estimate.model_validate(about | ends | value)


class _Fit:
    """Least squares of both models for many sets of group means at once; squares within groups are the same."""

    def __init__(self, loads: Floats, sizes: Floats) -> None:
        self._weights = np.sqrt(sizes)[:, None]
        straight = np.column_stack([np.ones_like(loads), loads])
        self._line = np.linalg.qr(straight * self._weights)[0]
        self._knees = np.linspace(loads[1], loads[-2], GRID)
        bends = [
            np.linalg.qr(np.column_stack([straight, np.maximum(0.0, loads - at)]) * self._weights)
            for at in self._knees
        ]
        #: what the bend adds to the line: one direction a candidate, turned so that upwards is positive
        self._bends = np.array([q[:, 2] * np.sign(r[2, 2]) for q, r in bends])

    @property
    def reach(self) -> tuple[float, float]:
        """Between which a knee can be told: one step of the grid within its ends."""
        return float(self._knees[1]), float(self._knees[-2])

    def best(self, means: Floats, within: Floats) -> tuple[Floats, Floats]:
        """Return the knee of least squares that bends upwards (NaN: none), and the share of the line's squares it
        takes; of means of y, shape (loads, sets), and the squares within the groups, shape (sets,)."""
        y = means * self._weights
        left = within + np.sum((y - self._line @ (self._line.T @ y)) ** 2, axis=0)
        along = self._bends @ y
        gains = np.where(along > 0, along**2, -np.inf)
        place = np.argmax(gains, axis=0)
        most = gains[place, np.arange(y.shape[1])]
        upwards = np.isfinite(most)
        share = np.divide(most, left, out=np.zeros_like(left), where=upwards & (left > 0))
        return np.where(upwards, self._knees[place], np.nan), share


def _resampled(groups: list[Floats], n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Means and squares within the groups when whole trials are drawn anew within each load."""
    means, within = [], np.zeros(n)
    for group in groups:
        drawn = group[rng.integers(0, group.size, (n, group.size))]
        means.append(drawn.mean(axis=1))
        within += np.sum((drawn - drawn.mean(axis=1, keepdims=True)) ** 2, axis=1)
    return np.array(means), within


N_RESAMPLES = 1000
#: Three numbers are fitted, so fewer sizes leave nothing to check the law with.
FEWEST_SIZES = 3


class ScalingFit(Frozen):
    """The law's numbers, each with its interval. ``peak_cores``: where throughput is highest, if within the sizes."""

    per_core_per_s: Estimate
    contention: Estimate
    coherency: Estimate
    peak_cores: Estimate


#: Number of the law -> in words, and its unit.
_NUMBERS = {
    "per_core_per_s": ("throughput of one core", "1/s"), "contention": ("contention", "share"),
    "coherency": ("coherency", "share"), "peak_cores": ("peak", "cores"),
}  # fmt: skip


def usl(cores: ArrayLike, per_core: float, contention: float, coherency: float) -> Floats:
    """Return the law's throughput at these numbers of cores, shape of ``cores``."""
    n = np.asarray(cores, dtype=np.float64)
    return np.asarray(per_core * n / (1 + contention * (n - 1) + coherency * n * (n - 1)))


def fit_usl(
    cores: ArrayLike, throughput_per_s: ArrayLike, blocks: ArrayLike, *, n_resamples: int = N_RESAMPLES, seed: int = 0,
    inputs: tuple[str, ...] = (),
) -> ScalingFit:  # fmt: skip
    """Fit the law to one value per trial by least squares of logarithms, with intervals of a bootstrap over blocks.
    ``cores, throughput_per_s, blocks``: shape (n,), one entry per trial. Raises InputError: fewer than three sizes,
    shapes that differ, or a throughput that is not positive."""
    n, x, block = _checked(cores, throughput_per_s, blocks)
    values = _fit(n, x, float(n.max()))
    groups = np.unique(block)
    resampled = np.full((n_resamples if len(groups) >= FEWEST_SIZES else 0, 4), np.nan)
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(block == group) for group in groups]
    for row in resampled:
        chosen = np.concatenate([members[i] for i in rng.integers(0, len(members), len(members))])
        if len(np.unique(n[chosen])) >= FEWEST_SIZES:
            row[:] = _fit(n[chosen], x[chosen], float(n.max()))
    few = ("few blocks: the percentile interval is too narrow",) if len(groups) < 10 else ()
    estimates = {
        name: _estimate(value, draws, what, unit, len(n), seed, inputs, few)
        for value, draws, (name, (what, unit)) in zip(values, resampled.T, _NUMBERS.items(), strict=True)
    }
    return ScalingFit(**estimates)


def _checked(
    cores: ArrayLike, throughput_per_s: ArrayLike, blocks: ArrayLike
) -> tuple[Floats, Floats, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    n, x = np.asarray(cores, dtype=np.float64), np.asarray(throughput_per_s, dtype=np.float64)
    block = np.asarray(blocks)
    if n.ndim != 1 or n.shape != x.shape or n.shape != block.shape:
        shapes = f"{n.shape}, {x.shape}, {block.shape}"
        raise InputError("one value per trial each", found=shapes, allowed="three of shape (n,)")
    if (n_sizes := len(np.unique(n))) < FEWEST_SIZES:
        allowed = f"{FEWEST_SIZES} or more"
        raise InputError("too few numbers of cores for the law", found=f"{n_sizes}", allowed=allowed)
    if not (np.isfinite(x).all() and (x > 0).all() and np.isfinite(n).all() and (n >= 1).all()):
        raise InputError("throughput must be positive, and cores at least one", found="other values")
    return n, x, block


def _fit(n: Floats, x: Floats, most: float) -> tuple[float, float, float, float]:
    """Return lambda, sigma, kappa and the peak at sqrt((1 - sigma) / kappa); NaN: beyond what was measured."""
    first = float(np.exp(np.mean(np.log(x[n == n.min()])))) / float(n.min())
    logs = np.log(x)

    def residuals(p: Floats) -> Floats:
        return np.asarray(np.log(usl(n, float(np.exp(p[0])), p[1], p[2])) - logs)

    start = [float(np.log(first)), 0.05, 0.001]
    result = scipy.optimize.least_squares(
        residuals, start, bounds=([-np.inf, 0, 0], [np.inf, 1, 1]), x_scale=[1, 0.1, 0.01]
    )
    sigma, kappa = float(result.x[1]), float(result.x[2])
    peak = float(np.sqrt((1 - sigma) / kappa)) if kappa > 0 else np.inf
    return float(np.exp(result.x[0])), sigma, kappa, peak if peak <= most else np.nan


def _estimate(
    value: float, resampled: Floats, what: str, unit: str, n_trials: int, seed: int, inputs: tuple[str, ...],
    warnings: tuple[str, ...],
) -> Estimate:  # fmt: skip
    usable = resampled[np.isfinite(resampled)]
    known = bool(np.isfinite(value))
    low = high = None
    if not known:
        warnings = (*warnings, "beyond the numbers of cores that were measured")
    elif not usable.size >= 0.9 * resampled.size > 0:
        warnings = (*warnings, "too few blocks for an interval")
    else:
        low, high = (float(end) for end in np.quantile(usable, _ENDS))
        if low == high:  # no resample moves it: a bound of the law, or values without noise
            low = high = None
            warnings = (*warnings, "every resample gives the same value: no interval")
    return Estimate(
        value=value if known else None, low=low, high=high, unit=unit,
        method="least squares of logarithms; cluster bootstrap over blocks",
        estimand=f"{what} of the universal scalability law", n_trials=n_trials, seed=seed, inputs=inputs,
        warnings=warnings,
    )  # fmt: skip


def closed_loop_per_s(
    *, users: int, loops: int, mean_response_s: float, ramp_up_s: float = 0.0, think_time_s: float = 0.0,
    between_s: float = 0.0,
) -> float:  # fmt: skip
    """Return the throughput of a closed plan, 1/s: N L / (R (N-1)/N + L (RT + think + between)). ``between_s``: mean
    time from an answer to the same user's next request beyond ``think_time_s``; 0: not known. Raises InputError: no
    users or loops, a negative time, or nothing that takes any time."""
    times = (mean_response_s, ramp_up_s, think_time_s, between_s)
    duration_s = 0.0
    if users >= 1 and loops >= 1 and all(0 <= time < float("inf") for time in times):
        duration_s = ramp_up_s * (users - 1) / users + loops * (mean_response_s + think_time_s + between_s)
    if duration_s <= 0:
        raise InputError(
            "not a plan",
            found=f"users={users}, loops={loops}, mean_response_s={mean_response_s}, ramp_up_s={ramp_up_s}",
            allowed="at least one user and loop, finite times of 0 or more, and a mean response or a ramp above 0",
        )
    return users * loops / duration_s


def time_between(
    start_s: ArrayLike, latency_s: ArrayLike, *, users: int, requests_each: int | None = None, ramp_up_s: float = 0.0
) -> float | None:  # fmt: skip
    """Return the mean time between an answer and the same user's next request; ``None``: no user sent a second one.
    Raises InputError: no user, lengths that differ, or more requests than these users send.

    Users are put together from the requests: whoever has been free the longest sends next, as threads that wait for a
    core.

    Args:
        start_s, latency_s: of every request, wrong answers too, shapes (n,), any order.
        users: who start evenly over ``ramp_up_s``. requests_each: after so many a user is done; ``None``: none is.
    """
    start, latency = finite(start_s, "start_s"), finite(latency_s, "latency_s")
    if users < 1 or start.size != latency.size:
        raise InputError(
            "no closed load", found=f"{users} users, {start.size} starts, {latency.size} latencies",
            allowed="one user or more, and a latency for each start",
        )  # fmt: skip
    if requests_each is not None and start.size > users * requests_each:
        most = f"at most {users * requests_each}"
        raise InputError("more requests than these users send", found=start.size, allowed=most)
    order = np.argsort(start, kind="stable")
    begins = (start[order] - start[order[0]]).tolist()
    ends = (start[order] - start[order[0]] + latency[order]).tolist()
    # (free since, number of the user, requests so far); sorted as it is, so it is a heap
    free = [(ramp_up_s * user / users, user, 0) for user in range(users)]
    waited_s, n_gaps = 0.0, 0
    for begin, end in zip(begins, ends, strict=True):
        since, user, n_sent = free[0]
        if n_sent:
            waited_s += begin - since
            n_gaps += 1
        if n_sent + 1 == requests_each:
            heapq.heappop(free)
        else:
            heapq.heapreplace(free, (end, user, n_sent + 1))
    return max(waited_s / n_gaps, 0.0) if n_gaps else None
