# SPDX-License-Identifier: Apache-2.0
"""The command line: one line per problem, the right exit code, JSON where a program reads, no traceback."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import harness.measure.session
from harness.cli import app
from harness.cli.app import REMOVED
from harness.cli.options import experiment_names
from harness.project import find_root
from harness.tests.support.command import run_here
from harness.tests.support.sessions import (
    REPOSITORY,
    make_session_project,
    measure_tiny,
    tiny_assembly,
    tiny_folder,
)

SMOKE = ("measure", "tiny", "--profile", "smoke")


class Cli:
    """The command line on a project of one's own, within this process: starting one takes seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(harness.measure.session, "assemble", lambda root, **_: tiny_assembly(root))

    def __call__(self, root: Path, *arguments: str) -> tuple[int, str, str]:
        return run_here(root, *arguments)

    def refused(self, root: Path, *arguments: str) -> str:
        """Run a command that must end with exit code 2 and one line on stderr; return the line."""
        code, out, err = self(root, *arguments)
        assert code == 2, err
        assert err.count("\n") == 1 and err.startswith("rematch: "), err
        assert out == ""
        return err

    def json(self, root: Path, *arguments: str) -> Any:
        """Run a command that must end well, and return what it prints."""
        code, out, err = self(root, *arguments, "--json")
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(monkeypatch)


def changed(root: Path, *changes: tuple[str, str]) -> Path:
    """A project whose experiment is another in these places."""
    path = make_session_project(root) / "harness/experiments/tiny.toml"
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return root


def test_every_command_can_be_built_and_its_help_teaches_with_examples() -> None:
    commands = CliRunner().invoke(app, ["--help"]).output.split("Commands:")[1]
    names = re.findall(r"^  ([a-z]+) ", commands, re.MULTILINE)
    assert {"check", "measure", "report", "trace"} < {*names}
    for name in names:
        shown = CliRunner().invoke(app, [name, "--help"])
        assert shown.exit_code == 0 and "Examples" in shown.output and f"rematch {name}" in shown.output
    shown = CliRunner().invoke(app, ["reprot"])
    assert shown.exit_code == 2 and "report" in shown.output


@pytest.mark.parametrize("name", REMOVED)
def test_what_was_removed_is_a_line_with_what_to_use_instead(name: str, tmp_path: Path, cli: Cli) -> None:
    assert f"{name}: was removed; allowed: {REMOVED[name]}" in cli.refused(tmp_path, *name.split())
    if "--" in name:
        assert f"{name}: was removed" in cli.refused(tmp_path, *f"{name}=x".split())


def test_names_of_experiments_are_offered_to_the_tab_key() -> None:
    assert "strings-rounds" in experiment_names("strings-r")


@pytest.mark.parametrize(
    ("change", "words", "says"),
    [
        (("", ""), ("tinny",), "did you mean 'tiny'"),
        (("", ""), ("tiny", "--profile", "quick"), "allowed: smoke"),
        (("[variants.calm]", "[variants.calm"), ("tiny",), "harness/experiments/tiny.toml: line "),
        (
            ("blocks = 1", 'blocks = 1\nvariants = ["calm", "loud"]'),
            ("tiny",),
            "profiles.smoke.variants: unknown 'loud'",
        ),
        (('"locust"', '"k6"'), ("tiny",), "k6 is missing"),
        (("", ""), ("tiny", "--blocks", "0"), "--blocks: the number of blocks is out of range; found 0; allowed: 1 to"),
    ],
    ids=["experiment", "profile", "TOML", "variant", "generator", "blocks"],
)  # fmt: skip
def test_what_cannot_be_measured_is_one_line_with_what_to_do(
    tmp_path: Path, cli: Cli, change: tuple[str, str], words: tuple[str, ...], says: str
) -> None:
    root = changed(tmp_path, change)
    profile = () if "--profile" in words else ("--profile", "smoke")
    line = cli.refused(root, "measure", *words, *profile)
    assert says in line
    assert ("choose another generator" in line) == ("k6" in says)
    assert not tiny_folder(root).folder.exists()


