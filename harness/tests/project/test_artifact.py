# SPDX-License-Identifier: Apache-2.0
"""ARTIFACT.md: its commands exist, its claims' numbers are printed by the paper, its digits are readings."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import typer

from harness.cli.app import app
from harness.definitions import experiment_files
from harness.publish.artifact_page import BEGIN, END, ArtifactClaim, read_claims, tables, working_s
from harness.tests.support.available import PROJECT as ROOT
from harness.tests.support.command import run_here
from harness.tests.support.golden_values import read_golden
from setup.kick_tires import NEXT, Step, run_all, steps

PAGE = (ROOT / "ARTIFACT.md").read_text("utf-8")


def commands_in(text: str) -> set[str]:
    """Return what the page tells to run: in backquotes, and as lines of blocks."""
    quoted = re.findall(r"`((?:make|rematch) [^`]+)`", text)
    return {*quoted, *re.findall(r"^((?:make|rematch) .+)$", text, re.MULTILINE)}


def make_targets() -> set[str]:
    rules = re.findall(r"^([a-z][a-z -]*):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return {name for rule in rules for name in rule.split()}


def test_every_command_of_the_page_exists() -> None:
    verbs = set(getattr(typer.main.get_command(app), "commands"))  # noqa: B009 - click types it as a Command
    found = commands_in(PAGE)
    assert len(found) > 8
    for command in found:
        program, name, *_ = command.split()
        assert name in (make_targets() if program == "make" else verbs), command


def test_every_experiment_and_session_that_the_page_names_exists() -> None:
    experiments = set(experiment_files(ROOT))
    named = {
        found
        for command in commands_in(PAGE)
        for found in re.findall(r"rematch (?:measure|results) (\S+)", command)
    }
    assert named and named <= experiments
    for session in re.findall(r"--against bundled/(\S+?)`", PAGE):
        assert (ROOT / f"data/raw/bundled/strings-warm/{session}.zip").is_file()


@pytest.mark.parametrize("one", read_claims(ROOT), ids=lambda one: one.id)
def test_the_numbers_of_a_claim_are_published(one: ArtifactClaim) -> None:
    assert set(one.keys) <= read_golden().keys()
    assert not re.search(r"\d", f"{one.claim} {one.tolerance} {one.may_change}".replace("p99", "")), (
        "digits are readings"
    )


def test_the_tables_are_those_that_the_command_writes() -> None:
    assert PAGE.partition(BEGIN)[2].partition(END)[0].strip() == tables(ROOT).strip()


def test_a_session_that_was_interrupted_is_not_charged_for_the_break() -> None:
    log = [("started", 0), ("interrupted", 10), ("resumed", 100), ("finished", 130)]
    assert working_s([{"event": event, "at_epoch_s": at} for event, at in log]) == 40
    assert working_s([]) is None


def test_each_step_prints_pass_or_fail_and_a_failure_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = sys.executable
    every = (
        Step("works", (python, "-c", "print('done')"), shows="done"),
        Step("breaks", (python, "-c", "print('the reason'); raise SystemExit(3)")),
        Step("does nothing", (python, "-c", ""), shows="done"),
        Step("is missing", (str(tmp_path / "no-program"),)),
        Step("leaves nothing", (python, "-c", ""), leaves=tmp_path / "file"),
    )
    assert run_all(every, tmp_path, {}) == 4
    said = capsys.readouterr().out
    assert re.findall(r"^(PASS|FAIL)  ([a-z ]+) \(", said, re.MULTILINE) == [
        ("PASS", "works"), ("FAIL", "breaks"), ("FAIL", "does nothing"), ("FAIL", "is missing"), ("FAIL", "leaves nothing"),
    ]  # fmt: skip
    assert "the reason" in said and "FAIL: 1 of 5 steps passed" in said
    assert said.rstrip().endswith(NEXT)


def test_the_comparison_of_the_steps_really_withholds_verdicts() -> None:
    compare = next(one for one in steps(ROOT) if one.name.startswith("compare"))
    status, said, why = run_here(ROOT, *compare.command[1:])
    assert status == 0, why
    assert compare.shows in said


def test_costs_name_commands_that_exist() -> None:
    kept = json.loads((ROOT / "docs" / "costs.json").read_text("utf-8"))["readings"]
    assert {one["command"].split()[1] for one in kept} <= make_targets()
