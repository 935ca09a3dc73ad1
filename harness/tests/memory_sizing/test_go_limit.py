# SPDX-License-Identifier: Apache-2.0
"""A limit of Go is soft: it is enough only where the runtime keeps to it, by its own account."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.definitions import load_study
from harness.memory_sizing import probe
from harness.memory_sizing.fit import Attempts, fit_memory
from harness.memory_sizing.probe import alike, asked_of, over_limit
from harness.model import Experiment
from harness.runner import Limits
from harness.session import assemble, prepare
from harness.session.preparing import fit_order, parts_for
from harness.session.signals import RunningProcesses
from harness.tests.support.sessions import running_below
from harness.tests.support.synthetic import ROOT

MIB = 2**20
METRICS = f"go_memstats_sys_bytes {24 * MIB}\ngo_memstats_heap_released_bytes {4 * MIB}\n"


def test_a_program_keeps_to_its_limit_within_a_twentieth() -> None:
    assert over_limit(METRICS, 20 * MIB) is None and over_limit(METRICS, int(19.5 * MIB)) is None
    assert over_limit(METRICS, 18 * MIB) == "its runtime holds 20.0 MiB, more than its limit of 18.0 MiB"
    for metrics in (None, "", "go_memstats_sys_bytes 1\n"):
        assert "do not tell" in (over_limit(metrics, 18 * MIB) or "")


def test_variants_with_the_same_collector_share_a_least_one_and_a_build_of_their_own_has_its_own() -> None:
    experiment: Experiment = load_study(ROOT, "collectors").experiment
    groups = alike(experiment, tuple(asked_of(experiment, tuple(experiment.variants))))
    assert ("go-limit-1.3x", "go-limit-2x", "go-limit-3x", "go-limit-6x") in groups
    assert ("g1-1.3x", "g1-2x", "g1-3x", "g1-6x") in groups
    assert ("g1-compact-1.3x", "g1-compact-2x", "g1-compact-3x", "g1-compact-6x") in groups
    assert len(groups) == 7


def test_a_real_go_service_has_a_least_limit_that_it_keeps_to_and_in_a_tiny_one_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "COLD_S", 0.2)
    monkeypatch.setattr(probe, "SEARCH_S", 0.4)
    monkeypatch.setattr(probe, "FEWEST_REQUESTS", 40)
    monkeypatch.setattr(probe, "TRIED_S", 1.0)
    assembly = assemble(ROOT)
    prepared = prepare(assembly, "collectors", profile="smoke", host="local", seed=1)
    said = fit_order(assembly, prepared, limits=Limits(), say=lambda _: None)
    order = replace(said, folder=tmp_path / "probe", names=("go-limit-3x",))
    parts = parts_for(assembly, RunningProcesses(tmp_path, "probe"), order.load)
    variant = order.experiment.variants["go-limit-3x"]
    build = order.build(order.implementations[variant.implementation], variant)
    attempts = Attempts(order=order, parts=parts, builds={variant.build_name: build})
    roomy, tiny = attempts.heap_under_load("go-limit-3x", 256), attempts.heap_under_load("go-limit-3x", 4)
    assert roomy.worked and not tiny.worked and "more than its limit of 4.0 MiB" in (tiny.reason or "")
    within, none = attempts.heap("go-limit-3x", 256), attempts.heap("go-limit-3x", 4)
    assert within.worked and not none.worked
    # a collector that never rests can take the CPU from the requests before anybody asks what the runtime holds
    assert none.fell_behind or "more than its limit" in (none.reason or "")
    found = fit_memory(order, parts)
    (least,) = found.least
    assert least.setting == "gomemlimit" and 4 < least.least_mib < 256
    assert found.resolved == {"go-limit-3x": {"gomemlimit": f"{3 * least.least_mib}MiB"}}
    assert not running_below(tmp_path)