def test_a_generator_that_is_missing_is_a_row_and_the_rest_is_planned(tmp_path: Path, cli: Cli) -> None:
    text = (make_session_project(tmp_path) / "harness/experiments/tiny.toml").read_text()
    more = text[text.index("[profiles.smoke.loads.few]") :].replace("loads.few", "loads.k6")
    factor = '[factors.generator]\nlocust = { load = "few" }\nk6 = { load = "k6" }\n\n'
    text = text.replace('load = "few"\n', "").replace("[profiles.smoke]", factor + "[profiles.smoke]", 1)
    (tmp_path / "harness/experiments/tiny.toml").write_text(text + "\n" + more.replace('"locust"', '"k6"'))
    (row,) = cli.json(tmp_path, "list", "tiny")
    assert list(row["levels_unavailable"]) == ["generator=k6"]
    assert "k6 is missing" in row["levels_unavailable"]["generator=k6"]
    assert row["profiles"]["smoke"]["trials"] > 0
    assert row["files"][-1].endswith("harness/experiments/tiny.toml")
    code, out, _ = cli(tmp_path, "list", "tiny")
    assert "generator=k6" in out and "defined in " in out
    code, out, err = cli(tmp_path, *SMOKE, "--dry-run")
    assert code == 0
    assert "not measured: generator=k6: k6 is missing" in err


def test_data_that_cannot_be_written_or_are_damaged_are_one_line(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path)
    (root / "data").symlink_to("/sys")  # where nobody may make a folder
    line = cli.refused(root, *SMOKE)
    assert "cannot be written" in line and "make data/raw writable" in line
    (root / "data").unlink()
    folder = measure_tiny(root)
    trial = folder.header.plan.trials[0].trial_id
    (folder.folder / trial / "record.json").write_text('{"schema_version": 1,')
    assert "record.json: damaged" in cli.refused(root, *SMOKE)


def test_a_dry_run_prints_plan_commands_and_time_and_starts_nothing(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path)
    code, out, _ = cli(root, *SMOKE, "--dry-run")
    assert code == 0 and "3 trials in 1 block," in out
    assert "3 trials" in out.rstrip().splitlines()[-2]  # the estimate is the last paragraph
    plan = cli.json(root, *SMOKE, "--dry-run")
    assert not (root / "data").exists()
    assert [trial["trial_id"] for trial in plan["trials"]] == [
        trial.trial_id for trial in measure_tiny(root).header.plan.trials
    ]
    assert plan["expected_s"] > 0
    assert any("fake_client.py" in word for word in plan["commands"]["load locust few hello"])


def test_measure_says_outcomes_to_programs(tmp_path: Path, cli: Cli) -> None:
    summary = cli.json(make_session_project(tmp_path, other="crash_after = 6"), *SMOKE)
    assert summary["session"] == "tiny/smoke-local-1" and summary["complete"]
    assert summary["outcomes"] == {"ok": 2, "failed": 1}


def test_list_names_what_cannot_run_and_why(tmp_path: Path, cli: Cli) -> None:
    (row,) = cli.json(changed(tmp_path, ("settings = {  }", "runtime = { gogc = 50 }")), "list")
    assert row["variants"]["calm"] is None and "gogc" in row["variants"]["other"]
    assert row["profiles"]["smoke"]["trials"] == 2


