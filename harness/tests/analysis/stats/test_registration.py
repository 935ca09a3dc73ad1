# SPDX-License-Identifier: Apache-2.0
"""A plan is registered before the first trial; whatever is changed after it is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.analysis.stats import verdicts
from harness.analysis.stats.verdicts import ALTERED, changed_since, register
from harness.store import SessionFolder, Store
from harness.tests.support.synthetic import ROOT, make_project, make_session

BUNDLED = {session.key: session for session in Store(ROOT).sessions(bundled=True)}


@pytest.fixture
def session(tmp_path: Path) -> SessionFolder:
    """A session that registered its plan; its header lies in a file."""
    made = make_session(make_project(tmp_path, experiments=()), "strings-startup", "smoke")
    header = made.header
    registered = register(header.plan, header.provenance.definition_sha256)
    path = made.folder / "session.json"
    path.write_text(header.model_copy(update={"registration": registered}).model_dump_json(), "utf-8")
    return SessionFolder(made.folder)


@pytest.fixture
def stored(session: SessionFolder) -> dict[str, Any]:
    return session.stored_header()


def definition_of(stored: dict[str, Any]) -> str:
    return str(stored["provenance"]["definition_sha256"])


def test_a_session_of_before_plans_were_registered_says_nothing(stored: dict[str, Any]) -> None:
    assert changed_since({**stored, "registration": None}, None) == ()


@pytest.mark.parametrize("key", BUNDLED)
def test_what_a_bundled_session_stored_is_what_it_registered(key: str) -> None:
    stored = BUNDLED[key].stored_header()
    assert (BUNDLED[key].header.registration is None) == (stored.get("registration") is None)
    assert changed_since(stored, definition_of(stored)) == ()


def test_another_margin_is_named_with_both_values(
    stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "DEFAULT_MARGIN", 0.2)
    (found,) = changed_since(stored, definition_of(stored))
    assert found.startswith("margin: 0.05") and "then, 0.2" in found


@pytest.mark.parametrize("now", ["0" * 64, None])
def test_another_definition_or_none_at_all_is_named(stored: dict[str, Any], now: str | None) -> None:
    assert changed_since(stored, now) == ("the definition of the experiment",)


@pytest.mark.parametrize(
    "alter",
    [
        lambda stored: stored["registration"]["rules"].update(margin=0.3),
        lambda stored: stored["registration"].update(stopping="when it looks good"),
        lambda stored: stored["plan"]["trials"].pop(),
        lambda stored: stored["plan"]["trials"][0]["configuration"].update(warm_up_requests=7),
    ],
    ids=["a rule", "when to stop", "fewer trials", "a trial"],
)
def test_a_registration_or_a_plan_that_was_altered_is_named(stored: dict[str, Any], alter: Any) -> None:
    alter(stored)
    assert ALTERED in changed_since(stored, definition_of(stored))
