# SPDX-License-Identifier: Apache-2.0
"""Rows of effects: of factors together, of cells and of a step within blocks, of a slow core; and the universal
scalability law (Gunther 2007) of each variant, throughput against cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.audit.session_checks import speed_response
from harness.analysis.stats.effects import effect_size_ci
from harness.analysis.stats.factor_effects import METHOD, Interaction
from harness.analysis.stats.factor_effects import interactions as interactions_of
from harness.analysis.stats.intervals import t_critical
from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.stats.scaling import FEWEST_SIZES, N_RESAMPLES, fit_usl
from harness.errors import InputError
from harness.model import Verdict
from harness.rows.results import of_estimate
from harness.rows.schema import empty, stack, tidy

CORES, SHARED = "cores", "shared_cores"
#: name of the result -> (number of the law, its unit)
NUMBERS = {
    "per_core": ("per_core_per_s", "1/s"),
    "contention": ("contention", "share"),
    "coherency": ("coherency", "share"),
    "peak": ("peak_cores", "cores"),
}


def interactions(
    trials: pd.DataFrame, metric: str, name: str, factors: Sequence[str], *, by: Sequence[str] = ()
) -> pd.DataFrame:
    """Return ratios of ratios over blocks, of every pair of factors: 1 where one effect is the same at both levels.

    The levels of a row are those in the numerators; each is against the first one in ``trials``. ``factors``: columns
    of levels; ``variant`` may be one of them.
    """
    levels = [factor for factor in factors if factor != "variant"]
    labels = dict(zip(trials["variant"], trials["label"], strict=True))
    rows = []
    for key, cell in trials.groupby(list(by), sort=False) if by else [((), trials)]:
        place = dict(zip(by, map(str, key), strict=True))
        effects = interactions_of(cell, metric, factors) if cell[metric].notna().any() else ()
        rows += [_row(effect, name, metric) | effect.levels | place for effect in effects]
    for row in rows:
        row["label"] = labels.get(row.get("variant"))
    return stack(empty(*levels, *(factor for factor in by if factor != "variant")), tidy(rows))


def _row(effect: Interaction, name: str, metric: str) -> dict[str, Any]:
    """Return the record of an effect; one that was found is *different*, any other inconclusive."""
    verdict = Verdict.DIFFERENT if effect.shown else Verdict.INCONCLUSIVE
    row = of_estimate(effect.ratio, name=name, kind="ratio", metric=metric)
    return row | {
        "reference": ", ".join(effect.against.values()),
        "verdict": str(Verdict.NOT_ABOUT_SERVICES if effect.not_about else verdict), "p": effect.p_adjusted,
        "n_blocks": effect.n_blocks, "why": effect.not_about or row["why"],
    }  # fmt: skip


_NO_BLOCK = "no block has a trial of every cell"


def contrast(
    trials: pd.DataFrame, metric: str, name: str, over: Sequence[Mapping[str, str]],
    under: Sequence[Mapping[str, str]], *, level: float = 0.95, **about: Any,
) -> pd.DataFrame:  # fmt: skip
    """Return the product of the cells ``over`` over that of the cells ``under`` as one row: of one cell each a ratio,
    of two a ratio of ratios. The interval is Student's, of logarithms within the blocks that have every cell.

    Args:
        over, under: as many cells, each the values of some columns. about: further columns, such as a label.

    Raises:
        InputError: other numbers of cells, or a cell with several trials in one block.
    """
    if not over or len(over) != len(under):
        numbers = f"{len(over)} and {len(under)}"
        raise InputError("a contrast has as many cells over as under", place=name, found=numbers)
    counted = counting(trials).dropna(subset=[metric])
    cells = []
    for cell in (*over, *under):
        own = counted
        for column, value in cell.items():
            own = own[own[column] == value]
        own = own.set_index(["session_id", "block"])
        if own.index.has_duplicates:
            levels = ", ".join(cell.values())
            raise InputError("a cell has several trials in one block", place=name, found=levels)
        cells.append(own)
    blocks = reduce(pd.Index.intersection, [own.index for own in cells])
    row = {"name": name, "kind": "fit", "metric": metric, "unit": "ratio", "n_blocks": len(blocks), **about}
    if blocks.empty:
        return tidy([row | {"why": _NO_BLOCK}])
    logs = np.log([own.loc[blocks, metric].to_numpy(dtype="float64") for own in cells])
    products = [np.exp(side.sum(axis=0)) for side in (logs[: len(over)], logs[len(over) :])]
    inputs = dict.fromkeys(inputs_of(pd.concat([own.loc[blocks].reset_index() for own in cells])))
    ratio = of_estimate(effect_size_ci(*products, paired=True, level=level, inputs=tuple(inputs)))
    return tidy([row | ratio | {"n_trials": len(inputs), "method": METHOD}])


def block_mean(values: pd.Series[float], *, level: float = 0.95, **about: Any) -> dict[str, Any]:
    """Return the record of the mean of one number a block, with Student's interval: of differences, which may be
    negative. ``about``: further columns, such as the name of the result and its inputs."""
    n, mean = len(values), float(values.mean())
    spread = float(values.to_numpy().std(ddof=1)) if n > 1 else float("nan")
    half = float(t_critical(level, max(n - 1, 1))) * spread / n**0.5
    return {
        "kind": "mean", "value": mean, "low": mean - half, "high": mean + half, "level": level, "unit": "",
        "method": "mean of differences within blocks, Student's t", "n_trials": 2 * n, "n_blocks": n, "warnings": [],
        **about,
    }  # fmt: skip


def elasticities(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> pd.DataFrame:
    """Return by how many percent a metric grows where a fixed calculation on the service's CPU takes one percent
    longer, for each variant; one whose trials do not tell is left out."""
    rows = []
    for variant, own in trials.groupby("variant", sort=False):
        elasticity = speed_response(own, metric, level=level) if "service_step_s" in own else None
        if elasticity is not None and elasticity.value is not None:
            about = {"metric": metric, "variant": variant, "label": own["label"].iloc[0]}
            rows.append(of_estimate(elasticity, name="elasticity", kind="fit", **about))
    return tidy(rows)


def scaling_law(
    trials: pd.DataFrame, metric: str, *, by: Sequence[str] = (), n_resamples: int = N_RESAMPLES
) -> pd.DataFrame:
    """Return ``per_core`` (1/s), ``contention``, ``coherency`` (shares) and ``peak`` (cores) of each variant.

    Sizes at which service and generator shared CPUs (flag ``shared_cores``) are left out: what is lost there is not the
    program's. With fewer than three sizes the rows have no value, and the reason. ``n_resamples``: of blocks, for the
    intervals.
    """
    counted = counting(trials).dropna(subset=[metric])
    rows: list[dict[str, Any]] = []
    for (*levels, _), cell in counted.groupby([*by, "variant"], sort=False):
        place = dict(zip(by, map(str, levels), strict=True))
        rows += [row | place for row in _law(cell, metric, n_resamples)]
    return stack(empty(*by), tidy(rows))


def _law(cell: pd.DataFrame, metric: str, n_resamples: int) -> Iterator[dict[str, Any]]:
    """Yield the numbers of the law of one variant."""
    about = {"kind": "fit", "metric": metric} | {name: cell[name].iloc[0] for name in ("variant", "label")}
    shared = cell.loc[cell["flags"].fillna("").str.contains(SHARED), CORES].unique()
    apart = cell[~cell[CORES].isin(shared)]
    if apart[CORES].nunique() < FEWEST_SIZES:
        n = cell[CORES].nunique()
        why = f"{n} numbers of cores, {len(shared)} of them shared with the generator; the law needs {FEWEST_SIZES}"
        for name, (_, unit) in NUMBERS.items():
            yield about | {"name": name, "unit": unit, "why": why}
        return
    blocks = (apart["session_id"].astype(str) + "/" + apart["block"].astype(str)).to_numpy(dtype=str)
    cores, rates = apart[CORES].astype(int).to_numpy(), apart[metric].to_numpy(dtype="float64")
    fit = fit_usl(cores, rates, blocks, n_resamples=n_resamples, inputs=inputs_of(apart))
    for name, (field, _) in NUMBERS.items():
        yield of_estimate(getattr(fit, field), name=name) | about
