# SPDX-License-Identifier: Apache-2.0
"""Verification of the agreement of sessions: two sessions of unchanged services hardly ever contradict each other, and
agree as often as their power lets expect."""

from __future__ import annotations

from math import exp, log

import numpy as np

from harness.analysis.stats import intervals
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.session_agreement import Side, expected, kind_at, kind_of_verdicts, kinds_of
from harness.analysis.stats.verdicts import MOST_NOISE, Interval, decide
from harness.model import Verdict
from harness.verify.simulated.result import Cell, VerifyResult, average, result, share

BLOCKS = 10
MARGIN = 0.05
RATIOS = (1.0, 1.03, 1.1, 1.3)
SCATTER = (0.02, 0.08)
#: Of the control: what a session adds to a ratio of its own, as a standard deviation of the log.
OF_SESSION = 0.15
#: Of the expected agreement: variants of a session, whose true log ratios lie around the margin, and their scatter.
VARIANTS, TRUE_SD = 20, 0.06
SCATTERS = (0.02, 0.08)
#: One pair of whole sessions for so many simulations: each asks for some thousand verdicts.
SESSIONS_SHARE = 10
BIAS, INSIDE = 0.02, 0.93


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
    cells += _expected_cells(max(10, sims // SESSIONS_SHARE), seed)
    return result(
        "agreement",
        bar="contradictions <= .02 where nothing changed; the agreement that sampling alone gives: bias <= .02, "
        "what was seen is inside its interval in >= .93",
        control="a ratio turned round >= .95; sessions that differ by themselves >= .10, and agree less than expected",
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
            _interval(wide, n),
            _interval(narrow, n),
            n_blocks=BLOCKS,
            margin=MARGIN,
            noise=float(noise[n]),
        ).verdict
        for n in range(sims)
    ]
    return verdicts, wide


def _interval(log_ratios: intervals.Bounds, n: int) -> Interval:
    return Interval(low=exp(log_ratios.low[n]), high=exp(log_ratios.high[n]))


def _expected_cells(n: int, seed: int) -> list[Cell]:
    """Pairs of whole sessions: the agreement that was seen against what their power lets expect."""
    rng = np.random.default_rng([seed, 97])
    seen, inside, less = np.array([_seen_and_expected(rng, 0.0) for _ in range(n)]).T
    n_control = max(10, n // 5)
    of_session = np.array([_seen_and_expected(rng, OF_SESSION)[1] for _ in range(n_control)])
    name = "share expected to agree less that seen, nothing changed"
    return [
        average(less, name=name, at_least=-BIAS, at_most=BIAS),
        average(seen, name="share that agreed, nothing changed"),
        share(
            n,
            name="seen inside what is expected, nothing changed",
            value=float(inside.mean()),
            at_least=INSIDE,
        ),
        share(
            n_control,
            name="seen inside what is expected, sessions with an effect of their own",
            value=float(of_session.mean()),
            at_most=0.5,
            control=True,
        ),
    ]


def _seen_and_expected(rng: np.random.Generator, own: float) -> tuple[float, float, float]:
    """Return of two sessions: the share that agrees, whether it is inside, and the share expected less it.

    Args:
        own: standard deviation of what a session adds to each log ratio.
    """
    truth = rng.normal(0.0, TRUE_SD, VARIANTS)
    sd = rng.uniform(*SCATTERS, VARIANTS + 1)
    first, second = (_sides(rng, truth + rng.normal(0.0, own, VARIANTS), sd) for _ in range(2))
    pairs = list(zip(first, second, strict=True))
    agree = sum(kind_at(a, b, a.log_ratio, b.log_ratio) == "agree" for a, b in pairs)
    match = expected([kinds_of(*pair) for pair in pairs], ["one"] * VARIANTS, range(VARIANTS))
    return agree / VARIANTS, float(match.low <= agree <= match.high), (match.agree - agree) / VARIANTS


def _sides(rng: np.random.Generator, truth: Floats, sd: Floats) -> list[Side]:
    """Return the comparisons of one session; ``sd``: of a trial's logarithm, the reference's last."""
    arms = rng.normal(0.0, 1.0, (VARIANTS + 1, BLOCKS)) * sd[:, None]
    again = intervals.student(rng.normal(0.0, sd[-1], BLOCKS) - arms[-1], 0.90)
    noise = float(np.expm1(max(abs(again.low), abs(again.high))))
    centre, error, _ = intervals.mean_and_error(truth[:, None] + arms[:-1] - arms[-1])
    margin = max(MARGIN, noise) if noise <= MOST_NOISE else None
    return [
        Side(log_ratio=float(centre[n]), error=float(error[n]), n_blocks=BLOCKS, margin=margin)
        for n in range(VARIANTS)
    ]
