# SPDX-License-Identifier: Apache-2.0
"""Rows that are counted and dropped: what stays tells the same throughput, mean and quantiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from harness.analysis.tables.layout import load_trials
from harness.analysis.tables.tidy import read_requests, read_seconds, tidy
from harness.errors import TrialFailure
from harness.loadgen.row_counts import LATENCIES, SECONDS, count_rows
from harness.measure.session import measure, prepare
from harness.model import ClosedLoad, Load, LoadSummary, Outcome
from harness.tests.support.sessions import LIMITS, calm_alone, make_session_project, tiny_assembly
from harness.tests.support.synthetic_pauses import write_jtl

SUMMARY = LoadSummary(
    n_requests=4, n_errors=0, start_epoch_s=1000.0, duration_s=2.5, offered_per_s=None, achieved_per_s=1.6,
    latency_mean_s=0.0, resolution_s=1e-3, has_requests=True,
)  # fmt: skip


def test_answers_stand_in_their_second_and_each_latency_with_its_number(tmp_path: Path) -> None:
    begun, elapsed = np.array([1_000_000, 1_000_900, 1_001_000, 1_002_000]), np.array([5, 200, 5, 1234])
    write_jtl(tmp_path / "samples.jtl", begun, elapsed, "hello")
    with (tmp_path / "samples.jtl").open("a") as file:
        file.write("1002100,3,hello,500,false\n")
    found = count_rows(tmp_path, SUMMARY)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([SECONDS, LATENCIES])
    seconds = pd.read_csv(tmp_path / SECONDS)
    assert seconds.to_numpy().tolist() == [[0, 1, 0], [1, 2, 0], [2, 1, 1], [3, 1, 0]]
    assert pd.read_csv(tmp_path / LATENCIES).to_numpy().tolist() == [[0.005, 2], [0.2, 1], [1.23, 1]]
    assert not found.has_requests and found.n_latencies == 4
    assert found.latency_mean_s == pytest.approx(1.444 / 4)
    assert {name: found.latency_quantiles_s[name] for name in ("p50", "p90", "min", "max")} == pytest.approx(
        {"p50": 0.005, "p90": 1.234, "min": 0.005, "max": 1.234}
    )


def test_what_has_no_rows_fails_its_trial(tmp_path: Path) -> None:
    with pytest.raises(TrialFailure, match="no rows to be counted"):
        count_rows(tmp_path, SUMMARY)


def test_only_a_tool_with_rows_has_any_to_count() -> None:
    load = {"generator": "wrk", "profile": ClosedLoad(users=1, duration_s=1), "rows": "counted"}
    with pytest.raises(ValidationError, match='rows = "counted" is of a generator'):
        Load.model_validate(load)


def test_a_trial_whose_rows_were_counted_has_the_columns_of_one_that_kept_them(tmp_path: Path) -> None:
    root = calm_alone(make_session_project(tmp_path, loops=200))
    file = root / "harness/experiments/tiny.toml"
    file.write_text(file.read_text() + 'rows = "counted"\n')
    assembly = tiny_assembly(root)
    folder = measure(
        assembly, prepare(assembly, "tiny", profile="smoke", host="local", seed=1), limits=LIMITS
    )
    record = next(iter(folder.records()))
    assert record.outcome == Outcome.OK and folder.verify() == ()
    assert read_requests(folder, record) is None
    seconds = read_seconds(folder, record.planned.trial_id)
    assert seconds is not None and seconds["n_requests"].sum() == 400 and seconds["n_errors"].sum() == 0
    tidy(root, ["tiny"])
    trials = load_trials(root, "tiny")
    assert (trials["n_requests"] == 400).all()
    assert (trials["latency_p50_s"] <= trials["latency_p99_s"]).all() and (trials["latency_p50_s"] > 0).all()
