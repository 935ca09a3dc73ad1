# SPDX-License-Identifier: Apache-2.0
"""Memory measured before the first trial: by real processes, once, kept, and used by every trial that asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.measure import _print_plan
from harness.definitions.services import load_requests
from harness.errors import InputError, MemoryFitFailed, StoreError, TrialFailure
from harness.memory_sizing import fit, probe
from harness.memory_sizing.probe import ask_at_rate
from harness.model import Outcome
from harness.runner.start_up import wait_first_response
from harness.session import measure
from harness.session.dry_run import memory_asked
from harness.store import SessionFolder, SessionWriter, Store
from harness.tests.support.instances import Project
from harness.tests.support.memory_project import make_memory_project, memory_session, rewrite
from harness.tests.support.patience import patient
from harness.tests.support.sessions import LIMITS, running_below


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same search, asked for a moment only."""
    monkeypatch.setattr(fit, "FIRST_MIB", 4)
    monkeypatch.setattr(probe, "COLD_S", 0.1)
    monkeypatch.setattr(probe, "SEARCH_S", 0.2)
    monkeypatch.setattr(probe, "FEWEST_REQUESTS", 40)


def folder_of(root: Path) -> SessionFolder:
    return Store(root).session("memory", "smoke-local-1")


def measured(root: Path) -> SessionFolder:
    assembly, prepared = memory_session(root)
    return measure(assembly, prepared, limits=LIMITS)


def test_a_session_measures_memory_once_and_every_trial_runs_with_what_was_found(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path)
    folder = measured(root)
    found = folder.memory()
    assert folder.complete and found is not None
    assert folder.header.notes["memory"] == found.model_dump(mode="json")
    (least,) = found.least
    assert least.variants == ("java-2x",) and least.collector == "serial"
    assert 1 <= least.least_mib <= 32
    assert all(one.worked or one.reason for one in least.probes)
    *_, before_last, last_one = least.probes  # the load's own generator has the last word, twice
    assert [(one.heap_mib, one.worked, one.asked_by) for one in (before_last, last_one)] == [
        (least.least_mib, True, "locust")
    ] * 2
    assert least.probes[0].asked_by is None
    planned = folder.header.plan.trials[0].configuration.load
    assert found.tried == planned  # it is as short as it is
    heap, limit = f"{2 * least.least_mib}m", f"{found.limits[0].limit_mib}MiB"
    assert found.resolved == {"java-2x": {"heap_max": heap}, "go-as-java": {"gomemlimit": limit}}
    records = {one.planned.configuration.variant_name: one for one in folder.records()}
    assert all(one.outcome == Outcome.OK for one in records.values())
    java, go, plain = records["java-2x"], records["go-as-java"], records["go"]
    assert java.instance is not None and go.instance is not None
    assert f"-Xmx{heap}" in java.instance.argv
    assert java.planned.configuration.variant.runtime.heap_max == heap
    assert java.extra["memory_asked"] == "heap_max = 2x"
    assert go.instance.environment["GOMEMLIMIT"] == limit
    assert go.extra["memory_asked"] == "gomemlimit = rss of java-2x"
    assert "memory_asked" not in plain.extra
    # the made-up Go program holds an interpreter beside its limit, and that was taken off
    first, second = found.limits[0].probes
    assert abs(second.rss_bytes - found.held[0].rss_bytes) < 0.1 * found.held[0].rss_bytes
    assert second.limit_mib < first.limit_mib
    assert not running_below(root)

    last = folder.header.plan.trials[-1].trial_id
    (folder.folder / last).rename(folder.folder / ".partial-again")
    again = measured(root)
    assert again.complete and again.memory() == found
    assert sum(event["event"] == "memory measured" for event in again.events()) == 1

    rewrite(root, multiple="3x")
    with pytest.raises(InputError, match="memory was measured for another definition.*3x.*allowed: java-2x"):
        measured(root)
    writer = SessionWriter(again)
    try:
        with pytest.raises(StoreError, match="never changes"):
            writer.write_memory(found)
    finally:
        writer.close()


def test_a_service_whose_memory_cannot_be_matched_is_one_line_and_no_session(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path, multiple="32m", settings="crash_after = 5")
    with pytest.raises(
        MemoryFitFailed, match=r"the memory of go-as-java \(gomemlimit = \d+MiB\).*told to crash"
    ) as said:
        measured(root)
    assert "\n" not in str(said.value) and said.value.exit_code == 2
    assert not folder_of(root).exists and folder_of(root).memory() is None
    assert not running_below(root)


def test_a_dry_run_says_what_will_be_measured_and_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_memory_project(tmp_path)
    assembly, prepared = memory_session(root)
    assert memory_asked(prepared) == {"java-2x": "heap_max = 2x", "go-as-java": "gomemlimit = rss of java-2x"}
    _print_plan(assembly, prepared, as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    assert "are measured first" in said and "gomemlimit = rss of java-2x" in said
    assert not folder_of(root).folder.exists()


def test_who_falls_behind_the_rate_does_not_do_its_work(tmp_path: Path) -> None:
    project = Project(tmp_path)
    try:
        requests = load_requests(tmp_path, "strings")["hello"]
        slow, wrong = project.launch(slow_s=0.5), project.launch(wrong_answers=3)
        for one in (slow, wrong):
            wait_first_response(one, requests[0], patient(20.0))
        with pytest.raises(TrialFailure, match="fell .* s behind 50 requests a second"):
            ask_at_rate(
                slow.endpoint, requests, rate_per_s=50, n_requests=100, most_late_s=0.2, users=2, timeout_s=5
            )
        with pytest.raises(TrialFailure, match="request .* of user .*uppercase-hello"):
            ask_at_rate(wrong.endpoint, requests, rate_per_s=200, n_requests=20, most_late_s=5)
    finally:
        project.close()
