# SPDX-License-Identifier: Apache-2.0
"""A session that waits for its CPUs' speed: loads are held back while they are slowed, and offered again afterwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from itertools import chain, repeat

import pytest

from harness.agent.cpu_speed import READINGS_PER_S
from harness.measure.runner import speed_gate
from harness.measure.runner.speed_gate import LOOK_PER_S, REPEATS, SpeedGate
from harness.measure.session import measure, prepare
from harness.model import Outcome
from harness.places.hosts.local import LocalHost
from harness.places.hosts.measuring import SpeedMeter
from harness.tests.runner.test_one_process import two_loads, with_windows
from harness.tests.support.sessions import LIMITS

USUAL_NS, SLOWED_NS = 60.0, 100.0


def meter_of(cpus: Sequence[int], step_ns: float) -> SpeedMeter:
    """Return a meter that has read one speed of every CPU."""
    speed = {"n_readings": 30, "step_ns_p05": step_ns, "step_ns_p50": step_ns, "step_ns_mean": step_ns}
    return SpeedMeter(lambda: [{"cpu": cpu, **speed} for cpu in cpus])


class SlowedHost(LocalHost):
    """This machine, whose CPUs have the given speeds: one after another at looks, and at loads."""

    def __init__(self, looks: Iterator[float], loads: Iterator[float]) -> None:
        super().__init__()
        self._looks, self._loads = looks, loads
        self.n_looks = 0

    def speed_meter(self, cpus: Sequence[int], *, per_s: float = READINGS_PER_S) -> SpeedMeter:
        looked = per_s == LOOK_PER_S
        self.n_looks += looked
        return meter_of(cpus, next(self._looks if looked else self._loads))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_gate, "LOOK_S", 0.0)
    monkeypatch.setattr(speed_gate, "PAUSE_S", 0.001)


def test_the_gate_opens_when_the_cpus_have_their_usual_speed() -> None:
    host = SlowedHost(iter([USUAL_NS, SLOWED_NS, SLOWED_NS, USUAL_NS]), iter([]))
    gate = SpeedGate(wait_s=60.0)
    gate.wait(host, (0, 1))
    assert host.n_looks == 1 and gate.fastest_ns == {0: USUAL_NS, 1: USUAL_NS}
    assert gate.wait(host, (0, 1)) > 0 and host.n_looks == 4


def test_a_load_goes_on_when_the_time_is_over() -> None:
    host = SlowedHost(chain([USUAL_NS], repeat(SLOWED_NS)), iter([]))
    gate = SpeedGate(wait_s=0.05)
    gate.wait(host, (0,))
    waited_s = gate.wait(host, (0,))  # returns, though the CPUs stay slow
    assert host.n_looks > 2 and gate.is_over(waited_s)
    host.n_looks = 0
    gate.wait(host, (0,), waited_s)  # before the next load of the same trial
    assert host.n_looks == 1


def test_a_tenth_slower_is_slowed_and_few_readings_say_nothing() -> None:
    gate = SpeedGate(wait_s=1.0)
    gate.note(meter_of((0,), USUAL_NS).stop())
    assert not gate.slowed(meter_of((0,), USUAL_NS * 1.09).stop())
    assert gate.slowed(meter_of((0,), USUAL_NS * 1.11).stop())
    (few,) = meter_of((0,), SLOWED_NS).stop()
    assert not gate.slowed([few.model_copy(update={"n_readings": 3})])
    assert not gate.slowed(meter_of((1,), SLOWED_NS).stop())  # of a CPU that was never read


def test_a_slowed_load_is_offered_again_and_recorded(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = two_loads(tmp_path_factory.mktemp("slowed"), more="")
    loads = chain([USUAL_NS, SLOWED_NS, USUAL_NS], repeat(SLOWED_NS))
    assembly = dataclasses.replace(
        with_windows(root), host=SlowedHost(repeat(USUAL_NS), loads), speed_gate=SpeedGate(wait_s=5.0)
    )
    folder = measure(
        assembly, prepare(assembly, "tiny", profile="smoke", host="local", seed=1), limits=LIMITS
    )
    first, second, *others = records = [one for one in folder.records() if one.outcome == Outcome.OK]
    assert (len(first.earlier_loads), len(second.earlier_loads)) == (0, 1)
    assert [one.step_ns_mean for one in second.earlier_loads[0].cpu_speeds][:1] == [SLOWED_NS]
    assert [one.step_ns_mean for one in second.cpu_speeds][:1] == [USUAL_NS]
    assert others and all(len(one.earlier_loads) == REPEATS for one in others)
    assert all(one.extra["speed_wait_s"] is not None for one in records)
