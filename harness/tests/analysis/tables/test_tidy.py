# SPDX-License-Identifier: Apache-2.0
"""Raw to Parquet: what enters, what is counted out, what is made again; the head of a load is no part of any metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.opening import find_evidence
from harness.analysis.tables.layout import load_exclusions, load_table, load_trials
from harness.analysis.tables.schema import as_trials
from harness.analysis.tables.tidy import tidy
from harness.analysis.tables.trial_row import trial_row
from harness.errors import InputError
from harness.model import EchoReading
from harness.pipeline import StageParameters
from harness.store import SessionFolder
from harness.store.writing import SessionWriter, TrialFolder
from harness.tests.support import synthetic
from harness.tests.support.result_files import oha_db
from harness.tests.support.toy_sessions import EPOCH, N_REQUESTS, header, make_session, trial_ids, write_load


@pytest.fixture(scope="module")
def tidied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SessionFolder]:
    """A project with a small session, tidied."""
    root = tmp_path_factory.mktemp("tidied")
    session = make_session(root)
    assert tidy(root).n_fresh == 10
    return root, session


def test_a_trial_becomes_a_row_with_its_units(tidied: tuple[Path, SessionFolder]) -> None:
    root, session = tidied
    row = load_trials(root, "toy").iloc[0]
    assert row["throughput_per_s"] == pytest.approx(390 / 4.0), "correct answers only"
    assert row["cpu_s_per_request"] == pytest.approx(0.5 * 4 / 400)
    assert (row["service_cores"], row["generator_cores"]) == pytest.approx((0.5, 0.25))
    assert (row["rss_before_bytes"], row["rss_after_bytes"], row["pss_after_bytes"]) == (1000, 1700, 1699)
    assert row["rss_max_bytes"] == 1600, "the highest while the load ran, not after it"
    assert row["headroom_ratio"] == 3.0
    assert row["configuration"].startswith(row["variant"])
    assert np.isnan(row["latency_p999_s"]), "400 requests cannot tell p99.9"
    assert np.isnan(row["build_s"]) and np.isnan(row["steal_s"]), "what is not known is empty, not zero"
    requests = load_table(root, "toy", "requests", session.folder.name, row["trial_id"])
    right = np.sort(requests.loc[requests["ok"], "latency_s"])
    assert len(requests) == 400 and len(right) == 390
    assert row["latency_mean_s"] == pytest.approx(right.mean())
    assert row["latency_p99_s"] == right[int(np.ceil(390 * 0.99)) - 1]
    assert list(requests.columns) == ["start_epoch_s", "latency_s", "ok", "label"]


def test_the_echo_services_latencies_are_those_under_the_load_and_mix_of_the_trial(tmp_path: Path) -> None:
    session = make_session(tmp_path)
    tidy(tmp_path)
    assert load_trials(tmp_path, "toy")["echo_latency_mean_s"].isna().all(), "no echo.json: not known"
    asked = session.record(trial_ids(session)[0]).planned.configuration
    assert asked.load is not None
    told = {"latency_mean_s": 2e-4, "latency_quantiles_s": {"p50": 1e-4, "p99": 6e-4}}
    about = {"load": asked.load, "mix": asked.mix, "achieved_per_s": 9.0, "n_requests": 27, "duration_s": 3.0}
    reading = EchoReading.model_validate(about | told)
    other = reading.model_copy(update={"mix": "another", "latency_mean_s": 7.0})
    SessionWriter(session, min_free_bytes=0).write_echo((other, reading))
    assert tidy(tmp_path).n_fresh == 10, "rows of before are stale"
    row = load_trials(tmp_path, "toy").set_index("trial_id").to_dict("index")[trial_ids(session)[0]]
    assert [row[f"echo_latency_{name}_s"] for name in ("mean", "p50", "p99")] == [2e-4, 1e-4, 6e-4]
    assert np.isnan(row["echo_latency_p999_s"])


def test_times_since_the_tools_own_start_are_placed_where_its_summary_says(tmp_path: Path) -> None:
    """oha's rows begin near zero; the record says that the first request was sent at second 2."""

    def write_oha(trial: TrialFolder, factor: float, seed: int) -> None:
        write_load(trial, factor, seed)
        (trial.load / "samples.jtl").unlink()
        some = range(N_REQUESTS)
        rows = [(0.25 + 0.01 * i, None, 0.06 * factor, 500 if i % 40 == 0 else 200) for i in some]
        oha_db(trial.load / "samples.db", rows)

    session = make_session(tmp_path, write=write_oha)
    assert not tidy(tmp_path).experiments[0].excluded
    requests = load_table(tmp_path, "toy", "requests", session.folder.name, trial_ids(session)[0])
    ends = requests["start_epoch_s"].min(), requests["start_epoch_s"].max()
    assert ends == pytest.approx((EPOCH + 2, EPOCH + 2 + 0.01 * (N_REQUESTS - 1)), rel=0, abs=1e-3)
    assert int((~requests["ok"]).sum()) == 10


def test_failed_and_unmade_trials_are_counted_by_reason(tmp_path: Path) -> None:
    ids = [t.trial_id for t in header("smoke", 1).plan.trials]
    make_session(tmp_path, failing=ids[1], leave_out=ids[4])
    tidy(tmp_path)
    found = load_exclusions(tmp_path, "toy")
    assert (found.n_planned, found.n_made, found.n_kept, found.n_excluded) == (10, 9, 8, 1)
    assert found.by_reason == {"failed": 1, "not made": 1}
    row = load_trials(tmp_path, "toy").set_index("trial_id").loc[ids[1]]
    assert row["excluded"] and row["exclusion_reason"] == "failed: the service ended"


