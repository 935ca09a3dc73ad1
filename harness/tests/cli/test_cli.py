# SPDX-License-Identifier: Apache-2.0
"""The command line: one line per problem, the right exit code, JSON where a program reads, no traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import harness.session
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


class Cli:
    """The command line on a project of one's own, within this process: starting one takes seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(harness.session, "assemble", lambda root, **_: tiny_assembly(root))

    def __call__(self, root: Path, *arguments: str) -> tuple[int, str, str]:
        return run_here(root, *arguments)

    def refused(self, root: Path, *arguments: str) -> str:
        """Run a command that must end with exit code 2 and one line on stderr; return the line."""
        code, out, err = self(root, *arguments)
        assert code == 2, err
        assert err.count("\n") == 1 and err.startswith("rematch: "), err
        assert out == ""
        return err


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(monkeypatch)


def test_every_command_can_be_built_and_its_help_teaches_with_examples() -> None:
    names = re.findall(
        r"^  ([a-z]+) ", CliRunner().invoke(app, ["--help"]).output.split("Commands:")[1], re.MULTILINE
    )
    assert {"check", "measure", "report", "trace"} < {*names}
    for name in names:
        shown = CliRunner().invoke(app, [name, "--help"])
        assert shown.exit_code == 0 and "Examples" in shown.output and f"rematch {name}" in shown.output


def test_a_word_that_is_no_command_is_answered_with_one_like_it() -> None:
    shown = CliRunner().invoke(app, ["reprot"])
    assert shown.exit_code == 2 and "report" in shown.output


@pytest.mark.parametrize("name", REMOVED)
def test_what_was_removed_is_a_line_with_what_to_use_instead(name: str, tmp_path: Path, cli: Cli) -> None:
    assert f"{name}: was removed; allowed: {REMOVED[name]}" in cli.refused(tmp_path, *name.split())


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
    ],
    ids=["experiment", "profile", "TOML", "variant", "generator"],
)
def test_what_cannot_be_measured_is_one_line_with_what_to_do(
    tmp_path: Path, cli: Cli, change: tuple[str, str], words: tuple[str, ...], says: str
) -> None:
    root = make_session_project(tmp_path)
    path = root / "harness/experiments/tiny.toml"
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    profile = () if "--profile" in words else ("--profile", "smoke")
    line = cli.refused(root, "measure", *words, *profile)
    assert says in line
    assert ("choose another generator" in line) == ("k6" in says)
    assert not tiny_folder(root).folder.exists()


def test_a_generator_among_others_that_is_not_here_is_a_row_with_its_reason_and_the_rest_is_planned(
    tmp_path: Path, cli: Cli
) -> None:
    root = make_session_project(tmp_path)
    path = root / "harness/experiments/tiny.toml"
    text = path.read_text().replace('load = "few"\n', "")
    more = text[text.index("[profiles.smoke.loads.few]") :].replace("loads.few", "loads.k6")
    factor = '[factors.generator]\nlocust = { load = "few" }\nk6 = { load = "k6" }\n\n'
    text = text.replace("[profiles.smoke]", factor + "[profiles.smoke]", 1)
    path.write_text(text + "\n" + more.replace('"locust"', '"k6"'))
    code, out, _ = cli(root, "list", "tiny", "--json")
    (row,) = json.loads(out)
    assert code == 0
    assert list(row["levels_unavailable"]) == ["generator=k6"]
    assert "k6 is missing" in row["levels_unavailable"]["generator=k6"]
    assert row["profiles"]["smoke"]["trials"] > 0
    assert row["files"][-1].endswith("harness/experiments/tiny.toml")
    code, out, _ = cli(root, "list", "tiny")
    assert "generator=k6" in out and "defined in " in out
    code, out, err = cli(root, "measure", "tiny", "--profile", "smoke", "--dry-run")
    assert code == 0
    assert "not measured: generator=k6: k6 is missing" in err


def test_a_data_folder_that_cannot_be_written_is_one_line(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path)
    (root / "data").mkdir()
    os.mkdir(root / "data" / "raw")
    with read_only(root / "data"):
        line = cli.refused(root, "measure", "tiny", "--profile", "smoke")
    assert "cannot be written" in line and "make data/raw writable" in line


def test_damaged_data_is_one_line(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path)
    folder = measure_tiny(root)
    trial = folder.header.plan.trials[0].trial_id
    (folder.folder / trial / "record.json").write_text('{"schema_version": 1,')
    assert "record.json: damaged" in cli.refused(root, "measure", "tiny", "--profile", "smoke")


def test_a_dry_run_prints_plan_commands_and_time_and_starts_nothing(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path)
    code, out, _ = cli(root, "measure", "tiny", "--profile", "smoke", "--dry-run")
    assert code == 0 and "3 trials in 1 block," in out
    assert "3 trials" in out.rstrip().splitlines()[-2]  # the estimate is the last paragraph
    plan = planned(root, cli)
    assert not (root / "data").exists()
    assert [trial["trial_id"] for trial in plan["trials"]] == [
        trial.trial_id for trial in measure_tiny(root).header.plan.trials
    ]
    assert plan["expected_s"] > 0
    assert any("fake_client.py" in word for word in plan["commands"]["load locust few hello"])


def planned(root: Path, cli: Cli, *words: str) -> dict[str, Any]:
    code, out, err = cli(root, "measure", "tiny", "--profile", "smoke", "--dry-run", "--json", *words)
    assert code == 0, err
    plan: dict[str, Any] = json.loads(out)
    return plan


