# SPDX-License-Identifier: Apache-2.0
"""Precision against recall of stall detection while its threshold is swept, beside two common peak finders.

Pauses of all held-out loads are pooled. The detector has one number to be swept, the chance of a false
stall in a trial; the others have how far above the ordinary a peak must be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from pydantic import Field

from harness.analysis.attribution.slow_periods import ALPHA
from harness.errors import InputError
from harness.formats.arrays import FloatArray
from harness.model import Frozen
from harness.verify.simulated.queueing import Pauses
from harness.verify.simulated.stall_scenarios import Scenario, fresh, held_out
from harness.verify.simulated.stalls import (
    CALM_S,
    COMMON,
    FEWEST_BLOCKED,
    Finder,
    ToFind,
    detected,
    find_peaks,
    hampel,
    scored,
    to_find,
)

#: Of these the slower loads, whose simulation costs little; the faster ones stand in ``verify stalls``.
_SLOWER = ("400/s", "300/s")
_CALM_TRIALS = 6


class CurvePoint(Frozen):
    """One threshold. ``None``: nothing was found, so there is no precision."""

    threshold: float
    precision: float | None
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of both; 0 when nothing was found."""
        both = (self.precision or 0.0) + self.recall
        return 2 * (self.precision or 0.0) * self.recall / both if both else 0.0


class PrecisionRecall(Frozen):
    """One finder over all its thresholds, from the strictest to the most lenient."""

    finder: str
    swept: str = Field(description="what the threshold is")
    used: float = Field(description="the threshold that is used, or commonly used")
    points: tuple[CurvePoint, ...]
    n_pauses: int
    seed: int

    @property
    def in_use(self) -> CurvePoint:
        """The point at the threshold in use."""
        return next(point for point in self.points if point.threshold == self.used)

    @property
    def best_f1(self) -> float:
        """The best harmonic mean of precision and recall at any threshold, picked with the truth at hand."""
        return max(point.f1 for point in self.points)


def precision_recall_curves(sims: int = 20, seed: int = 1) -> tuple[PrecisionRecall, ...]:
    """Sweep the thresholds of the detector and of two peak finders over the same requests.

    Args:
        sims: pauses a load; four times that many, since slow loads cost little.

    Raises:
        InputError: fewer than five pauses.
    """
    if sims < 5:
        raise InputError("too few pauses for a curve", place="sims", found=sims, allowed="5 or more")
    slower = (s for s in (*held_out(), *fresh()) if any(rate in s.name for rate in _SLOWER))
    trials = [
        _trial(scenario, sims, np.random.default_rng([seed, 1000 + number]))
        for number, scenario in enumerate(slower)
    ]
    return tuple(
        PrecisionRecall(
            finder=name,
            swept=sweep.swept,
            used=sweep.used,
            points=tuple(_points(sweep, trials)),
            n_pauses=sum(len(trial.pauses.seen) for trial in trials),
            seed=seed,
        )
        for name, sweep in FINDERS.items()
    )


class _Trial(NamedTuple):
    """Requests, and the pauses among them."""

    start: FloatArray
    latency: FloatArray
    pauses: ToFind


def _trial(scenario: Scenario, sims: int, rng: np.random.Generator) -> _Trial:
    """Pauses of twice the ordinary p99 and more, as in ``verify stalls``."""
    calm_s = _CALM_TRIALS * CALM_S
    calm_start, calm_latency = scenario.simulate(calm_s, Pauses(), rng)
    p99 = float(np.quantile(calm_latency, 0.99))
    length_s = max(2 * p99, FEWEST_BLOCKED / (len(calm_start) / calm_s))
    pauses = scenario.pauses(sims * scenario.more, length_s, rng)
    start, latency = scenario.simulate(pauses.spans[-1][1] + 0.5, pauses, rng)
    return _Trial(start, latency, to_find(pauses, start, latency, 2 * p99))


def _points(sweep: Sweep, trials: Sequence[_Trial]) -> Iterator[CurvePoint]:
    results = [sweep.find(trial.start, trial.latency, sweep.thresholds) for trial in trials]
    for threshold, at_it in zip(sweep.thresholds, zip(*results, strict=True), strict=True):
        scores = [scored(spans, trial.pauses) for spans, trial in zip(at_it, trials, strict=True)]
        right, n_found, truth = (sum(part) for part in zip(*scores, strict=True))
        yield CurvePoint(
            threshold=threshold,
            precision=right / n_found if n_found else None,
            recall=right / truth if truth else 0.0,
        )


class Sweep(NamedTuple):
    """A finder, what its threshold is, the one in use, and all that are tried, the strictest first."""

    find: Finder
    swept: str
    used: float
    thresholds: tuple[float, ...]


FINDERS: Mapping[str, Sweep] = MappingProxyType(
    {
        "this detector": Sweep(
            detected,
            "chance of a false stall in a trial",
            ALPHA,
            (1e-300, 1e-100, 1e-50, 1e-30, 1e-20, 1e-12, 1e-6, ALPHA, 1.0, 1e2, 1e4),
        ),
        "find_peaks": Sweep(
            find_peaks,
            "standard deviations above the mean",
            COMMON,
            (40.0, 20.0, 12.0, 8.0, 5.0, 4.0, 3.0, 2.0, 1.0),
        ),
        "Hampel filter": Sweep(
            hampel,
            "scaled median deviations above the rolling median",
            COMMON,
            (160.0, 80.0, 40.0, 20.0, 12.0, 8.0, 5.0, 3.0, 2.0),
        ),
    }
)
