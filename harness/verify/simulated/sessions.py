# SPDX-License-Identifier: Apache-2.0
"""Verification of the agreement of sessions: two sessions of unchanged services hardly ever contradict each other."""

from __future__ import annotations

from math import exp, log

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.session_agreement import kind_of_verdicts
from harness.analysis.stats.verdicts import decide
from harness.model import Estimate, Verdict
from harness.verify.simulated.result import VerifyResult, result, share

BLOCKS = 10
MARGIN = 0.05
RATIOS = (1.0, 1.03, 1.1, 1.3)
SCATTER = (0.02, 0.08)
#: Of the control: what a session adds to a ratio of its own, as a standard deviation of the log.
OF_SESSION = 0.15


def agreement(sims: int, seed: int) -> VerifyResult:
    """Pairs of sessions of ten blocks; controls: services that did change, and sessions with an effect of their own."""
    cells = []
    for number, (ratio, sd) in enumerate((ratio, sd) for ratio in RATIOS for sd in SCATTER):
        rng = np.random.default_rng([seed, number])
        wrong = _contradictions(rng, np.full((2, sims), log(ratio)), sd)
        name = f"contradictions, ratio {ratio}, CV {sd * 100:.0f} %"
        cells.append(share(sims, name=name, value=wrong, at_most=0.02))
    rng = np.random.default_rng([seed, 98])
    turned = np.stack([np.full(sims, log(1.3)), np.full(sims, log(1 / 1.3))])
    cells.append(
        share(
            sims,
            name="contradictions, ratio turned round",
            value=_contradictions(rng, turned, 0.02),
            at_least=0.95,
            control=True,
        )
    )
    own = log(1.1) + rng.normal(0.0, OF_SESSION, (2, sims))
    cells.append(
        share(
            sims,
            name="contradictions, sessions with an effect of their own",
            value=_contradictions(rng, own, 0.02),
            at_least=0.10,
            control=True,
        )
    )
    return result(
        "agreement", bar="contradictions <= .02 where nothing changed",
        control="a ratio turned round >= .95; sessions that differ by themselves >= .10",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _contradictions(rng: np.random.Generator, truth: Floats, sd: float) -> float:
    """Return the share of pairs of sessions that contradict; ``truth``: log ratio of each session, shape (2, sims)."""
    (first, a), (second, b) = (_verdicts(rng, mine, sd) for mine in truth)
    same = (a.centre > 0) == (b.centre > 0)
    overlap = (a.low <= b.high) & (b.low <= a.high)
    kinds = [
        kind_of_verdicts(first[n], second[n], same_side=bool(same[n]), overlap=bool(overlap[n]))
        for n in range(len(first))
    ]
    return float(np.mean([kind == "contradict" for kind in kinds]))


def _verdicts(rng: np.random.Generator, truth: Floats, sd: float) -> tuple[list[Verdict], intervals.Bounds]:
    """Return the verdict of each session, and its 95 % interval of the log ratio."""
    sims = truth.size
    arms = rng.normal(0.0, sd, (3, sims, BLOCKS))
    d = truth[:, None] + arms[0] - arms[1]
    wide, narrow = intervals.student(d, 0.95), intervals.student(d, 0.90)
    pair = intervals.student(arms[2] - arms[1], 0.90)
    noise = np.expm1(np.maximum(np.abs(pair.low), np.abs(pair.high)))
    verdicts = [
        decide(
            _ratio(wide, n, 0.95),
            _ratio(narrow, n, 0.90),
            n_blocks=BLOCKS,
            margin=MARGIN,
            noise=float(noise[n]),
        ).verdict
        for n in range(sims)
    ]
    return verdicts, wide


def _ratio(bounds: intervals.Bounds, n: int, level: float) -> Estimate:
    return Estimate(
        value=exp(bounds.centre[n]), low=exp(bounds.low[n]), high=exp(bounds.high[n]), level=level, unit="ratio",
        method="paired log-t", estimand="simulated ratio", n_trials=2 * BLOCKS,
    )  # fmt: skip
