# SPDX-License-Identifier: Apache-2.0
"""The row of a session that a filter names, held against a limit in the place of 1 (``docs/claims.md``).

Beside the columns of :data:`harness.rows.schema.COLUMNS` a record has

``says``: what a ratio is against the limit: higher, lower, equal, open; refused: it does not speak of the services;
``p_value``: of sign flips against the limit, before any adjustment;
``n_used``: blocks or trials, with those that are left out for their age; ``n``: without them;
``alike``: what else than the services draws a ratio towards 1;
``below``: the window that a time of 0 in every trial is less than, in its unit;
``young``, ``warm``: whether an arm is young, and whether all have warmed up or are compiled ahead of time.

The rule is that of every comparison (:func:`harness.analysis.stats.verdicts.decide`).
"""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd

from harness.analysis.load.load_response import COLUMN as PART
from harness.analysis.load.load_response import failed_share
from harness.analysis.stats.about_services import BOUND_SHARE, condition_of, not_about_services
from harness.analysis.stats.ages import AGE
from harness.analysis.stats.comparisons import Comparison, RatioOfAllAges, compare
from harness.analysis.stats.pairing import counting
from harness.analysis.stats.verdicts import FEWEST_FOR_P, decide, verdict
from harness.analysis.tables.schema import factor_column
from harness.definitions import read_definition
from harness.errors import InputError
from harness.model import Estimate, Verdict
from harness.model.age import YOUNG
from harness.model.claim import RowFilter
from harness.model.digits import whole_percent
from harness.project import EXPERIMENTS
from harness.rows.equal_speed import beside_neighbours
from harness.rows.results import means, of_comparison
from harness.rows.schema import records
from harness.rows.session import Session
from harness.rows.trials import of_one_age, parts

Says = Literal["higher", "lower", "equal", "open", "refused"]
#: Sizes of files and the time of the one build: the same in every trial, and nothing bounds them.
FACTS = ("image_bytes", "build_s")
#: Of a trial, what tells whether a row of its parts speaks of the services, and of which age.
_OF_TRIAL = (
    "bound_by", "service_share", "generator_share", "backing_share", "machine_share", AGE, "measurement_s",
)  # fmt: skip
_EQUAL = (Verdict.EQUIVALENT, Verdict.DIFFERENT_BUT_NEGLIGIBLE)


def row_of(
    session: Session, wanted: RowFilter, *, limit: float = 1.0, margin: float = 0.05, bounded: bool = True,
    slowed: bool = False,
) -> dict[str, Any] | str:  # fmt: skip
    """Return the record that a filter names, or why the session does not have it.

    Args:
        margin: within which of the limit a ratio is equal to it, as a share.
        bounded: refuse where something else than the services bounded the trials.
        slowed: count trials that a neighbour slowed, at the session's usual speed.

    Raises:
        InputError: the session is not tidied, or the metric is no column of its trials.
    """
    metric, reference = wanted.metric, wanted.reference
    trials = _trials(session, wanted)
    if isinstance(trials, str):
        return trials
    if slowed:
        by = [] if wanted.along is None else [factor_column(wanted.along)]
        trials = beside_neighbours(trials, metric, by=by, share=0)
    variant = wanted.variant
    if wanted.along is not None:
        variant, own = wanted.where[wanted.along], trials[trials["variant"] == wanted.variant]
        trials = own.assign(variant=own[factor_column(wanted.along)])
    arms = [variant] if reference is None else [variant, reference]
    measured = set(trials.loc[~trials["excluded"].astype(bool) & trials[metric].notna(), "variant"])
    if not measured.issuperset(arms):
        where = (f"{factor}={level}" for factor, level in wanted.where.items() if factor != wanted.along)
        levels = ", ".join(where)
        lacking = ", ".join(arm for arm in arms if arm not in measured)
        return f"no {metric} of {lacking}{f' at {levels}' if levels else ''} in {wanted.experiment}"
    if reference is None:
        row = _value(trials[trials["variant"] == variant], metric, bounded)
        below = _window_s(session, metric) if row["value"] == 0 else None
        ages, n = [row["age"]], row["n_trials"]
    else:
        # the session's reference too: its duplicates tell how much is noise
        compared = trials[trials["variant"].isin([*arms, session.reference])]
        counted = counting(compared[compared["variant"].isin(arms)])
        # what is answered at a rate that all meet is the plan's
        at_rate = "bound_by" in counted and (counted["bound_by"] == "offered").mean() >= BOUND_SHARE
        if condition_of(metric) == "throughput" and at_rate:
            return f"in {wanted.experiment} all meet the rate that is offered"
        row = _ratio(compared, metric, variant, reference, limit, margin, bounded)
        below = None
        ages, n = [row["age"], row["reference_age"]], row["n_blocks"]
    row |= {} if below is None else dict.fromkeys(("value", "low", "high"))
    row |= {"bound_by": None, "n": 1} if metric in FACTS else {"n": n}
    warm = all(age in ("warm", "aot-compiled") for age in ages)
    return row | {"below": below, "young": YOUNG in ages, "warm": warm}


