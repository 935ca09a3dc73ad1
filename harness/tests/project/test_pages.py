# SPDX-License-Identifier: Apache-2.0
"""Pages name only what exists; what is written by a command is as it is written now; counts only fall; golden values."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import typer

from harness.cli.app import app
from harness.definitions import experiment_files
from harness.errors import InputError
from harness.publish.artifact_page import BEGIN, END, read_claims, tables, working_s, write_page
from harness.tests.support.available import PROJECT
from harness.tests.support.golden_values import Golden, differences, golden_of, read_golden, write_golden
from harness.tests.support.ratchet import allowed, count

TESTS = PROJECT / "harness" / "tests"
ARCHITECTURE = (PROJECT / "docs" / "architecture.md").read_text("utf-8")
RECIPES = sorted(path.stem for path in (PROJECT / "docs").glob("add-a-*.md"))
#: Files of the project, from its folder on; a page of the tests' own names those below ``harness/tests``.
NAMED = re.compile(r"(?<![\w/.])((?:data|docs|harness|notebooks|paper|services|setup)/[\w./-]*[\w/])")
OF_TESTS = re.compile(r"`((?:[a-z_]+/)+test_[a-z_]+\.py)`")
#: Written by whoever follows a recipe.
BLANKS = ("NAME", "NN-", "WORKLOAD")


@pytest.mark.parametrize("page", ["security", "platforms", *RECIPES])
def test_every_file_that_a_page_names_exists_and_a_page_leads_to_it(page: str) -> None:
    text = (PROJECT / "docs" / f"{page}.md").read_text("utf-8")
    named = {name for name in NAMED.findall(text) if not any(blank in name for blank in BLANKS)}
    assert named
    assert {name for name in named if not (PROJECT / name).exists()} == set()
    tests = set(OF_TESTS.findall(text)) - named
    assert {name for name in tests if not (TESTS / name).exists()} == set()
    leading = (PROJECT / "README.md").read_text("utf-8") + (PROJECT / "CONTRIBUTING.md").read_text("utf-8")
    assert f"docs/{page}.md" in leading


def test_the_page_of_the_architecture_has_every_package_and_the_floors_of_the_import_contract() -> None:
    folders = {
        path.name for path in (PROJECT / "harness").iterdir() if path.is_dir() and path.name[0] not in "_."
    }
    rows = [line.split("`")[1].rstrip("/") for line in ARCHITECTURE.splitlines() if line.startswith("| `")]
    assert set(rows) >= folders
    modules = {path.name for path in (PROJECT / "harness").glob("*.py") if not path.name.startswith("__")}
    assert modules <= set(re.findall(r"`([a-z_]+\.py)`", ARCHITECTURE))
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    layers = next(
        item["layers"] for item in pyproject["tool"]["importlinter"]["contracts"] if item["type"] == "layers"
    )
    block = ARCHITECTURE.partition("## What may import what")[2].split("```")[1].strip().splitlines()
    assert block == [layer.replace("(", "").replace(")", "") for layer in layers if layer != "__main__"]


#: So far below what is allowed a count may be before the numbers are written again.
SLACK = 0.97


def test_no_count_is_above_what_is_allowed() -> None:
    counts, largest = count(), allowed()
    above = {name: n for name, n in counts.items() if n > largest[name]}
    assert above == {}, "what is added is paid for by what goes (CONTRIBUTING.md)"
    low = {name: n for name, n in counts.items() if n < SLACK * largest[name]}
    assert low == {}, "write the new numbers: python -m harness.tests.support.ratchet --write"


RATIO = Golden(1.357, 1.339, 1.376, "ratio", "")
PUBLISHED = {"a.ratio.java": RATIO, "a.verdict.java": Golden(None, None, None, "", "higher than")}


def test_the_committed_values_are_those_of_all_questions() -> None:
    golden = read_golden().values()
    assert sum(item.value is not None for item in golden) > 2500
    assert sum(bool(item.verdict) for item in golden) > 500


def test_values_are_read_as_they_were_written_and_facts_in_words_are_none(tmp_path: Path) -> None:
    write_golden(PUBLISHED, tmp_path / "a.csv.gz")
    assert read_golden(tmp_path / "a.csv.gz") == PUBLISHED
    number = {**RATIO._asdict(), "method": "log-t", "text": "1.36"}
    fact = {"value": None, "low": None, "high": None, "unit": "", "method": "text", "text": "a processor"}
    assert golden_of({"a.ratio.java": number, "a.cpu": fact}) == {"a.ratio.java": RATIO}


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        ({}, []),
        ({"a.ratio.java": RATIO._replace(value=1.357 * (1 + 1e-12))}, []),
        ({"a.ratio.java": RATIO._replace(value=1.3571)}, ["a.ratio.java: was 1.357 1.339 1.376 ratio, is 1.3571 "]),
        ({"a.ratio.java": RATIO._replace(low=None)}, ["a.ratio.java: was 1.357 1.339 1.376 ratio, is 1.357 - "]),
        ({"a.ratio.java": RATIO._replace(unit="s")}, ["a.ratio.java: was 1.357 1.339 1.376 ratio, is 1.357 1.339 1.376 s"]),
        ({"a.verdict.java": RATIO}, ["a.verdict.java: was - - - higher than, is 1.357 "]),
        ({"b.mean.go": RATIO}, ["b.mean.go: new, 1.357 1.339 1.376 ratio"]),
    ],
)  # fmt: skip
def test_a_value_that_changed_or_is_new_is_named(changed: dict[str, Golden], lines: list[str]) -> None:
    named = differences(PUBLISHED, {**PUBLISHED, **changed})
    assert len(named) == len(lines) and all(map(str.startswith, named, lines))
    assert differences({**PUBLISHED, "c": RATIO}, PUBLISHED) == ["c: missing, was 1.357 1.339 1.376 ratio"]


PAGE = (PROJECT / "ARTIFACT.md").read_text("utf-8")
#: What the page tells to run: in backquotes, and as lines of blocks.
COMMANDS = {
    *re.findall(r"`((?:make|rematch) [^`]+)`", PAGE),
    *re.findall(r"^((?:make|rematch) .+)$", PAGE, re.MULTILINE),
}


def make_targets() -> set[str]:
    rules = re.findall(r"^([a-z][a-z -]*):(?!=)", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE)
    return {name for rule in rules for name in rule.split()}


def test_every_command_experiment_and_session_of_the_page_exists() -> None:
    verbs = set(getattr(typer.main.get_command(app), "commands"))  # noqa: B009 - click types it as a Command
    assert len(COMMANDS) > 8
    for command in COMMANDS:
        first, name, *_ = command.split()
        assert name in (make_targets() if first == "make" else verbs), command
    named = set(re.findall(r"rematch (?:measure|results) ([^\s`]+)", PAGE))
    assert named and named <= set(experiment_files(PROJECT))
    for session in re.findall(r"--against bundled/(\S+?)`", PAGE):
        assert (PROJECT / f"data/raw/bundled/strings-warm/{session}.zip").is_file()
    readings = json.loads((PROJECT / "docs" / "costs.json").read_text("utf-8"))["readings"]
    assert {reading["command"].split()[1] for reading in readings} <= make_targets()


@pytest.mark.parametrize("claim", read_claims(PROJECT), ids=lambda claim: claim.id)
def test_the_numbers_of_a_claim_are_published(claim: object) -> None:
    assert set(getattr(claim, "keys")) <= read_golden().keys()  # noqa: B009 - a field of that name


def test_the_tables_are_those_that_the_command_writes(tmp_path: Path) -> None:
    assert PAGE.partition(BEGIN)[2].partition(END)[0].strip() == tables(PROJECT).strip()
    (tmp_path / "ARTIFACT.md").write_text("no tables\n")
    with pytest.raises(InputError, match=r"ARTIFACT\.md"):
        write_page(tmp_path)


def test_a_session_that_was_interrupted_is_not_charged_for_the_break() -> None:
    log = [("started", 0), ("interrupted", 10), ("resumed", 100), ("finished", 130)]
    assert working_s([{"event": event, "at_epoch_s": at} for event, at in log]) == 40
    assert working_s([]) is None
