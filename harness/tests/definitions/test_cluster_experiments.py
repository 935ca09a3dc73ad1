# SPDX-License-Identifier: Apache-2.0
"""What experiments in a cluster ask of a small node."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.definitions import load_study
from harness.model import OpenLoad
from harness.project import find_root

ROOT = find_root(Path(__file__).parent)


@pytest.mark.parametrize("name", ["k8s-rounds", "k8s-limits"])
def test_on_a_small_node_every_arm_is_offered_the_same_rate(name: str) -> None:
    experiment = load_study(ROOT, name).experiment
    loads = experiment.profiles["quick"].loads.values()
    assert loads and all(isinstance(load.profile, OpenLoad) for load in loads)


def test_no_runtime_is_told_of_the_limits_that_it_has_to_find_out() -> None:
    experiment = load_study(ROOT, "k8s-limits").experiment
    assert [level.runtime["cpu_limit"] for level in experiment.factors["limit"].values()] == [0.5, 1.0, 2.0]
    assert all(variant.runtime.cpus is None for variant in experiment.variants.values())