KEY, PUBLISHED = "tiny.throughput.ratio.other", Path("paper/generated/31-tiny.json")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A measured project with published numbers on two pages of its paper, and the trials of one of them."""
    folder = measure_tiny(make_session_project(tmp_path_factory.mktemp("traced")))
    root = folder.folder.parents[3]
    trials = [f"{folder.key}/{trial.trial_id}" for trial in folder.header.plan.trials]
    number = {"value": 13.4, "text": "13.4 ms", "interval_text": "13.4 ms (13.1 to 13.7)", "inputs": []}
    ratio = {"value": 1.25, "low": 1.0, "high": 1.5, "unit": "ratio", "text": "1.25", "method": "log-t"}
    values = {
        KEY: {**ratio, "estimand": "ratio", "n_trials": 3, "inputs": trials},
        "a.first": number, "b.again": number, "c.other": number | {"text": "3.4 ms", "interval_text": None},
    }  # fmt: skip
    (root / "paper" / "generated").mkdir(parents=True)
    (root / PUBLISHED).write_text(json.dumps({"values": values}))
    return root, trials


def test_trace_leads_from_a_number_to_its_records(traced: tuple[Path, list[str]], cli: Cli) -> None:
    root, trials = traced
    for trial in cli.json(root, "trace", KEY)["trials"]:
        assert json.loads((root / trial["record"]).read_text())["planned"]["trial_id"] in trial["trial"]
    assert f"nearest: {KEY}" in cli.refused(root, "trace", "tiny.throughput.ratio.othr")
    assert cli.json(root, "trace", "1.25")["key"] == KEY  # as it is printed
    _, out, _ = cli(root, "trace", KEY)
    assert f"from {len(trials)} trials" in out and all(trial.rpartition("/")[2] in out for trial in trials)
    assert cli(root, "trace", "3.4 ms")[1].startswith("c.other = 3.4 ms")
    assert "a.first, b.again" in cli.refused(root, "trace", "13.4")
    assert "no number has the key '4 ms'" in cli.refused(root, "trace", "4 ms")


def test_trace_checks_that_each_trial_is_stored(traced: tuple[Path, list[str]], cli: Cli) -> None:
    root, trials = traced
    assert cli(root, "trace", "--check") == (0, f"4 numbers, {len(trials)} trials: 0 missing\n", "")
    text = (root / PUBLISHED).read_text("utf-8")
    content = json.loads(text)
    content["values"]["tiny.lost"] = {"inputs": [trials[0], "tiny/smoke-local-1/9999-none"]}
    (root / PUBLISHED).write_text(json.dumps(content), "utf-8")
    code, out, _ = cli(root, "trace", "--check")
    (root / PUBLISHED).write_text(text, "utf-8")
    assert code == 1
    assert out.splitlines() == [
        "tiny.lost: 1 of 2 trials missing: tiny/smoke-local-1/9999-none",
        f"5 numbers, {len(trials) + 1} trials: 1 missing",
    ]


def test_trace_lists_the_numbers_of_a_page(traced: tuple[Path, list[str]], cli: Cli) -> None:
    root, _ = traced
    assert "no paper was built here" in cli.refused(root, "trace", "--page", "2")
    (root / "paper" / "main.aux").write_text("\\rematch@cited{a.first}{2}\n\\rematch@cited{b.gone}{2}\n")
    code, out, err = cli(root, "trace", "--page", "2")
    assert (code, err) == (0, "") and "a.first = 13.4 ms (13.1 to 13.7)" in out
    assert "b.gone = not published any more" in out
    assert [entry["key"] for entry in cli.json(root, "trace", "--page", "2")] == ["a.first", "b.gone"]
    assert "allowed: pages with numbers in their text: 2" in cli.refused(root, "trace", "--page", "7")
    assert "a key or a page, not both" in cli.refused(root, "trace", "a.first", "--page", "2")


def test_trace_before_anything_was_published_says_so(tmp_path: Path, cli: Cli) -> None:
    assert "make paper first" in cli.refused(make_session_project(tmp_path), "trace", "any.key")


def test_check_tells_programs_what_is_here() -> None:
    shown = CliRunner().invoke(app, ["check", "--json"], env={"REMATCH_ROOT": str(find_root(REPOSITORY))})
    found = json.loads(shown.output)
    assert found["machine"]["n_cpus"] == len(os.sched_getaffinity(0))
    assert shown.exit_code == (0 if found["fit_for"]["measuring"] else 1)
    for tool in found["tools"]:
        assert tool["how_to_get"] is not None or tool["state"] == "ok"
