# SPDX-License-Identifier: Apache-2.0
"""Memory measured before the first trial: by real processes under the load's own generator, once, kept, and used."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.measure import _print_plan
from harness.definitions import load_study
from harness.errors import InputError, MemoryFitFailed, StoreError
from harness.memory_sizing import fit, probe
from harness.memory_sizing.probe import (
    TRIED_S,
    Attempts,
    FitSpec,
    alike,
    asked_of,
    fault,
    over_limit,
    tried,
    was_slow,
)
from harness.model import ClosedLoad, Experiment, Load, MemoryFit, OpenLoad, Outcome, TrialRecord
from harness.runner import Limits
from harness.session import Assembly, Prepared, assemble, measure, prepare
from harness.session.dry_run import expected_s, memory_asked, session_s
from harness.session.preparing import fit_order, parts_for
from harness.session.signals import RunningProcesses
from harness.store import SessionFolder, SessionWriter, Store
from harness.tests.support.memory_project import make_memory_project, memory_session, rewrite
from harness.tests.support.sessions import LIMITS, running_below
from harness.tests.support.synthetic import ROOT

MIB = 2**20


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same search from a smaller heap, under loads that last a moment only."""
    monkeypatch.setattr(fit, "FIRST_MIB", 4)
    monkeypatch.setattr(probe, "TRIED_S", 1.0)


def folder_of(root: Path) -> SessionFolder:
    return Store(root).session("memory", "smoke-local-1")


def measured(root: Path) -> SessionFolder:
    assembly, prepared = memory_session(root)
    return measure(assembly, prepared, limits=LIMITS)


def test_a_session_measures_memory_once_and_every_trial_runs_with_what_was_found(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path)
    folder = measured(root)
    memory = folder.memory()
    assert folder.complete and memory is not None
    assert folder.header.notes["memory"] == memory.model_dump(mode="json")
    (least,) = memory.least
    assert least.variants == ("java-2x",) and least.collector == "serial"
    assert 1 <= least.least_mib <= 32
    assert all(each.worked or each.reason for each in least.probes)
    assert [(each.heap_mib, each.worked) for each in least.probes[-2:]] == [(least.least_mib, True)] * 2
    assert {each.asked_by for each in least.probes} == {"locust"}
    planned = folder.header.plan.trials[0].configuration.load
    assert memory.tried == planned  # it is as short as it is
    heap, limit = f"{2 * least.least_mib}m", f"{memory.limits[0].limit_mib}MiB"
    assert memory.resolved == {"java-2x": {"heap_max": heap}, "go-as-java": {"gomemlimit": limit}}
    records = {each.planned.configuration.variant_name: each for each in folder.records()}
    assert all(each.outcome == Outcome.OK for each in records.values())
    java, go, plain = records["java-2x"], records["go-as-java"], records["go"]
    assert java.instance is not None and go.instance is not None
    assert f"-Xmx{heap}" in java.instance.argv
    assert java.planned.configuration.variant.runtime.heap_max == heap
    assert java.extra["memory_asked"] == "heap_max = 2x"
    assert go.instance.environment["GOMEMLIMIT"] == limit
    assert go.extra["memory_asked"] == "gomemlimit = rss of java-2x"
    assert "memory_asked" not in plain.extra
    # the made-up Go program holds an interpreter beside its limit, and that was taken off
    first, second = memory.limits[0].probes
    assert abs(second.rss_bytes - memory.held[0].rss_bytes) < 0.1 * memory.held[0].rss_bytes
    assert second.limit_mib < first.limit_mib
    assert not running_below(root)

    last = folder.header.plan.trials[-1].trial_id
    (folder.folder / last).rename(folder.folder / ".partial-again")
    again = measured(root)
    assert again.complete and again.memory() == memory
    assert sum(event["event"] == "memory measured" for event in again.events()) == 1

    rewrite(root, multiple="3x")
    with pytest.raises(InputError, match="memory was measured for another definition.*3x.*allowed: java-2x"):
        measured(root)
    writer = SessionWriter(again)
    try:
        with pytest.raises(StoreError, match="never changes"):
            writer.write_memory(memory)
    finally:
        writer.close()


