# SPDX-License-Identifier: Apache-2.0
"""Rules for blocks that go to what is undecided."""

from __future__ import annotations

import numpy as np

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.next_blocks import undecided, wants_more
from harness.tests.analysis.stats.test_comparisons import METRIC, table


def session(ratio: float, cv: float = 0.02, seed: int = 0) -> tuple[Comparison, ...]:
    return compare(table(10, ratio, cv=cv, seed=seed), METRIC, reference="go", by=("logging",))


def test_an_interval_is_undecided_where_it_holds_an_end_of_the_band() -> None:
    low = np.log([0.97, 1.02, 1.06, 0.90, 0.80])
    high = np.log([1.03, 1.08, 1.20, 0.97, 0.90])
    assert undecided(low, high, 0.05).tolist() == [False, True, False, True, False]


def test_what_is_decided_wants_no_more_blocks_and_what_is_not_does() -> None:
    assert not any(wants_more(one) for one in session(1.5))
    assert all(wants_more(one) for one in session(1.08, cv=0.05))


def test_too_few_blocks_are_undecided() -> None:
    few = compare(table(4, 1.5, cv=0.02, seed=0), METRIC, reference="go", by=("logging",))
    assert few and all(wants_more(one) for one in few)


def test_a_comparison_that_is_not_about_the_services_gets_no_block() -> None:
    found = [one.model_copy(update={"not_about": "bound by the generator"}) for one in session(1.08, cv=0.05)]
    assert not any(wants_more(one) for one in found)
