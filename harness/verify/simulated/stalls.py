# SPDX-License-Identifier: Apache-2.0
"""Verification of stall detection: every pause that can be seen is, and nothing else, under any arrivals.

Counted are pauses of at least twice the ordinary 99th percentile that held up ten requests
or more; finding a smaller one is neither right nor wrong. Two common peak finders stand in the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy  # loads its slow submodules when they are first used

from harness.analysis.attribution.event_matching import match_events
from harness.analysis.attribution.slow_periods import ALPHA
from harness.analysis.attribution.spans import Span
from harness.analysis.attribution.stalls import stalls_at
from harness.formats.arrays import FloatArray
from harness.verify.simulated.queueing import Pauses
from harness.verify.simulated.result import Cell, VerifyResult, f1, frequency, result
from harness.verify.simulated.stall_scenarios import closed_loops, fresh, held_out, open_loops

TOLERANCE_S = 0.005
F1, FALSE_PER_MINUTE = 0.95, 0.1
FEWEST_BLOCKED = 10
#: The threshold that peak finders are commonly used with, in their spreads.
COMMON = 3.0
#: Seconds of pause-free load for every simulated pause.
CALM_S = 10.0


class Score(NamedTuple):
    """Right finds, finds in all, and pauses that were to be found."""

    right: int
    found: int
    truth: int

    @property
    def f1(self) -> float:
        total = self.found + self.truth
        return 2 * self.right / total if total else 1.0


class ToFind(NamedTuple):
    """The pauses among some requests: those that could be seen, and those too small for it."""

    seen: list[Span]
    small: list[Span]


#: Starts and latencies of a trial, and thresholds: what is found at each.
Finder = Callable[[FloatArray, FloatArray, Sequence[float]], list[list[Span]]]


def stalls(sims: int, seed: int) -> VerifyResult:
    """``sims`` pauses a cell (four times that at slow loads), ten calm seconds for each; controls: two peak finders."""
    finders: dict[str, Finder] = {"find_peaks": find_peaks, "Hampel": hampel}
    cells: list[Cell] = []
    calm: dict[str, tuple[int, float]] = {}
    peers: dict[str, list[Score]] = {name: [] for name in finders}
    ours: list[Score] = []
    for number, scenario in enumerate([*open_loops(), *closed_loops(), *held_out(), *fresh()]):
        rng = np.random.default_rng([seed, number])
        minutes = sims * CALM_S / 60 * scenario.calm_share
        start, latency = scenario.simulate(minutes * 60, Pauses(), rng)
        p99 = float(np.quantile(latency, 0.99))
        n_false, so_far = calm.get(scenario.group, (0, 0.0))
        calm[scenario.group] = (n_false + len(detected(start, latency, (ALPHA,))[0]), so_far + minutes)
        length_s = max(2 * p99, FEWEST_BLOCKED / (len(start) / (minutes * 60)))
        pauses = scenario.pauses(sims * scenario.more, length_s, rng)
        start, latency = scenario.simulate(pauses.spans[-1][1] + 0.5, pauses, rng)
        wanted = to_find(pauses, start, latency, 2 * p99)
        ours.append(scored(detected(start, latency, (ALPHA,))[0], wanted))
        for name, find in finders.items():
            peers[name].append(scored(find(start, latency, (COMMON,))[0], wanted))
        cells.append(f1(*ours[-1], name=f"F1, {scenario.group}, {scenario.name}", at_least=F1))
    for group, (n_false, minutes) in calm.items():
        cells.append(
            frequency(
                n_false,
                minutes,
                name=f"false stalls a minute, {group}",
                at_most=FALSE_PER_MINUTE,
            )
        )
    for name, scores in peers.items():
        best = min(float(np.median([s.f1 for s in ours])), F1)
        cells.append(
            Cell(
                name=f"{name}: median F1 in the same cells",
                value=float(np.median([s.f1 for s in scores])),
                at_most=best - 0.05,
                control=True,
            )
        )
    return result(
        "stalls", bar="F1 >= .95 in every cell; <= .1 false stalls a minute without pauses",
        control="find_peaks and Hampel do worse on the same requests", cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def detected(start: FloatArray, latency: FloatArray, alphas: Sequence[float]) -> list[list[Span]]:
    """Return what the detector finds at each chance of a false stall in a trial."""
    return [[(s.start_s, s.end_s) for s in stall] for stall in stalls_at(start, latency, alphas)]


def to_find(pauses: Pauses, start: FloatArray, latency: FloatArray, shortest_s: float) -> ToFind:
    """Return the pauses that could be seen in these requests, and those that could not."""
    came, answered = np.sort(start), np.sort(start + latency)
    match = ToFind([], [])
    for low, high in pauses.spans:
        blocked = int(np.searchsorted(came, high) - np.searchsorted(answered, high))
        seen = high - low >= shortest_s * (1 - 1e-9) and blocked >= FEWEST_BLOCKED
        (match.seen if seen else match.small).append((low, high))
    return match


def scored(found: Sequence[Span], wanted: ToFind) -> Score:
    """Return the score of ``found`` on the pauses that could be seen; smaller ones do not count either way."""
    matching = match_events(found, wanted.seen, tolerance_s=TOLERANCE_S)
    matched = {i for i, _ in matching.pairs}
    rest = [span for i, span in enumerate(found) if i not in matched]
    n_small = len(match_events(rest, wanted.small, tolerance_s=TOLERANCE_S).pairs)
    return Score(right=len(matching.pairs), found=len(found) - n_small, truth=len(wanted.seen))


def find_peaks(start: FloatArray, latency: FloatArray, above: Sequence[float]) -> list[list[Span]]:
    """``scipy.signal.find_peaks`` as commonly used: so many standard deviations above the mean, one prominent."""
    mean, spread = float(latency.mean()), float(latency.std())
    peaks, match = scipy.signal.find_peaks(latency, height=mean + min(above) * spread, prominence=spread)
    flagged = [np.zeros(len(start), dtype=bool) for _ in above]
    for mask, times in zip(flagged, above, strict=True):
        mask[peaks[match["peak_heights"] >= mean + times * spread]] = True
    return [_joined(start, latency, mask) for mask in flagged]


def hampel(start: FloatArray, latency: FloatArray, above: Sequence[float]) -> list[list[Span]]:
    """A Hampel filter: more than so many scaled median deviations above the rolling median."""
    middle = scipy.ndimage.median_filter(latency, size=1001, mode="nearest")
    spread = 1.4826 * scipy.ndimage.median_filter(np.abs(latency - middle), size=1001, mode="nearest")
    return [_joined(start, latency, latency > middle + times * spread) for times in above]


def _joined(start: FloatArray, latency: FloatArray, flagged: npt.NDArray[np.bool_]) -> list[Span]:
    """Give the peers every chance: what they flag within the tolerance of each other is one find."""
    spans: list[Span] = []
    for low, length in zip(start[flagged].tolist(), latency[flagged].tolist(), strict=True):
        if spans and low <= spans[-1][1] + TOLERANCE_S:
            spans[-1] = (spans[-1][0], max(spans[-1][1], low + length))
        else:
            spans.append((low, low + length))
    return spans
