# SPDX-License-Identifier: Apache-2.0
"""ARTIFACT.md: its commands exist, its claims' numbers are published, its tables are written by the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import typer

from harness.cli.app import app
from harness.definitions import experiment_files
from harness.errors import InputError
from harness.publish.artifact_page import BEGIN, END, read_claims, tables, working_s, write_page
from harness.tests.support.available import PROJECT as ROOT
from harness.tests.support.golden_values import read_golden

PAGE = (ROOT / "ARTIFACT.md").read_text("utf-8")
#: What the page tells to run: in backquotes, and as lines of blocks.
COMMANDS = {
    *re.findall(r"`((?:make|rematch) [^`]+)`", PAGE),
    *re.findall(r"^((?:make|rematch) .+)$", PAGE, re.MULTILINE),
}


def make_targets() -> set[str]:
    rules = re.findall(r"^([a-z][a-z -]*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return {name for rule in rules for name in rule.split()}


def test_every_command_experiment_and_session_of_the_page_exists() -> None:
    verbs = set(getattr(typer.main.get_command(app), "commands"))  # noqa: B009 - click types it as a Command
    assert len(COMMANDS) > 8
    for command in COMMANDS:
        first, name, *_ = command.split()
        assert name in (make_targets() if first == "make" else verbs), command
    named = set(re.findall(r"rematch (?:measure|results) ([^\s`]+)", PAGE))
    assert named and named <= set(experiment_files(ROOT))
    for session in re.findall(r"--against bundled/(\S+?)`", PAGE):
        assert (ROOT / f"data/raw/bundled/strings-warm/{session}.zip").is_file()
    readings = json.loads((ROOT / "docs" / "costs.json").read_text("utf-8"))["readings"]
    assert {reading["command"].split()[1] for reading in readings} <= make_targets()


@pytest.mark.parametrize("claim", read_claims(ROOT), ids=lambda claim: claim.id)
def test_the_numbers_of_a_claim_are_published(claim: object) -> None:
    assert set(getattr(claim, "keys")) <= read_golden().keys()  # noqa: B009 - a field of that name


def test_the_tables_are_those_that_the_command_writes(tmp_path: Path) -> None:
    assert PAGE.partition(BEGIN)[2].partition(END)[0].strip() == tables(ROOT).strip()
    (tmp_path / "ARTIFACT.md").write_text("no tables\n")
    with pytest.raises(InputError, match=r"ARTIFACT\.md"):
        write_page(tmp_path)


def test_a_session_that_was_interrupted_is_not_charged_for_the_break() -> None:
    log = [("started", 0), ("interrupted", 10), ("resumed", 100), ("finished", 130)]
    assert working_s([{"event": event, "at_epoch_s": at} for event, at in log]) == 40
    assert working_s([]) is None