def test_more_blocks_begin_with_the_trials_of_fewer(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path, blocks=2)
    two, five = planned(root, cli), planned(root, cli, "--blocks", "5")
    assert (two["blocks"], five["blocks"], five["blocks_of_profile"]) == (2, 5, 2)
    assert len(five["trials"]) == len(two["trials"]) / 2 * 5
    assert five["trials"][: len(two["trials"])] == two["trials"]
    _, out, _ = cli(root, "measure", "tiny", "--profile", "smoke", "--dry-run", "--blocks", "5")
    assert "in 5 blocks (the profile has 2)," in " ".join(out.split())


def test_as_many_whole_blocks_are_planned_as_fit_into_the_minutes_and_one_at_least(
    tmp_path: Path, cli: Cli
) -> None:
    root = make_session_project(tmp_path, blocks=2)
    one_s, two_s = (planned(root, cli, "--blocks", n)["expected_s"] for n in "12")
    for minutes in (0.001, 0.5, 1.0, 3.0, 10.5):
        found = planned(root, cli, "--minutes", str(minutes))
        n = found["blocks"]
        assert n == 1 or found["expected_s"] <= minutes * 60
        assert found["expected_s"] + (two_s - one_s) > minutes * 60, "one more would not fit"
        assert found["expected_s"] == pytest.approx(one_s + (n - 1) * (two_s - one_s))
    words = ("measure", "tiny", "--profile", "smoke", "--dry-run", "--minutes")
    assert "1 block in about" in (said := cli(root, *words, "0.001")[2]) and "the least" in said
    assert "asked for: 10.5 min" in (said := cli(root, *words, "10.5")[2]) and "the least" not in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--blocks", "0"), "--blocks: the number of blocks is out of range; found 0; allowed: 1 to 1000"),
        (("--blocks", "1001"), "found 1001"),
        (("--minutes", "0"), "--minutes: not a time to measure for; found 0.0; allowed: more than 0 minutes"),
        (("--minutes", "nan"), "found nan"),
        (("--blocks", "2", "--minutes", "3"), "both say how much is measured; allowed: one of them"),
    ],
)
def test_an_amount_that_cannot_be_measured_is_one_line(
    tmp_path: Path, cli: Cli, words: tuple[str, ...], says: str
) -> None:
    root = make_session_project(tmp_path)
    assert says in cli.refused(root, "measure", "tiny", "--profile", "smoke", *words)
    assert not (root / "data").exists()


def test_measure_says_outcomes_to_programs(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path, other="crash_after = 6")
    code, out, _ = cli(root, "measure", "tiny", "--profile", "smoke", "--json")
    assert code == 0
    summary = json.loads(out)
    assert summary["session"] == "tiny/smoke-local-1" and summary["complete"]
    assert summary["outcomes"] == {"ok": 2, "failed": 1}


def test_list_names_what_cannot_run_and_why(tmp_path: Path, cli: Cli) -> None:
    root = make_session_project(tmp_path)
    path = root / "harness/experiments/tiny.toml"
    path.write_text(path.read_text().replace("settings = {  }", "runtime = { gogc = 50 }"))
    code, out, err = cli(root, "list", "--json")
    assert code == 0, err
    (row,) = json.loads(out)
    assert row["variants"]["calm"] is None and "gogc" in row["variants"]["other"]
    assert row["profiles"]["smoke"]["trials"] == 2


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


KEY, PUBLISHED = "tiny.throughput.ratio.other", Path("paper/generated/31-tiny.json")


def test_trace_leads_from_a_number_to_the_records_it_came_from(
    traced: tuple[Path, list[str]], cli: Cli
) -> None:
    root, _ = traced
    code, out, err = cli(root, "trace", KEY, "--json")
    assert code == 0, err
    for trial in json.loads(out)["trials"]:
        assert json.loads((root / trial["record"]).read_text())["planned"]["trial_id"] in trial["trial"]
    assert f"nearest: {KEY}" in cli.refused(root, "trace", "tiny.throughput.ratio.othr")
    assert json.loads(cli(root, "trace", "1.25", "--json")[1])["key"] == KEY  # as it is printed
    assert cli(root, "trace", "3.4 ms")[1].startswith("c.other = 3.4 ms")
    assert "a.first, b.again" in cli.refused(root, "trace", "13.4")
    assert "no number has the key '4 ms'" in cli.refused(root, "trace", "4 ms")


def test_trace_checks_that_each_trial_of_each_number_is_stored(
    traced: tuple[Path, list[str]], cli: Cli
) -> None:
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


def test_trace_lists_the_numbers_of_a_page_of_the_built_paper(
    traced: tuple[Path, list[str]], cli: Cli
) -> None:
    root, _ = traced
    assert "no paper was built here" in cli.refused(root, "trace", "--page", "2")
    (root / "paper" / "main.aux").write_text("\\rematch@cited{a.first}{2}\n\\rematch@cited{b.gone}{2}\n")
    code, out, err = cli(root, "trace", "--page", "2")
    assert (code, err) == (0, "") and "a.first = 13.4 ms (13.1 to 13.7)" in out
    assert "b.gone = not published any more" in out
    keys = [entry["key"] for entry in json.loads(cli(root, "trace", "--page", "2", "--json")[1])]
    assert keys == ["a.first", "b.gone"]
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


class read_only:  # noqa: N801 - reads as a word in a with statement
    """A folder nobody can write to: for root by a read-only mount, for others by its mode."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> None:
        if os.geteuid() == 0:
            subprocess.run(["mount", "--bind", "-o", "ro", str(self.folder), str(self.folder)], check=True)
            subprocess.run(["mount", "-o", "remount,bind,ro", str(self.folder)], check=True)
        else:
            for path in (self.folder / "raw", self.folder):
                path.chmod(0o555)

    def __exit__(self, *_: object) -> None:
        if os.geteuid() == 0:
            subprocess.run(["umount", str(self.folder)], check=True)
        else:
            for path in (self.folder, self.folder / "raw"):
                path.chmod(0o755)
