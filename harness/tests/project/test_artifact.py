# SPDX-License-Identifier: Apache-2.0
"""ARTIFACT.md: its commands exist, its claims' numbers are printed by the paper, its digits are readings."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from harness.cli.app import app
from harness.definitions import experiment_files
from harness.errors import InputError
from harness.project import find_root
from harness.publish.artifact_page import (
    BEGIN,
    END,
    ArtifactClaim,
    read_claims,
    tables,
    working_s,
    write_page,
)
from harness.tests.support.fake_machine import program
from harness.tests.support.golden_values import read_golden

ROOT = find_root(Path(__file__).parent)
KICK_TIRES = ROOT / "setup" / "kick_tires.sh"
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


def test_a_page_without_the_markers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ARTIFACT.md").write_text("no tables\n")
    with pytest.raises(InputError, match=r"ARTIFACT\.md"):
        write_page(tmp_path)


def test_a_session_that_was_interrupted_is_not_charged_for_the_break() -> None:
    log = [("started", 0), ("interrupted", 10), ("resumed", 100), ("finished", 130)]
    assert working_s([{"event": event, "at_epoch_s": at} for event, at in log]) == 40
    assert working_s([]) is None


def test_each_step_prints_pass_or_fail_and_a_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "setup").mkdir()
    shutil.copy(KICK_TIRES, tmp_path / "setup")
    rematch = (
        'case "$1" in check) echo "the reason"; exit 3;; measure) echo " ok";; compare) echo one_run;; esac'
    )
    for name, script in {"rematch": rematch, "papermill": "echo Output Notebook"}.items():
        path = program(tmp_path / ".venv/bin" / name)
        path.write_text(f"#!/bin/sh\n{script}\n")
    done = subprocess.run(
        ["sh", tmp_path / "setup" / KICK_TIRES.name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert re.findall(r"^(PASS|FAIL)  ([a-z ]+) \(", done.stdout, re.MULTILINE) == [
        ("FAIL", "check the tools"), ("PASS", "measure a session"), ("FAIL", "print its results"),
        ("PASS", "execute a notebook"), ("PASS", "compare two files"),
    ]  # fmt: skip
    assert "the reason" in done.stdout and "FAIL: 3 of 5 steps passed" in done.stdout


def test_the_files_that_the_steps_name_exist_and_their_comparison_really_withholds_verdicts() -> None:
    words = KICK_TIRES.read_text("utf-8").split()
    paths = [word for word in words if word.startswith(("notebooks/", "harness/"))]
    assert len(paths) == 3 and all((ROOT / path).exists() for path in paths)
    closed, opened = (path for path in paths if path.startswith("harness/"))
    command = [sys.executable, "-m", "harness", "compare", closed, "--", opened]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "one_run" in done.stdout


def test_costs_name_commands_that_exist() -> None:
    kept = json.loads((ROOT / "docs" / "costs.json").read_text("utf-8"))["readings"]
    assert {one["command"].split()[1] for one in kept} <= make_targets()
