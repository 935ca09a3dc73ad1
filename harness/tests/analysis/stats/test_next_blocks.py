# SPDX-License-Identifier: Apache-2.0
"""Rules for blocks that go to what is undecided."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.next_blocks import next_blocks, undecided
from harness.errors import InputError
from harness.tests.analysis.stats.test_comparisons import METRIC, table


def session(ratio: float, cv: float = 0.02, seed: int = 0) -> tuple[Comparison, ...]:
    return compare(table(10, ratio, cv=cv, seed=seed), METRIC, reference="go", by=("logging",))


def test_an_interval_is_undecided_where_it_holds_an_end_of_the_band() -> None:
    low = np.log([0.97, 1.02, 1.06, 0.90, 0.80])
    high = np.log([1.03, 1.08, 1.20, 0.97, 0.90])
    assert undecided(low, high, 0.05).tolist() == [False, True, False, True, False]


def test_what_is_decided_gets_nothing_and_what_is_not_gets_what_it_needs() -> None:
    assert next_blocks(session(1.5), trials=1000, margin=0.05) == ()
    wide = next_blocks(session(1.12, cv=0.08), trials=10_000, margin=0.05)
    assert wide and all(one.n_more is None or one.granted == one.n_more for one in wide)
    assert all(one.n_more is None or one.n_more > 0 for one in wide)


def test_the_budget_is_kept_and_the_quickest_are_decided_first() -> None:
    found = [*session(1.10, cv=0.05), *session(1.25, cv=0.12, seed=3)]
    every = [one for one in next_blocks(found, trials=10_000, margin=0.05) if one.n_more is not None]
    assert [one.n_more for one in every] == sorted(one.n_more or 0 for one in every)
    least = every[0].n_more or 0
    some = next_blocks(found, trials=2 * least, margin=0.05)
    assert sum(one.granted for one in some) == least, "one of them, and the reference's trials beside it"
    assert all(one.granted == 0 for one in next_blocks(found, trials=0, margin=0.05))


def test_a_comparison_that_is_not_about_the_services_gets_no_block() -> None:
    found = [one.model_copy(update={"not_about": "bound by the generator"}) for one in session(1.1, cv=0.08)]
    assert next_blocks(found, trials=1000, margin=0.05) == ()


def test_a_budget_is_of_one_metric_and_not_below_zero() -> None:
    with pytest.raises(InputError, match="0 or more"):
        next_blocks(session(1.1), trials=-1)
    other = session(1.1)[0].model_copy(update={"metric": "latency_mean_s"})
    with pytest.raises(InputError, match="one metric"):
        next_blocks([*session(1.1), other], trials=10)
