# SPDX-License-Identifier: Apache-2.0
"""A heap is enough when it is enough for what trials bring about, under the load's own generator."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.memory_sizing import probe
from harness.memory_sizing.fit import Attempts, fault, was_slow
from harness.memory_sizing.probe import TRIED_S, FitSpec, tried
from harness.model import ClosedLoad, Load, MemoryFit, OpenLoad, Outcome, TrialRecord
from harness.runner import Limits
from harness.session import Assembly, Prepared, assemble, prepare
from harness.session.dry_run import expected_s, session_s
from harness.session.preparing import fit_order, parts_for
from harness.session.signals import RunningProcesses
from harness.store import Store
from harness.tests.support.memory_project import make_memory_project, memory_session
from harness.tests.support.sessions import running_below
from harness.tests.support.synthetic import ROOT

MIB = 2**20


def attempts_of(assembly: Assembly, prepared: Prepared, folder: Path, warm_up_requests: int) -> Attempts:
    """Whoever tries the variants of a plan, in ``folder``."""
    said = fit_order(assembly, prepared, limits=Limits(), say=lambda _: None)
    configuration = said.configuration.model_copy(update={"warm_up_requests": warm_up_requests})
    few = said.load.profile.model_copy(update={"rate_per_s": 30.0})  # whatever else this machine does
    order = replace(
        said,
        folder=folder / "probe",
        configuration=configuration,
        load=said.load.model_copy(update={"profile": few}),
    )
    return Attempts(
        order=order,
        parts=parts_for(assembly, RunningProcesses(folder, "probe"), order.load),
        builds=built(order),
    )


def built(spec: FitSpec) -> dict[str, Any]:
    variants = [spec.experiment.variants[name] for name in spec.names]
    return {one.build_name: spec.build(spec.implementations[one.implementation], one) for one in variants}


def test_what_only_a_trial_brings_about_is_found_by_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "COLD_S", 0.1)
    monkeypatch.setattr(probe, "SEARCH_S", 0.2)
    monkeypatch.setattr(probe, "FEWEST_REQUESTS", 40)
    root = make_memory_project(tmp_path)
    keeps_64_kib_of_each_request(root / "services/strings/tiny/Main.java")
    # some 360 requests from within, and 100 more than the warm-up in a trial
    attempts = attempts_of(*memory_session(root), tmp_path, warm_up_requests=900)
    assert attempts.heap("java-2x", 48).worked
    under_load = attempts.heap_under_load("java-2x", 48)
    assert not under_load.worked and not under_load.fell_behind
    assert "java.lang.OutOfMemoryError" in (under_load.reason or "")
    assert attempts.heap_under_load("java-2x", 160).worked
    assert not (tmp_path / "probe").exists()
    assert not running_below(root)


def keeps_64_kib_of_each_request(source: Path) -> None:
    text = source.read_text()
    kept = "static final java.util.Queue<byte[]> KEPT = new java.util.concurrent.ConcurrentLinkedQueue<>();"
    text = text.replace("public class Main {", f"public class Main {{ {kept}", 1)
    source.write_text(
        text.replace("exchange.getRequestBody()", "KEPT.add(new byte[1 << 16]);\n exchange.getRequestBody()")
    )


@pytest.fixture(scope="module")
def good() -> TrialRecord:
    (session,) = Store(ROOT).sessions("gc-peaks", bundled=True)
    return next(one for one in session.records() if one.outcome == Outcome.OK and fault(one) is None)


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


def test_the_load_of_a_probe_is_that_of_trials_as_long_as_loads_settle_and_some_seconds() -> None:
    long = Load(generator="jmeter", profile=OpenLoad(rate_per_s=400, duration_s=60, connections=7))
    short = tried(long, 4.0)
    assert short.generator == "jmeter"
    assert short.profile == OpenLoad(rate_per_s=400, duration_s=4 + TRIED_S, connections=7)
    assert tried(short, 100.0) == short
    users = Load(generator="locust", profile=ClosedLoad(users=5, duration_s=60))
    assert tried(users, 1.0).profile == ClosedLoad(users=5, duration_s=1 + TRIED_S)


def test_what_the_session_is_expected_to_take_has_the_trials_that_end_each_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assembly = assemble(ROOT)
    prepared = prepare(assembly, "gc-peaks", profile="smoke", host="local", seed=1)
    with_trials_s = session_s(assembly, prepared)
    monkeypatch.setattr("harness.memory_sizing.probe.TRIALS_EACH", 0)
    without_s = session_s(assembly, prepared)
    java = next(one for one in prepared.plan.trials if one.configuration.variant_name == "serial-3x")
    one_s = expected_s(assembly, prepared.study, java.configuration)  # smoke's load is as short as a probe's
    assert with_trials_s - without_s == pytest.approx(2 * 3 * one_s)  # Serial and G1


def test_what_sessions_wrote_before_a_generator_took_part_is_read_as_it_is() -> None:
    (session,) = Store(ROOT).sessions("gc-peaks", bundled=True)
    found = session.memory()
    assert found is not None
    said = json.loads(found.model_dump_json(exclude={"tried": True}))
    for least in said["least"]:
        for attempt in least["probes"]:
            del attempt["asked_by"]
    old = MemoryFit.model_validate_json(json.dumps(said))
    assert old.tried is None
    assert {attempt.asked_by for least in old.least for attempt in least.probes} == {None}
