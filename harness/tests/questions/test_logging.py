# SPDX-License-Identifier: Apache-2.0
"""Log lines: the cost is that to the same program without a log, lost lines are told, and the gate is asked."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.definitions import load_study
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.requests import defined_variants
from harness.model import Verdict
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.results import Absent, Words, leaves
from harness.questions.logging import cost_by_logger, logged_services, results
from harness.questions.logging.analysis import CPU, SILENT, SINKS, THROUGHPUT, costs
from harness.tests.support.kept_sessions import lay_project
from harness.tests.support.synthetic import ROOT

EXPERIMENT = "logging"
#: What a line was made up to add to the CPU time of a request, and to leave of the throughput.
DEARER, LEFT = 1.5, 0.6


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    root: Path = lay_project(tmp_path_factory.mktemp("logging"), experiments=(EXPERIMENT,))
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    return open_evidence(settings, EXPERIMENT, root=root)


def with_effects(evidence: Evidence, *, bound_by: str = "service") -> pd.DataFrame:
    """The same trials with known effects: Java costs twice what Go does, and each line the same share."""
    rng = np.random.default_rng(1)
    trials = evidence.trials.copy()
    silent = trials["variant"].isin(SILENT)
    base = np.where(trials["language"] == "java", 4e-5, 2e-5) * rng.normal(1, 0.01, len(trials))
    trials[CPU] = base * np.where(silent, 1.0, DEARER)
    trials[THROUGHPUT] = 1 / base * np.where(silent, 1.0, LEFT)
    trials["bound_by"] = bound_by
    return trials


def test_the_variants_without_a_log_are_those_of_the_definition() -> None:
    variants = load_study(ROOT, EXPERIMENT).experiment.variants
    off = {name for name, variant in variants.items() if variant.settings["logging"] == "off"}
    assert off == set(SILENT)
    assert {variants[name].implementation for name in off} == {v.implementation for v in variants.values()}
    logging = [variant for name, variant in variants.items() if name not in off]
    assert all(variant.settings["logger"] for variant in logging)


def test_a_cost_is_the_ratio_to_the_same_program_without_a_log(evidence: Evidence) -> None:
    for metric, truth in ((CPU, DEARER), (THROUGHPUT, LEFT)):
        found = costs(with_effects(evidence), metric, {name: name for name in SILENT})["pipe"]
        assert set(found) == set(evidence.trials["variant"]) - set(SILENT)
        for one in found.values():
            assert one.verdict == Verdict.DIFFERENT
            assert one.ratio.value is not None and math.isclose(one.ratio.value, truth, rel_tol=0.03)
            assert one.variant.startswith(one.reference)


def test_where_the_generator_was_the_limit_nothing_is_said_of_the_logger(evidence: Evidence) -> None:
    trials = with_effects(evidence, bound_by="generator")
    found = [costs(trials, metric, {name: name for name in SILENT})["pipe"] for metric in (CPU, THROUGHPUT)]
    verdicts = {one.verdict for of_metric in found for one in of_metric.values()}
    assert verdicts == {Verdict.NOT_ABOUT_SERVICES}


def test_lost_lines_are_told_and_none_lost_is_told_too(evidence: Evidence) -> None:
    found = results(logged_services(evidence), defined_variants(EXPERIMENT, root=ROOT))
    told = dict(leaves(found))
    dropped = told["lost", "pipe", "java-helidon-logback-async"]
    kept = told["lost", "pipe", "java-helidon-logback"]
    assert isinstance(dropped, Words) and dropped.text.startswith("10 % of ") and dropped.inputs
    assert isinstance(kept, Words) and kept.text.startswith("none of ")
    assert isinstance(told["lost", "file", "java-helidon-logback"], Absent)
    assert isinstance(told["lost", "pipe", "go-nethttp"], Absent)


def test_results_have_the_same_keys_whether_anything_was_measured_or_not(evidence: Evidence) -> None:
    variants = defined_variants(EXPERIMENT, root=ROOT)
    with_trials = dict(leaves(results(logged_services(evidence), variants)))
    without = dict(leaves(results(None, variants)))
    assert list(with_trials) == list(without)
    assert all(isinstance(leaf, Absent) for path, leaf in without.items() if path[0] != "name")
    assert {path[2] for path in without if path[0] == "cpu"} == set(SINKS)


def test_the_figure_has_a_panel_for_each_sink_that_was_measured(evidence: Evidence) -> None:
    trials = with_effects(evidence)
    both = pd.concat([trials, trials.assign(sink="null")])
    assert len(cost_by_logger(trials).axes) == 1
    assert [axes.get_title(loc="left") for axes in cost_by_logger(both).axes] == ["sink: null", "sink: pipe"]
