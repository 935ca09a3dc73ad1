# SPDX-License-Identifier: Apache-2.0
"""``rematch results``: who is ahead, by how much, how sure; and what is said where nothing can be."""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from harness.cli.results import print_values
from harness.model import Verdict
from harness.rows import means
from harness.rows.schema import records
from harness.rows.session_results import Cell, Line
from harness.tests.support.command import run_here
from harness.tests.support.kept_sessions import lay_tables
from harness.tests.support.made_up_trials import made_up_trials
from harness.tests.support.sessions import REPOSITORY, make_session_project, measure_tiny, tiny_folder

NARROW = 80
METRICS = "throughput, mean, p99, cpu, memory, start"


@cache
def rematch(root: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command line in the project, which no test changes afterwards; return exit code, stdout and stderr."""
    code, out, err = run_here(root, *arguments, columns=NARROW)
    assert "--json" in arguments or [line for line in out.splitlines() if len(line) > NARROW] == []
    return code, out, err


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two sessions of the smoke profile, the one of the smaller seed newer."""
    root = make_session_project(tmp_path_factory.mktemp("measured"))
    measure_tiny(root, seed=2)
    measure_tiny(root, seed=1)
    return root


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with nothing but some of the sessions that come with this one."""
    root = tmp_path_factory.mktemp("bundled")
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    (root / "harness/model").mkdir(parents=True)
    for name in ("strings-rounds", "gc-peaks", "strings-pair", "strings-warm"):
        shutil.copytree(REPOSITORY / "data/raw/bundled" / name, root / "data/raw/bundled" / name)
        lay_tables(root, name)
    return root


@pytest.mark.parametrize(
    ("levels", "heads"),
    [
        ({"factor_generator": "wrk", "logging": "off"}, ["generator", "logging", "value (95 % interval)"]),
        ({}, ["variant", "value (95 % interval)"]),
    ],
)
def test_levels_of_the_reference_alone_stand_below_the_names_of_their_factors(
    levels: dict[str, str], heads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    mean = records(means(made_up_trials(), start="time_to_first_response_s"))[0]
    print_values([Cell(levels, [Line(mean, None)])])
    assert re.split(r" {2,}", capsys.readouterr().out.splitlines()[0].strip()) == heads


def test_no_conclusion_is_drawn_from_a_smoke_session(measured: Path) -> None:
    code, out, err = rematch(measured, "results", "tiny")
    assert (code, err) == (0, "")
    assert "No conclusion can be drawn: profile smoke" in in_one_line(out)
    rows = [line for line in out.splitlines() if line.startswith("  other ")]
    # a tiny process may use less CPU time than its clock counts: then there is no ratio to conclude from
    (other,) = {line.split()[-3:][0] for line in rows if not line.endswith("cannot be said")}
    assert other == "none"


def test_a_session_in_which_every_trial_failed_says_why_and_ends_with_1(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    for path in root.glob("services/**/service.py"):
        path.write_text("raise SystemExit(3)\n")
    measure_tiny(root)
    code, out, err = rematch(root, "results", "tiny")
    assert (code, err) == (1, "")
    n_trials = len(tiny_folder(root).header.plan.trials)
    assert f"No result: none of {n_trials} trials can be used" in in_one_line(out)
    assert f"{n_trials} trials left out:" in out
    assert "interval" not in out
    code, out, _ = rematch(root, "results", "tiny", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["trials"] == {"planned": n_trials, "made": n_trials, "kept": 0}
    assert found["metrics"] == []


def test_a_bundled_session_that_the_services_did_not_bound_names_no_winner(bundled: Path) -> None:
    code, text, err = rematch(bundled, "results", "strings-rounds")
    assert (code, err) == (0, "") and text.startswith("bundled/strings-rounds/")
    throughput = text.split("\n\n")[1]
    assert "no verdict" in throughput
    assert not re.search(r"\b(better|worse|equivalent)\b", throughput.split("\n", 1)[1])
    assert "no verdict: bound by" in in_one_line(text)


def test_the_table_and_the_json_of_a_session_agree(bundled: Path) -> None:
    code, out, _ = rematch(bundled, "results", "gc-peaks", "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) == {
        "session", "profile", "conclusive", "reference", "draft", "trials", "blocks", "outcomes",
        "exclusion_reasons", "flags", "runtime_cpus", "metrics",
    }  # fmt: skip
    code, text, _ = rematch(bundled, "results", "gc-peaks")
    assert code == 0
    for metric in found["metrics"]:
        assert metric["better"] in ("higher", "lower")
        for cell in metric["cells"]:
            for row in cell["variants"]:
                alone = len(cell["variants"]) == 1
                assert alone or re.search(rf"^  {re.escape(row['variant'])} ", text, re.MULTILINE)
                if row["comparison"] and row["comparison"]["ratio"] is not None:
                    assert row["comparison"]["low"] <= row["comparison"]["ratio"] <= row["comparison"]["high"]


def test_two_sessions_are_set_side_by_side_and_a_session_is_not_compared_with_itself(bundled: Path) -> None:
    words = ("results", "strings-warm", "--session", "quick-local-8", "--against", "quick-local-5")
    code, out, err = rematch(bundled, *words)
    assert (code, err) == (0, "")
    whole = json.loads(rematch(bundled, *words, "--json")[1])
    # left out for the speed of their CPUs: none failed, so no outcome is counted
    made, kept = whole["trials"]["made"], whole["trials"]["kept"]
    assert 0 < kept < made and out.splitlines()[0].endswith(f"{made} trials, {kept} kept")
    assert all("machine: " in reason for reason in whole["exclusion_reasons"])
    rows = [row for metric in whole["metrics"] for cell in metric["cells"] for row in cell["variants"]]
    compared = [row for row in rows if row["comparison"] and row["comparison"]["ratio"] is not None]
    assert compared  # a value is of the trials of its ratio, one in each block
    assert all(row["n_trials"] == row["comparison"]["n_blocks"] for row in compared)
    beside = whole["against"]
    changed = beside["counts_changed"]
    n = sum(changed.values())
    assert n > 40 and changed["agree"] > 0.75 * n and not changed["contradict"]
    # the reference was built anew in between, so that nothing else is left to compare
    assert beside["share"] is None and not sum(beside["counts"].values())
    undecided = {Verdict.INCONCLUSIVE, Verdict.NOT_ABOUT_SERVICES}
    n_neither = sum(
        pair["kind"] == "agree" and {pair[which]["verdict"] for which in ("first", "second")} <= undecided
        for pair in beside["pairs"]
    )
    assert (beside["undecided_in_both"], beside["undecided_in_both_changed"]) == (0, n_neither)
    assert n_neither and f"in {n_neither} of those that agree neither session decides" in in_one_line(out)
    assert len(beside["changed"]) == 3
    assert f"built from other sources ({', '.join(beside['changed'])})" in in_one_line(out)
    code, _, err = rematch(bundled, *words[:-1], "quick-local-8")
    assert code == 2 and "agrees with itself" in err


def test_the_newest_session_is_taken_also_by_a_file_outside(measured: Path, tmp_path: Path) -> None:
    elsewhere = str(shutil.copy(measured / "harness/experiments/tiny.toml", tmp_path))
    for words, first in (
        (("tiny",), "tiny/smoke-local-1: "),
        ((elsewhere,), "tiny/smoke-local-1: "),
        (("tiny", "--session", "smoke-local-2"), "tiny/smoke-local-2: "),
    ):
        code, out, err = rematch(measured, "results", *words)
        assert (code, err) == (0, "") and out.startswith(first)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("tinny",), ("tinny", "tiny")),
        (("",), ()),
        (("../tiny",), ("../tiny",)),
        (("tiny", "--session", "smoke-local-9"), ("--session", "smoke-local-9", "smoke-local-1")),
        (("tiny", "--metric", "p98"), ("--metric", "p98", METRICS)),
    ],
)
def test_the_unknown_is_one_line(measured: Path, arguments: tuple[str, ...], parts: tuple[str, ...]) -> None:
    code, out, err = rematch(measured, "results", *arguments)
    assert (code, out) == (2, "") and err.startswith("rematch: ") and err.count("\n") == 1
    assert all(part in err for part in parts)


def test_a_session_without_a_finished_trial_is_one_line(measured: Path, tmp_path: Path) -> None:
    header = tiny_folder(measured).folder / "session.json"
    root = make_session_project(tmp_path)
    folder = tiny_folder(root).folder
    folder.mkdir(parents=True)
    shutil.copy(header, folder)
    code, _, err = rematch(root, "results", "tiny")
    assert code == 2 and "no trial is finished" in err


def test_fewer_than_five_blocks_have_no_verdict(bundled: Path) -> None:
    code, out, _ = rematch(
        bundled, "results", "strings-pair", "--session", "quick-local-1", "--metric", "p99"
    )
    assert code == 0 and out.count("is better") == 1
    assert "none (2 blocks)" in out and "not shown to differ" not in out
