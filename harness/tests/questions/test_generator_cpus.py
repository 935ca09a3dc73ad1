# SPDX-License-Identifier: Apache-2.0
"""What a request costs by the CPU of its load generator: measured or not, every level and service has its result."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.evidence.opening import open_evidence
from harness.evidence.requests import definition_of
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.results import Absent, leaves
from harness.questions.strings_warm import generator_levels, generator_results, generator_rows
from harness.tests.support.kept_sessions import lay_project

EXPERIMENT, GO = "generator-cpus", "go-nethttp"
DEFINITION = definition_of(EXPERIMENT)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The trials of a made-up quick session of all levels; a request costs half on the service's CPU, and a quarter of
    the cost is the kernel's."""
    root: Path = lay_project(tmp_path_factory.mktemp("generator"), experiments=(EXPERIMENT,))
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    trials = open_evidence(settings, EXPERIMENT, root=root).trials
    cost_s = {"apart": 20e-6, "same": 10e-6, "any": 15e-6}
    cost = trials["generator_cpus"].map(cost_s) * (1 + 0.01 * trials["block"])
    return trials.assign(cpu_s_per_request=cost, kernel_cpu_s_per_request=cost / 4)


def test_a_level_over_the_first_is_of_one_service_and_block_by_block(measured: pd.DataFrame) -> None:
    levels = generator_levels(measured, reference=GO)
    assert list(levels) == ["apart", "same", "any"] and levels["apart"].moved == {}
    assert levels["same"].moved[GO].ratio.value == pytest.approx(0.5)
    assert levels["any"].moved["java-helidon"].ratio.value == pytest.approx(0.75)
    assert levels["same"].kernel[GO].value == pytest.approx(levels["same"].cost[GO].value / 4)  # type: ignore[operator]  # both were measured
    rows = [row for row in generator_rows(levels, DEFINITION.labels) if row is not None]
    assert [(row["variant"], row["level"]) for row in rows][:2] == [
        ("Go net/http", "on another CPU"),
        ("Go net/http", "on the service's CPU"),
    ]


def test_without_the_kernels_part_its_cell_is_empty_and_the_rest_stands(measured: pd.DataFrame) -> None:
    levels = generator_levels(measured.assign(kernel_cpu_s_per_request=float("nan")), reference=GO)
    assert levels["same"].kernel == {} and levels["same"].cost[GO].value is not None


def test_not_measured_every_result_is_absent_and_has_the_same_keys(measured: pd.DataFrame) -> None:
    there = generator_results(generator_levels(measured, reference=GO), DEFINITION)
    absent = generator_results(generator_levels(None, reference=GO), DEFINITION)
    assert set(dict(leaves(there))) == set(dict(leaves(absent)))
    lacking = [
        sum(isinstance(leaf, Absent) for leaf in dict(leaves(tree)).values()) for tree in (there, absent)
    ]
    assert 0 < lacking[0] < lacking[1], "a service that quick does not measure is absent in both"
    assert generator_rows({}, DEFINITION.labels) == []
