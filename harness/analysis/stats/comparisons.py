# SPDX-License-Identifier: Apache-2.0
"""Variants against a reference over a table of trials.

Excluded trials never enter an estimate and are counted. Duplicates (the A/A pairs) enter the noise only. The verdict is
that of :func:`harness.analysis.stats.verdicts.decide`. Of a warm arm the few young trials are left out with their
blocks; ``beside`` has the ratio with them, and where the two say different things there is no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.stats.aa_noise import AANoise, no_ratio, noise_by_configuration, noise_for
from harness.analysis.stats.about_services import (
    bounds_of,
    condition_of,
    latency_of_tool,
    not_about_services,
)
from harness.analysis.stats.ages import ages_of, of_their_age
from harness.analysis.stats.assumptions import check_assumptions
from harness.analysis.stats.effects import effect_size_ci, equivalence_interval
from harness.analysis.stats.pairing import (
    DUET_ESTIMAND,
    in_duet,
    inputs_of,
    pair_by_block,
    require,
    split_excluded,
    split_missing,
    with_own_reference,
)
from harness.analysis.stats.summaries import requests_of, resolution_of
from harness.analysis.stats.verdicts import (
    ALPHA,
    FEWEST_FOR_P,
    Decision,
    adjust_pvalues,
    decide,
    default_margin,
    leaves_out_one,
    sign_flip_p,
    verdict,
)
from harness.errors import InputError
from harness.model import Estimate, Verdict
from harness.model.age import Ages, ArmAge
from harness.model.base import Frozen
from harness.model.formatting import NOT_ABOUT, show


class RatioOfAllAges(Frozen):
    """The ratio with the trials that a comparison leaves out for their age."""

    ratio: Estimate
    equivalence: Estimate  # the ratio with the 90 % interval of the equivalence test
    n_blocks: int


class Comparison(Frozen):
    """One variant against the reference, in one metric, at one combination of factor levels."""

    variant: str
    reference: str
    levels: dict[str, str]  # the columns of ``by`` with their values
    metric: str
    ratio: Estimate  # variant over reference: paired log-t over blocks, 95 %
    equivalence: Estimate  # the ratio with the 90 % interval of the equivalence test
    #: what counts as negligible, never below the noise; None: nothing is called equivalent
    margin: float | None
    why_not_equivalent: str | None = None  # why nothing can be called equivalent; None: something can
    noise: AANoise  # the reference against itself, in this cell or elsewhere
    p_value: float | None  # sign flips over blocks; None below 5 blocks
    #: by Benjamini-Hochberg over this call; None where so few blocks and so many allow none below .05 for sure
    p_adjusted: float | None
    verdict: Verdict
    n_blocks: int
    n_excluded: int  # trials of both arms left out, by outcome or exclusion
    warnings: tuple[str, ...]
    not_about: str | None = None  # what else the ratio speaks of: bound by the generator (9 of 10 trials)
    #: what else than the services makes both alike: a part of the latency that is the load tool's
    alike_by: str | None = None
    bound_by: dict[str, int] = Field(
        default_factory=dict, description="what bounded the trials of both arms -> how many of them"
    )
    ages: Ages | None = None  # of both arms; None: the metric has no age, or the tables do not say
    beside: RatioOfAllAges | None = None  # None: no trial was left out for its age

    @property
    def about_services(self) -> bool:
        """Whether the ratio speaks of the services; else it has no verdict, and no adjective."""
        return self.not_about is None

    @property
    def young(self) -> bool:
        """Whether it is a result of young processes, which answers nothing on warm services."""
        return self.ages is not None and self.ages.young

    @property
    def blocks_of_verdict(self) -> int:
        """How many blocks its verdict rests on: with few, those of trials left out for their age count."""
        n = self.n_blocks
        return n if self.beside is None or n >= FEWEST_FOR_P else self.beside.n_blocks


def compare(
    trials: pd.DataFrame, metric: str, *, reference: str, by: Sequence[str] = (), margin: float | None = None,
    level: float = 0.95, gated: bool = True,
) -> tuple[Comparison, ...]:  # fmt: skip
    """Compare every variant with the reference, block by block, at each combination of levels, in order of appearance.
    Raises InputError: unknown column or reference; several trials of one variant in one block and cell.

    Args:
        trials: one row per trial. metric: a numeric column. reference: the variant that is the denominator.
        by: factor columns; every factor that varies within a block must be named.
        margin: what is negligible, as a share; default 5 %, 10 % in the tail; never below the noise of the reference.
        gated: no verdict where something else than the services bounded the trials.
    """
    require(trials, metric, by)
    names = list(dict.fromkeys(trials["variant"].astype(str)))
    if reference not in names:
        allowed = ", ".join(names)
        raise InputError("no trial of the reference", place="reference", found=reference, allowed=allowed)
    noises = noise_by_configuration(trials, metric)
    first = trials[~trials["duplicate"].astype(bool)]
    cells = first.groupby(list(by), sort=False, observed=True) if by else [((), first)]
    wanted = default_margin(metric) if margin is None else margin
    comparisons = []
    for key, cell in cells:
        own = cell.loc[cell["variant"] == reference, "configuration"].astype(str).unique()
        levels = dict(zip(by, map(str, key), strict=True))
        comparisons += [
            _compare(
                cell, metric, variant=name, reference=reference, levels=levels, level=level,
                noise=noise_for(noises, own, (reference, name), metric), gated=gated,
            )
            for name in names
            if name != reference and (cell["variant"] == name).any()
        ]  # fmt: skip
    p_values = [comparison.p_value for comparison in comparisons]
    adjusted = adjust_pvalues(p_values, method="bh")
    size = sum(p is not None for p in p_values)
    return tuple(_decided(c, wanted, p, size) for c, p in zip(comparisons, adjusted, strict=True))


def _compare(
    cell: pd.DataFrame, metric: str, *, variant: str, reference: str, levels: dict[str, str], noise: AANoise,
    level: float, gated: bool,
) -> Comparison:  # fmt: skip
    """Return the estimates; what they say is decided when the whole family is there."""
    counted, n_excluded = split_excluded(with_own_reference(cell, variant, reference))
    counted, warnings = split_missing(counted, metric)
    a, b, n_alone = pair_by_block(*(counted[counted["variant"] == name] for name in (variant, reference)))
    if in_duet(a).any():
        warnings += (f"measured side by side: {DUET_ESTIMAND}",)
    if n_excluded:
        warnings += (f"{n_excluded} trials excluded",)
    if n_alone:
        warnings += (f"{n_alone} trials left out: their block lacks the other arm",)
    every, ages, beside = (a, b), ages_of(a, b, metric), None
    if ages is not None and condition_of(metric) is not None:
        a, b, ages = of_their_age(a, b, ages)
    part = latency_of_tool(a, b, metric) if gated else None
    refused, steps = resolution_of(pd.concat([a, b]), metric) if len(a) else (False, ())
    warnings += steps
    what, p_value = f" of {metric}, {variant} over {reference}", None
    ratio = equivalence = no_ratio(metric, len(a), level)
    if refused or len(a) == 0 or min(arm[metric].min() for arm in (a, b)) <= 0:
        if not refused:
            warnings += ("no block has both arms" if len(a) == 0 else "a value is zero: no ratio",)
    else:
        if len(every[0]) > len(a) and min(arm[metric].min() for arm in every) > 0:
            with_them, inner = _ratios(*every, metric, what, level)
            beside = RatioOfAllAges(ratio=with_them, equivalence=inner, n_blocks=len(every[0]))
        ratio, equivalence = _ratios(a, b, metric, what, level)
        x, y = (arm[metric].to_numpy(dtype=np.float64) for arm in (a, b))
        p_value = sign_flip_p(x, y)
        warnings += _arm_warnings(a, metric, variant) + _arm_warnings(b, metric, reference)
        # moved little by a few slow trials
        robust = effect_size_ci(x, y, paired=True, estimator="hodges_lehmann", level=level)
        if None not in (ratio.low, robust.low) and leaves_out_one(ratio) != leaves_out_one(robust):
            warnings += ("the mean-based and the rank-based interval disagree about 1: look at the trials",)
        warnings = tuple(dict.fromkeys((*warnings, *ratio.warnings)))
    return Comparison(
        variant=variant, reference=reference, levels=levels, metric=metric, margin=None, noise=noise, ratio=ratio,
        equivalence=equivalence, p_value=p_value, p_adjusted=None, verdict=Verdict.INCONCLUSIVE, n_blocks=len(a),
        n_excluded=n_excluded, warnings=warnings, bound_by=bounds_of(a, b), ages=ages, beside=beside,
        not_about=not_about_services(a, b, metric) if gated else None,
        alike_by=part.why_not_equivalent if part is not None else None,
    )  # fmt: skip


def _ratios(
    a: pd.DataFrame, b: pd.DataFrame, metric: str, what: str, level: float
) -> tuple[Estimate, Estimate]:
    """Return the ratio of paired trials, and with the interval of the equivalence test; ``what``: of what."""
    x, y = (arm[metric].to_numpy(dtype=np.float64) for arm in (a, b))
    pooled = pd.concat([a, b])
    about: dict[str, object] = {"inputs": inputs_of(pooled), "n_requests": requests_of(pooled)}
    what += f"; {DUET_ESTIMAND}" if in_duet(a).any() else ""
    ratio, equivalence = (
        effect_size_ci(x, y, paired=True, level=level),
        equivalence_interval(x, y, paired=True),
    )
    return (
        ratio.model_copy(update=about | {"estimand": ratio.estimand + what}),
        equivalence.model_copy(update=about | {"estimand": equivalence.estimand + what}),
    )


def _decided(comparison: Comparison, wanted: float, p_adjusted: float | None, size: int) -> Comparison:
    def decided(not_about: str | None) -> Decision:
        return decide(
            comparison.ratio, comparison.equivalence, n_blocks=comparison.blocks_of_verdict, margin=wanted,
            noise=comparison.noise.noise, p_adjusted=p_adjusted, family_size=size, not_about=not_about,
            alike_by=comparison.alike_by,
        )  # fmt: skip

    decision, not_about = decided(comparison.not_about), comparison.not_about
    if not_about is None and decision.verdict is not Verdict.INCONCLUSIVE:
        not_about = _turned_by_age(comparison, decision.margin or wanted)
        decision = decided(not_about)
    comparison = comparison.model_copy(update={"not_about": not_about})
    warnings = (*comparison.warnings, *_age_notes(comparison), *_notes(comparison, decision, wanted))
    return comparison.model_copy(update=dict(decision) | {"warnings": tuple(dict.fromkeys(warnings))})


def _turned_by_age(comparison: Comparison, margin: float) -> str | None:
    """Return that the trials left out for their age decide what the ratio says; ``None``: they do not."""
    if comparison.beside is None:
        return None
    without, beside = (
        (verdict(ratios_of.ratio, ratios_of.equivalence, margin=margin), (ratios_of.ratio.value or 0.0) > 1)
        for ratios_of in (comparison, comparison.beside)
    )
    if without == beside:
        return None
    ratios = [show(ratios_of.ratio).interval for ratios_of in (comparison, comparison.beside)]
    return f"the ratio depends on {_left_out(comparison)}: without them {ratios[0]}, with them {ratios[1]}"


def _left_out(comparison: Comparison) -> str:
    """Name the trials that were left out for their age: "3 young of 28 trials of java-jaxrs"."""
    return " and ".join(f"{age.left_out} of {name}" for name, age in _arms(comparison) if age.n_left_out)


def _arms(comparison: Comparison) -> list[tuple[str, ArmAge]]:
    ages = comparison.ages
    if ages is None:
        return []
    return [(comparison.variant, ages.variant), (comparison.reference, ages.reference)]


def _age_notes(comparison: Comparison) -> list[str]:
    notes = []
    if comparison.beside is not None and comparison.not_about is None:
        notes.append(f"without {_left_out(comparison)}; with them {show(comparison.beside.ratio).interval}")
    young = [f"{name} {age.in_words}" for name, age in _arms(comparison) if age.age == "young"]
    if young:
        notes.append(f"a result of young processes, not of warm services: {', '.join(young)}")
    unknown = ", ".join(name for name, age in _arms(comparison) if age.age == "unknown")
    if unknown:
        notes.append(f"nothing is known of the age of {unknown}: this is no result of warm services")
    return notes


def _notes(comparison: Comparison, decision: Decision, wanted: float) -> list[str]:
    noise, notes = comparison.noise, []
    if comparison.not_about is not None:
        notes.append(f"{NOT_ABOUT}: {comparison.not_about}")
    if noise.noise is None:
        notes.append("no A/A pairs of these programs: the margin may lie below the noise of this machine")
    elif noise.elsewhere is not None:
        notes.append(f"no A/A pair in this cell: the noise is that of {noise.elsewhere}")
    if comparison.blocks_of_verdict < FEWEST_FOR_P:
        blocks = "1 block" if comparison.n_blocks == 1 else f"{comparison.n_blocks} blocks"
        notes.append(f"{blocks}: too few for a verdict, below {FEWEST_FOR_P} no p-value is printed")
    elif decision.margin is None:
        is_tool = decision.why_not_equivalent == comparison.alike_by
        reason = (
            "the ratio of the services is farther from 1"
            if is_tool
            else "too noisy to call anything equivalent"
        )
        notes.append(f"{reason}: {decision.why_not_equivalent}")
    elif decision.margin > wanted:
        notes.append(f"margin widened from {wanted:.1%} to the A/A noise, {decision.margin:.1%}")
    p = decision.p_adjusted
    if comparison.about_services and leaves_out_one(comparison.ratio) and p is not None and p > ALPHA:
        notes.append(f"different on its own, not within its family (adjusted p = {p:.2g})")
    return notes


def _arm_warnings(arm: pd.DataFrame, metric: str, name: str) -> tuple[str, ...]:
    values, positions = (arm[column].to_numpy(dtype=np.float64) for column in (metric, "position"))
    problems = check_assumptions(values, positions=positions)
    notes = tuple(f"{name}: {warning}" for warning in problems if "too few" not in warning)
    flags = Counter(flag for cell in arm["flags"].dropna() for flag in str(cell).split()).most_common()
    return notes + tuple(f"{name}: {n} of {len(arm)} trials flagged {flag}" for flag, n in flags)
