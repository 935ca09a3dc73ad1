# SPDX-License-Identifier: Apache-2.0
"""A handicap of known size: what is held against the interval, and what is not where something else was the limit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from harness.definitions import load_study
from harness.project import find_root
from harness.publish.results import leaves, measured
from harness.questions.validity.known_effect import (
    SETTING,
    duet_results,
    known_results,
    known_rows,
    recovered,
)

SHARE = 0.05


def session(effect: float, *, sd: float = 0.01, bound_by: str = "service", seed: int = 2) -> pd.DataFrame:
    """Ten blocks of the reference, its duplicate, and a variant with this share of its throughput less."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for block in range(1, 11):
        for variant, duplicate in (("go", False), ("go", True), ("slow", False)):
            rate = 1000 * (1 - effect * (variant == "slow")) * float(np.exp(rng.normal(0, sd)))
            rows.append({
                "experiment": "known-effect", "session_id": "s", "trial_id": f"{len(rows):04d}", "block": block,
                "position": len(rows) + 1, "duplicate": duplicate, "variant": variant, "configuration": variant,
                "excluded": False, "flags": "", "throughput_per_s": rate, "cpu_s_per_request": 1 / rate,
                "load_model": "closed", "bound_by": bound_by,
            })  # fmt: skip
    return pd.DataFrame(rows)


def test_an_interval_that_holds_what_was_declared_says_so_in_both_metrics() -> None:
    found = recovered(session(SHARE), {"slow": SHARE}, reference="go")
    assert [one.truth for one in found] == pytest.approx([0.95, 1 / 0.95])
    assert [(one.holds, one.found) for one in found] == [(True, True)] * 2
    assert all(
        "contains it; the difference is detected" in str(row["said"]) for row in known_rows(found) if row
    )


def test_a_handicap_of_another_size_than_declared_is_noticed() -> None:
    found = recovered(session(0.12), {"slow": SHARE}, reference="go")
    assert all(one.holds is False and one.found is True for one in found)


def test_noise_that_hides_the_handicap_is_held_and_not_found() -> None:
    found = recovered(session(SHARE, sd=0.2), {"slow": SHARE}, reference="go")
    assert all(one.holds and not one.found for one in found)


def test_a_ratio_that_something_else_bounded_is_held_against_nothing() -> None:
    (throughput, _) = recovered(session(SHARE, bound_by="generator"), {"slow": SHARE}, reference="go")
    assert throughput.holds is None and throughput.found is None


def test_results_have_the_same_keys_where_nothing_was_measured() -> None:
    there = known_results(recovered(session(SHARE), {"slow": SHARE}, reference="go"), machine="another one")
    empty = known_results(())
    assert [path for path, _ in leaves(there)] == [path for path, _ in leaves(empty)]
    assert all(measured(leaf) for _, leaf in leaves(there))
    assert not any(measured(leaf) for _, leaf in leaves(empty))


def test_the_experiment_declares_what_its_service_is_told() -> None:
    experiment = load_study(find_root(), "known-effect").experiment
    declared = {
        name: float(one.settings[SETTING])
        for name, one in experiment.variants.items()
        if SETTING in one.settings
    }
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
    throughput, cpu = recovered(trials, {"slow": SHARE}, reference="go")
    assert throughput.truth == pytest.approx(1 / (0.6 / 0.95 + 0.44))
    assert cpu.truth == pytest.approx(1 / 0.95)


def test_results_of_a_duet_have_the_same_keys_where_nothing_was_measured() -> None:
    found = recovered(session(SHARE), {"slow": SHARE}, reference="go")
    there, empty = known_results(found, "duet"), duet_results(None, ())
    assert {path for path, _ in leaves(there)} < {path for path, _ in leaves(empty)}
    assert {path[1:] for path, _ in leaves(empty)} - {path[1:] for path, _ in leaves(there)} == {
        ("equal", key, leaf) for key in ("throughput", "cpu") for leaf in ("ratio", "finds")
    }
    assert not any(measured(leaf) for _, leaf in leaves(empty))
