# SPDX-License-Identifier: Apache-2.0
"""Verifications of what is said about two variants: coverage, false positives, equivalence, families."""

from __future__ import annotations

from math import log

import numpy as np
from scipy import stats

from harness.analysis.stats import intervals
from harness.analysis.stats.effects import one_sided_p
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.verdicts import adjust_pvalues, sign_flip_exact
from harness.verify.simulated.distributions import DRIFTS, LAWS, Law, ar_series, drift, trial_effects
from harness.verify.simulated.result import Cell, VerifyResult, average, result, share
from harness.verify.simulated.scales import scale_cells

LEVEL = 0.95
TRUE_RATIO = 1.1


def covered(bounds: intervals.Bounds, truth: float) -> float:
    """Return the share of intervals that hold the truth."""
    return float(np.mean((bounds.low <= truth) & (truth <= bounds.high)))


def coverage(sims: int, seed: int) -> VerifyResult:
    """Paired log-t over trials of correlated requests, four laws of trials; control: an interval over requests."""
    cells: list[Cell] = []
    per_request: list[float] = []
    for number, law in enumerate(LAWS):
        rng = np.random.default_rng([seed, number])
        mean, p99, naive = _two_arms(rng, law, sims, k=20, n=400)
        per_request.append(naive)
        for what, values in (("mean", mean), ("p99", p99)):
            for k in (10, 20):
                bounds = intervals.student(values[0][:, :k] - values[1][:, :k], LEVEL)
                name = f"{law}, {what}, k = {k}"
                cells.append(
                    share(
                        sims, name=name, value=covered(bounds, log(TRUE_RATIO)), at_least=0.93, at_most=0.97
                    )
                )
    cells += scale_cells(sims, seed)
    cells.append(
        share(
            sims, name="per-request interval, worst law", value=max(per_request), at_most=0.70, control=True
        )
    )
    return result(
        "coverage", bar="coverage of log-t and logit-t in [.93, .97] in every cell",
        control="per-request interval < .70",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _two_arms(
    rng: np.random.Generator, law: Law, sims: int, *, k: int, n: int
) -> tuple[Floats, Floats, float]:
    """Return log mean and log p99 of every trial, shapes (2, sims, k), and the per-request coverage."""
    mean, p99 = np.empty((2, sims, k)), np.empty((2, sims, k))
    log_mean, log_variance = np.empty((2, sims)), np.empty((2, sims))
    truth = (log(TRUE_RATIO), 0.0)
    rank = int(np.ceil(0.99 * n)) - 1
    for arm in range(2):
        for start in range(0, sims, 100):  # bounds the memory at 100 x k x n requests
            size = min(100, sims - start)
            logs = 0.5 * ar_series(rng, (size, k, n), 0.7)
            logs += (truth[arm] + trial_effects(rng, law, (size, k)))[..., None]
            part = slice(start, start + size)
            mean[arm, part] = np.log(np.exp(logs).mean(axis=-1))
            p99[arm, part] = np.partition(logs, rank, axis=-1)[..., rank]
            # the interval that takes the k n requests of an arm for independent ones
            log_mean[arm, part] = logs.mean(axis=(1, 2))
            log_variance[arm, part] = logs.var(axis=(1, 2), ddof=1) / (k * n)
    gap = np.abs(log_mean[0] - log_mean[1] - log(TRUE_RATIO))
    naive = float(np.mean(gap <= stats.norm.ppf(0.5 + LEVEL / 2) * np.sqrt(log_variance.sum(axis=0))))
    return mean, p99, naive


def aa(sims: int, seed: int) -> VerifyResult:
    """False positives of equal arms under drift, in random blocks; control: first all of A, then all of B."""
    k = 10
    cells: list[Cell] = []
    for number, kind in enumerate(DRIFTS):
        rng = np.random.default_rng([seed, number])
        values = drift(rng, kind, sims, 2 * k) + rng.standard_normal((sims, 2 * k))
        swapped = rng.random((sims, k)) < 0.5
        d = np.where(swapped, values[:, 1::2] - values[:, 0::2], values[:, 0::2] - values[:, 1::2])
        t = float(np.mean(paired_p(d) <= 0.05))
        flips = float(np.mean([sign_flip_exact(row) <= 0.05 for row in d]))
        cells.append(
            share(sims, name=f"paired t, random blocks, drift {kind}", value=t, at_least=0.035, at_most=0.065)
        )
        cells.append(
            share(
                sims,
                name=f"sign flip, random blocks, drift {kind}",
                value=flips,
                at_least=0.035,
                at_most=0.065,
            )
        )
        if kind != "none":
            bounds = intervals.two_sample(values[:, :k], values[:, k:], LEVEL, welch=True)
            wrong = 1 - covered(bounds, 0.0)
            cells.append(
                share(
                    sims,
                    name=f"Welch, sequential order, drift {kind}",
                    value=wrong,
                    at_least=0.30,
                    control=True,
                )
            )
    return result(
        "aa", bar="false positives in [.035, .065] under every drift", control="sequential order > .30 under drift",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def paired_p(differences: Floats) -> Floats:
    """Return the two-sided p of the paired t test of each row, shape (sims,)."""
    centre, error, df = intervals.mean_and_error(differences)
    return intervals.t_two_sided_p(centre / error, df)


def tost(sims: int, seed: int) -> VerifyResult:
    """Equivalence at 5 %, CV 3 %, ten blocks; control: "not different" would pass differences at the margin."""
    k, sd, margin = 10, 0.03, 0.05
    cells = []
    wrong = 0.0
    for number, ratio in enumerate((1 + margin, 1 / (1 + margin), 1.0)):
        rng = np.random.default_rng([seed, number])
        d = log(ratio) + rng.normal(0.0, sd, (sims, k)) - rng.normal(0.0, sd, (sims, k))
        centre, error, df = intervals.mean_and_error(d)
        says = [
            max(one_sided_p(float(c), float(e), df, margin)) <= 0.05
            for c, e in zip(centre, error, strict=True)
        ]
        said = float(np.mean(says))
        if ratio == 1.0:
            cells.append(share(sims, name="power, ratio 1", value=said, at_least=0.80))
        else:
            cells.append(share(sims, name=f"false equivalence, ratio {ratio:.3f}", value=said, at_most=0.06))
            wide = rng.normal(0.0, 0.10, (sims, k))
            wrong = max(wrong, float(np.mean(paired_p(log(ratio) + wide) > 0.05)))
    name = '"not significant, so equal" at the margin with noisy trials'
    cells.append(share(sims, name=name, value=wrong, at_least=0.5, control=True))
    return result(
        "tost", bar="false equivalence at the margin <= .06; power >= .80 at 5 %, CV 3 %, k 10",
        control="taking a failed test for equality is wrong more than half the time", cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def multiplicity(sims: int, seed: int) -> VerifyResult:
    """Twenty-four tests, none of them true, and half of them true; control: the same without adjustment."""
    m, k = 24, 10
    rng = np.random.default_rng(seed)
    null = paired_p(rng.standard_normal((sims, m, k)))
    effects = np.where(np.arange(m) < m // 2, 1.5, 0.0)
    mixed = paired_p(rng.standard_normal((sims, m, k)) + effects[:, None])
    holm = np.array([adjust_pvalues(row.tolist(), method="holm") for row in null], dtype=np.float64)
    bh_null = np.array([adjust_pvalues(row.tolist(), method="bh") for row in null], dtype=np.float64)
    bh = np.array([adjust_pvalues(row.tolist(), method="bh") for row in mixed], dtype=np.float64) <= 0.05
    false = bh[:, m // 2 :].sum(axis=1)
    false_share = false / np.maximum(bh.sum(axis=1), 1)
    cells = [
        share(
            sims,
            name="Holm, family error, all null",
            value=float(np.mean((holm <= 0.05).any(axis=1))),
            at_most=0.06,
        ),
        share(
            sims,
            name="BH, false share, all null",
            value=float(np.mean((bh_null <= 0.05).any(axis=1))),
            at_most=0.06,
        ),
        average(false_share, name="BH, false share, half null", at_most=0.06),
        average(bh[:, : m // 2].mean(axis=1), name="BH, true effects found", at_least=0.80),
        share(
            sims,
            name="unadjusted",
            value=float(np.mean((null <= 0.05).any(axis=1))),
            at_least=0.60,
            control=True,
        ),
    ]
    return result(
        "multiplicity", bar="Holm FWER <= .06, BH FDR <= .06 over 24 tests", control="unadjusted > .60",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip
