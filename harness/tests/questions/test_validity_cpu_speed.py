# SPDX-License-Identifier: Apache-2.0
"""The speed of the CPUs is reported where it was read, with the same keys where it was not."""

from __future__ import annotations

from harness.analysis.audit.speed_response import speed_response
from harness.model import Estimate
from harness.publish.bounds import bounded_sentence
from harness.publish.results import leaves, measured
from harness.questions.validity.cpu_speed import speed_results, throughput_and_speed
from harness.tests.support.uneven_speeds import uneven_speeds


def test_range_count_and_elasticity_are_those_of_the_trials() -> None:
    trials = uneven_speeds()
    told = {
        path[-1]: leaf for path, leaf in leaves(speed_results(speed_response(trials, "throughput_per_s")))
    }
    numbers = {name: leaf.value for name, leaf in told.items() if isinstance(leaf, Estimate)}
    assert numbers["trials"] == len(trials)
    assert numbers["excluded"] == trials["excluded"].sum() > 0
    assert (numbers["least"] or 2) < 1 and (numbers["most"] or 0) > 1.3
    assert (numbers["elasticity"] or 0) < -0.8


def test_what_was_not_read_has_the_same_keys_and_is_not_measured() -> None:
    read = speed_response(uneven_speeds(), "throughput_per_s")
    absent = speed_results(throughput_and_speed(None))
    assert [path for path, _ in leaves(absent)] == [path for path, _ in leaves(speed_results(read))]
    assert not any(measured(leaf) for _, leaf in leaves(absent))


def test_what_bounded_the_trials_names_those_that_are_left_out_for_their_speed() -> None:
    trials = uneven_speeds()
    n = int(trials["excluded"].sum())
    said = bounded_sentence(trials)
    assert said.startswith(f"The service was the limit in {len(trials) - n} of {len(trials) - n} trials.")
    assert said.endswith(f"{n} more are left out: their CPUs ran at another speed.")
    assert "left out" not in bounded_sentence(trials[~trials["excluded"]])
