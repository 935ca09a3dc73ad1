# SPDX-License-Identifier: Apache-2.0
"""What bounds a trial, made for real: each kind is named; on a busy machine that, or nothing, but no other part."""

from __future__ import annotations

import pytest

from harness.verify.real.bound import Machinery

TRUTH = {
    "a slowed generator": "generator",
    "a slowed upstream": "backing",
    "a rate below capacity": "offered",
    "a saturated service": "service",
}


@pytest.mark.parametrize("kind", TRUTH)
def test_each_kind_is_named_or_else_the_machine_that_others_used(kind: str) -> None:
    with Machinery() as machinery:
        trials = machinery.trials(kind)
        trial = next(trials)
        trials.close()
    assert trial.bound.by == TRUTH[kind] or (trial.disturbed and trial.bound.by in ("machine", "unknown"))
    if kind == "a slowed generator" and not trial.disturbed:
        assert not trial.flagged  # the flag looks at pinned CPUs and the session's headroom alone
