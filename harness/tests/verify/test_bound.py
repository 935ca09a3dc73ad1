# SPDX-License-Identifier: Apache-2.0
"""What bounds a trial, made for real: each kind is named where nothing else disturbed it."""

from __future__ import annotations

from itertools import islice

import pytest

from harness.tests.support.available import cannot_tell, only_when_long
from harness.verify.real.bound import TRIES, Machinery

TRUTH = {
    "a slowed generator": "generator", "a slowed database": "backing", "a rate below capacity": "offered",
    "a saturated service": "service",
}  # fmt: skip


@pytest.fixture(scope="module")
def machinery(tmp_path_factory: pytest.TempPathFactory) -> Machinery:
    """One for all kinds, which share services: each is built once."""
    return Machinery(tmp_path_factory.mktemp("bound"))


@only_when_long("trials that no other test may disturb")
@pytest.mark.parametrize("kind", TRUTH)
def test_each_kind_is_named_in_a_trial_that_nothing_disturbed(machinery: Machinery, kind: str) -> None:
    trials = machinery.trials(kind)
    trial = next((trial for trial in islice(trials, TRIES) if not trial.disturbed), None)
    trials.close()
    if trial is None:
        cannot_tell(f"other processes disturbed {TRIES} of {TRIES} trials")
    assert trial.bound.by == TRUTH[kind]
    if kind == "a slowed generator":
        assert not trial.flagged  # the flag looks at pinned CPUs and the session's headroom alone
