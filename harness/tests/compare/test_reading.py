# SPDX-License-Identifier: Apache-2.0
"""Runs from files: every format that ``report`` reads, exact merges, and bounds where nothing exact can be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.report.compare.reading import RunFiles, read_run, runs_named
from harness.report.compare.result import METRICS, QUANTILES
from harness.tests.support.generated_jtl import report_file, users_wait, write_arms, write_load

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FILES = [
    *sorted((GOLDEN / "jmeter").glob("*.jtl*")),
    *sorted((GOLDEN / "k6").glob("*own*")), GOLDEN / "k6" / "samples.csv", *sorted((GOLDEN / "k6").glob("summary*")),
    GOLDEN / "locust" / "samples.csv", GOLDEN / "locust" / "run_stats.csv", GOLDEN / "oha" / "oha.csv",
    GOLDEN / "vegeta" / "results.csv", *sorted((GOLDEN / "wrk").glob("*.txt")),
]  # fmt: skip


def one(*paths: Path) -> RunFiles:
    return RunFiles(name="run", paths=paths)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_run_has_the_numbers_that_report_has(path: Path) -> None:
    run, report = read_run(one(path)), report_file(path)
    assert (run.n_requests, run.n_errors) == (report.requests, report.errors)
    if report.correct_per_s is not None:
        assert run.values[None, "throughput"] == pytest.approx(report.correct_per_s)
    for name in ("mean", *QUANTILES):
        value = report.latency_ms[name]
        assert (value is None) == ((None, name) not in run.values), name
        if value is not None:
            assert run.values[None, name] * 1e3 == pytest.approx(value)
    for metric in METRICS:
        assert ((None, metric) in run.values) != ((None, metric) in run.reasons)


def test_a_run_of_several_generators_has_the_numbers_of_all_their_requests(tmp_path: Path) -> None:
    whole = write_load(tmp_path / "whole.jtl", users_wait(1, users=6))
    head, *rows = whole.read_text().splitlines()
    for number in range(3):
        some = [row for row in rows if row.split(",")[4].endswith((str(1 + 2 * number), str(2 + 2 * number)))]
        (tmp_path / f"gen{number}.jtl").write_text("\n".join([head, *some, ""]))
    merged, alone = read_run(one(*sorted(tmp_path.glob("gen*")))), read_run(one(whole))
    assert dict(merged.values) == pytest.approx(dict(alone.values), rel=1e-12)
    for name in ("n_requests", "users", "rate_per_s"):
        assert getattr(merged, name) == getattr(alone, name)
    assert merged.loop == alone.loop == "closed"


def test_what_has_no_such_beginning_is_refused(tmp_path: Path) -> None:
    for path in (GOLDEN / "locust" / "run_stats.csv", write_load(tmp_path / "short.jtl", users_wait(1))):
        with pytest.raises(InputError, match="--skip"):
            read_run(one(path), skip_s=1e6)
    a, _ = write_arms(tmp_path)
    run = read_run(one(a / "run0.jtl", a / "run1.jtl"))
    assert any("do not overlap" in warning for warning in run.warnings)


def test_files_are_runs_and_folders_hold_runs(tmp_path: Path) -> None:
    a, _ = write_arms(tmp_path)
    (a / "notes.txt").write_text("of that day\n")
    inner = a / "together"
    inner.mkdir()
    for number in range(2):
        write_load(inner / f"gen{number}.jtl", users_wait(50 + number))
    for name in ("run_stats.csv", "run_stats_history.csv", "run_failures.csv", "run_exceptions.csv"):
        (a / name).write_text((GOLDEN / "locust" / name).read_text())
    runs, left_out = runs_named([str(a)], "A")
    assert [len(run.paths) for run in runs] == [1] * 6 + [2]
    assert [run.paths[0].name for run in runs][-2:] == ["run_stats.csv", "gen0.jtl"]
    assert len(left_out) == 1 and "notes.txt" in left_out[0]
    runs, _ = runs_named([f"{inner / 'gen0.jtl'}+{inner / 'gen1.jtl'}"], "A")
    assert [len(run.paths) for run in runs] == [2]


@pytest.mark.parametrize("word", ["none.jtl", "none+other", "empty"])
def test_names_of_nothing_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        runs_named([word], "A")
    assert word.split("+", maxsplit=1)[0] in str(refused.value) and "allowed" in str(refused.value)
