# SPDX-License-Identifier: Apache-2.0
"""Every variant against the reference, block by block, at a margin that the measured noise allows.

The frame is the one that :func:`harness.analysis.loading.load_trials` returns (see ``docs/data.md``).
Excluded trials never enter an estimate, and are counted in every result. Duplicates (the A/A arm) enter
:func:`harness.analysis.noise.aa_noise` only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.checks import check_assumptions
from harness.analysis.decisions import (
    FEWEST_FOR_P,
    MOST_NOISE,
    Family,
    Grade,
    adjust_pvalues,
    default_margin,
    grade,
    verdict,
    without_equality,
)
from harness.analysis.effects import effect_size_ci
from harness.analysis.equivalence import equivalence_test
from harness.analysis.noise import AANoise, aa_noise, no_ratio
from harness.analysis.randomization import randomization_test
from harness.analysis.summaries import requests_of, resolution_of
from harness.analysis.trial_table import (
    inputs_of,
    pair_by_block,
    require,
    split_excluded,
    split_missing,
)
from harness.errors import InputError
from harness.model import Estimate, Verdict
from harness.model.base import Frozen


class Comparison(Frozen):
    """One variant against the reference, in one metric, at one combination of factor levels."""

    variant: str
    reference: str
    levels: dict[str, str] = Field(description="the columns of ``by`` with their values")
    metric: str
    ratio: Estimate = Field(description="variant over reference: paired log-t over blocks, 95 %")
    hodges_lehmann: Estimate = Field(description="the same, moved little by a few slow trials")
    equivalence: Estimate = Field(description="the ratio with the 90 % interval of the equivalence test")
    margin: float = Field(description="what counted as negligible, never below the A/A noise")
    p_value: float | None = Field(description="sign flips over blocks; None below 5 blocks")
    p_adjusted: float | None = Field(description="over the family of this call: Holm or Benjamini-Hochberg")
    family: Family
    verdict: Verdict
    grade: Grade
    n_blocks: int
    n_excluded: int = Field(description="trials of both arms left out, by outcome or exclusion")
    warnings: tuple[str, ...]


def compare(
    trials: pd.DataFrame,
    metric: str,
    *,
    reference: str,
    by: Sequence[str] = (),
    margin: float | None = None,
    level: float = 0.95,
    family: Family = "exploratory",
) -> tuple[Comparison, ...]:
    """Compare every variant with the reference, block by block, at each combination of levels.

    Args:
        trials: one row per trial. metric: a numeric column of it.
        reference: the variant whose value is the denominator.
        by: factor columns; each combination of their values is compared on its own. Every factor that
            varies within a block must be named.
        margin: what is negligible, as a share; default 5 %, 10 % in the tail. It is never taken below
            the noise of the A/A arm.
        family: ``confirmatory`` adjusts the p-values of this call by Holm, ``exploratory`` by
            Benjamini-Hochberg.

    Returns:
        One comparison per variant and combination, in order of appearance. Where fewer than five blocks
        hold both arms the grade is "too few", no p-value is given, and the verdict is inconclusive.

    Raises:
        InputError: unknown column or reference; several trials of one variant in one block and cell.
    """
    require(trials, metric, by)
    names = list(dict.fromkeys(trials["variant"].astype(str)))
    if reference not in names:
        raise InputError(
            "no trial of the reference", place="reference", found=reference, allowed=", ".join(names)
        )
    noise = aa_noise(trials, metric)
    first = trials[~trials["duplicate"].astype(bool)]
    cells = first.groupby(list(by), sort=False, observed=True) if by else [((), first)]
    found = [
        _compare(
            cell,
            metric,
            variant=name,
            reference=reference,
            levels=dict(zip(by, map(str, key), strict=True)),
            margin=margin,
            noise=noise,
            level=level,
            family=family,
        )
        for key, cell in cells
        for name in names
        if name != reference and (cell["variant"] == name).any()
    ]
    adjusted = adjust_pvalues([c.p_value for c in found], method="holm" if family == "confirmatory" else "bh")
    return tuple(_with_adjusted(c, p, level) for c, p in zip(found, adjusted, strict=True))


def _compare(
    cell: pd.DataFrame,
    metric: str,
    *,
    variant: str,
    reference: str,
    levels: dict[str, str],
    margin: float | None,
    noise: AANoise,
    level: float,
    family: Family,
) -> Comparison:
    arms = cell[cell["variant"].isin([variant, reference])]
    kept, n_excluded = split_excluded(arms)
    kept, warnings = split_missing(kept, metric)
    a, b, n_alone = pair_by_block(kept[kept["variant"] == variant], kept[kept["variant"] == reference])
    if n_excluded:
        warnings += (f"{n_excluded} trials excluded",)
    if n_alone:
        warnings += (f"{n_alone} trials left out: their block lacks the other arm",)
    chosen, too_noisy, notes = _margin(metric, margin, noise)
    facts = {
        "variant": variant,
        "reference": reference,
        "levels": levels,
        "metric": metric,
        "margin": chosen,
        "family": family,
        "grade": grade(len(a), family),
        "n_blocks": len(a),
        "n_excluded": n_excluded,
        "p_adjusted": None,
    }
    refused, steps = resolution_of(pd.concat([a, b]), metric) if len(a) else (False, ())
    warnings += notes + steps
    x, y = (arm[metric].to_numpy(dtype=np.float64) for arm in (a, b))
    if refused or len(a) == 0 or min(x.min(), y.min()) <= 0:
        why = () if refused else ("no block has both arms" if len(a) == 0 else "a value is zero: no ratio",)
        nothing = no_ratio(metric, len(a), level)
        return Comparison.model_validate(
            facts
            | {
                "ratio": nothing,
                "hodges_lehmann": nothing,
                "equivalence": nothing,
                "p_value": None,
                "verdict": Verdict.INCONCLUSIVE,
                "warnings": warnings + why,
            }
        )
    return _judge(a, b, facts, warnings, level=level, too_noisy=too_noisy)


def _judge(
    a: pd.DataFrame,
    b: pd.DataFrame,
    facts: dict[str, object],
    warnings: tuple[str, ...],
    *,
    level: float,
    too_noisy: bool,
) -> Comparison:
    x, y = (arm[str(facts["metric"])].to_numpy(dtype=np.float64) for arm in (a, b))
    inputs, n_requests = inputs_of(pd.concat([a, b])), requests_of(pd.concat([a, b]))
    what = f" of {facts['metric']}, {facts['variant']} over {facts['reference']}"
    margin = float(facts["margin"])  # type: ignore[arg-type]  # _compare put a float there

    def told(estimate: Estimate) -> Estimate:
        return estimate.model_copy(
            update={"inputs": inputs, "n_requests": n_requests, "estimand": estimate.estimand + what}
        )

    ratio = told(effect_size_ci(x, y, paired=True, level=level))
    robust = told(effect_size_ci(x, y, paired=True, estimator="hodges_lehmann", level=level))
    equivalence = told(equivalence_test(x, y, paired=True, margin=margin).ratio)
    warnings += _arm_warnings(a, x, str(facts["variant"])) + _arm_warnings(b, y, str(facts["reference"]))
    if _disagree(ratio, robust):
        warnings += ("the mean-based and the rank-based interval disagree about 1: look at the trials",)
    said = verdict(ratio, equivalence, margin=margin)
    if too_noisy:
        said = without_equality(said)
    if len(a) < FEWEST_FOR_P:
        said = Verdict.INCONCLUSIVE
        warnings += (f"{len(a)} blocks: too few for a verdict, below {FEWEST_FOR_P} no p-value is printed",)
    return Comparison.model_validate(
        facts
        | {
            "ratio": ratio,
            "hodges_lehmann": robust,
            "equivalence": equivalence,
            "verdict": said,
            "p_value": randomization_test(x, y, paired=True).p_value,
            "warnings": tuple(dict.fromkeys((*warnings, *ratio.warnings))),
        }
    )


def _with_adjusted(comparison: Comparison, p: float | None, level: float) -> Comparison:
    warnings = comparison.warnings
    excludes_one = comparison.verdict in (Verdict.DIFFERENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)
    attainable = 2.0 ** (1 - comparison.n_blocks) <= 1 - level  # five blocks cannot give p < 0.0625
    if excludes_one and attainable and p is not None and p > 1 - level:
        warnings += (f"different on its own, not within its family (adjusted p = {p:.2g})",)
    return comparison.model_copy(update={"p_adjusted": p, "warnings": warnings})


def _margin(metric: str, margin: float | None, noise: AANoise) -> tuple[float, bool, tuple[str, ...]]:
    """Return the margin, whether the noise forbids calling anything equal, and what must be said."""
    wanted = default_margin(metric) if margin is None else margin
    if noise.noise is None:
        return wanted, False, ("no A/A pairs: the margin may lie below the noise of this machine",)
    if noise.noise <= wanted:
        return wanted, False, ()
    notes = (f"margin widened from {wanted:.1%} to the A/A noise, {noise.noise:.1%}",)
    if noise.noise <= MOST_NOISE:
        return noise.noise, False, notes
    return noise.noise, True, (*notes, f"A/A noise above {MOST_NOISE:.0%}: too noisy to call anything equal")


def _arm_warnings(
    arm: pd.DataFrame, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], name: str
) -> tuple[str, ...]:
    found = check_assumptions(values, positions=arm["position"].to_numpy(dtype=np.float64))
    notes = tuple(f"{name}: {warning}" for warning in found.warnings if "too few" not in warning)
    flags = arm["flags"].fillna("").astype(str).str.split().explode().dropna().value_counts()
    return notes + tuple(f"{name}: {n} of {len(arm)} trials flagged {flag}" for flag, n in flags.items())


def _disagree(ratio: Estimate, robust: Estimate) -> bool:
    if ratio.low is None or ratio.high is None or robust.low is None or robust.high is None:
        return False
    return (ratio.low <= 1 <= ratio.high) != (robust.low <= 1 <= robust.high)
