# SPDX-License-Identifier: Apache-2.0
"""Verification of duets: two arms at once on two cores, which are exchanged, beside a neighbour on one of the cores.

Time is cut into slices. In each a core gives its capacity, less what a neighbour takes of it, times the speed of its
arm. The neighbour is an on-off hog on core 0 (exponential spells of a mean of .2 to 5 s, most of the core while it is
on), the second core is slower than the first, and both have slow drift in common. A trial's throughput is the mean over
its slices. Trials of the alternating design have core 0 for themselves, and the other core for their generator.

A trial adds noise of its own: between processes of a settled service little, between fresh JVMs much more, which no
duet can take away; the widths are given for both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.verify.simulated.comparisons import LEVEL, covered
from harness.verify.simulated.result import Cells, VerifyResult

#: As in ``harness/agent/affinity.py``, which makes calls that only Linux has.
JITTER = 0.2

N_BLOCKS = 10
LOAD_S, AROUND_S = 10.0, 8.0
SLICE_S, INTERVAL_S = 0.05, 0.5
#: Mean length of a hog's spells, on as long as off.
SPELLS_S = (0.2, 1.0, 5.0)
#: Of the core while the hog is on; what the second core gives of the first; what the exchange itself costs.
TAKEN, SLOWER, EXCHANGE_COST = 0.5, 0.97, 0.002
#: Standard deviation of a process's own log throughput: of a settled Go service, and of a fresh JVM.
OWN, OWN_FRESH = 0.008, 0.10
#: Of slow drift of the whole machine, from slice to slice (AR with a time constant of a minute).
DRIFT, DRIFT_S = 0.10, 60.0
#: A handicap of 5 % of the CPU time of a service that uses 55 % of its arm.
EFFECT = float(-np.log(0.55 / 0.95 + 0.45))


class Design(NamedTuple):
    """How the two trials of a pair run: at once or one after the other; whether cores are exchanged."""

    at_once: bool = True
    exchanged: bool = True


DUET, STILL, ALTERNATING = Design(), Design(exchanged=False), Design(at_once=False)


def duet(sims: int, seed: int) -> VerifyResult:
    """Sessions of ten pairs under a hog on one core; control: both arms stay where they are."""
    cells = Cells(
        "duet", sims, seed,
        bar="false positives in [.035, .065] under on-off hogs of .2 to 5 s on one core; a known effect is in >= .93 "
        "of the intervals; half-width <= 1/3 of alternating trials in the same minutes, settled pairs",
        control="without exchange the hog's arm is called slower in > .50",
    )  # fmt: skip
    for number, spell_s in enumerate(SPELLS_S):
        d = pairs(np.random.default_rng([seed, 1, number]), sims, DUET, spell_s)
        name = f"equal arms called different, hog of {spell_s:g} s"
        cells.share(name, 1 - covered(intervals.student(d, LEVEL), 0.0), at_least=0.035, at_most=0.065)
    for number, spell_s in enumerate(SPELLS_S):
        d = pairs(np.random.default_rng([seed, 2, number]), sims, DUET, spell_s) + EFFECT
        name = f"a known effect is in the interval, hog of {spell_s:g} s"
        cells.share(name, covered(intervals.student(d, LEVEL), EFFECT), at_least=0.93)
    for number, spell_s in enumerate(SPELLS_S):
        ratio = _widths(np.random.default_rng([seed, 3, number]), sims, spell_s, OWN)
        name = f"half-width over that of alternating trials of as many minutes, hog of {spell_s:g} s"
        cells.average(name, ratio, at_most=1 / 3)
    fresh = _widths(np.random.default_rng([seed, 4]), sims, SPELLS_S[1], OWN_FRESH)
    cells.average("the same of fresh JVMs, hog of 1 s", fresh)
    still = pairs(np.random.default_rng([seed, 5]), sims, STILL, SPELLS_S[1])
    wrong = 1 - covered(intervals.student(still, LEVEL), 0.0)
    cells.share("equal arms called different, cores not exchanged", wrong, at_least=0.5, control=True)
    return cells.result()


def pairs(
    rng: np.random.Generator,
    n: int,
    design: Design,
    spell_s: float,
    own: float = OWN,
    n_blocks: int = N_BLOCKS,
) -> Floats:
    """Return the log ratio of each pair of equal arms, shape (n, n_blocks); ``own``: noise of a process."""
    return np.stack([_pairs(rng, n, design, spell_s, own) for _ in range(n_blocks)], axis=1)


def _pairs(rng: np.random.Generator, n: int, design: Design, spell_s: float, own: float) -> Floats:
    slices = round(LOAD_S / SLICE_S)
    gap = round(AROUND_S / SLICE_S)
    whole = slices if design.at_once else 2 * slices + gap
    drift = _drift(rng, n, whole)
    hog = _hog(rng, n, whole, spell_s)
    cores = np.stack([1.0 - TAKEN * hog, np.full((n, whole), SLOWER)]) * np.exp(drift)
    own_noise = rng.normal(0.0, own, (2, n))
    if not design.at_once:
        # whoever comes first is drawn, as within a block
        first, second = cores[0, :, :slices].mean(axis=1), cores[0, :, slices + gap :].mean(axis=1)
        turn = rng.random(n) < 0.5
        a, b = np.where(turn, first, second), np.where(turn, second, first)
    elif design.exchanged:
        on_second = (rng.random(n) < 0.5)[:, None] ^ _sides(rng, n, slices)
        a, b = (np.where(on_second, cores[1 - i], cores[i]).mean(axis=1) for i in range(2))
        a, b = a * (1.0 - EXCHANGE_COST), b * (1.0 - EXCHANGE_COST)
    else:
        a, b = cores.mean(axis=2)
    return np.asarray(np.log(a / b) + own_noise[0] - own_noise[1])


def _sides(rng: np.random.Generator, n: int, slices: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether an arm is on the other core than where it began, slice by slice: two intervals in a row are equal."""
    most = int(LOAD_S / (INTERVAL_S * (1 - JITTER))) // 2 + 3
    lengths = INTERVAL_S * (1 + JITTER * (2 * rng.random((n, most)) - 1))
    # a load begins anywhere between two exchanges
    ends = np.cumsum(np.repeat(lengths, 2, axis=1), axis=1) - 2 * lengths[:, :1] * rng.random((n, 1))
    middles = (np.arange(slices) + 0.5) * SLICE_S
    passed = np.stack([np.searchsorted(row, middles) for row in ends])
    return np.asarray(passed % 2 == 1)


