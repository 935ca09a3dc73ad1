# SPDX-License-Identifier: Apache-2.0
"""From trials to rows: means, ratios with verdicts, the reference against itself, smallest effects, counts, facts.

The statistics are those of :mod:`harness.analysis`. A table without trials gives no rows, a column that is missing
an ``InputError``. ``by``: factor columns, each combination of whose levels is computed on its own; ``level``: of
intervals; ``metrics``: name of the result -> column of the trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from harness.analysis.stats.aa_noise import aa_noise
from harness.analysis.stats.ages import age_of_arm, has_age
from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.comparisons import compare as compare_trials
from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.stats.sample_size import BLOCKS, power_curve
from harness.analysis.stats.summaries import summarise
from harness.model import Estimate
from harness.rows.schema import empty, records, stack, tidy


def means(
    trials: pd.DataFrame, *, by: Sequence[str] = (), level: float = 0.95, **metrics: str
) -> pd.DataFrame:
    """Return the mean of each metric for each variant and combination of levels, with its interval over trials.

    Trials without a value are left out of the mean and named in its warnings.
    """
    measured = {name: metric for name, metric in metrics.items() if _has(trials, metric)}
    cells = dict(iter(trials.groupby([*by, "variant"], sort=False))) if measured else {}
    rows = tidy(
        of_estimate(row["estimate"], name=name, kind="mean", metric=metric, variant=row["variant"])
        | _about(cells[(*(row[factor] for factor in by), row["variant"])], metric)
        | {"n_excluded": row["n_excluded"]}
        | {factor: str(row[factor]) for factor in by}
        for name, metric in measured.items()
        for row in records(summarise(trials, metric, by=[*by, "variant"], level=level))
    )
    return stack(empty(*by), rows)


def compare(
    trials: pd.DataFrame,
    metric: str,
    name: str,
    *,
    reference: str,
    by: Sequence[str] = (),
    margin: float | None = None,
    level: float = 0.95,
    bounded: bool = True,
    all_warnings: bool = False,
) -> pd.DataFrame:
    """Return every variant over the reference, block by block, and the reference over its duplicate.

    The row whose variant is its reference is the reference again: its ``margin`` is the noise, below which nothing may
    be called negligible.

    Args:
        margin: what is negligible, as a share; default: that of the metric. It is never below the noise.
        bounded: no verdict where something else than the services bounded the trials; false: that is the question.
        all_warnings: with those on ages, exclusions and margins, beside those of the interval.
    """
    if not _has(trials, metric) or reference not in set(trials["variant"]):
        return empty(*by)
    comparisons = compare_trials(
        trials, metric, reference=reference, by=by, margin=margin, level=level, gated=bounded
    )
    labels = _labels(trials)
    rows = tidy(
        of_comparison(comparison, name)
        | {"label": labels.get(comparison.variant)}
        | ({"warnings": list(comparison.warnings)} if all_warnings else {})
        for comparison in comparisons
    )
    twice = (trials["duplicate"].astype(bool) & (trials["variant"] == reference)).any() and not by
    return stack(empty(*by), rows, *([again(trials, metric, name, reference, level=level)] if twice else []))


def pairs(
    trials: pd.DataFrame, metric: str, name: str, over: Mapping[str, str], **options: Any
) -> pd.DataFrame:
    """Return each variant over the one that it is paired with; a pair is a family of p-values of its own.

    ``over``: numerator -> denominator; ``options``: of :func:`compare`.
    """
    rows = []
    for variant, reference in over.items():
        arms = trials[trials["variant"].isin([variant, reference])]
        if arms["variant"].nunique() == 2:
            compared = compare(arms, metric, name, reference=reference, **options)
            rows.append(compared[compared["variant"] == variant])
    return stack(*rows)


def behind(trials: pd.DataFrame, rows: pd.DataFrame, *, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the trials that rows rest on, so that a mean is of the trials of its ratio; of variants without a row, and
    excluded ones, all."""
    named = {trial for inputs in rows["inputs"] for trial in inputs}
    used = pd.Series([trial in named for trial in inputs_of(trials)], index=trials.index, dtype=bool)
    groups = [trials[name] for name in (*by, "variant")]
    rests = used.groupby(groups, observed=True, dropna=False).transform("any").astype(bool)
    return trials[used | ~rests | trials["excluded"].astype(bool)]