def test_a_service_whose_memory_cannot_be_matched_is_one_line_and_no_session(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path, multiple="32m", settings="crash_after = 5")
    says = r"the memory of go-as-java \(gomemlimit = \d+MiB\) cannot be read: failed: .*"
    with pytest.raises(MemoryFitFailed, match=says) as refused:
        measured(root)
    assert "\n" not in str(refused.value) and refused.value.exit_code == 2
    assert not folder_of(root).exists and folder_of(root).memory() is None
    assert not running_below(root)


def test_a_dry_run_says_what_will_be_measured_and_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_memory_project(tmp_path)
    assembly, prepared = memory_session(root)
    assert memory_asked(prepared) == {"java-2x": "heap_max = 2x", "go-as-java": "gomemlimit = rss of java-2x"}
    _print_plan(assembly, prepared, as_json=False)
    text = " ".join(capsys.readouterr().out.split())
    assert "are measured first" in text and "gomemlimit = rss of java-2x" in text
    assert not folder_of(root).folder.exists()


def attempts_of(assembly: Assembly, prepared: Prepared, folder: Path, name: str) -> Attempts:
    """Trials of one variant of a plan, in ``folder``."""
    spec = fit_order(assembly, prepared, limits=Limits(), say=lambda _: None)
    order: FitSpec = replace(spec, folder=folder / "probe", names=(name,))
    variant = order.experiment.variants[name]
    build = order.build(order.implementations[variant.implementation], variant)
    parts = parts_for(assembly, RunningProcesses(folder, "probe"), order.load)
    return Attempts(order=order, parts=parts, builds={variant.build_name: build})


def test_a_heap_that_the_load_fills_is_not_enough_and_nothing_is_left_of_the_trial(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path)
    source = root / "services/strings/tiny/Main.java"
    queue = "static final java.util.Queue<byte[]> ALL = new java.util.concurrent.ConcurrentLinkedQueue<>();"
    text = source.read_text().replace("public class Main {", f"public class Main {{ {queue}", 1)
    source.write_text(
        text.replace("exchange.getRequestBody()", "ALL.add(new byte[1 << 16]);\n exchange.getRequestBody()")
    )
    attempts = attempts_of(*memory_session(root), tmp_path, "java-2x")
    small, large = attempts.heap("java-2x", 6), attempts.heap("java-2x", 160)
    assert not small.worked and not small.fell_behind
    assert "java.lang.OutOfMemoryError" in (small.reason or "")
    assert large.worked and large.asked_by == "locust"
    assert not (tmp_path / "probe").exists() and not running_below(root)


def test_a_real_go_service_keeps_to_a_roomy_limit_and_in_a_tiny_one_does_not(tmp_path: Path) -> None:
    assembly = assemble(ROOT)
    prepared = prepare(assembly, "collectors", profile="smoke", host="local", seed=1)
    attempts = attempts_of(assembly, prepared, tmp_path, "go-limit-3x")
    roomy, tiny = attempts.heap("go-limit-3x", 256), attempts.heap("go-limit-3x", 4)
    assert roomy.worked and not tiny.worked and "more than its limit of 4.0 MiB" in (tiny.reason or "")
    assert not running_below(tmp_path)


def test_a_program_keeps_to_its_limit_within_a_twentieth() -> None:
    metrics = f"go_memstats_sys_bytes {24 * MIB}\ngo_memstats_heap_released_bytes {4 * MIB}\n"
    assert over_limit(metrics, 20 * MIB) is None and over_limit(metrics, int(19.5 * MIB)) is None
    assert over_limit(metrics, 18 * MIB) == "its runtime holds 20.0 MiB, more than its limit of 18.0 MiB"
    for unknown in (None, "", "go_memstats_sys_bytes 1\n"):
        assert "do not tell" in (over_limit(unknown, 18 * MIB) or "")


