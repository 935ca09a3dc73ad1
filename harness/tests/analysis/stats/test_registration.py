# SPDX-License-Identifier: Apache-2.0
"""A plan is registered before the first trial; whatever is changed after it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.stats import registration
from harness.analysis.stats.registration import changed_since, register
from harness.model import SessionHeader
from harness.tests.support.synthetic import make_project, make_session


@pytest.fixture
def header(tmp_path: Path) -> SessionHeader:
    root = make_project(tmp_path, experiments=())
    made = make_session(root, "strings-startup", "smoke").header
    return made.model_copy(update={"registration": register(made.plan, made.provenance.definition_sha256)})


def test_a_session_of_before_plans_were_registered_says_nothing(header: SessionHeader) -> None:
    assert changed_since(header.model_copy(update={"registration": None}), None) == ()


def test_nothing_has_changed_also_after_the_header_was_read_from_a_file(header: SessionHeader) -> None:
    again = SessionHeader.model_validate_json(header.model_dump_json())
    assert changed_since(again, header.provenance.definition_sha256) == ()


def test_another_margin_is_named_with_both_values(
    header: SessionHeader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "DEFAULT_MARGIN", 0.2)
    (found,) = changed_since(header, header.provenance.definition_sha256)
    assert found.startswith("margin: 0.05") and "then, 0.2" in found


def test_another_definition_or_none_at_all_is_named(header: SessionHeader) -> None:
    for now in ("0" * 64, None):
        assert changed_since(header, now) == ("the definition of the experiment",)


def test_a_registration_or_a_plan_that_was_altered_is_named(header: SessionHeader) -> None:
    registered = header.registration
    assert registered is not None
    looser = registered.model_copy(update={"rules": {**registered.rules, "margin": 0.3}})
    altered = header.model_copy(update={"registration": looser})
    assert "the registration itself" in changed_since(altered, header.provenance.definition_sha256)
    fewer = header.model_copy(
        update={"plan": header.plan.model_copy(update={"trials": header.plan.trials[:2]})}
    )
    assert "the registration itself" in changed_since(fewer, header.provenance.definition_sha256)
