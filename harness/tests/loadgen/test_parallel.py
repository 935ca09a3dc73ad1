# SPDX-License-Identifier: Apache-2.0
"""Several generators, one load: divided without loss, and merged on one clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.attribution.log_clock import generator_log
from harness.analysis.tables.layout import load_table, load_trials
from harness.analysis.tables.tidy import tidy
from harness.errors import UnsupportedLoad
from harness.loadgen.parallel import merge_summaries, seed_of, shares
from harness.model import ClosedLoad, LoadSummary, OpenLoad, Outcome
from harness.session import measure, prepare
from harness.tests.support.sessions import LIMITS, calm_alone, make_session_project, tiny_assembly


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


def test_two_generators_offer_together_what_one_was_asked_for(tmp_path: Path) -> None:
    root = calm_alone(make_session_project(tmp_path, loops=20))
    file = root / "harness/experiments/tiny.toml"
    file.write_text(file.read_text() + "processes = 2\n")
    assembly = tiny_assembly(root)
    plan = prepare(assembly, "tiny", profile="smoke", host="local", seed=1)
    folder = measure(assembly, plan, limits=LIMITS)
    assert folder.complete and folder.verify() == ()
    record = next(iter(folder.records()))
    assert record.outcome == Outcome.OK, record.reason
    assert record.load is not None and record.generator is not None and record.load.n_requests == 40
    assert [part.load and part.load.n_requests for part in record.generators] == [20, 20]
    assert record.generator.cpu_s == pytest.approx(sum(part.cpu_s or 0.0 for part in record.generators))
    files = {name.removesuffix(".gz") for name in record.files}
    assert {f"load/{n}/{name}" for n in (1, 2) for name in ("order.json", "samples.csv")} <= files
    tidy(root, ["tiny"])
    trials = load_trials(root, "tiny")
    assert not trials["excluded"].any() and trials["generator_cores"].notna().all()
    assert (trials["n_requests"] == 40).all()
    requests = load_table(root, "tiny", "requests", record.session_id, record.planned.trial_id)
    assert len(requests) == 40 and requests["start_epoch_s"].is_monotonic_increasing
    samples = load_table(root, "tiny", "samples", record.session_id, record.planned.trial_id)
    assert {"service", "generator", "generator-2"} == set(samples["role"])
    refused = generator_log(folder, record).refused
    assert refused == "2 load generators: a pause of one concerns its own requests only"