def _trials(session: Session, wanted: RowFilter) -> pd.DataFrame | str:
    """Return the trials at the filter's levels, or the parts of their loads; or why there are none."""
    trials = session.trials
    if PART in wanted.where:
        of_parts = parts(session)
        if of_parts.empty:
            return f"{wanted.experiment} has no single requests to cut into parts"
        more = [name for name in _OF_TRIAL if name in trials and name not in of_parts]
        trials = of_parts.merge(trials[["session_id", "trial_id", *more]], on=["session_id", "trial_id"])
    else:
        trials = trials.assign(error_share=failed_share(trials))
    if wanted.metric not in trials:
        raise InputError(
            "no such metric", place=wanted.experiment, found=wanted.metric,
            allowed="error_share, or a column of trials.parquet (docs/data.md)",
        )  # fmt: skip
    for factor, level in wanted.where.items():
        column = factor_column(factor)
        if column not in trials:
            if factor == wanted.along or not _as_defined(session, wanted, factor, level):
                return f"{wanted.experiment} was measured before it had the factor {factor}"
        elif factor != wanted.along:
            trials = trials[trials[column] == level]
    return trials


def _as_defined(session: Session, wanted: RowFilter, factor: str, level: str) -> bool:
    """Tell whether a session from before a factor measured what its level is: its variants had all settings of it."""
    path = session.root / EXPERIMENTS / f"{wanted.experiment}.toml"
    defined = read_definition(session.root, path).content()
    at_level = defined.get("factors", {}).get(factor, {}).get(level, {})
    names = [wanted.variant, *([] if wanted.along or not wanted.reference else [wanted.reference])]
    variants = [session.definition.variants[name] for name in names]
    return set(at_level) == {"settings"} and all(
        at_level["settings"].items() <= variant.settings.items() for variant in variants
    )


def _window_s(session: Session, metric: str) -> float | None:
    """Return the least that a metric can tell from nothing, in its unit; ``None``: it is not counted in steps."""
    if metric != "cold_s" or session.evidence is None:  # time until warm, counted in windows of the warm-up
        return None
    header = session.evidence.header
    spec = header.experiment.profiles[header.plan.profile].warm_up
    return None if spec is None else float(spec.window_s)


def _value(trials: pd.DataFrame, metric: str, bounded: bool) -> dict[str, Any]:
    """Return the record of the mean of one variant's trials, which says nothing but whether it is refused."""
    used = trials if condition_of(metric) is None else of_one_age(trials)
    counted = counting(used)
    (row,) = records(means(used, here=metric))
    why = not_about_services(counted, counted, metric) if bounded else None
    says: Says = "open" if why is None else "refused"
    about = {"says": says, "why": why or row["why"], "n_used": row["n_trials"]}
    return row | about | {"p_value": None, "alike": None}


def _ratio(
    trials: pd.DataFrame, metric: str, variant: str, reference: str, limit: float, margin: float, bounded: bool
) -> dict[str, Any]:  # fmt: skip
    """Return the record of a variant over the reference, and what it says against the limit."""
    comparison = _compared(trials, metric, variant, reference, bounded)
    p_value, beside = comparison.p_value, comparison.beside
    if limit != 1.0 and p_value is not None:  # of the ratio over the limit: the reference raised to it
        values = trials[metric].where(trials["variant"] != reference, trials[metric] * limit)
        p_value = _compared(trials.assign(**{metric: values}), metric, variant, reference, bounded).p_value
    n_used = comparison.n_blocks if beside is None else beside.n_blocks
    against = _against(comparison, comparison, limit, margin, n_used)
    if beside is not None:
        alone, whole = against["says"], _against(comparison, beside, limit, margin, n_used)["says"]
        if whole != alone:
            against |= {"says": "open", "why": f"{alone} without its young trials, {whole} with them"}
    of_row = {"p_value": p_value, "n_used": n_used, "alike": comparison.alike_by}
    return of_comparison(comparison, "here") | against | of_row


def _compared(trials: pd.DataFrame, metric: str, variant: str, reference: str, bounded: bool) -> Comparison:
    compared = compare(trials, metric, reference=reference, gated=bounded)
    return next(comparison for comparison in compared if comparison.variant == variant)


def _against(
    comparison: Comparison, ratios: Comparison | RatioOfAllAges, limit: float, margin: float, n_blocks: int
) -> dict[str, Any]:
    """Return what a ratio, or that with the trials which a comparison leaves out, says against a limit."""
    ratio, equivalence = (_over(estimate, limit) for estimate in (ratios.ratio, ratios.equivalence))
    decided = decide(
        ratio, equivalence, n_blocks=n_blocks, margin=margin, noise=comparison.noise.noise,
        not_about=comparison.not_about, alike_by=comparison.alike_by,
    )  # fmt: skip
    says: Says = "open"
    why = None
    if decided.verdict is Verdict.NOT_ABOUT_SERVICES:
        says, why = "refused", comparison.not_about
    elif ratio.value is None or ratio.low is None or ratio.high is None:
        why = "; ".join(ratio.warnings) or "no interval"
    elif n_blocks < FEWEST_FOR_P:
        why = decided.why_not_equivalent
    elif decided.verdict is Verdict.DIFFERENT:
        says = "higher" if ratio.value > 1 else "lower"
    elif decided.verdict in _EQUAL and verdict(ratio, equivalence, margin=margin) in _EQUAL:
        says = "equal"
    elif decided.verdict in _EQUAL:
        # by a margin widened to the noise: neither near the limit nor apart from it
        noise = whole_percent(decided.margin or 0)
        why = f"within what equal trials differ by, {noise}, and not within the claim's margin"
    elif decided.why_not_equivalent is not None:
        why = f"nothing is called equivalent: {decided.why_not_equivalent}"
    return {"says": says, "verdict": str(decided.verdict), "margin": decided.margin, "why": why}


def _over(ratio: Estimate, limit: float) -> Estimate:
    bounds = {name: end for name in ("value", "low", "high") if (end := getattr(ratio, name)) is not None}
    return ratio.model_copy(update={name: end / limit for name, end in bounds.items()})
