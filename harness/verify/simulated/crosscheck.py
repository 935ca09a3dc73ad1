# SPDX-License-Identifier: Apache-2.0
"""The same numbers from somebody else's code: statsmodels, to the tenth digit."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import numpy as np
import pandas as pd

from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.equivalence import equivalence_test
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
        ("paired log-t", "Welch log-t", "Student log-t", "TOST", "variance components", "Holm, BH"), 0.0
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
