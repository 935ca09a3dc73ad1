# SPDX-License-Identifier: Apache-2.0
"""Capacity and demand by the number of pods, on made-up trials of known capacities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.model import Estimate
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish import read_values
from harness.publish.findings import FINDING
from harness.publish.results import Words, leaves, measured
from harness.questions.pod_capacity import results, searched
from harness.questions.pod_capacity.analysis import Demand, Searched
from harness.questions.pod_capacity.results import demand_words
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept import pictures_in_pdf_alone
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import make_project, make_session
from harness.tests.support.synthetic_pods import POD_CAPACITY_PER_S

NAME = "k8s-capacity"
NAMES = {"go-nethttp": "Go net/http", "java-helidon": "Java Helidon SE"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a quick session in pods, and notebook 54 executed on it."""
    root: Path = make_project(tmp_path_factory.mktemp("pod-capacity"), profile="smoke", experiments=())
    lay_session(root, NAME, "quick", launcher="kubernetes")
    tidy_all(StageParameters(experiments=NAME), root=root)
    with pytest.MonkeyPatch.context() as patch, pictures_in_pdf_alone():
        patch.setenv("REMATCH_ROOT", str(root))
        execute_in_process(root, "54-pod-capacity")
    return root


def opened(root: Path) -> Evidence:
    evidence = open_evidence(StageParameters(experiments=NAME), NAME, root=root)
    # whose CPUs were used is made up as well; here it is the service's
    evidence.trials["bound_by"] = "service"
    return evidence


def found(root: Path) -> Searched:
    one = searched(opened(root))
    assert one is not None
    return one


def test_a_trials_capacity_is_that_of_its_search(root: Path) -> None:
    trials = found(root).kept
    drift = 1 + trials["block"] / 100 + trials["position"] / 10_000
    expected = POD_CAPACITY_PER_S * trials["n_pods"] * drift
    expected = expected.where(trials["variant"] == "go-nethttp", expected / 2)
    assert trials["capacity_per_s"].to_numpy() == pytest.approx(expected.to_numpy())
    assert (trials["search_load_s"] > 0).all()


def test_the_least_pods_are_those_whose_capacity_reaches_the_rate(root: Path) -> None:
    one = found(root)
    assert one.demand("go-nethttp", 0.8 * POD_CAPACITY_PER_S) == Demand(least=1, most=1, measured=3)
    assert one.demand("go-nethttp", 1.6 * POD_CAPACITY_PER_S) == Demand(least=2, most=2, measured=3)
    assert one.demand("java-helidon", 0.8 * POD_CAPACITY_PER_S) == Demand(least=2, most=2, measured=3)
    assert one.demand("java-helidon", 1.7 * POD_CAPACITY_PER_S) == Demand(least=None, most=None, measured=3)
    assert one.demand("java-jdkhttp", 1.0) is None


def test_a_rate_within_the_interval_of_a_capacity_may_need_a_pod_more(root: Path) -> None:
    one = found(root)
    two = one.capacity("java-helidon", "two")
    assert two is not None and two.value is not None
    within = one.demand("java-helidon", two.value)
    assert within == Demand(least=2, most=3, measured=3)
    assert demand_words(within) == "2 to 3"


def test_more_pods_than_were_measured_are_not_guessed() -> None:
    assert demand_words(Demand(least=None, most=None, measured=3)) == "more than 3"
    assert demand_words(Demand(least=3, most=None, measured=3)) == "3 or more"
    assert demand_words(Demand(least=2, most=2, measured=3)) == "2"


def test_the_sentence_on_demand_and_the_finding_are_generated(root: Path) -> None:
    tree = results(found(root), NAMES)
    finding = tree[FINDING]
    assert isinstance(finding, Mapping)
    takeaway = finding["takeaway"]
    assert isinstance(takeaway, Words)
    assert takeaway.text.startswith("All 3 cells of a Java service in pods carry fewer requests per second")
    assert takeaway.text.endswith(
        "requests per second needs 3 pods of Go net/http and more than 3 pods of Java Helidon SE."
    )


def test_a_trial_whose_pods_were_not_the_limit_has_no_verdict(root: Path) -> None:
    evidence = opened(root)
    evidence.trials["bound_by"] = "generator"
    one = searched(evidence)
    assert one is not None
    assert {str(lead.verdict) for lead in one.leads} == {"not_about_the_services"}


def test_growth_is_over_one_pod_of_the_same_service(root: Path) -> None:
    growth = found(root).growth("java-helidon")
    assert set(growth) == {"two", "three"}
    assert growth["three"].ratio.value == pytest.approx(3.0, rel=0.01)


def test_without_a_capacity_in_one_pod_there_is_no_growth(root: Path) -> None:
    evidence = opened(root)
    evidence.trials.loc[evidence.trials["pods"] == "one", "capacity_per_s"] = None
    one = searched(evidence)
    assert one is not None
    assert one.growth("java-helidon") == {}
    assert one.rate(0.8) is None


def test_numbers_figure_and_tables_are_published(root: Path) -> None:
    values = read_values(root)
    assert {"pod_capacity.measured", "pod_capacity.demand.measured"} <= set(values)
    assert values["pod_capacity.demand.high.java_helidon"]["text"] == "more than 3"
    assert values["pod_capacity.growth.three.ratio.go_nethttp"]["value"] == pytest.approx(3.0, rel=0.01)
    for name in ("table", "growth", "demand"):
        text = (root / f"paper/generated/tables/pod_capacity-{name}.tex").read_text("utf-8")
        assert "Go net/http" in text
    assert list((root / "paper/generated/figures").glob("pod_capacity-curve.*"))


def test_without_a_session_every_key_is_there_and_says_nothing(root: Path) -> None:
    nothing = results(None, NAMES)
    told = results(found(root), NAMES)
    assert [path for path, _ in leaves(nothing)] == [path for path, _ in leaves(told)]
    assert not any(measured(leaf) for path, leaf in leaves(nothing) if path[0] != "name")
    capacity = nothing["capacity"]
    assert not isinstance(capacity, Estimate | Words | str)


def test_a_session_outside_a_cluster_is_refused(tmp_path: Path) -> None:
    root = make_project(tmp_path, profile="smoke", experiments=())
    make_session(root, NAME, "smoke")
    tidy_all(StageParameters(profile="newest", experiments=NAME), root=root)
    evidence = open_evidence(StageParameters(profile="newest", experiments=NAME), NAME, root=root)
    with pytest.raises(InputError, match="not made in a cluster"):
        searched(evidence)
