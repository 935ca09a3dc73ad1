# SPDX-License-Identifier: Apache-2.0
"""Speed of CPUs, the reader of a request log, connections to a database and pods in the table of trials."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.evidence import Evidence
from harness.analysis.evidence.opening import open_evidence
from harness.analysis.tables.bound_columns import read_database
from harness.analysis.tables.layout import load_exclusions, load_trials
from harness.analysis.tables.resource_columns import (
    FEWEST_TRIALS,
    SPEED_DIFFERS,
    exclude_other_speeds,
    pod_columns,
    speed_columns,
)
from harness.analysis.tables.tidy import read_samples, tidy
from harness.analysis.tables.trial_row import trial_row
from harness.errors import InputError
from harness.model import Outcome, TrialRecord
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.rows.session_results import goes_by
from harness.store import Store
from harness.tests.support import synthetic_pods
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import ROOT, make_project
from harness.tests.support.toy_sessions import header, make_session, record, speeds

USUAL_S = 64e-9


def rows_of(*ratios: float, load: str = "saturation") -> list[dict[str, object]]:
    usual = {"load_name": load, "excluded": False, "exclusion_reason": None, "bound_by": "service"}
    return [usual | {"service_step_s": USUAL_S * ratio} for ratio in ratios]


@pytest.mark.parametrize(
    ("ratio", "words"), [(1.27, "machine: the service's CPUs took 27 % longer"), (0.7, "30 % shorter")]
)
def test_a_trial_at_another_speed_is_excluded_and_the_machine_bounded_it(ratio: float, words: str) -> None:
    rows = rows_of(*[1.0] * FEWEST_TRIALS, ratio)
    assert exclude_other_speeds(rows) == [rows[-1]]
    assert rows[-1]["excluded"] and rows[-1]["bound_by"] == "service"
    assert words in str(rows[-1]["exclusion_reason"])
    assert not any(row["excluded"] for row in rows[:-1])


@pytest.mark.parametrize(
    "rows",
    [
        rows_of(*[1.0] * FEWEST_TRIALS, 1 + SPEED_DIFFERS - 0.001, 1 / (1 + SPEED_DIFFERS) + 0.001),
        rows_of(*[1.0] * (FEWEST_TRIALS - 2), 2.0),
        rows_of(*[1.0] * FEWEST_TRIALS) + rows_of(*[1.3] * FEWEST_TRIALS, load="rate"),
        [*rows_of(*[1.0] * FEWEST_TRIALS), {"service_step_s": None, "load_name": "saturation", "excluded": False}],
    ],
    ids=["a little slower and faster", "too few to judge", "another load", "not read"],
)  # fmt: skip
def test_all_others_are_kept(rows: list[dict[str, object]]) -> None:
    assert exclude_other_speeds(rows) == []


@pytest.mark.parametrize(("bound_by", "n"), [("service", 0), ("offered", 1)])
def test_a_slower_generator_counts_where_the_service_was_not_the_limit(bound_by: str, n: int) -> None:
    usual = rows_of(*[1.0] * (FEWEST_TRIALS + 1))
    rows = [row | {"generator_step_s": USUAL_S, "bound_by": bound_by} for row in usual]
    rows[3]["generator_step_s"] = 1.3 * USUAL_S
    found = exclude_other_speeds(rows)
    assert found == rows[3 : 3 + n]
    assert all("the generator's CPUs took 30 % longer" in str(row["exclusion_reason"]) for row in found)


def test_the_columns_are_those_of_the_cpus_of_each_and_of_all_where_it_was_not_pinned(tmp_path: Path) -> None:
    head = header("smoke", 1)
    told = record(head.plan.trials[0], head, Outcome.OK).model_copy(update={"cpu_speeds": speeds(80.0)})
    found = speed_columns(told)  # its service is pinned to CPU 0, its generator is not pinned
    assert found["service_step_s"] == pytest.approx(80e-9)
    assert found["generator_step_s"] == pytest.approx(70e-9)
    assert speed_columns(told.model_copy(update={"cpu_speeds": ()})) == {}


def test_the_tables_of_a_session_leave_it_out_and_count_it(tmp_path: Path) -> None:
    make_session(tmp_path, step_ns=lambda position: 90.0 if position == 4 else 64.0)
    (result,) = tidy(tmp_path).experiments
    assert (result.n_made, result.n_kept, result.by_reason) == (10, 9, {"at another speed": 1})
    rows = load_trials(tmp_path, "toy")
    assert list(rows.loc[rows["excluded"], "position"]) == [4]
    (one,) = load_exclusions(tmp_path, "toy").excluded
    assert one.reason.startswith("machine: the service's CPUs took 41 % longer")
    again = tidy(tmp_path)
    assert (again.n_fresh, again.experiments[0].n_kept) == (0, 9), "unchanged rows are judged again"


def test_the_reader_of_a_request_log_is_part_of_its_trial_and_no_noise() -> None:
    (session,) = Store(ROOT).sessions("logging", bundled=True)
    nothing: dict[str, Any] = dict.fromkeys(("requests", "echo", "damage"))
    n_read = n_noisy = 0
    for trial in session.records():
        samples = read_samples(session, trial)
        row = trial_row(session.header, trial, source="bundled", samples=samples, **nothing)
        if not float(str(row.get("log_reader_cores") or 0)) > 0.2:
            continue
        n_read, n_noisy = n_read + 1, n_noisy + ("noisy_machine" in str(row["flags"]))
        assert trial.request_log is not None and trial.machine is not None
        if trial.request_log.reader_cpu_s is None:  # made when it was counted among other processes
            assert float(str(row["other_cpu_s"])) < (trial.machine.other_cpu_s or 0.0)
    assert n_read >= 20 and n_noisy < 5


def watched(*rows: tuple[float, int, int]) -> bytes:
    head = (
        "epoch_s,n_active,n_idle,n_idle_in_transaction,n_starting,n_waiting_for_lock,n_locks_not_granted,"
        "deadlocks,xact_commit,xact_rollback\n"
    )
    return (head + "".join(f"{t},{a},{i},1,0,0,0,0,{int(t)},0\n" for t, a, i in rows)).encode()


def test_a_cut_last_line_of_connections_is_left_out_and_a_file_that_the_watch_did_not_write_refused() -> None:
    text = watched((10.0, 50, 50), (20.0, 3, 4), (20.5, 1, 9)) + b"30.5,7"
    assert read_database(io.BytesIO(text))["n_active"].tolist() == [50, 3, 1]
    for wrong in (b"", b"a,b\n1,2\n"):
        with pytest.raises(InputError):
            read_database(io.BytesIO(wrong))


EXPERIMENTS = ("k8s-rounds", "k8s-scale-out", "k8s-limits")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a quick session of each experiment in pods."""
    root: Path = make_project(tmp_path_factory.mktemp("kubernetes"), profile="smoke", experiments=())
    for name in EXPERIMENTS:
        lay_session(root, name, "quick", launcher="kubernetes")
    tidy_all(StageParameters(experiments=",".join(EXPERIMENTS)), root=root)
    return root


