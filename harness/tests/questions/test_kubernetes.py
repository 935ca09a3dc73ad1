# SPDX-License-Identifier: Apache-2.0
"""Pods in the table of trials, and what notebook 53 publishes of them: on made-up trials of known numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from harness.analysis.tables.load import load_trials
from harness.analysis.tables.pod_columns import answered_by_pod, pod_columns
from harness.cli.results_text import print_results
from harness.errors import InputError
from harness.evidence import Evidence
from harness.evidence.opening import open_evidence
from harness.evidence.results import results_of
from harness.evidence.runtime_cpus import goes_by
from harness.model import Estimate, TrialRecord, Unavailable
from harness.model.formatting import show
from harness.pipeline import StageParameters
from harness.pipeline.steps import tidy_all
from harness.publish import read_values
from harness.publish.findings import FINDING
from harness.publish.results import Words
from harness.questions.kubernetes import clustered, results
from harness.questions.kubernetes.analysis import counted
from harness.questions.kubernetes.results import denied_words
from harness.tests.support.in_process import execute_in_process
from harness.tests.support.kept_sessions import lay_session
from harness.tests.support.synthetic import make_project, make_session
from harness.tests.support.synthetic_pods import (
    EVENT_LATE_S,
    FIRST_SERVED_S,
    LATER_S,
    POD_GROUP_BYTES,
    POD_IMAGE_BYTES,
    POD_IMPORT_S,
    THROTTLED_S,
)

EXPERIMENTS = ("k8s-rounds", "k8s-scale-out", "k8s-limits")
NAMES = {"go-nethttp": "Go net/http", "java-helidon": "Java Helidon SE"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a quick session of each experiment in pods, and notebook 53 executed on them."""
    root: Path = make_project(tmp_path_factory.mktemp("kubernetes"), profile="smoke", experiments=())
    for name in EXPERIMENTS:
        lay_session(root, name, "quick", launcher="kubernetes")
    tidy_all(StageParameters(experiments=",".join(EXPERIMENTS)), root=root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMATCH_ROOT", str(root))
        execute_in_process(root, "53-kubernetes")
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
    assert (ten["first_pod_served_s"] == FIRST_SERVED_S).all()
    assert (ten["last_pod_served_s"] == last_s).all()
    assert (ten["last_pod_process_s"] == last_s / 2).all()
    assert ten["last_pod_event_s"].to_numpy() == pytest.approx(last_s / 2 + EVENT_LATE_S, abs=1e-5)
    assert ten["last_pod_condition_s"].between(last_s - 1, last_s).all(), "whole seconds, rounded down"
    assert (ten["last_pod_routed_s"] == last_s + LATER_S).all()
    assert (ten["pod_events_lost"] == 10).all()


def test_a_pod_that_never_served_is_censored_and_no_other_stands_for_it(root: Path) -> None:
    record = first_record(opened(root, "k8s-scale-out"), pods="ten")
    assert record.instance is not None and record.instance.kubernetes is not None
    around = record.instance.kubernetes
    silent = around.pods[3].model_copy(update={"first_served_after_s": None})
    pods = (*around.pods[:3], silent, *around.pods[4:])
    instance = record.instance.model_copy(update={"kubernetes": around.model_copy(update={"pods": pods})})
    columns = pod_columns(record.model_copy(update={"instance": instance}))
    assert columns["last_pod_served_s"] is None
    assert columns["first_pod_served_s"] == FIRST_SERVED_S


def test_pods_that_were_added_count_from_the_request_for_them(root: Path) -> None:
    record = first_record(opened(root, "k8s-scale-out"), pods="ten")
    assert record.instance is not None and record.instance.kubernetes is not None
    around = record.instance.kubernetes.model_copy(update={"scaled_after_s": FIRST_SERVED_S})
    scaled = record.model_copy(update={"instance": record.instance.model_copy(update={"kubernetes": around})})
    before, after = pod_columns(record), pod_columns(scaled)
    for clock in ("process", "event", "served", "routed"):
        whole = before[f"last_pod_{clock}_s"]
        assert isinstance(whole, float)
        assert after[f"last_pod_{clock}_s"] == pytest.approx(whole - FIRST_SERVED_S, abs=1e-5)
    assert after["first_pod_served_s"] == FIRST_SERVED_S


def test_control_groups_are_summed_over_pods(root: Path) -> None:
    two = load_trials(root, "k8s-rounds").query("pods == 'two'")
    assert (two["service_throttled_s"] == 2 * THROTTLED_S).all()
    assert (two["group_memory_bytes"] == 2 * POD_GROUP_BYTES).all()
    assert two["group_memory_max_bytes"].isna().all(), "what one group lacks the sum lacks"
    assert (two["image_bytes"] == POD_IMAGE_BYTES).all() and (two["limits"] == "pod").all()


def test_how_much_the_jvms_in_pods_compiled_is_said_of_the_trials_that_tell_it(root: Path) -> None:
    evidence = opened(root, "k8s-limits")
    is_jvm = evidence.trials["variant"] == "java-helidon"
    evidence.trials["compile_s"] = evidence.trials["measurement_s"].where(is_jvm) / 2
    limits = results({"limits": clustered("limits", evidence)}, NAMES)["limits"]
    assert isinstance(limits, Mapping)
    said = limits["compiling"]
    assert isinstance(said, Words)
    n_jvm = int(is_jvm.sum())
    assert said.text.startswith(f"In {n_jvm} of {n_jvm} trials of a JVM") and "at most 50 %" in said.text


def test_what_the_runtimes_go_by_is_the_fewest_cpus_of_all_pods_and_their_collector(root: Path) -> None:
    trials = load_trials(root, "k8s-limits")
    go, java = trials.query("variant == 'go-nethttp'"), trials.query("variant == 'java-helidon'")
    assert (go["runtime_cpus"] == 2).all() and go["gc_found"].isna().all()
    assert (java["runtime_cpus"] == 1).all() and (java["gc_found"] == "Serial").all()
    values = read_values(root)
    assert values["kubernetes.limits.goes_by.half.go_nethttp"]["text"] == "2"
    assert values["kubernetes.limits.goes_by.half.java_helidon"]["text"] == "1, Serial"


def test_where_no_runtime_has_told_its_collector_the_cpus_stand_alone() -> None:
    """A column without any text is one of numbers."""
    told = pd.DataFrame({"runtime_cpus": [2.0, 1.0, math.nan], "gc_found": [math.nan] * 3})
    assert goes_by(told) == "1 or 2"
    assert goes_by(told.assign(gc_found=pd.Series([None, "Serial", None], dtype=object))) == "1, Serial or 2"


def test_results_say_what_each_runtime_goes_by_within_a_terminals_width(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_results(results_of(opened(root, "k8s-limits")))
    lines = capsys.readouterr().out.splitlines()
    assert "CPUs that the runtime of go-nethttp goes by: 2." in lines
    assert "CPUs that the runtime of java-helidon goes by: 1, Serial." in lines
    assert max(map(len, lines)) <= 80


def test_a_pod_whose_runtime_does_not_say_is_not_answered_for_by_the_others(root: Path) -> None:
    record = first_record(opened(root, "k8s-rounds"), pods="two", access="inside")
    assert record.instance is not None and record.instance.kubernetes is not None
    around = record.instance.kubernetes
    silent = around.pods[0].model_copy(update={"runtime_cpus": None})
    instance = record.instance.model_copy(
        update={"kubernetes": around.model_copy(update={"pods": (silent, *around.pods[1:])})}
    )
    columns = pod_columns(record.model_copy(update={"instance": instance}))
    assert columns["runtime_cpus"] is None


def test_the_pods_requests_are_summed_and_the_pod_with_the_fewest_is_known(root: Path) -> None:
    trials = load_trials(root, "k8s-rounds")
    assert (trials["pods_answered"] == trials["n_requests"]).all()
    two, one = trials.query("pods == 'two'"), trials.query("pods == 'one'")
    assert two["least_pod_share"].to_numpy() == pytest.approx((2 / two["n_requests"]).to_numpy())
    assert (one["least_pod_share"] == 1).all()
    assert load_trials(root, "k8s-scale-out")["pods_answered"].isna().all(), "it has no load"


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
    silent = [one.model_copy(update={"answered_by_pod": None}) for one in record.boundaries]
    assert "pods_answered" not in pod_columns(record.model_copy(update={"boundaries": tuple(silent)}))


def test_requests_that_a_generator_and_its_pods_count_differently_are_said(root: Path) -> None:
    trials = opened(root, "k8s-rounds").trials.copy()
    agreed = counted(trials)
    assert agreed is not None and (agreed.n_equal, agreed.most_apart) == (agreed.n_trials, 0)
    trials.loc[trials.index[0], "pods_answered"] += 3
    found = counted(trials)
    assert found is not None and (found.n_equal, found.most_apart) == (found.n_trials - 1, 3)


def test_ratios_and_tables_of_all_three_experiments_are_published(root: Path) -> None:
    values = read_values(root)
    for key in (
        "kubernetes.measured",
        *(f"kubernetes.{one}.measured" for one in ("rounds", "scale", "limits")),
    ):
        assert key in values
    assert values["kubernetes.rounds.lead.inside.two.ratio.java_helidon"]["value"] is not None
    assert values["kubernetes.scale.served.ten.go_nethttp"]["value"] == FIRST_SERVED_S + 9 * LATER_S
    assert values["kubernetes.limits.throttled.half.go_nethttp"]["value"] == THROTTLED_S
    denied = values["kubernetes.limits.denied.half.go_nethttp"]["text"]
    assert (
        denied
        == f"was denied CPU for {values['kubernetes.limits.throttled.half.go_nethttp']['interval_text']}"
    )
    for part in ("cpu_lead", "latency_lead"):
        assert values[f"kubernetes.limits.{part}.half.ratio.java_helidon"]["value"] is not None
    assert "as many requests as the generator" in values["kubernetes.rounds.counted"]["text"]
    for name in ("table", "scale_table", "limits_table", "images"):
        text = (root / f"paper/generated/tables/kubernetes-{name}.tex").read_text("utf-8")
        assert "Go net/http" in text


def test_under_an_offered_rate_what_a_request_cost_is_compared_and_not_the_rate(root: Path) -> None:
    values = read_values(root)
    lead = "kubernetes.rounds.lead.inside.two.ratio.java_helidon"
    cells = [values[f"kubernetes.rounds.cpu.inside.two.{name}"] for name in ("java_helidon", "go_nethttp")]
    assert values[lead]["value"] == pytest.approx(cells[0]["value"] / cells[1]["value"])
    text = (root / "paper/generated/tables/kubernetes-table.tex").read_text("utf-8")
    assert "ratios of CPU per request to Go in the same cell" in text


def test_a_pod_that_was_never_held_back_is_not_said_to_have_been_for_no_time(root: Path) -> None:
    trials = opened(root, "k8s-limits").trials
    found = denied_words(trials.assign(service_throttled_s=0.0))
    assert isinstance(found, Words) and found.text == "was never denied CPU"
    assert (
        show(Estimate(value=0.0, unit="s", method="m", estimand="e", n_trials=2)).text
        == "0\N{NARROW NO-BREAK SPACE}s"
    )


def test_images_stand_beside_those_that_were_published(root: Path) -> None:
    values = read_values(root)
    published = {"go_nethttp": 11.6e6, "java_helidon_native": 25.2e6, "java_helidon": 150e6}
    for variant, size in published.items():
        assert values[f"kubernetes.image.published.{variant}"]["value"] == pytest.approx(size)
        assert values[f"kubernetes.image.over.{variant}"]["value"] == pytest.approx(POD_IMAGE_BYTES / size)
        assert values[f"kubernetes.image.served.{variant}"]["value"] == pytest.approx(FIRST_SERVED_S)
        assert values[f"kubernetes.image.import.{variant}"]["value"] == pytest.approx(POD_IMPORT_S)
    assert values["kubernetes.whole_image"]["value"] == pytest.approx(1.41e9)


def test_a_boost_of_the_start_is_compared_with_as_many_pods_without(root: Path) -> None:
    values = read_values(root)
    assert values["kubernetes.boost.ratio.java_helidon"]["value"] == pytest.approx(1.0)
    assert values["kubernetes.boost.ratio.java_jdkhttp"]["value"] is None


def test_levels_that_a_cluster_lacks_are_named_with_their_reason(tmp_path: Path) -> None:
    name = "k8s-scale-out"
    root = make_project(tmp_path, profile="smoke", experiments=())
    gone = Unavailable(variant="pods=autoscaled", reason="no metrics API")
    make_session(root, name, "smoke", launcher="kubernetes", unavailable=[gone])
    asked = StageParameters(profile="newest", experiments=name)
    tidy_all(asked, root=root)
    found = results({"scale": clustered("scale", open_evidence(asked, name, root=root))}, NAMES)["scale"]
    assert isinstance(found, Mapping) and found["unavailable"] == "pods autoscaled: no metrics API"


def test_the_finding_is_on_latency_where_a_rate_was_offered_else_on_throughput(root: Path) -> None:
    said = {}
    for loop in ("open", "closed"):
        evidence = opened(root, "k8s-rounds")
        trials = evidence.trials
        java, apart = trials["variant"] != "go-nethttp", 1 + trials["position"] / 1000
        trials["load_model"], trials["bound_by"] = loop, "offered" if loop == "open" else "service"
        if loop == "open":
            trials["latency_mean_s"] *= apart.where(~java, 3 * apart)
        else:
            trials["throughput_per_s"] *= apart.where(~java, apart / 2)
        found = results({"rounds": clustered("rounds", evidence)}, NAMES)[FINDING]
        assert isinstance(found, Mapping) and isinstance(found["takeaway"], Words)
        said[loop] = found["takeaway"].text
    assert said["open"].startswith(
        "All 8 cells of a Java service in pods take longer to answer on average, at the same"
    )
    assert said["closed"].startswith(
        "All 8 cells of a Java service in pods have fewer right answers per second"
    )


def test_without_a_session_every_key_is_there_and_says_nothing() -> None:
    found = results({}, NAMES)
    assert found["name"] == NAMES
    assert isinstance(found["image"], Mapping)
    image = found["image"]["size"]
    assert isinstance(image, Mapping)
    assert all(isinstance(one, Estimate) and one.value is None for one in image.values())


def test_a_session_outside_a_cluster_is_refused(tmp_path: Path) -> None:
    root = make_project(tmp_path, profile="smoke", experiments=())
    make_session(root, "k8s-limits", "smoke")
    tidy_all(StageParameters(profile="newest", experiments="k8s-limits"), root=root)
    evidence = open_evidence(
        StageParameters(profile="newest", experiments="k8s-limits"), "k8s-limits", root=root
    )
    with pytest.raises(InputError, match="not made in a cluster.*process.*--launcher kubernetes"):
        clustered("limits", evidence)
