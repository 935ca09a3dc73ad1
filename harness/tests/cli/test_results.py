# SPDX-License-Identifier: Apache-2.0
"""``rematch results``: who is ahead, by how much, how sure; and what is said where nothing can be."""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

from harness.analysis.stats.session_agreement import agreement
from harness.cli.results_text import agreement_words, print_values
from harness.model import Verdict
from harness.rows import means
from harness.rows.schema import records
from harness.rows.session_results import Cell, Line
from harness.tests.analysis.stats.test_session_agreement import session
from harness.tests.support.command import run_here
from harness.tests.support.kept_tables import lay_tables
from harness.tests.support.made_up_trials import made_up_trials
from harness.tests.support.sessions import (
    REPOSITORY,
    make_session_project,
    measure_tiny,
    read_json,
    tiny_folder,
)

NARROW = 80
METRICS = "throughput, mean, p99, cpu, memory, start"


@cache
def rematch(root: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command line in the project and return exit code, stdout and stderr.

    The same command in the same project, which no test changes after it was asked, is run once.
    """
    return run_here(root, *arguments, columns=NARROW)


def refused(root: Path, *arguments: str) -> str:
    """Run a command that must end with exit code 2 and one line on stderr; return the line."""
    code, out, err = rematch(root, *arguments)
    assert code == 2, err
    assert out == ""
    assert err.startswith("rematch: ") and err.count("\n") == 1, err
    return err


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one session of the smoke profile."""
    root = make_session_project(tmp_path_factory.mktemp("measured"))
    measure_tiny(root)
    return root


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a session in which no service came up."""
    root = make_session_project(tmp_path_factory.mktemp("failed"))
    service = root / "services/misbehaving/service.py"
    found = [service] if service.exists() else sorted(root.glob("services/**/service.py"))
    for path in found:
        path.write_text("raise SystemExit(3)\n")
    measure_tiny(root)
    return root


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with nothing but three of the sessions that come with this one."""
    root = tmp_path_factory.mktemp("bundled")
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    (root / "harness/model").mkdir(parents=True)
    for name in ("strings-rounds", "gc-peaks", "strings-pair"):
        shutil.copytree(REPOSITORY / "data/raw/bundled" / name, root / "data/raw/bundled" / name)
        lay_tables(root, name)
    return root


@pytest.fixture(scope="module")
def text_of_bundled(bundled: Path) -> str:
    code, out, err = rematch(bundled, "results", "strings-rounds")
    assert (code, err) == (0, "")
    return out


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


OPEN, REFUSED = Verdict.INCONCLUSIVE, Verdict.NOT_ABOUT_SERVICES


@pytest.mark.parametrize(
    ("ratio", "first", "second", "words"),
    [
        (1.5, (), (), "2 of 2 verdicts agree"),
        (0.5, (), (), "0 of 2 verdicts agree, 2 contradict"),
        (1.5, (), (OPEN,), "1 of 2 verdicts agree, none contradict, in 1 at most one session decides"),
        (
            1.5,
            (REFUSED,),
            (REFUSED,),
            "2 of 2 verdicts agree, in 1 of those that agree neither session decides",
        ),
    ],
)
def test_what_did_not_happen_between_two_sessions_is_not_counted(
    ratio: float, first: tuple[Verdict, ...], second: tuple[Verdict, ...], words: str
) -> None:
    """``first``, ``second``: verdicts in the place of the first ones of each session."""
    sides = [
        tuple(
            each.model_copy(update={"verdict": verdict or each.verdict})
            for each, verdict in zip_longest(session(value), verdicts)
        )
        for value, verdicts in ((1.5, first), (ratio, second))
    ]
    assert agreement_words(agreement(*sides)) == words


def test_no_conclusion_is_drawn_from_a_smoke_session(measured: Path) -> None:
    code, out, err = rematch(measured, "results", "tiny")
    assert (code, err) == (0, "")
    assert "No conclusion can be drawn: profile smoke" in in_one_line(out)
    rows = [line for line in out.splitlines() if line.startswith("  other ")]
    # a tiny process may use less CPU time than its clock counts: then there is no ratio to conclude from
    (other,) = {line.split()[-3:][0] for line in rows if not line.endswith("cannot be said")}
    assert other == "none"


def test_a_session_in_which_every_trial_failed_says_why_and_ends_with_1(failed: Path) -> None:
    code, out, err = rematch(failed, "results", "tiny")
    assert (code, err) == (1, "")
    n_trials = len(tiny_folder(failed).header.plan.trials)
    assert f"No result: none of {n_trials} trials can be used" in in_one_line(out)
    assert f"{n_trials} trials left out:" in out
    assert "interval" not in out
    code, out, _ = rematch(failed, "results", "tiny", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["trials"] == {"planned": n_trials, "made": n_trials, "kept": 0}
    assert found["metrics"] == []


def test_a_bundled_session_that_the_services_did_not_bound_names_no_winner(text_of_bundled: str) -> None:
    assert text_of_bundled.startswith("bundled/strings-rounds/")
    throughput = text_of_bundled.split("\n\n")[1]
    assert "no verdict" in throughput and not re.search(
        r"\b(better|worse|equivalent)\b", throughput.split("\n", 1)[1]
    )
    assert "not about the services: bound by" in in_one_line(text_of_bundled)


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
    for one in found["metrics"]:
        assert one["better"] in ("higher", "lower")
        for cell in one["cells"]:
            for row in cell["variants"]:
                assert (
                    re.search(rf"^  {re.escape(row['variant'])} ", text, re.MULTILINE)
                    or len(cell["variants"]) == 1
                )
                if row["comparison"] and row["comparison"]["ratio"] is not None:
                    assert row["comparison"]["low"] <= row["comparison"]["ratio"] <= row["comparison"]["high"]


def test_two_sessions_are_set_side_by_side_and_a_session_is_not_compared_with_itself(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("two")
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    (root / "harness/model").mkdir(parents=True)
    shutil.copytree(REPOSITORY / "data/raw/bundled/strings-warm", root / "data/raw/bundled/strings-warm")
    lay_tables(root, "strings-warm")
    words = ("results", "strings-warm", "--session", "quick-local-8", "--against", "quick-local-5")
    code, out, err = rematch(root, *words)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= NARROW
    whole = json.loads(rematch(root, *words, "--json")[1])
    # left out for the speed of their CPUs: none failed, so no outcome is counted
    made, kept = whole["trials"]["made"], whole["trials"]["kept"]
    assert 0 < kept < made and out.splitlines()[0].endswith(f"{made} trials, {kept} kept")
    assert all("machine: " in reason for reason in whole["exclusion_reasons"])
    rows = [row for metric in whole["metrics"] for cell in metric["cells"] for row in cell["variants"]]
    compared = [row for row in rows if row["comparison"] and row["comparison"]["ratio"] is not None]
    assert compared  # a value is of the trials of its ratio, one in each block
    assert all(row["n_trials"] == row["comparison"]["n_blocks"] for row in compared)
    beside = whole["against"]
    counts = beside["counts"]
    changed = beside["counts_changed"]
    n = sum(changed.values())
    assert n > 40 and changed["agree"] > 0.75 * n and not changed["contradict"]
    # the reference was built anew in between, so that nothing else is left to compare
    assert beside["share"] is None and not sum(counts.values())
    undecided = {Verdict.INCONCLUSIVE, Verdict.NOT_ABOUT_SERVICES}
    n_neither = sum(
        pair["kind"] == "agree" and {pair[which]["verdict"] for which in ("first", "second")} <= undecided
        for pair in beside["pairs"]
    )
    assert (beside["undecided_in_both"], beside["undecided_in_both_changed"]) == (0, n_neither)
    assert n_neither and f"in {n_neither} of those that agree neither session decides" in in_one_line(out)
    assert len(beside["changed"]) == 3
    assert f"built from other sources ({', '.join(beside['changed'])})" in in_one_line(out)
    assert "agrees with itself" in refused(root, *words[:-1], "quick-local-8")


def test_no_line_is_wider_than_80_columns(measured: Path, failed: Path, text_of_bundled: str) -> None:
    texts = [text_of_bundled, *(rematch(root, "results", "tiny")[1] for root in (measured, failed))]
    for text in texts:
        assert [line for line in text.splitlines() if len(line) > NARROW] == []


def test_an_experiment_file_outside_the_project_is_found_by_its_name(measured: Path, tmp_path: Path) -> None:
    elsewhere = shutil.copy(measured / "harness/experiments/tiny.toml", tmp_path)
    code, out, err = rematch(measured, "results", str(elsewhere))
    assert (code, err) == (0, "")
    assert out.startswith("tiny/smoke-local-1: ")


def test_the_newest_session_is_taken_where_none_is_named(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    measure_tiny(root, seed=2)
    measure_tiny(root, seed=1)
    assert rematch(root, "results", "tiny")[1].startswith("tiny/smoke-local-1: ")
    assert rematch(root, "results", "tiny", "--session", "smoke-local-2")[1].startswith(
        "tiny/smoke-local-2: "
    )


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
def test_what_is_unknown_is_one_line_with_what_is_allowed(
    measured: Path, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    line = refused(measured, "results", *arguments)
    for part in parts:
        assert part in line


def test_a_session_without_a_finished_trial_is_one_line(measured: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(measured, root, symlinks=True)
    folder = tiny_folder(root).folder
    kept = {"session.json"}
    assert read_json(folder / "session.json")
    for entry in folder.iterdir():
        if entry.name not in kept:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    assert "no trial is finished" in refused(root, "results", "tiny")


def test_fewer_than_five_blocks_have_no_verdict(bundled: Path) -> None:
    code, out, _ = rematch(bundled, "results", "strings-pair", "--metric", "p99")
    assert code == 0 and out.count("is better") == 1
    assert "none (2 blocks)" in out and "not shown to differ" not in out
