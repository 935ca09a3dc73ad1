# SPDX-License-Identifier: Apache-2.0
"""Two sessions of an experiment: whether they were measured on one machine is told from their records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from harness.evidence import Evidence
from harness.evidence.other_sessions import other_machine


def on(cpu_model: str, kernel: str, **settings: str) -> Evidence:
    machine = SimpleNamespace(cpu_model=cpu_model, kernel=kernel, settings=settings)
    header = SimpleNamespace(provenance=SimpleNamespace(machine=machine))
    return cast("Evidence", SimpleNamespace(header=header))


def test_another_processor_or_kernel_is_another_machine_and_both_are_named() -> None:
    here = on("EPYC", "6.1")
    assert other_machine(here, on("EPYC", "6.1")) is None
    assert other_machine(here, on("Xeon", "6.1")) == "Xeon, Linux 6.1; this one: EPYC, Linux 6.1"
    assert other_machine(here, on("EPYC", "6.2")) == "EPYC, Linux 6.2; this one: EPYC, Linux 6.1"


def test_a_setting_of_the_kernel_that_differs_is_told_where_both_sessions_have_it() -> None:
    here = on("EPYC", "6.1", sched_autogroup="1", smt="1")
    assert other_machine(here, on("EPYC", "6.1")) is None
    assert other_machine(here, on("EPYC", "6.1", sched_autogroup="1")) is None
    assert other_machine(here, on("EPYC", "6.1", sched_autogroup="0", smt="1")) == (
        "EPYC, Linux 6.1, sched_autogroup 0; this one: EPYC, Linux 6.1, sched_autogroup 1"
    )
