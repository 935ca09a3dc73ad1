# SPDX-License-Identifier: Apache-2.0
"""Releases: each over the oldest of the same program that was measured, and virtual threads over what they replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.definitions import load_study
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.warm import Warm, warm_services
from harness.model import Unavailable
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.results import Absent, leaves
from harness.questions.runtimes import releases, results
from harness.questions.runtimes.analysis import compared, pairs
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import ROOT, make_project

EXPERIMENT = "runtimes"
#: As on a machine without these.
GONE = tuple(
    Unavailable(variant=name, reason="not here")
    for name in ("jaxrs-17", "helidon-17", "helidon-21", "go-1.24")
)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A made-up quick session in which some releases could not be had."""
    root: Path = make_project(tmp_path_factory.mktemp("runtimes"), experiments=())
    lay_session(root, EXPERIMENT, "quick", unavailable=GONE)
    settings = StageParameters(experiments=EXPERIMENT)
    tidy_all(settings, root=root)
    return open_evidence(settings, EXPERIMENT, root=root)


def the_warm(evidence: Evidence) -> Warm:
    found = warm_services(evidence)
    assert found is not None
    return found


def test_each_release_is_compared_with_the_oldest_of_the_same_program_and_settings() -> None:
    experiment = load_study(ROOT, EXPERIMENT).experiment
    told = pairs(experiment, "release")
    assert told["jaxrs-25"] == told["jaxrs-21"] == "jaxrs-17"
    assert told["jaxrs-25-virtual"] == "jaxrs-21-virtual" and "jaxrs-21-virtual" not in told
    assert told["helidon-25"] == "helidon-17" and told["go-1.27"] == told["go-1.25"] == "go-1.24"
    assert pairs(experiment, "release", {"jaxrs-21", "jaxrs-25", "go-1.27"}) == {"jaxrs-25": "jaxrs-21"}


def test_virtual_threads_are_compared_with_the_same_release_without_them() -> None:
    told = pairs(load_study(ROOT, EXPERIMENT).experiment, "threads")
    assert told == {"jaxrs-21-virtual": "jaxrs-21", "jaxrs-25-virtual": "jaxrs-25"}
    clients = pairs(load_study(ROOT, "runtimes-clients").experiment, "threads")
    assert clients["quarkus-25-reactive"] == "quarkus-25" and "go-nethttp" not in clients
    assert pairs(load_study(ROOT, "runtimes-bank").experiment, "threads")["spring-21-virtual"] == "spring-21"


def test_where_a_release_is_not_here_the_next_one_takes_its_place(evidence: Evidence) -> None:
    found = {one.variant: one for one in compared(the_warm(evidence), "release", "throughput_per_s")}
    assert {name: one.reference for name, one in found.items()} == {
        "jaxrs-25": "jaxrs-21", "go-1.26": "go-1.25", "go-1.27": "go-1.25",
    }  # fmt: skip
    assert all(one.n_blocks == 5 for one in found.values()) and compared(None, "release", "x") == []


@pytest.mark.parametrize("experiment", [EXPERIMENT, "runtimes-bank", "runtimes-clients"])
def test_the_tree_has_the_same_leaves_whatever_was_measured(evidence: Evidence, experiment: str) -> None:
    none = dict(leaves(results(None, experiment)))
    assert all(isinstance(leaf, Absent) for path, leaf in none.items() if path[0] != "name")
    if experiment == EXPERIMENT:
        full = dict(leaves(results(the_warm(evidence), experiment)))
        assert set(full) == set(none)
        assert full["over", "release", "jaxrs-25"] == "Java JAX-RS, JDK 21"
        assert isinstance(full["over", "release", "jaxrs-21"], Absent)
        assert "not here" in str(full["unavailable",])


def test_the_figure_has_a_row_for_every_variant_that_was_measured(evidence: Evidence) -> None:
    figure = releases(the_warm(evidence).saturation, list(evidence.variants))
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names[-1] == "Java JAX-RS, JDK 21" and "Java JAX-RS, JDK 17" not in names and len(figure.axes) == 3
