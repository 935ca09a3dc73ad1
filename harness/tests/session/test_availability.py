# SPDX-License-Identifier: Apache-2.0
"""What the machine allows is said before it is measured: open files, which ten thousand users need, and cores."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.definitions import load_study
from harness.errors import UnsupportedLoad
from harness.measure.session import prepare
from harness.measure.session.availability import raise_limit, too_large
from harness.model import configurations, make_plan
from harness.tests.support.sessions import REPOSITORY, make_session_project, measure_tiny, tiny_assembly


@pytest.fixture
def raised() -> Iterator[int]:
    """The limit as a session raises it, and afterwards as it was."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield raise_limit()
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_load_that_needs_more_open_files_than_are_allowed_is_named_with_what_would_help() -> None:
    study = load_study(REPOSITORY, "bank-original")
    problems = too_large(configurations(study.experiment, "full"), study.implementations, 4096)
    assert set(problems) == {f"{thousands}000" for thousands in range(2, 11)}
    assert str(problems["10000"]) == (
        "10000 users may need 20500 open files in go-gorilla, and the hard limit here (RLIMIT_NOFILE) is 4096: "
        "raise it as root (ulimit -Hn 20500), or offer fewer users"
    )
    study = load_study(REPOSITORY, "bank-rematch")  # whose loads are known once they are calibrated
    plan = make_plan(study.experiment.calibrated("quick", 300.0), "quick", 1)
    planned = [trial.configuration for trial in plan.trials]
    assert too_large(planned, study.implementations, 20_000) == {}
    assert too_large(planned, study.implementations, 1024)


def test_without_any_load_the_experiment_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.measure.session.availability.allowed", lambda: 100)
    root = make_session_project(tmp_path)
    with pytest.raises(
        UnsupportedLoad, match=r"users may need \d+ open files in calm.*is 100: raise it"
    ) as said:
        prepare(tiny_assembly(root), "tiny", profile="smoke", host="local", seed=1)
    assert "\n" not in str(said.value)


def test_the_limit_is_raised_to_what_is_allowed_and_never_lowered(raised: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == raised
    assert hard == resource.RLIM_INFINITY or soft <= hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, soft), hard))
    assert raise_limit() == raised


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


def test_an_impossible_level_is_left_out_and_a_pinned_service_runs_as_recorded(tmp_path: Path) -> None:
    root = make_session_project(tmp_path)
    (root / "harness/experiments/tiny.toml").write_text(LEVELS)
    measured = measure_tiny(root)
    (gone,) = measured.header.unavailable
    assert gone.variant == "cores=4096"
    assert gone.reason.startswith("4096 CPUs are required for the service, and this host has ")
    assert {trial.configuration.levels["cores"] for trial in measured.header.plan.trials} == {"1"}
    for record in measured.records():
        assert record.outcome == "ok", record.reason
        assert record.instance is not None and record.generator is not None
        assert record.instance.cpu_limit == 1
        assert record.instance.cpus_allowed == record.instance.cpu_affinity
        assert len(record.instance.cpu_affinity) == 1
        assert record.placement.startswith("pinned by the limit: service on CPU ")
        assert record.generator.cpu_affinity
