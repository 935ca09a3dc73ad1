# SPDX-License-Identifier: Apache-2.0
"""Rank intervals: what cannot be told apart shares its ranks, and too few blocks tell nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.analysis import rank_intervals
from harness.analysis.stats.rank_intervals import critical_value
from harness.errors import InputError


def trials(means: dict[str, float], *, n_blocks: int = 10, cv: float = 0.02) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        [
            {
                "experiment": "e", "session_id": "s", "trial_id": f"{variant}{block}", "block": block, "position": 1,
                "duplicate": False, "variant": variant, "configuration": variant, "excluded": False, "flags": "",
                "throughput_per_s": mean * np.exp(rng.normal(0.0, cv)),
            }
            for block in range(n_blocks)
            for variant, mean in means.items()
        ]
    )  # fmt: skip


def ranks(table: pd.DataFrame, *, higher_is_better: bool = True) -> dict[str, str]:
    found = rank_intervals(table, "throughput_per_s", higher_is_better=higher_is_better)
    return {one.variant: one.text for one in found}


def test_variants_that_differ_have_one_rank_each_and_ties_share_theirs() -> None:
    table = trials({"slow": 50.0, "a": 100.0, "b": 100.0, "fast": 200.0})
    assert ranks(table) == {"fast": "1", "a": "2 to 3", "b": "2 to 3", "slow": "4"}
    assert ranks(table, higher_is_better=False)["slow"] == "1"


def test_below_five_complete_blocks_every_rank_is_possible() -> None:
    assert set(ranks(trials({"a": 1.0, "b": 9.0}, n_blocks=4)).values()) == {"1 to 2"}
    table = trials({"a": 1.0, "b": 9.0}, n_blocks=5)
    assert ranks(table) == {"b": "1", "a": "2"}
    assert set(ranks(table.drop(index=0)).values()) == {"1 to 2"}


def test_excluded_trials_and_duplicates_of_the_reference_do_not_count() -> None:
    table = trials({"a": 1.0, "b": 9.0}, n_blocks=6)
    again = table[table["variant"] == "a"].assign(duplicate=True, throughput_per_s=99.0)
    assert ranks(pd.concat([table, again])) == {"b": "1", "a": "2"}
    assert ranks(table.assign(excluded=True)) == {}


def test_two_cells_at_once_and_values_that_have_no_log_are_refused() -> None:
    table = trials({"a": 1.0, "b": 9.0})
    with pytest.raises(InputError, match="several trials in one block"):
        rank_intervals(pd.concat([table, table]), "throughput_per_s", higher_is_better=True)
    with pytest.raises(InputError, match="positive values"):
        rank_intervals(table.assign(throughput_per_s=0.0), "throughput_per_s", higher_is_better=True)


def test_the_critical_value_of_one_pair_is_that_of_students_t_and_grows_with_the_pairs() -> None:
    assert critical_value(2, 10, 0.95) == pytest.approx(2.262, rel=0.02)
    assert critical_value(3, 10, 0.95) < critical_value(6, 10, 0.95) < critical_value(6, 5, 0.95)
