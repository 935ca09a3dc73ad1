# SPDX-License-Identifier: Apache-2.0
"""A sentence on many comparisons has their ends, what most verdicts say, and the exceptions."""

from __future__ import annotations

import pytest

from harness.model import Verdict
from harness.publish.range_words import in_a_range, labelled, verdicts_in_words
from harness.tests.publish.test_findings import as_if, compared

LABELS = {"java-a": "A", "java-b": "B", "java-c": "C"}
RATES = {"java-a": 50.0, "java-b": 60.0, "java-c": 200.0}


def test_the_ends_are_the_smallest_and_the_largest_ratio_each_with_its_interval() -> None:
    said = in_a_range(labelled(compared(RATES), LABELS))
    assert said.startswith("from 0.") and said.count("(") == 2
    assert said.index(" for A to ") < said.index(" for C; ") and said.endswith("; all 3 differ")
    assert "B" not in said


def test_what_says_something_else_than_most_is_named() -> None:
    first, *others = compared(RATES)
    found = [as_if(first, Verdict.INCONCLUSIVE), *others]
    assert in_a_range(labelled(found, LABELS)).endswith("; 2 of 3 differ; A is not shown to differ")


def test_many_exceptions_are_counted() -> None:
    names = [f"java-{number}" for number in range(7)]
    found = compared(dict.fromkeys(names, 50.0))
    verdicts = [Verdict.EQUIVALENT] * 3 + [Verdict.DIFFERENT] * 4
    mixed = [as_if(one, verdict) for one, verdict in zip(found, verdicts, strict=True)]
    assert verdicts_in_words(labelled(mixed, {})) == "4 of 7 differ; 3 are equivalent"


def test_a_ratio_that_does_not_speak_of_the_services_is_no_end() -> None:
    lowest, *others = compared(RATES)
    found = [as_if(lowest, Verdict.NOT_ABOUT_SERVICES), *others]
    said = in_a_range(labelled(found, LABELS))
    assert " for B to " in said and said.endswith("; 2 of 3 differ; A says nothing of the services")
    assert in_a_range(labelled([as_if(one, Verdict.NOT_ABOUT_SERVICES) for one in others], LABELS)) == ""


def test_one_comparison_has_no_range_and_none_says_nothing() -> None:
    (one,) = compared({"java-a": 50.0})
    said = in_a_range(labelled([one, None], LABELS))
    assert said.endswith(" for A; it differs") and " to " in said and not said.startswith("from")
    assert in_a_range([]) == verdicts_in_words([]) == ""


@pytest.mark.parametrize("verdict", list(Verdict), ids=lambda verdict: verdict.value)
def test_every_verdict_has_words_for_one_and_for_several(verdict: Verdict) -> None:
    one, other = (as_if(found, verdict) for found in compared({"java-a": 50.0, "java-b": 60.0}))
    assert verdicts_in_words(labelled([one], LABELS)).startswith("it ")
    assert verdicts_in_words(labelled([one, other], LABELS)).startswith("both ")
