# SPDX-License-Identifier: Apache-2.0
"""Verifications of what is said about two variants: coverage, false positives, power, equivalence, families."""

from __future__ import annotations

from math import log, log1p, sqrt

import numpy as np
from scipy import stats

from harness.analysis.stats import intervals
from harness.analysis.stats.assumptions import gap_critical, gap_statistic
from harness.analysis.stats.equivalence import one_sided_p
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.randomization import sign_flip_exact
from harness.analysis.stats.verdicts import adjust_pvalues
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


def power(sims: int, seed: int) -> VerifyResult:
    """A 3 % effect at a run-to-run variation of 2 % in 20 blocks; control: the noncentral t says the same."""
    k, sd, shift = 20, 0.02, log1p(0.03)
    rng = np.random.default_rng(seed)
    d = shift + rng.normal(0.0, sd, (sims, k)) - rng.normal(0.0, sd, (sims, k))
    found = float(np.mean(paired_p(d) <= 0.05))
    t, ncp = float(intervals.t_critical(LEVEL, k - 1)), shift / (sd * sqrt(2 / k))
    expected = float(stats.nct.sf(t, k - 1, ncp) + stats.nct.cdf(-t, k - 1, ncp))
    small = 0.02 + rng.normal(0.0, sd, (sims, k)) - rng.normal(0.0, sd, (sims, k))
    small_ncp = 0.02 / (sd * sqrt(2 / k))
    small_expected = float(stats.nct.sf(t, k - 1, small_ncp) + stats.nct.cdf(-t, k - 1, small_ncp))
    away = abs(float(np.mean(paired_p(small) <= 0.05)) - small_expected)
    cells = [
        share(sims, name="power at 3 %, CV 2 %, k = 20", value=found, at_least=0.95),
        Cell(
            name="distance from the analytic power", value=abs(found - expected), at_most=0.02, control=True
        ),
        Cell(name="the same at 2 %", value=away, at_most=max(0.02, 3 * 0.4 / sqrt(sims)), control=True),
    ]
    return result("power", bar="power >= .95", control="analytic +- .02", cells=cells, sims=sims, seed=seed)


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


def rare_mode(sims: int, seed: int) -> VerifyResult:
    """One trial in twenty of one arm is 1.5 times slower; control: the mean-based interval misses it."""
    sd, slow_share, factor = 0.01, 0.05, log(1.5)
    cells: list[Cell] = []
    truth_rng = np.random.default_rng([seed, 99])
    pairs = [
        _with_mode(truth_rng, (400_000,), sd, slow_share, factor) - truth_rng.normal(0, sd, 400_000)
        for _ in range(2)
    ]
    paired_truth = float(np.median((pairs[0] + pairs[1]) / 2))
    shift_truth = float(np.median(pairs[0]))
    for k in (10, 20):
        rng = np.random.default_rng([seed, k])
        a, b = _with_mode(rng, (sims, k), sd, slow_share, factor), rng.normal(0.0, sd, (sims, k))
        paired = covered(intervals.signed_rank(a - b, LEVEL), paired_truth)
        unpaired = covered(intervals.rank_sum(a, b, LEVEL), shift_truth)
        cells.append(
            share(sims, name=f"Hodges-Lehmann, paired, k = {k}", value=paired, at_least=0.93, at_most=0.97)
        )
        cells.append(
            share(
                sims, name=f"Hodges-Lehmann, unpaired, k = {k}", value=unpaired, at_least=0.93, at_most=0.97
            )
        )
        if k == 10:
            mean_based = covered(intervals.two_sample(a, b, LEVEL, welch=True), slow_share * factor)
            cells.append(share(sims, name="log-Welch, k = 10", value=mean_based, at_most=0.70, control=True))
    rng = np.random.default_rng([seed, 7])
    bar = gap_critical(20)
    flagged = float(np.mean(gap_statistic(_with_mode(rng, (sims, 20), 0.03, 0.2, factor))[0] > bar))
    plain = float(np.mean(gap_statistic(rng.normal(0.0, 0.03, (sims, 20)))[0] > bar))
    cells.append(share(sims, name="two groups flagged, mode share .2, k = 20", value=flagged, at_least=0.90))
    cells.append(
        share(sims, name="two groups flagged in one normal group", value=plain, at_most=0.03, control=True)
    )
    return result(
        "rare-mode", bar="Hodges-Lehmann in [.93, .97]; two groups flagged in >= 90 %",
        control="log-Welch < .70 at k 10; one group is hardly ever called two", cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _with_mode(
    rng: np.random.Generator, shape: tuple[int, ...], sd: float, share: float, shift: float
) -> Floats:
    return rng.normal(0.0, sd, shape) + shift * (rng.random(shape) < share)
