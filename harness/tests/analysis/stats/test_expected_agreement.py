# SPDX-License-Identifier: Apache-2.0
"""How many verdicts of two sessions agree by sampling alone: sure ones all, those at a margin about half."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.stats.comparisons import Comparison
from harness.analysis.stats.session_agreement import (
    KINDS,
    ExpectedAgreement,
    Side,
    agreement,
    expected,
    expected_agreement,
    kinds_of,
    side_of,
)
from harness.model import Verdict
from harness.tests.analysis.stats.test_session_agreement import session


def side(log_ratio: float, error: float = 0.01, margin: float | None = 0.05) -> Side:
    return Side(log_ratio=log_ratio, error=error, n_blocks=10, margin=margin)


def chances(first: Side, second: Side) -> dict[str, float]:
    found = kinds_of(first, second)
    return {kind: float(np.mean(found == n)) for n, kind in enumerate(KINDS)}


def of(first: tuple[Comparison, ...], second: tuple[Comparison, ...]) -> ExpectedAgreement:
    found = expected_agreement(agreement(first, second))
    assert found is not None
    return found


@pytest.mark.parametrize("ratio", [0.7, 0.97, 1.0, 1.04, 1.5])
def test_a_verdict_is_that_of_the_comparison_it_stands_for(ratio: float) -> None:
    for one in session(ratio):
        made = side_of(one)
        assert made is not None
        assert made.verdict(made.log_ratio) == one.verdict


def test_a_verdict_follows_the_log_ratio_the_width_and_the_margin() -> None:
    assert side(0.4).verdict(0.4) == Verdict.DIFFERENT
    assert side(0.0).verdict(0.0) == Verdict.EQUIVALENT
    assert side(0.0, error=0.001).verdict(0.02) == Verdict.DIFFERENT_BUT_NEGLIGIBLE
    assert side(0.0, error=0.1).verdict(0.0) == Verdict.INCONCLUSIVE
    assert side(0.0, margin=None).verdict(0.0) == Verdict.INCONCLUSIVE


def test_what_is_far_from_every_margin_is_expected_to_agree() -> None:
    found = of(session(1.5), session(1.5, seed=1))
    assert (found.n, found.low, found.high) == (2, 2, 2)
    assert found.agree == pytest.approx(2) and found.contradict == 0


def test_at_the_edge_of_being_told_one_session_in_two_decides() -> None:
    edge = 0.01 * 2.262  # where the 95 % interval of ten blocks begins to leave out 1
    # what two such sessions have for their mean
    means = edge + 0.01 / np.sqrt(2) * np.array(
        [-1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64]
    )
    found = [chances(side(float(mean), margin=None), side(float(mean), margin=None)) for mean in means]
    assert 0.35 < np.mean([one["agree"] for one in found]) < 0.65
    assert all(one["contradict"] == 0 for one in found)


def test_the_interval_is_wider_where_variants_move_together() -> None:
    half = np.array([KINDS.index("agree")] * 20 + [KINDS.index("one undecided")] * 20)
    together = expected([half] * 10, ["cell"] * 10, ["one"] * 10)
    apart = expected([half] * 10, list(range(10)), list(range(10)))
    assert together.agree == apart.agree == 5
    assert together.high - together.low > apart.high - apart.low
    assert expected([half] * 10, ["cell"] * 10, ["one"] * 10) == together


def test_a_pair_without_an_interval_stays_what_it_is_and_no_pair_expects_nothing() -> None:
    one = session(1.5)[0]
    bare = one.model_copy(update={"ratio": one.ratio.model_copy(update={"low": None, "high": None})})
    assert of((bare,), (one,)).agree == 1
    assert expected_agreement(agreement([], [])) is None
    assert expected_agreement(agreement([one], [one]), changed=True) is None