def opened(root: Path, name: str) -> Evidence:
    return open_evidence(StageParameters(experiments=name), name, root=root)


def first_record(evidence: Evidence, **levels: str) -> TrialRecord:
    wanted = set(evidence.cell(**levels)["trial_id"])
    return next(record for row, _, record in evidence.with_records() if row["trial_id"] in wanted)


def test_the_last_pod_is_what_scaling_out_took_by_each_of_the_clocks(root: Path) -> None:
    ten = load_trials(root, "k8s-scale-out").query("pods == 'ten'")
    last_s = synthetic_pods.FIRST_SERVED_S + 9 * synthetic_pods.LATER_S
    assert (ten["n_pods"] == 10).all()
    assert (ten["last_pod_served_s"] == last_s).all()
    assert (ten["last_pod_process_s"] == last_s / 2).all()
    late_s = last_s / 2 + synthetic_pods.EVENT_LATE_S
    assert ten["last_pod_event_s"].to_numpy() == pytest.approx(late_s, abs=1e-5)
    assert ten["last_pod_condition_s"].between(last_s - 1, last_s).all(), "whole seconds, rounded down"
    assert (ten["last_pod_routed_s"] == last_s + synthetic_pods.LATER_S).all()


def test_a_pod_that_never_served_is_censored_and_added_pods_count_from_their_request(root: Path) -> None:
    record = first_record(opened(root, "k8s-scale-out"), pods="ten")
    assert record.instance is not None and record.instance.kubernetes is not None
    instance, around, before = record.instance, record.instance.kubernetes, pod_columns(record)

    def changed(**changes: object) -> dict[str, object]:
        update = {"kubernetes": around.model_copy(update=changes)}
        return pod_columns(record.model_copy(update={"instance": instance.model_copy(update=update)}))

    silent = around.pods[3].model_copy(update={"first_served_after_s": None})
    assert changed(pods=(*around.pods[:3], silent, *around.pods[4:]))["last_pod_served_s"] is None
    after = changed(scaled_after_s=synthetic_pods.FIRST_SERVED_S)
    for clock in ("process", "event", "served", "routed"):
        whole = before[f"last_pod_{clock}_s"]
        assert isinstance(whole, float)
        assert after[f"last_pod_{clock}_s"] == pytest.approx(whole - synthetic_pods.FIRST_SERVED_S, abs=1e-5)


def test_control_groups_and_requests_are_summed_over_pods(root: Path) -> None:
    trials = load_trials(root, "k8s-rounds")
    two = trials.query("pods == 'two'")
    assert (two["service_throttled_s"] == 2 * synthetic_pods.THROTTLED_S).all()
    assert (two["group_memory_bytes"] == 2 * synthetic_pods.POD_GROUP_BYTES).all()
    assert (two["image_bytes"] == synthetic_pods.POD_IMAGE_BYTES).all() and (two["limits"] == "pod").all()
    assert (trials["pods_answered"] == trials["n_requests"]).all()
    assert two["least_pod_share"].to_numpy() == pytest.approx((2 / two["n_requests"]).to_numpy())
    assert (trials.query("pods == 'one'")["least_pod_share"] == 1).all()
    assert load_trials(root, "k8s-scale-out")["pods_answered"].isna().all(), "it has no load"


def test_what_the_runtimes_go_by_is_the_fewest_cpus_of_all_pods_and_their_collector(root: Path) -> None:
    trials = load_trials(root, "k8s-limits")
    go, java = trials.query("variant == 'go-nethttp'"), trials.query("variant == 'java-helidon'")
    assert (go["runtime_cpus"] == 2).all() and go["gc_found"].isna().all()
    assert (java["runtime_cpus"] == 1).all() and (java["gc_found"] == "Serial").all()
    assert (goes_by(go), goes_by(java)) == ("2", "1, Serial")
