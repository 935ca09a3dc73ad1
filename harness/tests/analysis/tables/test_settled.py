# SPDX-License-Identifier: Apache-2.0
"""The head of a load in which programs still settle is no part of any metric: of no column, table or ratio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.analysis.tables.tidy import tidy
from harness.analysis.tables.trial_row import is_settled, trial_row
from harness.evidence import Evidence
from harness.evidence.opening import find_evidence
from harness.pipeline import StageParameters
from harness.tests.support.synthetic import make_project, make_session

SETTLE_S = 0.9
#: Of the whole trial by their nature: what was offered and never sent, the machine, and readings at one moment.
OF_THE_WHOLE = (
    "n_dropped", "n_flows", "n_flows_right", "offered_per_s", "latency_resolution_s", "rss_before_bytes", "rss_after_bytes",
    "pss_after_bytes", "echo_per_s", "headroom_ratio", "artifact_bytes", "runtime_bytes", "build_s",
    "echo_latency_mean_s", "echo_latency_p50_s", "echo_latency_p90_s", "echo_latency_p95_s", "echo_latency_p99_s",
    "echo_latency_p999_s",
    "time_to_first_response_s", "cpu_s_at_first_response", "rss_at_first_response_bytes",
)  # fmt: skip


def evidence_of(folder: Path, settle_s: float) -> Evidence:
    project = make_project(folder, experiments=())
    make_session(project, "gc-loops", "smoke", settle_s=settle_s)
    tidy(project, experiments=("gc-loops",))
    found = find_evidence(StageParameters(profile="smoke", experiments="gc-loops"), "gc-loops", root=project)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return evidence_of(tmp_path_factory.mktemp("whole"), 0.0)


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return evidence_of(tmp_path_factory.mktemp("settled"), SETTLE_S)


def test_a_request_counts_from_the_end_of_the_head_on() -> None:
    assert is_settled([10.0, 13.9, 14.0, 20.0], 4.0).tolist() == [False, False, True, True]
    assert is_settled([10.0, np.nan], 0.0).tolist() == [True, True]
    assert is_settled([np.nan, 10.0, 15.0], 4.0).tolist() == [False, False, True]
    assert is_settled([np.nan], 4.0).tolist() == [False]
    assert is_settled([], 4.0).tolist() == []


def test_columns_of_the_load_are_those_of_its_settled_part(whole: Evidence, settled: Evidence) -> None:
    assert (settled.trials["settle_s"] == SETTLE_S).all()
    for _, row in settled.trials.iterrows():
        key = str(row["session_id"]), str(row["trial_id"])
        requests, all_of_them, samples = (
            read(*key) for read in (settled.requests, settled.whole_requests, settled.trial_samples)
        )
        assert requests is not None and all_of_them is not None and samples is not None
        begun = all_of_them["start_epoch_s"]
        assert len(requests) == (begun >= begun.min() + SETTLE_S).sum() < len(all_of_them)
        right = requests[requests["ok"]]
        lasted_s = (all_of_them["start_epoch_s"] + all_of_them["latency_s"]).max() - begun.min() - SETTLE_S
        assert row["n_requests"] == len(requests)
        assert row["throughput_per_s"] == pytest.approx(len(right) / lasted_s, rel=0.02)
        assert row["latency_mean_s"] == pytest.approx(right["latency_s"].mean())
        service = samples[samples["role"] == "service"]
        end = float(service["monotonic_s"].iloc[-1])
        used = np.interp([end - row["measurement_s"], end], service["monotonic_s"], service["cpu_s"])
        assert row["cpu_s_per_request"] * row["n_requests"] == pytest.approx(used[1] - used[0], rel=0.05)


def test_every_column_that_a_head_can_change_is_without_it(whole: Evidence, settled: Evidence) -> None:
    numbers = whole.trials.select_dtypes("number")
    numbers = numbers.drop(columns=["block", "position", "settle_s", *OF_THE_WHOLE])
    measured = [str(name) for name in numbers if numbers[name].notna().any()]
    assert {"cpu_s_per_request", "service_cores", "generator_cores", "latency_p99_s"} < set(measured)
    same = [name for name in measured if numbers[name].equals(settled.trials[name])]
    # none, constant, whole milliseconds
    by_chance = {"n_errors", "rss_max_bytes", "latency_p50_s", "latency_p90_s"}
    assert set(same) <= by_chance | {name for name in same if name.startswith("go_")}


def test_a_tool_without_single_requests_tells_nothing_of_a_load_with_a_head(settled: Evidence) -> None:
    session = settled.sessions[0]
    record = session.record(min(session.finished()))
    nothing: dict[str, Any] = dict.fromkeys(("requests", "samples", "echo", "damage"))
    row = trial_row(session.header, record, source="measured", **nothing)
    assert row["settle_s"] == SETTLE_S
    for name in ("n_requests", "throughput_per_s", "measurement_s", "latency_mean_s", "latency_max_s"):
        assert pd.isna(row.get(name, np.nan))  # type: ignore[call-overload]  # a cell
