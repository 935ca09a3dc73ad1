# SPDX-License-Identifier: Apache-2.0
"""Factors of p99 in the project's own sessions: every interaction has a row with a value, or the reason for none."""

from __future__ import annotations

import pytest

from harness.definitions import load_study
from harness.model import Estimate
from harness.project import find_root
from harness.publish.results import leaves, measured
from harness.questions import validity
from harness.questions.validity.factors import ASKED, VARIANT, NamedEffect
from harness.tests.support.named_effects import named_effects

NAMES = tuple(ASKED)


def test_what_cannot_be_said_has_its_reason_in_the_table() -> None:
    (one, bounded, missing) = [
        row for row in validity.effect_rows({"strings-rounds": named_effects()}) if row is not None
    ]
    assert one["said"] == "cannot be said: no interval" or one["said"] in (
        "told from none",
        "not told from none",
    )
    assert bounded["said"] == "not about the services: bound by the generator"
    value = missing["ratio"]
    assert isinstance(value, Estimate) and value.value is None and missing["said"]


def test_results_have_the_same_keys_where_nothing_was_measured() -> None:
    nobody = dict.fromkeys(NAMES)
    empty = validity.effect_results(nobody, {})
    there = validity.effect_results(nobody, {name: named_effects() for name in NAMES})
    assert [path for path, _ in leaves(there)] == [path for path, _ in leaves(empty)]
    assert not any(measured(leaf) for _, leaf in leaves(empty))
    counts = {
        path[1]: leaf.value
        for path, leaf in leaves(there)
        if isinstance(leaf, Estimate) and path[2] == NAMES[0]
    }
    assert counts == {"interactions": 3.0, "told": 0.0, "refused": 3.0}


@pytest.mark.parametrize("name", NAMES)
def test_the_interaction_that_is_asked_for_is_one_of_the_experiment(name: str) -> None:
    experiment = load_study(find_root(), name).experiment
    asked = ASKED[name]
    assert asked[VARIANT] in experiment.variants and asked[VARIANT] != experiment.reference
    for factor, level in asked.items():
        if factor != VARIANT:
            first, *others = experiment.factors[factor]
            assert level in others and level != first


def test_an_effect_that_was_told_says_so() -> None:
    (alone, *_) = named_effects()
    told = NamedEffect(
        experiment="e", words=alone.words, effect=alone.effect.model_copy(update={"found": True})
    )
    assert told.said == "told from none"
