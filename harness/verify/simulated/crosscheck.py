# SPDX-License-Identifier: Apache-2.0
"""The same numbers from somebody else's code: statsmodels, to the tenth digit."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import numpy as np
import pandas as pd

from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.equivalence import equivalence_test
from harness.analysis.stats.factor_effects import factor_effects
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.sample_size import variance_components
from harness.analysis.stats.verdicts import adjust_pvalues
from harness.errors import MissingTool
from harness.verify.simulated.changepoints import compare_with_ruptures
from harness.verify.simulated.result import Cell, VerifyResult, result

MOST_APART = 1e-10


def cross_check(sims: int, seed: int) -> VerifyResult:
    """t intervals, equivalence tests, variance components and adjusted p-values on ``sims`` random data sets."""
    api, weightstats, multitest = _statsmodels()
    rng = np.random.default_rng(seed)
    worst = dict.fromkeys(
        (
            "paired log-t",
            "Welch log-t",
            "Student log-t",
            "TOST",
            "variance components",
            "Holm, BH",
            "factor effects",
        ),
        0.0,
    )
    for _ in range(sims):
        k = int(rng.integers(5, 31))
        a, b = np.exp(rng.normal(0.1, 0.05, k)), np.exp(rng.normal(0.0, 0.03, k))
        c = np.exp(rng.normal(0.0, 0.1, k + 3))
        la, lb, lc = np.log(a), np.log(b), np.log(c)
        apart = {
            "paired log-t": _apart(a, b, True, "log_t", weightstats.DescrStatsW(la - lb).tconfint_mean(0.05)),
            "Welch log-t": _apart(a, c, False, "welch_log_t", _two(weightstats, la, lc, "unequal")),
            "Student log-t": _apart(a, c, False, "log_t", _two(weightstats, la, lc, "pooled")),
            "TOST": _tost(weightstats, a, b, c),
            "variance components": _components(api, rng),
            "Holm, BH": _adjusted(multitest, rng),
            "factor effects": _factors(api, rng),
        }
        worst = {name: max(value, apart[name]) for name, value in worst.items()}
    cells = [
        Cell(name=f"{name}: largest difference", value=value, at_most=MOST_APART)
        for name, value in worst.items()
    ]
    pelt, n = compare_with_ruptures(4 * sims, rng), 4 * sims
    cells.append(
        Cell(name=f"PELT and ruptures, {n} series: cut differently", value=pelt.differently, at_most=0)
    )
    cells.append(Cell(name="PELT and ruptures: share cut alike", value=pelt.alike / n, at_least=0.9))
    a, b = np.exp(rng.normal(0.0, 0.05, 12)), np.exp(rng.normal(0.0, 0.05, 12))
    wrong = _apart(a, b, True, "log_t", _two(weightstats, np.log(a), np.log(b), "pooled"))
    cells.append(Cell(name="paired against unpaired", value=wrong, at_least=1e-4, control=True))
    return result(
        "cross-check", bar="equal to statsmodels to 1e-10; PELT equal to ruptures, or of lower cost",
        control="another test's interval is told apart",
        cells=cells, sims=sims, seed=seed,
    )  # fmt: skip


def _statsmodels() -> tuple[ModuleType, ModuleType, ModuleType]:
    names = ("statsmodels.api", "statsmodels.stats.weightstats", "statsmodels.stats.multitest")
    try:
        api, weightstats, multitest = map(import_module, names)
    except ImportError as error:
        raise MissingTool(
            "statsmodels", why="to check our numbers against", how_to_get="make setup"
        ) from error
    return api, weightstats, multitest


def _two(weightstats: ModuleType, x: np.ndarray, y: np.ndarray, variance: str) -> tuple[float, float]:
    means = weightstats.CompareMeans(weightstats.DescrStatsW(x), weightstats.DescrStatsW(y))
    low, high = means.tconfint_diff(alpha=0.05, usevar=variance)
    return float(low), float(high)


def _apart(a: np.ndarray, b: np.ndarray, paired: bool, estimator: str, theirs: tuple[float, float]) -> float:
    ours = effect_size_ci(a, b, paired=paired, estimator=estimator)  # type: ignore[arg-type]  # one of the names
    if ours.low is None or ours.high is None:
        return float("inf")
    return float(max(abs(np.log(ours.low) - theirs[0]), abs(np.log(ours.high) - theirs[1])))


def _tost(weightstats: ModuleType, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    bound = np.log1p(0.08)
    theirs = (
        weightstats.ttost_paired(np.log(a), np.log(b), -bound, bound)[0],
        weightstats.ttost_ind(np.log(a), np.log(c), -bound, bound, usevar="unequal")[0],
    )
    ours = (
        equivalence_test(a, b, paired=True, margin=0.08).p_value,
        equivalence_test(a, c, paired=False, margin=0.08).p_value,
    )
    return max(
        abs(float(x) - y) if y is not None else float("inf") for x, y in zip(theirs, ours, strict=True)
    )


def _components(api: ModuleType, rng: np.random.Generator) -> float:
    k, n = 6, 8
    values = rng.normal(0, 1, (k, 1)) + rng.normal(0, 0.5, (k, n))
    frame = pd.DataFrame({"y": values.ravel(), "trial": np.repeat(np.arange(k), n).astype(str)})
    table = api.stats.anova_lm(api.formula.ols("y ~ trial", frame).fit())
    between, within = table["mean_sq"]
    ours = variance_components(list(values))
    return max(abs(ours.within - float(within)), abs(ours.between_unclipped - float(between - within) / n))


def _adjusted(multitest: ModuleType, rng: np.random.Generator) -> float:
    p = rng.random(12) ** 2
    apart = 0.0
    for ours, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        found = adjust_pvalues(p.tolist(), method=ours)  # type: ignore[arg-type]  # both are names of methods
        apart = max(
            apart,
            float(
                np.max(np.abs(np.array(found, dtype=float) - multitest.multipletests(p, method=theirs)[1]))
            ),
        )
    return apart


def _factors(api: ModuleType, rng: np.random.Generator) -> float:
    """A complete factorial: the saturated regression with sum coding, its standard errors clustered by block."""
    k = int(rng.integers(5, 13))
    rows = [
        {
            "experiment": "e", "session_id": "s", "trial_id": f"{block}{variant}{logging}", "block": block,
            "position": 1, "duplicate": False, "variant": variant, "configuration": variant, "excluded": False,
            "flags": "", "logging": logging,
        }
        for block in range(k)
        for variant in ("a", "b", "c")
        for logging in ("off", "on")
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    shared = rng.normal(0.0, 0.2, k)[frame["block"].to_numpy()]
    frame["latency_p99_s"] = np.exp(rng.normal(0.0, 0.1, len(frame)) + shared)
    # the coefficient of a level against the mean of all is no ratio of two levels: that is a difference of such
    x, contrasts = _sum_coded(frame)
    fit = api.OLS(np.log(frame["latency_p99_s"].to_numpy()), x).fit(
        cov_type="cluster", cov_kwds={"groups": frame["block"].to_numpy(), "use_correction": False}
    )
    ours = factor_effects(frame, "latency_p99_s", ("variant", "logging"))
    apart = 0.0
    for one, weights in zip(ours, contrasts, strict=True):
        test = fit.t_test(weights)
        half = float(t_critical(0.95, k - 1)) * float(np.sqrt(k / (k - 1))) * float(np.squeeze(test.sd))
        theirs = float(np.squeeze(test.effect)) + np.array([-half, 0.0, half])
        mine = [one.ratio.low, one.ratio.value, one.ratio.high]
        apart = max(apart, float(np.abs(np.log(np.array(mine, dtype=np.float64)) - theirs).max()))
    return apart


def _sum_coded(frame: pd.DataFrame) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the design of variant by logging, shape (trials, 6), and the effects as sums of its coefficients."""
    variant = frame["variant"].map({"a": (1, 0), "b": (0, 1), "c": (-1, -1)})
    v = np.array(variant.tolist(), dtype=np.float64)
    g = frame["logging"].map({"off": 1.0, "on": -1.0}).to_numpy()
    x = np.column_stack([np.ones(len(frame)), v, g, v * g[:, None]])
    b, c, on = np.array([-1.0, 1.0]), np.array([-2.0, -1.0]), -2.0
    zero = np.zeros(2)

    def of(main: np.ndarray, logging: float, both: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.0], main, [logging], both])

    return x, [
        of(b, 0.0, zero), of(c, 0.0, zero), of(zero, on, zero),
        of(zero, 0.0, on * b), of(zero, 0.0, on * c),
    ]  # fmt: skip