def test_variants_with_the_same_collector_share_a_least_heap_and_a_build_of_its_own_has_its_own() -> None:
    experiment: Experiment = load_study(ROOT, "collectors").experiment
    groups = alike(experiment, tuple(asked_of(experiment, tuple(experiment.variants))))
    for name in ("go-limit", "g1", "g1-compact"):
        assert tuple(f"{name}-{multiple}" for multiple in ("1.3x", "2x", "3x", "6x")) in groups
    assert len(groups) == 7


@pytest.fixture(scope="module")
def good() -> TrialRecord:
    (session,) = Store(ROOT).sessions("gc-peaks", bundled=True)
    return next(each for each in session.records() if each.outcome == Outcome.OK and fault(each) is None)


def test_a_single_error_or_arrivals_left_out_are_enough_for_a_heap_not_to_be(good: TrialRecord) -> None:
    assert good.load is not None
    some = good.load.model_copy(update={"n_errors": 1, "errors_by_kind": {"too late": 1}})
    wrong = good.model_copy(update={"load": some, "flags": ("errors_seen",)})
    assert fault(wrong) == f"errors: 1 of {some.n_requests} requests went wrong (1 too late)"
    assert not was_slow(wrong)
    left_out = good.load.model_copy(update={"n_dropped": 7})
    late = good.model_copy(update={"load": left_out, "flags": ("arrivals_dropped",)})
    assert "7 arrivals" in (fault(late) or "") and was_slow(late)
    ended = good.model_copy(
        update={"outcome": Outcome.OUT_OF_MEMORY, "reason": "Java heap space", "load": None}
    )
    assert fault(ended) == "out of memory: Java heap space" and not was_slow(ended)
    slow = good.model_copy(update={"outcome": Outcome.OVERLOADED, "reason": "10 of 400 answered"})
    assert fault(slow) and was_slow(slow)


def test_the_load_of_a_probe_is_that_of_trials_as_long_as_loads_settle_and_some_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "TRIED_S", TRIED_S)
    long = Load(generator="jmeter", profile=OpenLoad(rate_per_s=400, duration_s=60, connections=7))
    short = tried(long, 4.0)
    assert short.generator == "jmeter"
    assert short.profile == OpenLoad(rate_per_s=400, duration_s=4 + TRIED_S, connections=7)
    assert tried(short, 100.0) == short
    users = Load(generator="locust", profile=ClosedLoad(users=5, duration_s=60))
    assert tried(users, 1.0).profile == ClosedLoad(users=5, duration_s=1 + TRIED_S)


def test_what_the_session_is_expected_to_take_has_the_trials_of_each_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly = assemble(ROOT)
    prepared = prepare(assembly, "gc-peaks", profile="smoke", host="local", seed=1)
    with_trials_s = session_s(assembly, prepared)
    monkeypatch.setattr(probe, "TRIALS_EACH", 0)
    without_s = session_s(assembly, prepared)
    java = next(
        each for each in prepared.plan.trials if each.configuration.variant_name == "serial-3x"
    ).configuration
    assert java.load is not None
    short = java.model_copy(update={"load": tried(java.load, prepared.experiment.profiles["smoke"].settle_s)})
    trial_s = expected_s(assembly, prepared.study, short)
    assert with_trials_s - without_s == pytest.approx(2 * 9 * trial_s)  # Serial and G1


def test_what_sessions_wrote_before_a_generator_took_part_is_read_as_it_is() -> None:
    (session,) = Store(ROOT).sessions("gc-peaks", bundled=True)
    memory = session.memory()
    assert memory is not None and memory.rate_per_s is not None and memory.n_requests is not None
    values = json.loads(memory.model_dump_json(exclude={"tried": True}))
    for least in values["least"]:
        for attempt in least["probes"]:
            del attempt["asked_by"]
    old = MemoryFit.model_validate_json(json.dumps(values))
    assert old.tried is None
    assert {attempt.asked_by for least in old.least for attempt in least.probes} == {None}
