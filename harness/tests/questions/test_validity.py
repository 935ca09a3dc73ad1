# SPDX-License-Identifier: Apache-2.0
"""A handicap of known size: its truth lies in the interval where it was declared, and does not where it was not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.definitions import load_study
from harness.project import find_root
from harness.questions.validity import handicapped
from harness.rows import compare, stack
from harness.tests.support.made_up_trials import trial

SHARE, SETTING = 0.05, "handicap"


def session(effect: float, *, bound_by: str = "service") -> pd.DataFrame:
    """Ten blocks of the reference, its duplicate, and a variant with this share of its throughput less."""
    rng, sd = np.random.default_rng(2), 0.01
    rows: list[dict[str, object]] = []
    for block in range(1, 11):
        for variant, duplicate in (("go", False), ("go", True), ("slow", False)):
            rate = 1000 * (1 - effect * (variant == "slow")) * float(np.exp(rng.normal(0, sd)))
            rows.append(trial(
                len(rows), variant, block, duplicate=duplicate, throughput_per_s=rate, cpu_s_per_request=1 / rate,
                load_model="closed", bound_by=bound_by,
            ))  # fmt: skip
    return pd.DataFrame(rows)


def recovered(trials: pd.DataFrame) -> pd.DataFrame:
    metrics = {"throughput": "throughput_per_s", "cpu": "cpu_s_per_request"}
    rows = (compare(trials, metric, name, reference="go") for name, metric in metrics.items())
    return handicapped(trials, stack(*rows), {"slow": SHARE})


def test_the_interval_contains_what_was_declared_in_both_metrics() -> None:
    rows = recovered(session(SHARE))
    assert rows["truth"].tolist() == pytest.approx([0.95, 1 / 0.95])
    assert rows["contained"].all()
    assert set(rows["verdict"]) == {"different"}


def test_a_handicap_of_another_size_than_declared_is_noticed() -> None:
    assert not recovered(session(0.12))["contained"].any()


def test_a_ratio_that_something_else_bounded_has_no_verdict() -> None:
    rows = recovered(session(SHARE, bound_by="generator")).set_index("name")
    assert rows.loc["throughput", "verdict"] == "not_about_the_services"


def test_the_experiment_declares_what_its_service_is_told() -> None:
    experiment = load_study(find_root(), "known-effect").experiment
    with_setting = {
        name: variant for name, variant in experiment.variants.items() if SETTING in variant.settings
    }
    declared = {name: float(variant.settings[SETTING]) for name, variant in with_setting.items()}
    assert list(declared.values()) == [SHARE] and experiment.reference not in declared
    (name,) = declared
    plain, slowed = experiment.variants[experiment.reference], experiment.variants[name]
    assert {**plain.settings, SETTING: slowed.settings[SETTING]} == slowed.settings, "nothing else differs"
    assert plain.runtime == slowed.runtime and plain.implementation == slowed.implementation


def test_in_a_duet_throughput_is_the_inverse_of_what_service_and_generator_take_per_request() -> None:
    trials = session(0.0)
    pairs = {"slow": "go", "go": "slow"}
    ids = {
        (row["block"], row["variant"]): row["trial_id"] for _, row in trials[~trials["duplicate"]].iterrows()
    }
    trials["duet_partner"] = [ids[row["block"], pairs[row["variant"]]] for _, row in trials.iterrows()]
    trials = trials[~trials["duplicate"]].assign(
        service_cores=trials["throughput_per_s"] * 0.6e-3,
        generator_cores=trials["throughput_per_s"] * trials["variant"].map({"go": 0.4e-3, "slow": 0.44e-3}),
    )
    truth = recovered(trials).set_index("name")["truth"]
    assert truth["throughput"] == pytest.approx(1 / (0.6 / 0.95 + 0.44))
    assert truth["cpu"] == pytest.approx(1 / 0.95)
