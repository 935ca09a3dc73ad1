# SPDX-License-Identifier: Apache-2.0
"""Benchmarks that stand on a session: a real one of the tiny project, its lean handler, and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import harness.session
from harness.definitions import load_study
from harness.errors import InputError, RematchError
from harness.model import Outcome
from harness.project import find_root
from harness.tests.benchmarks.__main__ import app
from harness.tests.benchmarks.overhead import bench_overhead, time_by_phase
from harness.tests.benchmarks.result import BenchResult, BenchRow
from harness.tests.benchmarks.services import bench_services, pairs
from harness.tests.support.sessions import make_session_project, measure_tiny, tiny_assembly, tiny_folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose variant ``other`` is the lean handler of ``calm``; it would fail the contract's cases."""
    project = make_session_project(tmp_path, blocks=2, loops=40)
    path = project / "harness/experiments/tiny.toml"
    path.write_text(path.read_text().replace("settings = {  }", "lean = true"))
    monkeypatch.setattr(harness.session, "assemble", lambda root, **_: tiny_assembly(root))
    return project


def test_services_runs_an_ordinary_session_and_pairs_it_by_block(root: Path) -> None:
    found = bench_services(root, profile="smoke", experiment="tiny")
    assert [row.name for row in found.rows] == ["calm: throughput", "calm: CPU per request"]
    throughput = found.rows[0]
    assert throughput.said.startswith("2 blocks") and throughput.ratio is not None
    assert throughput.ratio_low is not None and throughput.ratio_low <= throughput.ratio
    folder = tiny_folder(root)
    assert folder.complete
    for record in folder.records():
        assert record.outcome == Outcome.OK, record.reason
        lean = record.planned.configuration.variant.lean
        assert (record.conformance is None) == lean
        assert record.extra.get("conformance") == (
            "not checked: a lean handler answers a constant" if lean else None
        )
    before = sorted(path.stat().st_mtime_ns for path in folder.folder.glob("*/record.json"))
    assert bench_services(root, profile="smoke", experiment="tiny").rows == found.rows
    assert sorted(path.stat().st_mtime_ns for path in folder.folder.glob("*/record.json")) == before


def test_the_real_experiment_pairs_every_service_with_the_lean_handler_of_its_framework() -> None:
    experiment = load_study(find_root(Path(__file__).parent), "lean-handlers").experiment
    found = dict(pairs(experiment))
    services = {name for name, variant in experiment.variants.items() if not variant.lean}
    assert set(found) == services and len(found) == 5
    for service, lean in found.items():
        one, other = experiment.variants[service], experiment.variants[lean]
        assert one.runtime == other.runtime, "a pair differs in its handler only"
        assert one.settings == {"face": "matched", "logging": "off"}


def test_an_experiment_without_lean_variants_is_refused(tmp_path: Path) -> None:
    make_session_project(tmp_path)
    with pytest.raises(InputError, match="no lean variant"):
        pairs(load_study(tmp_path, "tiny").experiment)


def test_overhead_takes_the_whole_wall_time_apart(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    folder = measure_tiny(root)
    found = bench_overhead(root)
    share, *phases = found.rows
    assert share.holds is None and "the target is for full" in share.said
    assert share.value is not None and 0 < share.value < 100
    assert sum(row.ratio or 0 for row in phases) == pytest.approx(1.0)
    assert {"start-up", "conformance", "measurement", "cool-down"} <= {row.name for row in phases}
    spent = time_by_phase(folder.records())
    assert all(seconds >= 0 for seconds in spent.values())
    with pytest.raises(InputError, match="no such session.*tiny/smoke-local-1"):
        bench_overhead(root, key="tiny/smoke-local-7")


def test_overhead_before_anything_was_measured_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="measure one first"):
        bench_overhead(make_session_project(tmp_path))


def command(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    monkeypatch.setenv("REMATCH_ROOT", str(root))
    with pytest.raises(SystemExit) as end:
        app(list(words))
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.mark.parametrize(("holds", "code"), [(True, 0), (None, 0), (False, 1)])
def test_only_a_target_that_does_not_hold_ends_with_1_and_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    holds: bool | None,
    code: int,
) -> None:
    row = BenchRow(name="go: throughput", value=1.0, unit="1/s", target="ratio >= 0.8", holds=holds)
    made = BenchResult(name="services", question="How much?", rows=(row,), place="2 cores")
    monkeypatch.setattr("harness.tests.benchmarks.__main__.run_bench", lambda *_, **__: made)
    root = make_session_project(tmp_path)
    ended, out, _ = command(root, monkeypatch, capsys, "services")
    assert ended == code
    assert ("go: throughput does not hold: ratio >= 0.8" in out) == (holds is False)
    ended, out, _ = command(root, monkeypatch, capsys, "services", "--json")
    assert ended == code and json.loads(out)["holds"] is holds


def test_all_goes_on_after_one_that_cannot_run_says_so_and_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, *_: object, **__: object) -> BenchResult:
        if name == "services":
            raise RematchError("no generator")
        return BenchResult(name=name, question="How?", rows=(), place="2 cores")

    monkeypatch.setattr("harness.tests.benchmarks.__main__.run_bench", run)
    root = make_session_project(tmp_path)
    ended, out, err = command(root, monkeypatch, capsys, "all", "--json", "--write")
    assert ended == 1 and "not run: services: no generator" in err
    assert [one["name"] for one in json.loads(out)] == ["ingest", "bootstrap", "sampler", "overhead"]
    assert "## ingest" in (root / "docs/benchmarks.md").read_text()
