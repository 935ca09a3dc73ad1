# SPDX-License-Identifier: Apache-2.0
"""Cores as a factor: a level that the machine has is enforced, and one that it has not is left out with the reason."""

from __future__ import annotations


import pytest

from harness.store import SessionFolder
from harness.tests.support.sessions import make_session_project, measure_tiny

LEVELS = """
name = "tiny"
title = "Tiny"
question = "Are cores a factor?"
workload = "strings"
reference = "calm"
load = "few"

[variants.calm]
implementation = "misbehaving"

[factors.cores]
1 = { runtime = { cpus = 1, pin = "limit" } }
4096 = { runtime = { cpus = 4096, pin = "limit" } }

[profiles.smoke]
blocks = 1

[profiles.smoke.loads.few]
generator = "locust"
profile = { model = "closed", users = 2, loops = 5 }
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> SessionFolder:
    """A session of which one level wants more cores than any machine has."""
    root = make_session_project(tmp_path_factory.mktemp("cores"))
    (root / "harness/experiments/tiny.toml").write_text(LEVELS)
    return measure_tiny(root)


def test_a_level_that_this_machine_cannot_give_is_left_out_with_the_reason(measured: SessionFolder) -> None:
    (gone,) = measured.header.unavailable
    assert gone.variant == "cores=4096"
    assert gone.reason.startswith("4096 CPUs are required for the service, and this host has ")
    assert {trial.configuration.levels["cores"] for trial in measured.header.plan.trials} == {"1"}


def test_a_pinned_service_runs_where_its_record_says_and_nowhere_else(measured: SessionFolder) -> None:
    for record in measured.records():
        assert record.outcome == "ok", record.reason
        assert record.instance is not None and record.generator is not None
        assert record.instance.cpu_limit == 1
        assert record.instance.cpus_allowed == record.instance.cpu_affinity
        assert len(record.instance.cpu_affinity) == 1
        assert record.placement.startswith("pinned by the limit: service on CPU ")
        assert record.generator.cpu_affinity
