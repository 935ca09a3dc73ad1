# SPDX-License-Identifier: Apache-2.0
"""Verification of leaving out trials at another speed of the CPUs: the ratio stays right, and is told more closely."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.verdicts import FEWEST_FOR_P
from harness.analysis.tables.resource_columns import SERVICE, exclude_other_speeds
from harness.verify.simulated.comparisons import LEVEL
from harness.verify.simulated.result import Cells, VerifyResult

#: True log of the ratio, and the standard deviation of a trial's log.
TRUTH, NOISE = float(np.log(1.03)), 0.01
#: What the other guest of a core costs, as a log, where the guest works all the time; and for how many trials.
SLOWED, LASTS = float(np.log(1.35)), 4
#: By how much of that each of the two services is slower: one waits for memory more than the other.
RESPONSES = (1.0, 0.8)
#: Of a reading's mean over a load, as a log.
READING = 0.015
STEP_S = 64e-9
#: With a larger share of slowed trials none of the faster quarter is at full speed for sure.
MOST_SLOWED = 0.75
#: Of the control: trials of one service that are slow by themselves, which share and by how much.
OWN_SHARE, OWN_SLOW = 0.25, 0.2

Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class _Sessions(NamedTuple):
    """Logs of throughput and of the CPU time of a step, shape (sims, blocks, 2), and which trials were slowed."""

    logs: Floats
    steps: Floats
    slowed: Mask


def speed(sims: int, seed: int) -> VerifyResult:
    """Sessions of two services; control: trials are left out because they answered less, not for their CPUs."""
    cells = Cells(
        "speed", sims, seed,
        bar="coverage in [.93, .97] with half the width or less where a fifth of the trials were slowed; slowed "
        "trials left out in >= .99, where no more than .75 were; <= .001 left out where none was",
        control="left out for their own throughput: coverage <= .70",
    )  # fmt: skip
    for number, (busy, k) in enumerate(product((0.05, 0.2), (10, 20))):
        sessions = _sessions(np.random.default_rng([seed, number]), sims, k, busy)
        words, used = f"another guest in {busy:.0%} of the trials, k = {k}", ~_excluded(sessions.steps)
        # where nearly all trials were slowed, those at full speed are the ones that differ
        few = sessions.slowed.mean(axis=(1, 2), keepdims=True) < MOST_SLOWED
        slowed = np.asarray(sessions.slowed & few)
        width = _width_left(sessions.logs, used)
        coverage = _coverage(sessions.logs, used, TRUTH)
        cells.share(f"coverage, {words}", coverage, at_least=0.93, at_most=0.97)
        left_out = float((~used)[slowed].mean())
        cells.share(f"slowed trials left out, {words}", left_out, n=int(slowed.sum()), at_least=0.99)
        half = 0.5 if sessions.slowed.mean() > 0.15 else None
        cells.average(f"width over that with all trials, {words}", width, at_most=half)
    sessions = _sessions(np.random.default_rng([seed, 98]), sims, 20, 0.0)
    wrongly = float(_excluded(sessions.steps).mean())
    cells.share("left out with no other guest, k = 20", wrongly, n=sims * 40, at_most=0.001)
    sessions = _sessions(np.random.default_rng([seed, 99]), sims, 20, 0.0, own=OWN_SHARE)
    usual = np.median(sessions.logs, axis=1, keepdims=True)
    coverage = _coverage(sessions.logs, sessions.logs > usual - 0.1, TRUTH - OWN_SHARE * OWN_SLOW)
    name = f"coverage, left out for their throughput, {OWN_SHARE:.0%} slow by themselves, k = 20"
    cells.share(name, coverage, at_most=0.7, control=True)
    return cells.result()


def _sessions(rng: np.random.Generator, sims: int, k: int, busy: float, own: float = 0.0) -> _Sessions:
    """Simulate sessions. ``busy``: share of trials with another guest, in runs of ``LASTS`` on average; ``own``: of the
    first service's trials that are slow by themselves."""
    slowed = np.zeros((sims, 2 * k), dtype=bool)
    now = rng.random(sims) < busy
    for place in range(2 * k):
        slowed[:, place] = now
        begins = rng.random(sims) < busy / (LASTS * (1 - busy))
        ends = rng.random(sims) < 1 / LASTS
        now = np.where(now, ~ends, begins)
    order = rng.permuted(np.tile(np.array([0, 1]), (sims, k, 1)), axis=2)
    by_place = slowed.reshape(sims, k, 2)
    own_part = np.take_along_axis(by_place, np.argsort(order, axis=2), axis=2)
    logs = (
        np.array([TRUTH, 0.0])
        - own_part * SLOWED * np.array(RESPONSES)
        + NOISE * rng.standard_normal((sims, k, 2))
    )
    logs[:, :, 0] -= OWN_SLOW * (rng.random((sims, k)) < own)
    steps = own_part * SLOWED + READING * rng.standard_normal((sims, k, 2))
    return _Sessions(logs, steps, own_part)


def _excluded(steps: Floats) -> Mask:
    """Return which trials the function that makes the tables leaves out, session by session."""
    out = np.zeros(steps.shape, dtype=bool)
    for number, session in enumerate(steps):
        rows: list[dict[str, object]] = [
            {SERVICE: STEP_S * float(np.exp(step)), "load_name": "", "bound_by": "service", "excluded": False}
            for step in session.ravel()
        ]
        exclude_other_speeds(rows)
        out[number] = np.array([row["excluded"] for row in rows]).reshape(session.shape)
    return out


def _intervals(logs: Floats, used: Mask) -> Floats:
    """Return the paired log-t interval of each session over whole blocks, shape (2, sessions); NaN: too few."""
    bounds = np.full((2, len(logs)), np.nan)
    for number, whole in enumerate(np.asarray(used.all(axis=2))):
        if whole.sum() >= FEWEST_FOR_P:
            session = intervals.student((logs[number, :, 0] - logs[number, :, 1])[whole], LEVEL)
            bounds[:, number] = session.low, session.high
    return bounds


def _coverage(logs: Floats, used: Mask, truth: float) -> float:
    """Return the share of the sessions with a verdict whose interval holds the truth."""
    low, high = _intervals(logs, used)
    return float(((low <= truth) & (truth <= high))[~np.isnan(low)].mean())


def _width_left(logs: Floats, used: Mask) -> Floats:
    """Return the width of the interval over that with all trials, of each session with a verdict."""
    (low, high), (low_of_all, high_of_all) = _intervals(logs, used), _intervals(logs, np.ones_like(used))
    ratio = (high - low) / (high_of_all - low_of_all)
    return np.asarray(ratio[~np.isnan(ratio)])
