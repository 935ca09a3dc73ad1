# SPDX-License-Identifier: Apache-2.0
"""Settings that either side would ask for: each is held against its own service, and Helidon against each of Go's."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.evidence.opening import open_evidence
from harness.evidence.requests import definition_of
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.results import Absent, Tree, Words, leaves
from harness.questions.strings_warm import settings_results
from harness.tests.support.kept_sessions import lay_project

EXPERIMENT = "strings-settings"
DEFINITION = definition_of(EXPERIMENT)
#: Throughput of each variant in this made-up session, over Go's with its defaults.
TRUTH = {
    "go-nethttp": 1.0, "go-gogc-400": 1.1, "go-limit": 1.25, "go-pgo": 1.05, "go-all": 1.4, "go-lean": 2.0,
    "java-helidon": 1.5, "helidon-serial": 1.65, "helidon-small": 1.2, "helidon-lean": 2.5,
}  # fmt: skip


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    root: Path = lay_project(tmp_path_factory.mktemp("settings"), experiments=(EXPERIMENT,))
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    trials = open_evidence(settings, EXPERIMENT, root=root).trials
    rate = trials["variant"].astype(str).map(TRUTH) * 10_000 * (1 + 0.01 * trials["block"])
    return trials.assign(
        throughput_per_s=rate, cpu_s_per_request=1 / rate, kernel_cpu_s_per_request=0.25 / rate
    )


def ratio(tree: Tree, path: str) -> float:
    leaf = {".".join(one): leaf for one, leaf in leaves(tree)}[path]
    return leaf.ratio.value  # type: ignore[union-attr, return-value]  # a comparison that was measured


def test_every_setting_is_over_its_own_service_and_helidon_over_each_of_gos(measured: pd.DataFrame) -> None:
    tree = settings_results(measured, DEFINITION)
    assert ratio(tree, "settings.throughput.go-all") == pytest.approx(1.4)
    assert ratio(tree, "settings.own.helidon-serial") == pytest.approx(1.1)
    assert ratio(tree, "settings.over.go-nethttp") == pytest.approx(1.5)
    assert ratio(tree, "settings.over.go-all") == pytest.approx(1.5 / 1.4)
    assert ratio(tree, "settings.lean.helidon-lean") == pytest.approx(1.25)


def test_constant_answers_are_no_setting_of_either_service(measured: pd.DataFrame) -> None:
    found = {".".join(one): leaf for one, leaf in leaves(settings_results(measured, DEFINITION))}
    assert isinstance(found["settings.over.go-lean"], Absent)
    assert isinstance(found["settings.own.helidon-lean"], Absent)
    said = found["settings.short"].text  # type: ignore[union-attr]  # it was measured
    assert "constant" not in said
    assert "for Go net/http" in said and "for Go (profile-guided, v3, limit 512 MiB)" in said


def test_a_small_heap_is_said_with_what_it_held_and_what_it_answered(measured: pd.DataFrame) -> None:
    held = measured["variant"].map({"go-nethttp": 10.0, "helidon-small": 90.0}).astype(float).fillna(200.0)
    trials = measured.assign(rss_after_bytes=held * 2**20 * (1 + 0.001 * measured["block"]))
    found = {".".join(one): leaf for one, leaf in leaves(settings_results(trials, DEFINITION))}
    said = found["settings.small"]
    assert isinstance(said, Words) and said.inputs
    assert said.text.startswith(
        "With a small heap, in another session of 5 blocks, Helidon (Serial, heap 32 MiB) had 9.00"
    )
    assert said.text.endswith("times the memory of Go net/http, and 1.20 times its requests per second.")
    small = trials["variant"] == "helidon-small"
    young = trials.assign(age=trials["age"].mask(small, "young"))
    said = dict(leaves(settings_results(young, DEFINITION)))["settings", "small"]
    assert isinstance(said, Words) and said.text.count(", young") == 2
    loaded = trials.assign(bound_by=trials["bound_by"].mask(small, "generator"))
    assert isinstance(dict(leaves(settings_results(loaded, DEFINITION)))["settings", "small"], Absent)


def test_not_measured_every_result_is_absent_and_has_the_same_keys(measured: pd.DataFrame) -> None:
    there = dict(leaves(settings_results(measured, DEFINITION)))
    absent = dict(leaves(settings_results(None, DEFINITION)))
    assert set(there) == set(absent)
    assert all(isinstance(leaf, Absent) for leaf in absent.values())
