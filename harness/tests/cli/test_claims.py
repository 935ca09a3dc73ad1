# SPDX-License-Identifier: Apache-2.0
"""``rematch claims``: every claim with a verdict, from published numbers and from the bundled sessions."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from harness.definitions.claims import load_ledgers
from harness.model.claim import ClaimVerdict
from harness.tests.support.command import run_here
from harness.tests.support.kept_sessions import make_claims_project
from harness.tests.support.sessions import REPOSITORY

LEDGER = load_ledgers(REPOSITORY)
NAMES = list(LEDGER)
SESSIONS = (
    "strings-startup", "strings-warm", "clients-hello", "clients-craft", "bank-rematch", "bank-connections",
)  # fmt: skip
VERDICTS = set(ClaimVerdict)


@cache
def rematch(root: Path, *arguments: str) -> tuple[int, str, str]:
    return run_here(root, *arguments, columns=80)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project without a session: published numbers alone."""
    return make_claims_project(tmp_path_factory.mktemp("printed"))


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_claims_project(tmp_path_factory.mktemp("bundled"), *SESSIONS)


def test_every_claim_has_its_whole_statement_in_lines_that_fit(printed: Path) -> None:
    code, out, err = rematch(printed, "claims")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("73 claims: 5 contradicted by their own numbers, 68 untestable here.")
    assert [line for line in lines if len(line) > 80] == []
    assert re.findall(r"^(\w+) +(?:contradicted|untestable) ", out, re.MULTILINE) == NAMES
    assert "Judged from published numbers alone." in out
    said = " ".join(out.split())
    assert [c.statement for c in LEDGER.values() if " ".join(c.statement.split()) not in said] == []


def test_one_claim_is_shown_whole(printed: Path) -> None:
    code, out, err = rematch(printed, "claims", "N4")
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert said.startswith("N4: contradicted by its own numbers statement On the large machine")
    assert "claimed above 0.5" in said
    assert "published 0.150, not as claimed (data/published/strings-rounds.csv" in said
    assert "untestable here: no session of scaling" in said
    assert "then not measured: of its programs on its Java" in said
    assert [line for line in out.splitlines() if len(line) > 80 and "csv" not in line] == []
    assert "N19 says the opposite" in rematch(printed, "claims", "N18")[1]


def test_a_name_that_is_no_claim_and_a_wrong_ledger_are_one_line(printed: Path, tmp_path: Path) -> None:
    root = make_claims_project(tmp_path)
    path = root / "harness/experiments/claims.toml"
    path.write_text(path.read_text("utf-8").replace('kind = "below"', 'kind = "beneath"', 1), "utf-8")
    for project, words, line in (
        (printed, ("N99",), "CLAIM: no such claim (did you mean"),
        (root, (), "claims.toml: claims.N1.tests.0.predicate"),
    ):
        code, out, err = run_here(project, "claims", *words)
        assert (code, out) == (2, "") and line in err and err.count("\n") == 1


def test_the_bundled_sessions_judge_what_they_measured(bundled: Path) -> None:
    code, out, err = rematch(bundled, "claims", "--json")
    assert (code, err) == (0, "")
    found = {one["claim"]: one for one in json.loads(out)}
    assert list(found) == NAMES
    assert {one["verdict"] for one in found.values()} <= VERDICTS
    tests = [test for one in found.values() for test in one["tests"] if test["measured"] is not None]
    assert len(tests) >= 20
    for test in tests:
        measured = test["measured"]
        assert measured["session"].split("/")[-2] in SESSIONS or measured["session"].split("/")[1] in SESSIONS
        assert measured["machine"]
        if measured["says"] == "refused":
            assert test["outcome"] == "undecided"
    memory = found["N5"]["tests"][0]
    assert memory["outcome"] == "holds" and memory["measured"]["low"] > 2
    assert found["T5"]["tests"][0]["measured"]["value"] > 5


def test_the_list_names_sessions_and_machine(bundled: Path) -> None:
    code, out, err = rematch(bundled, "claims", "--bundled")
    assert (code, err) == (0, "")
    said = " ".join(out.split())
    assert "strings-warm/quick-local-9" in said
    assert "Measured on 2 CPUs" in said
    assert [line for line in out.splitlines() if len(line) > 80] == []
