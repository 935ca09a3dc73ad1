# SPDX-License-Identifier: Apache-2.0
"""What bounds a trial, made for real: each kind is named where nothing else disturbed it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from harness.tests.support.available import cannot_tell, long_tests_are_asked_for
from harness.verify.real.bound import TRIES, Machinery

TRUTH = {
    "a slowed generator": "generator",
    "a slowed database": "backing",
    "a rate below capacity": "offered",
    "a saturated service": "service",
}


@pytest.fixture(scope="module")
def machinery() -> Iterator[Machinery]:
    """One for all kinds, which share services: each is built once."""
    with Machinery() as made:
        yield made


@pytest.mark.parametrize("kind", TRUTH)
def test_each_kind_is_named_in_a_trial_that_nothing_disturbed(machinery: Machinery, kind: str) -> None:
    # Trials that other processes disturb are set aside. `make test-all` makes as many as `rematch verify bound` does;
    # elsewhere tests run beside this one, and what disturbed the first trial would disturb the next.
    tries = TRIES if long_tests_are_asked_for() else 1
    trials = machinery.trials(kind)
    trial = next((trial for trial in islice(trials, tries) if not trial.disturbed), None)
    trials.close()
    if trial is None:
        cannot_tell(f"other processes disturbed {tries} of {tries} trials")
    assert trial.bound.by == TRUTH[kind]
    if kind == "a slowed generator":
        assert not trial.flagged  # the flag looks at pinned CPUs and the session's headroom alone