def _hog(rng: np.random.Generator, n: int, slices: int, spell_s: float) -> Floats:
    """Whether the hog is on, slice by slice: a two-state Markov chain, on half of the time."""
    switch = 1.0 - np.exp(-SLICE_S / spell_s)
    switched = rng.random((n, slices)) < switch
    switched[:, 0] = rng.random(n) < 0.5
    return np.asarray(np.cumsum(switched, axis=1) % 2, dtype=np.float64)


def _drift(rng: np.random.Generator, n: int, slices: int) -> Floats:
    """Logs of a speed that both cores have in common, stationary from the first slice on."""
    past = float(np.exp(-SLICE_S / DRIFT_S))
    shocks = rng.normal(0.0, DRIFT * np.sqrt(1 - past**2), (n, slices))
    now = rng.normal(0.0, DRIFT, n)
    logs = np.empty((n, slices))
    for at in range(slices):
        now = past * now + shocks[:, at]
        logs[:, at] = now
    return logs


def _widths(rng: np.random.Generator, n: int, spell_s: float, own: float) -> Floats:
    """Half-width of a duet over that of alternating trials in the same minutes, session by session.

    A pair takes the time of one trial, so the duet has twice as many pairs.
    """
    duets = intervals.student(pairs(rng, n, DUET, spell_s, own, n_blocks=2 * N_BLOCKS), LEVEL)
    turns = intervals.student(pairs(rng, n, ALTERNATING, spell_s, own), LEVEL)
    return np.asarray((duets.high - duets.low) / (turns.high - turns.low))
