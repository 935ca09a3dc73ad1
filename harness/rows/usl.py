# SPDX-License-Identifier: Apache-2.0
"""Rows of the universal scalability law (Gunther 2007) of each variant: throughput against cores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from harness.analysis.stats.pairing import counting, inputs_of
from harness.analysis.stats.scaling import FEWEST_SIZES, N_RESAMPLES, fit_usl
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


def scaling_law(
    trials: pd.DataFrame, metric: str, *, by: Sequence[str] = (), n_resamples: int = N_RESAMPLES
) -> pd.DataFrame:
    """Return ``per_core`` (1/s), ``contention``, ``coherency`` (shares) and ``peak`` (cores) of each variant.

    Sizes at which service and generator shared CPUs (flag ``shared_cores``) are left out: what is lost there is not the
    program's. With fewer than three sizes the rows have no value, and the reason.

    Args:
        trials: with a column ``cores`` of whole numbers. by: factors; each combination has its own law.
        n_resamples: of blocks, for the intervals.
    """
    counted = counting(trials).dropna(subset=[metric])
    rows: list[dict[str, Any]] = []
    for (*levels, _), cell in counted.groupby([*by, "variant"], sort=False):
        place = dict(zip(by, map(str, levels), strict=True))
        rows += [row | place for row in _law(cell, metric, n_resamples)]
    return stack(empty(*by), tidy(rows))


def _law(cell: pd.DataFrame, metric: str, n_resamples: int) -> Iterator[dict[str, Any]]:
    """Yield the numbers of the law of one variant."""
    about = {
        "kind": "fit",
        "metric": metric,
        "variant": cell["variant"].iloc[0],
        "label": cell["label"].iloc[0],
    }
    shared = cell.loc[cell["flags"].fillna("").str.contains(SHARED), CORES].unique()
    apart = cell[~cell[CORES].isin(shared)]
    if apart[CORES].nunique() < FEWEST_SIZES:
        n = cell[CORES].nunique()
        why = f"{n} numbers of cores, {len(shared)} of them shared with the generator; the law needs {FEWEST_SIZES}"
        for name, (_, unit) in NUMBERS.items():
            yield about | {"name": name, "unit": unit, "why": why}
        return
    fit = fit_usl(
        apart[CORES].astype(int).to_numpy(),
        apart[metric].to_numpy(dtype="float64"),
        (apart["session_id"].astype(str) + "/" + apart["block"].astype(str)).to_numpy(dtype=str),
        n_resamples=n_resamples,
        inputs=inputs_of(apart),
    )
    for name, (field, _) in NUMBERS.items():
        yield of_estimate(getattr(fit, field), name=name) | about
