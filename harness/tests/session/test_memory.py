# SPDX-License-Identifier: Apache-2.0
"""Memory measured before the first trial: by real processes under the load's own generator, once, kept, and used."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.definitions import load_study
from harness.errors import InputError, MemoryFitFailed, StoreError
from harness.measure.runner import Limits
from harness.measure.session import Assembly, Prepared, assemble, measure, memory, prepare
from harness.measure.session.dry_run import expected_s, session_s
from harness.measure.session.rehearsing import Rehearsals
from harness.measure.session.signals import RunningProcesses
from harness.model import HeapProbe, LimitProbe, Outcome, TrialRecord
from harness.places.hosts.local import LocalHost
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.store import SessionFolder, SessionWriter, Store
from harness.tests.support.available import only_in_ci
from harness.tests.support.instances import SERVICE
from harness.tests.support.sessions import (
    LIMITS,
    make_session_project,
    running_below,
    tiny_assembly,
    write_experiment,
)
from harness.tests.support.synthetic import ROOT
from harness.tests.support.tools_here import QUICK_JVM, TINY, make_java_project, reference_jdk

HOLDER = """
import os, re
LIMIT = re.fullmatch(r"(\\d+)MiB", os.environ.get("GOMEMLIMIT", "0MiB"))
HELD = b"x" * (int(LIMIT[1]) << 20)
"""


def make_memory_project(root: Path, *, multiple: str = "2x", settings: str = "") -> Path:
    """Lay the project out; ``settings`` are what the Go variant at equal memory is told, as TOML."""
    make_session_project(root)
    services = root / "services" / "strings"
    elsewhere = root / "java"
    make_java_project(elsewhere, reference_jdk())
    shutil.copytree(elsewhere / "services" / "strings" / "tiny", services / "tiny")
    words = {"start": TINY.start, "build": TINY.build}
    lists = "".join(f"{key} = [{', '.join(map(repr, said))}]\n" for key, said in words.items())
    (services / "tiny" / "service.toml").write_text(
        'name = "tiny"\nworkload = "strings"\nlanguage = "java"\nframework = "none"\nruntime = "jvm"\n'
        f'min_java = 21\nartifact = "{TINY.artifact}"\n{lists}'
    )
    go = services / "gotiny"
    go.mkdir()
    (go / "service.py").write_text(HOLDER + (SERVICE / "service.py").read_text())
    toml = (SERVICE / "service.toml").read_text()
    (go / "service.toml").write_text(toml.replace('"misbehaving"', '"gotiny"').replace('"other"', '"go"'))
    rewrite(root, multiple=multiple, settings=settings)
    return root


def rewrite(root: Path, *, multiple: str = "2x", settings: str = "") -> None:
    """Write the experiment's file anew."""
    variants = {
        "go": 'implementation = "gotiny"\nruntime = { gogc = 100 }',
        "java-2x": 'implementation = "tiny"\nlean = true\nruntime = { gc = "serial", heap_max = '
        f'"{multiple}", jvm_flags = ["{QUICK_JVM}"] }}',
        "go-as-java": 'implementation = "gotiny"\nruntime = { gogc = "off", gomemlimit = "rss of java-2x" }\n'
        f"settings = {{ {settings} }}",
    }
    few = 'generator = "locust"\nprofile = { model = "open", rate_per_s = 200, duration_s = 0.5 }'
    write_experiment(root, "memory", "strings", variants, {"few": few})


