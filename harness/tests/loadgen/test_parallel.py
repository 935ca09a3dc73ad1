# SPDX-License-Identifier: Apache-2.0
"""Several generators, one load: divided without loss, merged on one clock, and nothing is said when one of them fails."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.attribution.log_clock import generator_log
from harness.analysis.tables.layout import load_table, load_trials
from harness.analysis.tables.tidy import tidy
from harness.errors import UnsupportedLoad
from harness.loadgen.parallel import merge_summaries, seed_of, shares
from harness.model import ClosedLoad, LoadSummary, OpenLoad, Outcome, TrialRecord
from harness.runner import Limits
from harness.session import Assembly, measure, prepare
from harness.store import SessionFolder
from harness.tests.support.fakes import CLIENT
from harness.tests.support.instances import eventually
from harness.tests.support.sessions import LIMITS, make_session_project, running_below, tiny_assembly

ROOT = Path(__file__).resolve().parents[3]
USERS, LOOPS = 5, 20
DEFINITION = """
name = "tiny"
title = "Tiny"
question = "Do several offer what one does?"
workload = "strings"
reference = "calm"
load = "few"

[variants.calm]
implementation = "misbehaving"
settings = { %s }

[profiles.smoke]
blocks = 1

[profiles.smoke.loads.few]
generator = "%s"
processes = %d
profile = { model = "closed", users = 5, loops = %d }
"""


def project(
    folder: Path, *, generator: str = "locust", processes: int = 2, told: str = "", loops: int = LOOPS
) -> Path:
    root = make_session_project(folder)
    (root / "harness/experiments/tiny.toml").write_text(DEFINITION % (told, generator, processes, loops))
    return root


def measured(root: Path, assembly: Assembly | None = None, limits: Limits = LIMITS) -> SessionFolder:
    parts = assembly or tiny_assembly(root)
    return measure(parts, prepare(parts, "tiny", profile="smoke", host="local", seed=1), limits=limits)


@given(users=st.integers(1, 500), n=st.integers(1, 64))
def test_users_are_divided_evenly_and_none_is_lost(users: int, n: int) -> None:
    load = ClosedLoad(users=users, loops=3, ramp_up_s=2)
    if users < n:
        with pytest.raises(UnsupportedLoad, match=f"{users} users cannot be divided among {n}"):
            shares(load, n)
        return
    found = [share.users for share in shares(load, n) if isinstance(share, ClosedLoad)]
    assert sum(found) == users
    assert max(found) - min(found) <= 1


def test_random_arrivals_are_divided_by_their_rate_and_even_ones_are_refused() -> None:
    load = OpenLoad(rate_per_s=100, duration_s=2, connections=10)
    found = shares(load, 3)
    assert sum(share.rate_per_s for share in found if isinstance(share, OpenLoad)) == pytest.approx(100)
    assert {share.connections for share in found if isinstance(share, OpenLoad)} == {4}
    even = load.model_copy(update={"arrivals": "constant"})
    assert shares(even, 1) == (even,)
    with pytest.raises(UnsupportedLoad, match="cannot space arrivals evenly"):
        shares(even, 2)


def test_every_generator_of_every_trial_has_a_seed_of_its_own() -> None:
    assert seed_of(7, 1, 1) == 7
    seeds = [seed_of(trial, number, 64) for trial in range(1, 50) for number in range(1, 65)]
    assert len(set(seeds)) == len(seeds)


def summary(n: int, start_s: float | None, duration_s: float, **more: object) -> LoadSummary:
    told = {
        "n_requests": n, "n_errors": 1, "start_epoch_s": start_s, "duration_s": duration_s, "offered_per_s": None,
        "achieved_per_s": n / duration_s, "latency_mean_s": 0.001 * n, "resolution_s": 1e-3, "has_requests": True,
        "errors_by_kind": {"timeout": 1}, "latency_quantiles_s": {"p99": 1.0},
    }  # fmt: skip
    return LoadSummary.model_validate(told | more)


def test_counts_are_sums_and_the_time_is_from_the_first_start_to_the_last_end() -> None:
    merged = merge_summaries([summary(100, 1000.0, 10.0), summary(300, 1002.0, 10.0)])
    assert (merged.n_requests, merged.n_errors, merged.errors_by_kind) == (400, 2, {"timeout": 2})
    assert (merged.start_epoch_s, merged.duration_s) == (1000.0, 12.0)
    assert merged.achieved_per_s == pytest.approx(400 / 12)
    assert merged.latency_mean_s == pytest.approx((100 * 0.1 + 300 * 0.3) / 400)
    assert merged.latency_quantiles_s == {}


def check(folder: SessionFolder, root: Path, n: int) -> TrialRecord:
    """What must hold of every trial of ``n`` generators; returns one of the records."""
    assert folder.complete and folder.verify() == ()
    for record in folder.records():
        assert record.outcome == Outcome.OK, record.reason
        assert record.load is not None and record.generator is not None
        parts = [one.load for one in record.generators if one.load is not None]
        assert len(parts) == n
        assert record.load.n_requests == sum(part.n_requests for part in parts) == USERS * LOOPS
        assert [one.folder for one in record.generators] == [f"load/{number}" for number in range(1, n + 1)]
        assert record.generator.cpu_s == pytest.approx(sum(one.cpu_s or 0.0 for one in record.generators))
    tidy(root, ["tiny"])
    trials = load_trials(root, "tiny")
    assert not trials["excluded"].any()
    assert (trials["n_requests"] == USERS * LOOPS).all()
    for row in trials.itertuples():
        requests = load_table(root, "tiny", "requests", str(row.session_id), str(row.trial_id))
        assert len(requests) == USERS * LOOPS
        assert requests["start_epoch_s"].is_monotonic_increasing
    return next(iter(folder.records()))


def test_two_generators_offer_together_what_one_was_asked_for(tmp_path: Path) -> None:
    root = project(tmp_path)
    record = check(measured(root), root, 2)
    samples = load_table(root, "tiny", "samples", record.session_id, record.planned.trial_id)
    assert {"service", "generator", "generator-2"} == set(samples["role"])
    used = load_trials(root, "tiny")["generator_cores"]
    assert used.notna().all()
    assert [part.n_requests for one in record.generators if (part := one.load)] == [3 * LOOPS, 2 * LOOPS]
    orders = {name.removesuffix(".gz") for name in record.files}
    assert {"load/1/order.json", "load/2/order.json", "load/1/samples.csv", "load/2/samples.csv"} <= orders
    said = generator_log(SessionFolder(root / "data/raw/tiny/smoke-local-1"), record).refused
    assert said == "2 load generators: a pause of one concerns its own requests only"
