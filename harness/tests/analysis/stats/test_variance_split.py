# SPDX-License-Identifier: Apache-2.0
"""Rules for the split of variance among nested levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis.stats.sample_size import variance_components
from harness.analysis.stats.variance_split import WITHIN, variance_split
from harness.errors import InputError


def nested(sizes: list[int], n: int = 4, seed: int = 1) -> pd.DataFrame:
    """Blocks of so many trials each, of ``n`` windows each; every name of a trial comes again in each block."""
    rng = np.random.default_rng(seed)
    rows = []
    for block, size in enumerate(sizes):
        of_block = rng.normal(0.0, 0.05)
        for trial in range(size):
            of_trial = rng.normal(0.0, 0.03)
            rows += [(block, trial, of_block + of_trial + x) for x in rng.normal(0.0, 0.02, n)]
    return pd.DataFrame(rows, columns=["block", "trial", "value"])


def test_one_level_is_the_one_way_analysis_also_where_groups_differ_in_size() -> None:
    table = pd.concat([nested([1] * 8), nested([1] * 3, n=9, seed=2).assign(block=lambda t: t["block"] + 8)])
    ours = variance_split(table, "value", ["block"])
    theirs = variance_components([group["value"].to_numpy() for _, group in table.groupby("block")])
    assert ours.of("block").variance == pytest.approx(theirs.between)
    assert ours.of(WITHIN).variance == pytest.approx(theirs.within)
    assert ours.of("block").share == pytest.approx(theirs.intraclass_correlation)


def test_equal_groups_have_the_components_of_the_textbook() -> None:
    table, n, m, k = nested([3] * 7), 4, 3, 7
    trials = table.groupby(["block", "trial"])["value"].mean()
    blocks = trials.groupby("block").mean()
    within = float(((table.set_index(["block", "trial"])["value"] - trials) ** 2).sum()) / (k * m * (n - 1))
    of_trials = n * float(((trials - blocks) ** 2).sum()) / (k * (m - 1))
    of_blocks = n * m * float(blocks.var(ddof=1))
    found = variance_split(table, "value", ["block", "trial"])
    assert found.of(WITHIN).variance == pytest.approx(within)
    assert found.of("trial").variance == pytest.approx((of_trials - within) / n)
    assert found.of("block").variance == pytest.approx((of_blocks - of_trials) / (n * m))
    assert sum(one.share or 0.0 for one in found.levels) == pytest.approx(1.0)
    assert [one.df for one in found.levels] == [k - 1, k * (m - 1), k * m * (n - 1)]


def test_a_name_that_comes_again_in_another_group_is_another_group() -> None:
    table = nested([2, 2, 3])
    told_apart = table.assign(trial=table["block"].astype(str) + "/" + table["trial"].astype(str))
    assert variance_split(table, "value", ["block", "trial"]) == variance_split(
        told_apart, "value", ["block", "trial"]
    )


def test_few_groups_say_little_and_the_interval_says_so() -> None:
    few, many = (
        variance_split(nested([2] * 3), "value", ["block"]),
        variance_split(nested([2] * 60), "value", ["block"]),
    )
    assert few.of("block").high / few.of("block").low > 10 * many.of("block").high / many.of("block").low
    for one in (*few.levels, *many.levels):
        assert one.low <= one.variance <= one.high


def test_groups_that_differ_less_than_chance_are_zero_with_a_warning() -> None:
    table = pd.DataFrame({"block": [0, 0, 1, 1, 2, 2], "value": [-1.0, 1.0, 1.0, -1.0, -1.0, 1.0]})
    found = variance_split(table, "value", ["block"])
    assert found.of("block").variance == 0 and "less than chance" in found.warnings[0]
    assert found.of("block").low == 0


def test_what_nothing_tells_apart_is_refused() -> None:
    with pytest.raises(InputError, match="nothing tells trial from block"):
        variance_split(nested([1] * 5), "value", ["block", "trial"])
    with pytest.raises(InputError, match="nothing tells within from trial"):
        variance_split(nested([2] * 5, n=1), "value", ["block", "trial"])
    with pytest.raises(InputError, match="no such column"):
        variance_split(nested([2] * 5), "value", ["session"])
    with pytest.raises(InputError, match="no level"):
        variance_split(nested([2] * 5), "value", [])