def memory_session(root: Path) -> tuple[Assembly, Prepared]:
    """The real launcher with a real JDK, and the fake load generator."""
    launcher = ProcessLauncher(LocalHost(), root, Tools(jdks=(reference_jdk(),)), grace_s=2.0)
    assembly = tiny_assembly(root, launcher)
    return assembly, prepare(assembly, "memory", profile="smoke", host="local", seed=1)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same search from a smaller heap, under loads that last a moment only."""
    monkeypatch.setattr(memory, "FIRST_MIB", 4)
    monkeypatch.setattr(memory, "TRIED_S", 1.0)


def measured(root: Path) -> SessionFolder:
    return measure(*memory_session(root), limits=LIMITS)


@only_in_ci("a session that searches for least heaps")
@pytest.mark.usefixtures("short")
def test_a_session_measures_memory_once_and_every_trial_runs_with_what_was_found(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path)
    _, prepared = memory_session(root)
    expected = {"java-2x": "heap_max = 2x", "go-as-java": "gomemlimit = rss of java-2x"}
    assert memory.memory_asked(prepared) == expected
    folder = measured(root)
    fit = folder.memory()
    assert folder.complete and fit is not None
    assert folder.header.notes["memory"] == fit.model_dump(mode="json")
    (least,) = fit.least
    assert least.variants == ("java-2x",) and least.collector == "serial"
    assert 1 <= least.least_mib <= 32
    assert all(each.worked or each.reason for each in least.probes)
    assert [(each.heap_mib, each.worked) for each in least.probes[-2:]] == [(least.least_mib, True)] * 2
    assert {each.asked_by for each in least.probes} == {"locust"}
    assert fit.tried == folder.header.plan.trials[0].configuration.load  # it is as short as it is
    heap, limit = f"{2 * least.least_mib}m", f"{fit.limits[0].limit_mib}MiB"
    assert fit.resolved == {"java-2x": {"heap_max": heap}, "go-as-java": {"gomemlimit": limit}}
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
    first, second = fit.limits[0].probes
    assert abs(second.rss_bytes - fit.held[0].rss_bytes) < 0.1 * fit.held[0].rss_bytes
    assert second.limit_mib < first.limit_mib
    assert not running_below(root)

    last = folder.header.plan.trials[-1].trial_id
    (folder.folder / last).rename(folder.folder / ".partial-again")
    again = measured(root)
    assert again.complete and again.memory() == fit
    assert sum(event["event"] == "memory measured" for event in again.events()) == 1

    rewrite(root, multiple="3x")
    with pytest.raises(InputError, match="memory was measured for another definition.*3x.*allowed: java-2x"):
        measured(root)
    writer = SessionWriter(again)
    try:
        with pytest.raises(StoreError, match="never changes"):
            writer.write_memory(fit)
    finally:
        writer.close()


@pytest.mark.usefixtures("short")
def test_a_service_whose_memory_cannot_be_matched_is_one_line_and_no_session(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path, multiple="32m", settings="crash_after = 5")
    says = r"the memory of go-as-java \(gomemlimit = \d+MiB\) cannot be read: failed: .*"
    with pytest.raises(MemoryFitFailed, match=says) as refused:
        measured(root)
    assert "\n" not in str(refused.value) and refused.value.exit_code == 2
    assert not Store(root).session("memory", "smoke-local-1").exists
    assert not running_below(root)


def trials_of(assembly: Assembly, prepared: Prepared, folder: Path, name: str) -> memory.MemoryTrials:
    """Trials of one variant of a plan; ``folder``: of notes of their processes."""
    ledger = RunningProcesses(folder, "probe")
    trials = memory.MemoryTrials(
        Rehearsals(assembly=assembly, prepared=prepared, limits=Limits(), ledger=ledger)
    )
    trials.build(name)
    return trials


@pytest.mark.usefixtures("short")
def test_a_heap_that_the_load_fills_is_not_enough_and_nothing_is_left_of_the_trial(tmp_path: Path) -> None:
    root = make_memory_project(tmp_path)
    source = root / "services/strings/tiny/Main.java"
    queue = "static final java.util.Queue<byte[]> ALL = new java.util.concurrent.ConcurrentLinkedQueue<>();"
    text = source.read_text().replace("public class Main {", f"public class Main {{ {queue}", 1)
    source.write_text(
        text.replace("exchange.getRequestBody()", "ALL.add(new byte[1 << 16]);\n exchange.getRequestBody()")
    )
    trials = trials_of(*memory_session(root), tmp_path, "java-2x")
    small, large = trials.heap("java-2x", 6), trials.heap("java-2x", 160)
    assert not small.worked and not small.fell_behind
    assert "java.lang.OutOfMemoryError" in (small.reason or "")
    assert large.worked and large.asked_by == "locust"
    assert not list((root / ".cache/memory").rglob("trial")) and not running_below(root)


@pytest.mark.usefixtures("short")
def test_a_real_go_service_keeps_to_a_roomy_limit_and_in_a_tiny_one_does_not(tmp_path: Path) -> None:
    assembly = assemble(ROOT)
    prepared = prepare(assembly, "collectors", profile="smoke", host="local", seed=1)
    trials = trials_of(assembly, prepared, tmp_path, "go-limit-3x")
    roomy, tiny = trials.heap("go-limit-3x", 256), trials.heap("go-limit-3x", 4)
    assert roomy.worked and not tiny.worked and "more than its limit of 4.0 MiB" in (tiny.reason or "")
    assert not running_below(ROOT / ".cache/memory")


def test_a_program_keeps_to_its_limit_within_a_twentieth() -> None:
    metrics = f"go_memstats_sys_bytes {24 * memory.MIB}\ngo_memstats_heap_released_bytes {4 * memory.MIB}\n"
    assert memory.over_limit(metrics, 20 * memory.MIB) is None
    assert memory.over_limit(metrics, int(19.5 * memory.MIB)) is None
    message = memory.over_limit(metrics, 18 * memory.MIB)
    assert message == "its runtime holds 20.0 MiB, more than its limit of 18.0 MiB"
    assert "do not tell" in (memory.over_limit(None, 18 * memory.MIB) or "")


def test_variants_with_the_same_collector_share_a_least_heap_and_a_build_of_its_own_has_its_own() -> None:
    experiment = load_study(ROOT, "collectors").experiment
    groups = memory.alike(experiment, tuple(memory.asked_of(experiment, tuple(experiment.variants))))
    for name in ("go-limit", "g1", "g1-compact"):
        assert tuple(f"{name}-{multiple}" for multiple in ("1.3x", "2x", "3x", "6x")) in groups
    assert len(groups) == 7


def test_a_single_error_or_arrivals_left_out_are_enough_for_a_heap_not_to_be() -> None:
    (session,) = Store(ROOT).sessions("gc-peaks", bundled=True)
    stored = session.memory()  # of a release in which no generator took part
    assert stored is not None and stored.rate_per_s is not None and stored.n_requests is not None
    good = next(
        each for each in session.records() if each.outcome == Outcome.OK and memory.fault(each) is None
    )
    assert good.load is not None

    def changed(**changes: object) -> TrialRecord:
        return good.model_copy(update=changes)

    some = good.load.model_copy(update={"n_errors": 1, "errors_by_kind": {"too late": 1}})
    wrong = changed(load=some, flags=("errors_seen",))
    assert memory.fault(wrong) == f"errors: 1 of {some.n_requests} requests went wrong (1 too late)"
    assert not memory.was_slow(wrong)
    late = changed(load=good.load.model_copy(update={"n_dropped": 7}), flags=("arrivals_dropped",))
    assert "7 arrivals" in (memory.fault(late) or "") and memory.was_slow(late)
    ended = changed(outcome=Outcome.OUT_OF_MEMORY, reason="Java heap space", load=None)
    assert memory.fault(ended) == "out of memory: Java heap space" and not memory.was_slow(ended)
    slow = changed(outcome=Outcome.OVERLOADED, reason="10 of 400 answered")
    assert memory.fault(slow) and memory.was_slow(slow)


def test_the_time_expected_has_the_trials_of_each_search(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = assemble(ROOT)
    prepared = prepare(assembly, "gc-peaks", profile="smoke", host="local", seed=1)
    with_trials_s = session_s(assembly, prepared)
    monkeypatch.setattr(memory, "TRIALS_EACH", 0)
    without_s = session_s(assembly, prepared)
    configurations = [trial.configuration for trial in prepared.plan.trials]
    java = next(each for each in configurations if each.variant_name == "serial-3x")
    assert java.load is not None
    short = java.model_copy(
        update={"load": memory.tried(java.load, prepared.experiment.profiles["smoke"].settle_s)}
    )
    trial_s = expected_s(assembly, prepared.study, short)
    assert with_trials_s - without_s == pytest.approx(2 * 9 * trial_s)  # Serial and G1


def probe(mib: int, worked: bool) -> HeapProbe:
    return HeapProbe(heap_mib=mib, worked=worked, reason=None if worked else "out of memory", took_s=0.1)


def search(works: Callable[[int], bool]) -> tuple[memory.SearchEnd, list[int]]:
    """Return where the search ended, and the heaps that were tried."""
    end = memory.least_heap(lambda mib: probe(mib, works(mib)), what="a service")
    return end, [each.heap_mib for each in end.probes]


@given(boundary=st.integers(1, memory.MOST_MIB))
def test_any_boundary_is_found_to_a_step_and_no_outcome_contradicts_another(boundary: int) -> None:
    end, heaps = search(lambda mib: mib >= boundary)
    assert boundary <= end.least_mib <= boundary + end.step_mib
    assert end.step_mib == memory.step_mib(end.least_mib) == max(1, end.least_mib // 20)
    assert end.steady and heaps[-2:] == [end.least_mib] * 2
    assert len(heaps) <= 19


def test_a_heap_that_worked_by_luck_grows_until_it_works_twice_in_a_row() -> None:
    seen: list[int] = []

    def lucky(mib: int) -> bool:
        seen.append(mib)
        return mib >= 18 or (seen.count(mib) == 1 and mib in (13, 14, 16))

    end, heaps = search(lucky)
    assert heaps == [16, 8, 12, 14, 13, 13, 14, 15, 17, 20, 20]
    assert (end.least_mib, end.step_mib, end.steady) == (20, 3, False)


def test_a_program_that_was_only_too_slow_is_tried_again_and_that_is_noticed() -> None:
    seen: list[int] = []

    def slow_once(mib: int) -> HeapProbe:
        seen.append(mib)
        slow = mib == 12 and seen.count(12) == 1
        return probe(mib, mib >= 9 and not slow).model_copy(update={"fell_behind": slow})

    end = memory.least_heap(slow_once, what="a service")
    assert (seen.count(12), end.least_mib, end.steady) == (2, 9, False)


def test_no_heap_at_all_is_one_line_with_the_last_reason() -> None:
    says = rf"^[^\n]*a service does its work in no heap up to {memory.MOST_MIB} MiB.*out of memory[^\n]*$"
    with pytest.raises(MemoryFitFailed, match=says) as refused:
        search(lambda _: False)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("multiple", "least", "heap"), [(1.0, 7, 7), (1.3, 10, 13), (1.3, 7, 9), (1.3, 6, 8), (6, 9, 54)]
)
def test_a_multiple_is_the_nearest_mebibyte_never_under_least(multiple: float, least: int, heap: int) -> None:
    assert memory.heap_mib(multiple, least) == heap


@given(wanted=st.floats(60, 500), offset=st.floats(-50, 50))
def test_a_program_of_limit_and_constant_is_matched_by_one_correction(wanted: float, offset: float) -> None:
    first = round(wanted)
    held_bytes = round((first + offset) * memory.MIB)
    second = memory.corrected(round(wanted * memory.MIB), LimitProbe(limit_mib=first, rss_bytes=held_bytes))
    limits = [first] if second is None else [first, second]
    assert min(abs(limit + offset - wanted) for limit in limits) <= max(1.0, 0.021 * wanted)
