# SPDX-License-Identifier: Apache-2.0
"""Claims about latencies at a rate, of which a part is the load tool's own."""

from __future__ import annotations

import pytest

from harness.model.claim import Above, Below, MeasuredNumber, Near, Predicate
from harness.questions.claims.judging import judge
from harness.questions.claims.measured import Measured, measure
from harness.tests.questions.test_claims import made_evidence, made_trials


@pytest.mark.parametrize(
    ("predicate", "ratio", "outcome"),
    [
        (Above(limit=1.0), 1.5, "holds"),
        (Above(limit=1.0), 0.7, "fails"),
        (Above(limit=1.2), 1.5, "holds"),
        (Above(limit=2.0), 1.5, "undecided"),
        (Above(limit=2.0), 0.7, "fails"),
        (Above(limit=0.5), 0.7, "undecided"),
        (Below(limit=0.8), 0.7, "holds"),
        (Below(limit=2.0), 1.5, "undecided"),
        (Below(limit=1.2), 1.5, "fails"),
        (Near(limit=1.0), 1.0, "undecided"),
        (Near(limit=1.0), 1.5, "fails"),
        (Near(limit=2.0), 1.5, "undecided"),
        (Near(limit=1.2), 1.5, "fails"),
    ],
)
def test_where_a_part_of_the_latency_is_the_load_tools_the_services_may_be_farther_apart(
    predicate: Predicate, ratio: float, outcome: str
) -> None:
    number = MeasuredNumber(experiment="e", metric="latency_mean_s", variant="a", over="b")
    trials = made_trials(number, ratio, bound_by="offered").assign(
        throughput_per_s=100.0, echo_latency_mean_s=0.3
    )
    said = []
    for one in (trials, trials.drop(columns="echo_latency_mean_s")):
        found = measure(made_evidence(one), number, limit=predicate.limit)
        assert isinstance(found, Measured)
        said.append(judge(predicate, found, p_adjusted=found.p_value, n_family=1))
    assert said[0].outcome == outcome, said[0].why
    if outcome == "undecided":
        assert any(words in said[0].why for words in ("farther from 1", "nothing is called equivalent"))
        assert said[1].outcome != "undecided"
