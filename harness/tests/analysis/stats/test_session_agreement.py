# SPDX-License-Identifier: Apache-2.0
"""Verdicts of two sessions: when they agree, when one is undecided, and when they contradict each other."""

from __future__ import annotations

from functools import cache

import pytest

from harness.analysis.stats.comparisons import Comparison, compare
from harness.analysis.stats.session_agreement import agreement, kind_of
from harness.model import Verdict
from harness.tests.analysis.stats.test_comparisons import METRIC, table

DIFFERENT, EQUIVALENT, UNDECIDED = Verdict.DIFFERENT, Verdict.EQUIVALENT, Verdict.INCONCLUSIVE
NEGLIGIBLE, REFUSED = Verdict.DIFFERENT_BUT_NEGLIGIBLE, Verdict.NOT_ABOUT_SERVICES


def session(ratio: float, *, seed: int = 0, cv: float = 0.02) -> tuple[Comparison, ...]:
    """Both cells of a session of ten blocks."""
    return compare(table(10, ratio, cv=cv, seed=seed), METRIC, reference="go", by=("logging",))


@cache
def said(verdict: Verdict, ratio: float) -> Comparison:
    """A comparison that says this."""
    one = session(ratio)[0]
    return one.model_copy(update={"verdict": verdict})


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ((DIFFERENT, 1.5), (DIFFERENT, 1.3), "agree"),
        ((DIFFERENT, 1.5), (DIFFERENT, 0.7), "contradict"),
        ((DIFFERENT, 1.5), (EQUIVALENT, 1.0), "contradict"),
        ((DIFFERENT, 1.02), (EQUIVALENT, 1.01), "one undecided"),
        ((DIFFERENT, 1.5), (NEGLIGIBLE, 1.04), "one undecided"),
        ((DIFFERENT, 1.5), (NEGLIGIBLE, 0.96), "contradict"),
        ((DIFFERENT, 1.5), (UNDECIDED, 1.3), "one undecided"),
        ((DIFFERENT, 1.5), (REFUSED, 1.3), "one undecided"),
        ((EQUIVALENT, 1.0), (NEGLIGIBLE, 1.04), "agree"),
        ((EQUIVALENT, 1.0), (EQUIVALENT, 0.99), "agree"),
        ((UNDECIDED, 1.1), (UNDECIDED, 0.9), "agree"),
        ((UNDECIDED, 1.1), (REFUSED, 1.1), "one undecided"),
        ((REFUSED, 1.5), (REFUSED, 0.5), "agree"),
    ],
)
def test_what_two_verdicts_are_to_each_other(
    first: tuple[Verdict, float], second: tuple[Verdict, float], kind: str
) -> None:
    a, b = said(*first), said(*second)
    assert kind_of(a, b) == kind
    assert kind_of(b, a) == kind


def test_verdicts_are_set_beside_those_of_the_same_cell_and_those_on_a_changed_program_counted_apart() -> (
    None
):
    first, second = session(1.5), session(1.5, seed=1)[::-1]
    found = agreement(first, second)
    assert [pair.first for pair in found.pairs] == list(first)
    assert all(pair.first.levels == pair.second.levels for pair in found.pairs)
    assert (found.counts()["agree"], found.share) == (2, 1.0)
    for changed in ("java", "go"):
        found = agreement(first, session(0.5), changed=(changed, "elsewhere"))
        assert found.changed == (changed,)
        assert (found.n(), found.share, found.counts(changed=True)["contradict"]) == (0, None, 2)