def along(
    trials: pd.DataFrame,
    metric: str,
    name: str,
    *,
    factor: str,
    base: str,
    by: Sequence[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """Return each level of a factor over the level ``base``, within each variant; ``options``: of :func:`compare`."""
    rows, labels = [empty(*by, factor)], _labels(trials)
    for (variant, *levels), cell in trials.groupby(["variant", *by], sort=False):
        for level in [each for each in cell[factor].dropna().unique() if each != base]:
            arms = cell[cell[factor].isin([base, level])]
            compared = compare(arms.assign(variant=arms[factor]), metric, name, reference=base, **options)
            place = dict(zip(by, map(str, levels), strict=True)) | {factor: str(level)}
            effect = compared[compared["variant"] == level]
            rows.append(effect.assign(variant=variant, label=labels.get(str(variant)), **place))
    return stack(*rows)


def again(
    trials: pd.DataFrame, metric: str, name: str, reference: str, *, level: float = 0.95
) -> pd.DataFrame:
    """Return the reference over its duplicate of the same block; ``margin`` is the noise, as a share."""
    noise = aa_noise(trials, metric, level=level)
    row = of_estimate(noise.ratio, name=name, kind="ratio", metric=metric, variant=reference)
    about = _about(trials[trials["variant"] == reference], metric)
    about |= {"label": f"{about['label']}, again", "reference": reference}
    return tidy([row | about | {"margin": noise.noise, "n_blocks": noise.n_blocks}])


def detectable(
    trials: pd.DataFrame, *, reference: str, blocks: Sequence[int] = BLOCKS, **metrics: str
) -> pd.DataFrame:
    """Return the smallest ratio that so many blocks tell from 1 in 80 % of such sessions, level ``blocks``."""
    labels = _labels(trials)
    rows = tidy(
        of_estimate(point.ratio, name=name, kind="detectable", metric=metric, variant=curve.variant)
        | {"blocks": str(point.n_blocks), "reference": curve.reference, "label": labels.get(curve.variant)}
        for name, metric in metrics.items()
        if _has(trials, metric)
        for curve in power_curve(trials, metric, reference=reference, blocks=blocks)
        for point in curve.smallest
    )
    return stack(empty("blocks"), rows)


def counts(trials: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """Return how many trials have each value of a column, as levels ``what``; ``all`` and ``excluded`` count too.

    Excluded trials are under no value, and duplicates of the reference are counted nowhere.
    """
    if trials.empty:
        return empty("what")
    counted = counting(trials)
    numbers = counted[column].fillna("unknown").astype(str).value_counts().to_dict()
    numbers |= {
        "all": len(counted),
        "excluded": int(trials.loc[~trials["duplicate"].astype(bool), "excluded"].sum()),
    }
    inputs = list(inputs_of(counted))
    return tidy(
        count(name, number, f"trials with {column} {value}") | {"what": str(value), "inputs": inputs}
        for value, number in numbers.items()
    )


def count(name: str, number: float, what: str) -> dict[str, Any]:
    """Return the record of a plain number that is no estimate: a count, a limit that was set."""
    return {
        "name": name,
        "kind": "count",
        "value": float(number),
        "unit": "1",
        "method": "as is",
        "estimand": what,
    }


def fact(name: str, text: str, inputs: Sequence[str] = ()) -> dict[str, Any]:
    """Return the record of a fact in words, such as a processor or a version."""
    return {"name": name, "kind": "fact", "text": text, "method": "text", "inputs": list(inputs)}


def of_estimate(estimate: Estimate, **about: Any) -> dict[str, Any]:
    """Return the record of an estimate; without a value its warnings say why."""
    same = ("value", "low", "high", "level", "unit", "method", "estimand", "n_trials")
    return {
        **about,
        **{name: getattr(estimate, name) for name in same},
        "inputs": list(estimate.inputs),
        "warnings": list(estimate.warnings),
        "why": None if estimate.value is not None else "; ".join(estimate.warnings) or "cannot be said",
    }


def of_comparison(comparison: Comparison, name: str) -> dict[str, Any]:
    """Return the record of a comparison."""
    same = ("metric", "variant", "reference", "margin", "n_blocks", "n_excluded")
    row = of_estimate(comparison.ratio, name=name, kind="ratio")
    row |= {column: getattr(comparison, column) for column in same}
    return row | comparison.levels | {
        "verdict": str(comparison.verdict),
        "p": comparison.p_adjusted,
        "age": None if comparison.ages is None else comparison.ages.variant.age,
        "reference_age": None if comparison.ages is None else comparison.ages.reference.age,
        "bound_by": _bound_by(comparison.bound_by),
        "why": comparison.not_about or row["why"],
    }  # fmt: skip


def _about(cell: pd.DataFrame, metric: str) -> dict[str, Any]:
    """Label, age and bound of the trials of one variant."""
    counted = counting(cell)
    bounds = counted["bound_by"].value_counts().to_dict() if "bound_by" in counted else {}
    label = None if cell.empty else str(cell["label"].iloc[0])
    return {"label": label, "age": age_in(counted, metric), "bound_by": _bound_by(bounds)}


def age_in(arm: pd.DataFrame, metric: str) -> str | None:
    """Return the age of the trials of one variant; ``None``: they, or the metric, have none."""
    age = age_of_arm(arm) if has_age(metric) else None
    return None if age is None else age.age


def _bound_by(numbers: Mapping[Any, int]) -> str | None:
    """Return ``service 9, generator 1``, the most frequent first; ``None``: it is known of no trial."""
    if set(numbers) <= {"unknown"}:
        return None
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], str(item[0])))
    return ", ".join(f"{what} {number}" for what, number in ordered)


def _has(trials: pd.DataFrame, metric: str) -> bool:
    """Tell whether any trial has the metric; a column that is missing is left to the statistics, which name it."""
    return len(trials) > 0 and (metric not in trials or bool(trials[metric].notna().any()))


def _labels(trials: pd.DataFrame) -> dict[str, str]:
    return dict(zip(trials["variant"].astype(str), trials["label"].astype(str), strict=True))
