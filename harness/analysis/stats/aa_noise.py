# SPDX-License-Identifier: Apache-2.0
"""What the machine cannot tell apart: the reference against its own duplicate, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from pydantic import Field

from harness.analysis.stats.aa_test import aa_test
from harness.analysis.stats.estimates import nothing
from harness.analysis.stats.pairing import (
    inputs_of,
    narrowed,
    pair_by_block,
    require,
    split_excluded,
    split_missing,
)
from harness.model import Estimate
from harness.model.base import Frozen
from harness.model.digits import cell_words


class AANoise(Frozen):
    """The reference against its own duplicate: what this machine cannot tell apart."""

    metric: str
    ratio: Estimate
    noise: float | None = Field(
        description="the smallest margin at which the reference is equivalent to itself (90 % interval)"
    )
    p_value: float | None
    n_blocks: int
    warnings: tuple[str, ...]
    elsewhere: str | None = Field(
        default=None,
        description="where the pairs were made, in words, if not in the cell that is spoken of; None: there",
    )


class PairNoise(Frozen):
    """The noise of one configuration that was run twice in each block."""

    variant: str
    found: AANoise


def aa_noise(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> AANoise:
    """Return the reference against its duplicate of the same block and configuration.

    ``noise`` is the smallest margin at which the two-sided equivalence test (90 %) would call the
    reference equal to itself: no smaller difference should be called negligible or meaningful here.
    ``None`` with a warning when there are fewer than two pairs.
    """
    require(trials, metric, ())
    return _noise(narrowed(trials, metric, "source"), metric, level, trials)


def _noise(trials: pd.DataFrame, metric: str, level: float, wide: pd.DataFrame) -> AANoise:
    kept, _ = split_excluded(trials)
    kept, warnings = split_missing(kept, metric)
    duplicate = kept["duplicate"].astype(bool)
    doubled = kept[duplicate]
    twins = kept[~duplicate & kept["configuration"].isin(doubled["configuration"])]
    a, b, _ = pair_by_block(twins, doubled, also=("configuration",), wide=wide)
    x, y = (arm[metric].to_numpy(dtype=np.float64) for arm in (a, b))
    if len(a) < 2 or min(x.min(), y.min()) <= 0:
        return AANoise(
            metric=metric,
            ratio=no_ratio(metric, len(a), level),
            noise=None,
            p_value=None,
            n_blocks=len(a),
            warnings=(*warnings, "no A/A pairs to measure the noise with"),
        )
    estimand = f"ratio of geometric means of {metric}, reference over its duplicate"
    found = aa_test(x, y, level=level)
    return AANoise(
        metric=metric,
        ratio=found.ratio.model_copy(update={"estimand": estimand, "inputs": inputs_of(pd.concat([a, b]))}),
        noise=found.noise,
        p_value=found.p_value,
        n_blocks=len(a),
        warnings=(*warnings, *found.warnings),
    )


def noise_by_configuration(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> dict[str, PairNoise]:
    """Return configuration -> its noise, of every configuration with a duplicate that tells one."""
    narrow = narrowed(trials, metric, "source")
    doubled = narrow[narrow["duplicate"].astype(bool)]
    found = {
        str(name): PairNoise(
            variant=str(rows["variant"].iloc[0]),
            found=_noise(narrow[narrow["configuration"] == name], metric, level, trials),
        )
        for name, rows in doubled.groupby("configuration", sort=False, observed=True)
    }
    return {name: one for name, one in found.items() if one.found.noise is not None}


def noise_for(
    noises: Mapping[str, PairNoise], own: Iterable[str], arms: tuple[str, str], metric: str
) -> AANoise:
    """Return the noise that a comparison is held against.

    That of the reference's pair in the same cell. Sessions from before every cell had its pair have one in
    another cell: the largest noise of either arm then, and ``elsewhere`` says where. The pair of a third
    program tells nothing of these two.

    Args:
        noises: as :func:`noise_by_configuration` returns them.
        own: configurations of the reference in the cell. arms: the reference and the variant.
    """

    def size(one: PairNoise) -> float:
        return one.found.noise or 0.0

    here = [noises[name] for name in dict.fromkeys(own) if name in noises]
    if here:
        return max(here, key=size).found
    there = {name: one for name, one in noises.items() if one.variant in arms}
    if not there:
        return AANoise(
            metric=metric, ratio=no_ratio(metric, 0, 0.95), noise=None, p_value=None, n_blocks=0,
            warnings=("no A/A pairs to measure the noise with",),
        )  # fmt: skip
    name = max(there, key=lambda one: size(there[one]))
    return there[name].found.model_copy(update={"elsewhere": _cell_words(name)})


def _cell_words(configuration: str) -> str:
    """Return ``a log line, no warm-up`` for ``go-nethttp,logging=on,warm_up=none``; no levels: the key itself."""
    levels = [level.partition("=") for level in configuration.split(",")[1:]]
    return cell_words({factor: level for factor, _, level in levels}) or configuration


def no_ratio(metric: str, n: int, level: float) -> Estimate:
    """Return the estimate that says nothing."""
    return nothing("cannot be said", estimand=f"ratio of {metric}", unit="ratio", level=level, n_trials=n)
