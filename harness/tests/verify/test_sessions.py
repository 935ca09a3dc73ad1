# SPDX-License-Identifier: Apache-2.0
"""Simulations that no sentence of the paper or the documentation cites: equivalence, and sessions that agree.

Each has the control that must fail in the same simulation.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.session_agreement import kind_of_verdicts
from harness.analysis.stats.verdicts import decide
from harness.model import Estimate, Verdict
from harness.tests.analysis.stats.test_sample_size import holds
from harness.verify.simulated.comparisons import paired_p

MARGIN, BLOCKS, SIMS = 0.05, 10, 1000


@pytest.mark.parametrize("ratio", [1 + MARGIN, 1 / (1 + MARGIN), 1.0])
def test_equivalence_is_seldom_claimed_at_the_margin_and_mostly_where_nothing_differs(ratio: float) -> None:
    rng = np.random.default_rng(1)
    d = log(ratio) + rng.normal(0.0, 0.03, (SIMS, BLOCKS)) - rng.normal(0.0, 0.03, (SIMS, BLOCKS))
    bounds = intervals.student(d, 0.90)
    claimed = float(np.mean(np.maximum(-bounds.low, bounds.high) <= np.log1p(MARGIN)))
    if ratio == 1.0:
        assert holds(claimed, at_least=0.8, n=SIMS)
    else:
        assert holds(claimed, at_most=0.06, n=SIMS)
        noisy = paired_p(log(ratio) + rng.normal(0.0, 0.10, (SIMS, BLOCKS)))
        assert np.mean(noisy > 0.05) >= 0.5, "a failed test is no equality"


def verdicts(rng: np.random.Generator, truth: Floats, sd: float) -> tuple[list[Verdict], intervals.Bounds]:
    """Return the verdict of each session, and its 95 % interval of the log ratio."""
    arms = rng.normal(0.0, sd, (3, truth.size, BLOCKS))
    d = truth[:, None] + arms[0] - arms[1]
    wide, narrow, pair = (
        intervals.student(values, level)
        for values, level in ((d, 0.95), (d, 0.90), (arms[2] - arms[1], 0.90))
    )
    noise = np.expm1(np.maximum(np.abs(pair.low), np.abs(pair.high)))

    def interval(bounds: intervals.Bounds, n: int) -> Estimate:
        ends = {"value": exp(bounds.centre[n]), "low": exp(bounds.low[n]), "high": exp(bounds.high[n])}
        return Estimate(**ends, unit="ratio", method="t", estimand="ratio", n_trials=2 * BLOCKS)

    decided = [
        decide(interval(wide, n), interval(narrow, n), n_blocks=BLOCKS, margin=MARGIN, noise=float(noise[n]))
        for n in range(truth.size)
    ]
    return [item.verdict for item in decided], wide


def contradictions(first_truth: Floats, second_truth: Floats, sd: float) -> float:
    rng = np.random.default_rng(1)
    (first, a), (second, b) = verdicts(rng, first_truth, sd), verdicts(rng, second_truth, sd)
    same, overlap = (a.centre > 0) == (b.centre > 0), (a.low <= b.high) & (b.low <= a.high)
    kinds = [
        kind_of_verdicts(*pair, same_side=bool(same[n]), overlap=bool(overlap[n]))
        for n, pair in enumerate(zip(first, second, strict=True))
    ]
    return float(np.mean([kind == "contradict" for kind in kinds]))


@pytest.mark.parametrize(("ratio", "sd"), [(1.0, 0.02), (1.03, 0.02), (1.1, 0.08), (1.3, 0.02)])
def test_sessions_of_unchanged_services_hardly_ever_contradict_each_other(ratio: float, sd: float) -> None:
    same = np.full(SIMS, log(ratio))
    assert holds(contradictions(same, same, sd), at_most=0.02, n=SIMS)


def test_sessions_that_do_differ_contradict_each_other() -> None:
    assert contradictions(np.full(SIMS, log(1.3)), np.full(SIMS, -log(1.3)), 0.02) >= 0.95
    own = np.random.default_rng(2).normal(log(1.1), 0.15, (2, SIMS))
    assert contradictions(own[0], own[1], 0.02) >= 0.1
