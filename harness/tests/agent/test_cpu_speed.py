# SPDX-License-Identifier: Apache-2.0
"""The speed of CPUs is read on each of them, in CPU time, and not where a thread cannot be."""

from __future__ import annotations

import os
import time

import pytest

from harness.agent import cpu_speed
from harness.agent.cpu_speed import CpuSpeedMeter, step_ns
from harness.agent.platforms import usable_cpus
from harness.tests.support.patience import patient

NOWHERE = 4095


def _read_until(meter: CpuSpeedMeter, n: int, cpus: tuple[int, ...]) -> None:
    deadline = time.monotonic() + patient(20)
    while time.monotonic() < deadline and any(len(meter._read.get(cpu, [])) < n for cpu in cpus):
        time.sleep(0.05)


def test_each_cpu_is_read_and_one_that_is_not_there_is_left_out() -> None:
    cpus = usable_cpus()
    before = os.sched_getaffinity(0)
    meter = CpuSpeedMeter((*cpus, NOWHERE))
    meter.start()
    _read_until(meter, 3, cpus)
    read = meter.stop()
    assert os.sched_getaffinity(0) == before, "its own threads alone are pinned"
    assert [one.cpu for one in read] == sorted(cpus)
    assert all(one.n_readings >= 3 and 0 < one.step_ns_p05 <= one.step_ns_p50 for one in read)
    assert meter.stop() == read