@pytest.mark.parametrize("how", ["record", "cut", "same length", "missing"])
def test_a_damaged_trial_is_counted_not_fatal(tmp_path: Path, how: str) -> None:
    session = make_session(tmp_path)
    trial = trial_ids(session)[0]
    stored = session.path(trial, "load/samples.jtl")
    if how == "record":
        (session.folder / trial / "record.json").write_text("{", "utf-8")
    elif how == "cut":
        stored.write_bytes(stored.read_bytes()[:-20])
    elif how == "same length":
        packed = bytearray(stored.read_bytes())  # as the store keeps it, which may be compressed
        packed[len(packed) // 2] ^= 1
        stored.write_bytes(packed)
    else:
        stored.unlink()
    tidy(tmp_path)
    found = load_exclusions(tmp_path, "toy")
    assert found.by_reason == {"damaged": 1}
    assert found.n_kept == 9
    assert found.excluded[0].trial == f"toy/smoke-local-1/{trial}"


def test_a_damaged_header_costs_its_session_and_measured_ones_come_before_bundled(tmp_path: Path) -> None:
    broken = make_session(tmp_path, seed=1)
    make_session(tmp_path, seed=2)
    make_session(tmp_path, bundled=True)
    (broken.folder / "session.json").write_text("[]", "utf-8")
    tidy(tmp_path)
    assert len(load_trials(tmp_path, "toy")) == 10
    assert set(load_trials(tmp_path, "toy")["source"]) == {"measured"}
    assert set(load_trials(tmp_path, "toy", "bundled")["source"]) == {"bundled"}
    assert "session.json" in load_exclusions(tmp_path, "toy").problems[0]


def test_a_second_call_reads_what_was_deleted_with_equal_bytes(tidied: tuple[Path, SessionFolder]) -> None:
    root, session = tidied
    folder, trial = root / "data/processed/toy", trial_ids(session)[2]
    before = (folder / "trials.parquet").read_bytes()
    again = tidy(root)
    assert (again.n_fresh, again.n_unchanged) == (0, 10)
    (folder / "requests" / session.folder.name / f"{trial}.parquet").unlink()
    assert tidy(root).n_fresh == 1
    assert len(load_table(root, "toy", "requests", session.folder.name, trial)) == 400
    assert (folder / "trials.parquet").read_bytes() == before


FACTORS = ("logging", "factor_generator")


@pytest.fixture(scope="module")
def rows(tidied: tuple[Path, SessionFolder]) -> list[dict[str, Any]]:
    """The rows of a small session."""
    trials = load_trials(tidied[0], "toy").astype("object")
    rows = trials.where(trials.notna(), None).to_dict("records")
    return [{str(k): v for k, v in row.items()} for row in rows]


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"latency_p99_s": -1e-9}, "latency_p99_s"), ({"position": 0}, "position"), ({"variant": None}, "variant"),
        ({"excluded": True}, "exclusion_reason"), ({"trial_id": "0002"}, "trial_id"), ({"block": 2}, "configuration"),
    ],
    ids=lambda given: ",".join(given) if isinstance(given, dict) else "",
)  # fmt: skip
def test_a_broken_schema_is_seen(rows: list[dict[str, Any]], changes: dict[str, object], column: str) -> None:
    first, second = rows[0], rows[1] | {"trial_id": "0002"}
    later = first | {"trial_id": "0003", "block": 2}
    assert len(as_trials([first, second, later], FACTORS)) == 3
    with pytest.raises(InputError, match="breaks its schema") as caught:
        as_trials([first | changes, second, later], FACTORS)
    assert column in str(caught.value)


SETTLE_S = 0.9


def evidence_of(folder: Path, settle_s: float) -> Evidence:
    project = synthetic.make_project(folder, experiments=())
    synthetic.make_session(project, "gc-loops", "smoke", settle_s=settle_s)
    tidy(project, experiments=("gc-loops",))
    found = find_evidence(StageParameters(profile="smoke", experiments="gc-loops"), "gc-loops", root=project)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return evidence_of(tmp_path_factory.mktemp("settled"), SETTLE_S)


def test_columns_of_the_load_are_those_of_its_settled_part(settled: Evidence) -> None:
    assert (settled.trials["settle_s"] == SETTLE_S).all()
    for _, row in settled.trials.iterrows():
        key = str(row["session_id"]), str(row["trial_id"])
        reads = (settled.requests, settled.whole_requests, settled.trial_samples)
        requests, all_of_them, samples = (read(*key) for read in reads)
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


def test_a_tool_without_single_requests_tells_nothing_of_a_load_with_a_head(settled: Evidence) -> None:
    session = settled.sessions[0]
    record = session.record(min(session.finished()))
    nothing: dict[str, Any] = dict.fromkeys(("requests", "samples", "echo", "damage"))
    row = trial_row(session.header, record, source="measured", **nothing)
    assert row["settle_s"] == SETTLE_S
    for name in ("n_requests", "throughput_per_s", "measurement_s", "latency_mean_s", "latency_max_s"):
        assert pd.isna(row.get(name, np.nan))  # type: ignore[call-overload]  # a cell
