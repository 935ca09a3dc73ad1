# SPDX-License-Identifier: Apache-2.0
"""An experiment that was not measured answers like one that was: with nothing, and with its definition."""

from __future__ import annotations

import pytest

from harness.evidence.opening import open_evidence
from harness.model.formatting import NOT_MEASURED
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish.case import Case, Cases
from harness.publish.results import NO_TEXT
from harness.tests.support.kept_sessions import lay_project

NAME = "bank-rematch"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Case:
    root = lay_project(tmp_path_factory.mktemp("case"), profile="smoke", experiments=(NAME,))
    settings = StageParameters(profile="smoke", experiments=NAME)
    tidy_all(settings, root=root)
    return Case(NAME, open_evidence(settings, NAME, root=root))


def test_what_was_not_measured_has_its_definition_and_nothing_else() -> None:
    nothing = Case(NAME, None)
    assert nothing.variants["go-gorilla"] == "Go gorilla"
    assert "go-gorilla" not in nothing.others and "java-spring" in nothing.others
    assert (nothing.trials, nothing.response, nothing.cell(connections="pool-20")) == (None, None, None)
    assert (nothing.note, nothing.warm_up) == (NOT_MEASURED, NO_TEXT)
    assert (nothing.ratios("latency_mean_s"), nothing.latencies(), nothing.last_cell()) == ((), {}, {})
    assert not nothing.has_one("users")


def test_what_was_measured_is_read_at_the_levels_asked_for(measured: Case) -> None:
    main = measured.last_cell(connections="pool-20")
    assert main["connections"] == "pool-20"
    pooled = measured.cell(connections="pool-20")
    assert pooled is not None and set(pooled["connections"]) == {"pool-20"}
    assert {one.levels["connections"] for one in measured.ratios("latency_mean_s", **main)} == {"pool-20"}
    assert set(measured.latencies(**main)) <= set(measured.variants)
    assert measured.has_one("users") and not measured.has_one("variant")


def test_several_cases_have_the_draft_and_the_calibration_of_those_measured(measured: Case) -> None:
    both = Cases({"bank-original": Case("bank-original", None), NAME: measured})
    assert measured.evidence is not None
    assert both.evidence == [measured.evidence]
    assert both.draft == measured.evidence.draft
    assert NAME in str(both.calibration)
    none = Cases({NAME: Case(NAME, None)})
    assert (none.draft, none.calibration) == (None, NO_TEXT)
    assert repr(none) == f"{NAME}: {NOT_MEASURED}"
