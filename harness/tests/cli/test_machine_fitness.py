# SPDX-License-Identifier: Apache-2.0
"""What makes a machine less fit: also a CPU that another guest slows down."""

from __future__ import annotations

import pytest

from harness.cli.machine_fitness import quiet_in_words, remarks_on
from harness.model import CpuSpeed
from harness.model.started import slowed_share

QUIET: dict[str, float | None] = {"busy_share": 0.01, "steal_share": 0.0}


def read(cpu: int, fastest_ns: float, mean_ns: float) -> CpuSpeed:
    return CpuSpeed(cpu=cpu, n_readings=50, step_ns_p05=fastest_ns, step_ns_p50=mean_ns, step_ns_mean=mean_ns)


def test_the_slowest_cpu_counts() -> None:
    assert slowed_share([read(0, 64.0, 64.0), read(1, 64.0, 80.0)]) == pytest.approx(0.25)


def test_cpus_that_could_not_be_read_are_unknown_not_fast() -> None:
    assert slowed_share([]) is None
    assert "slowed unknown" in quiet_in_words(QUIET | {"slowed_share": None})
    assert remarks_on(8, False, 100_000, QUIET | {"slowed_share": None}) == []


def test_a_slowed_machine_is_remarked_and_one_at_its_speed_is_not() -> None:
    (remark,) = remarks_on(8, False, 100_000, QUIET | {"slowed_share": 0.27})
    assert remark.startswith("its CPUs are 27% slower than at their best")
    assert remarks_on(8, False, 100_000, QUIET | {"slowed_share": 0.04}) == []
