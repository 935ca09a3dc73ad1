# SPDX-License-Identifier: Apache-2.0
"""Two computations run at the same time where there are many rows, and give what they give one after the other."""

from __future__ import annotations

from threading import Barrier

import pytest

from harness.analysis.attribution.slow_periods import FEWEST_ROWS, side_by_side
from harness.tests.support.patience import patient


def test_of_many_rows_each_runs_while_the_other_does() -> None:
    both = Barrier(2, timeout=patient(30))

    def meet(name: str) -> str:
        both.wait()
        return name

    assert side_by_side(lambda: meet("a"), lambda: meet("b"), n_rows=FEWEST_ROWS) == ("a", "b")


@pytest.mark.parametrize("n_rows", [0, FEWEST_ROWS])
def test_what_one_of_them_raises_is_raised(n_rows: int) -> None:
    def fails() -> None:
        raise ValueError("of the other")

    for pair in ((fails, lambda: None), (lambda: None, fails)):
        with pytest.raises(ValueError, match="of the other"):
            side_by_side(*pair, n_rows=n_rows)
