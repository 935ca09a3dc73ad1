# SPDX-License-Identifier: Apache-2.0
"""Pods in the table of trials: made-up trials of known numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.tables.layout import load_trials
from harness.analysis.tables.resource_columns import answered_by_pod, pod_columns
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.model import TrialRecord
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.rows.session_results import goes_by
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import make_project
from harness.tests.support.synthetic_pods import (
    EVENT_LATE_S,
    FIRST_SERVED_S,
    LATER_S,
    POD_GROUP_BYTES,
    POD_IMAGE_BYTES,
    THROTTLED_S,
)

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
    last_s = FIRST_SERVED_S + 9 * LATER_S
    assert (ten["n_pods"] == 10).all()
    assert (ten["last_pod_served_s"] == last_s).all()
    assert (ten["last_pod_process_s"] == last_s / 2).all()
    assert ten["last_pod_event_s"].to_numpy() == pytest.approx(last_s / 2 + EVENT_LATE_S, abs=1e-5)
    assert ten["last_pod_condition_s"].between(last_s - 1, last_s).all(), "whole seconds, rounded down"
    assert (ten["last_pod_routed_s"] == last_s + LATER_S).all()


def test_a_pod_that_never_served_is_censored_and_pods_that_were_added_count_from_the_request_for_them(
    root: Path,
) -> None:
    record = first_record(opened(root, "k8s-scale-out"), pods="ten")
    assert record.instance is not None and record.instance.kubernetes is not None
    instance, around, before = record.instance, record.instance.kubernetes, pod_columns(record)

    def changed(**changes: object) -> dict[str, object]:
        update = {"kubernetes": around.model_copy(update=changes)}
        return pod_columns(record.model_copy(update={"instance": instance.model_copy(update=update)}))

    silent = around.pods[3].model_copy(update={"first_served_after_s": None})
    assert changed(pods=(*around.pods[:3], silent, *around.pods[4:]))["last_pod_served_s"] is None
    after = changed(scaled_after_s=FIRST_SERVED_S)
    for clock in ("process", "event", "served", "routed"):
        whole = before[f"last_pod_{clock}_s"]
        assert isinstance(whole, float)
        assert after[f"last_pod_{clock}_s"] == pytest.approx(whole - FIRST_SERVED_S, abs=1e-5)


def test_control_groups_and_requests_are_summed_over_pods(root: Path) -> None:
    trials = load_trials(root, "k8s-rounds")
    two = trials.query("pods == 'two'")
    assert (two["service_throttled_s"] == 2 * THROTTLED_S).all()
    assert (two["group_memory_bytes"] == 2 * POD_GROUP_BYTES).all()
    assert (two["image_bytes"] == POD_IMAGE_BYTES).all() and (two["limits"] == "pod").all()
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


def test_a_pod_that_was_started_anew_says_nothing_of_the_load(root: Path) -> None:
    record = first_record(opened(root, "k8s-rounds"), pods="two", access="inside")
    assert answered_by_pod(record) is not None
    anew = [
        one.model_copy(update={"answered_by_pod": dict.fromkeys(one.answered_by_pod or {}, 0)})
        if one.name == "after-load"
        else one
        for one in record.boundaries
    ]
    assert answered_by_pod(record.model_copy(update={"boundaries": tuple(anew)})) is None
