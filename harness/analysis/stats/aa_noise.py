# SPDX-License-Identifier: Apache-2.0
"""What the machine cannot tell apart: the reference against its own duplicate, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from harness.analysis.stats.effects import effect_size_ci, equivalence_interval
from harness.analysis.stats.intervals import nothing
from harness.analysis.stats.pairing import inputs_of, pair_by_block, require, split_excluded, split_missing
from harness.model import Estimate
from harness.model.base import Frozen
from harness.model.digits import cell_words


class AANoise(Frozen):
    """The reference against its own duplicate: what this machine cannot tell apart."""

    metric: str
    ratio: Estimate
    #: the smallest margin at which the reference is equivalent to itself (90 % interval)
    noise: float | None = None
    n_blocks: int
    #: where the pairs were made, in words, if not in the cell that is spoken of; None: there
    elsewhere: str | None = None


def noise_of(inner: Estimate) -> float | None:
    """Return the smallest equivalence margin that a 90 % interval of a ratio fits into; ``None``: no interval."""
    if inner.low is None or inner.high is None:
        return None
    return max(inner.high, 1 / inner.low) - 1


def aa_noise(trials: pd.DataFrame, metric: str, *, level: float = 0.95) -> AANoise:
    """Return the reference against its duplicate of the same block and configuration; no noise below two pairs."""
    require(trials, metric, ())
    counted, _ = split_missing(split_excluded(trials)[0], metric)
    duplicate = counted["duplicate"].astype(bool)
    doubled = counted[duplicate]
    twins = counted[~duplicate & counted["configuration"].isin(doubled["configuration"])]
    a, b, _ = pair_by_block(twins, doubled, also=("configuration",))
    x, y = (arm[metric].to_numpy(dtype=np.float64) for arm in (a, b))
    if len(a) < 2 or min(x.min(), y.min()) <= 0:
        return _no_noise(metric, len(a), level)
    noise = noise_of(equivalence_interval(x, y, paired=True))
    ratio = effect_size_ci(x, y, paired=True, level=level, inputs=inputs_of(pd.concat([a, b])))
    about = {"estimand": f"ratio of geometric means of {metric}, reference over its duplicate"}
    return AANoise(metric=metric, ratio=ratio.model_copy(update=about), noise=noise, n_blocks=len(a))


def _no_noise(metric: str, n: int, level: float = 0.95) -> AANoise:
    return AANoise(metric=metric, ratio=no_ratio(metric, n, level), n_blocks=n)


def noise_by_configuration(trials: pd.DataFrame, metric: str) -> dict[tuple[str, str], AANoise]:
    """Return (configuration, variant) -> its noise, of every configuration with a duplicate that tells one."""
    doubled = trials[trials["duplicate"].astype(bool)]
    results = {}
    for (name, variant), _ in doubled.groupby(["configuration", "variant"], sort=False, observed=True):
        noise = aa_noise(trials[trials["configuration"] == name], metric)
        if noise.noise is not None:
            results[str(name), str(variant)] = noise
    return results


def noise_for(
    noises: Mapping[tuple[str, str], AANoise], own: Iterable[str], arms: tuple[str, str], metric: str
) -> AANoise:
    """Return the noise that a comparison is held against: that of the reference's pair in the same cell; of a session
    from before every cell had its pair the largest of either arm in another cell, named in ``elsewhere``.

    Args:
        noises: of :func:`noise_by_configuration`. own: configurations of the reference in the cell. arms: both names.
    """

    def size(key: tuple[str, str]) -> float:
        return noises[key].noise or 0.0

    in_cell = [(name, variant) for name in dict.fromkeys(own) for key, variant in noises if key == name]
    if in_cell:
        return noises[max(in_cell, key=size)]
    in_others = [key for key in noises if key[1] in arms]
    if not in_others:
        return _no_noise(metric, 0)
    key = max(in_others, key=size)
    # of go-nethttp,logging=on,warm_up=none
    levels = [level.partition("=") for level in key[0].split(",")[1:]]
    words = cell_words({factor: level for factor, _, level in levels}) or key[0]
    return noises[key].model_copy(update={"elsewhere": words})


def no_ratio(metric: str, n: int, level: float) -> Estimate:
    """Return the estimate that says nothing."""
    return nothing("cannot be said", estimand=f"ratio of {metric}", unit="ratio", level=level, n_trials=n)
