# SPDX-License-Identifier: Apache-2.0
"""What a cluster may lack, a boost of the start, and the ways to an instance: decided from answers of an API."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.definitions import load_study
from harness.errors import HostError, TrialFailure
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_cluster import autoscaler, container_resources, deployment
from harness.launchers.kubernetes_pods import PodProcess, Probed, Prober
from harness.launchers.kubernetes_start import (
    NO_INGRESS,
    NO_METRICS,
    StartBoost,
    cpu_quota,
    kept_busy,
    no_autoscaler,
    no_boost,
    unfit,
)
from harness.model import RuntimeSettings, Unavailable
from harness.model.plan import configurations
from harness.session.planning import plan_without
from harness.tests.support.available import PROJECT
from harness.tests.support.patience import patient
from harness.tests.support.recorded_cluster import KUBECONFIG, pods

BOOSTED = RuntimeSettings(cpus=1, cpu_boost=2.0)
def cluster(tmp_path: Path, answers: Mapping[str, Any], asked: list[str] | None = None) -> Cluster:
    """Return an API that has these answers by method and path, and knows nothing else."""

    def answer(request: httpx.Request) -> httpx.Response:
        words = f"{request.method} {request.url.path}"
        if asked is not None:
            asked.append(f"{words} {request.read().decode()}".strip())
        found = answers.get(words)
        if found is None:
            said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "message": words}
            return httpx.Response(403, json=said)
        return httpx.Response(200, json=found)

    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    return Cluster(file, httpx.MockTransport(answer))


def pod(uid: str, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"pod-{uid}", "uid": uid, "namespace": "rematch-recorded"},
        "spec": {"containers": [{"name": "service"}]},
        "status": status,
    }


def plain(made: Any) -> dict[str, Any]:
    """Return an object as it is sent."""
    sent: dict[str, Any] = made.to_dict()
    return sent


@pytest.mark.parametrize(
    ("resources", "runtime", "why"),
    [
        (["pods", "pods/resize"], BOOSTED, None),
        (["pods"], BOOSTED, "resized in place (Kubernetes 1.33)"),
        (["pods"], RuntimeSettings(cpus=1), None),
        (["pods/resize"], RuntimeSettings(cpu_boost=2.0), "found no limit"),
        (["pods/resize"], RuntimeSettings(cpu_boost=2.0, cpu_limit=2.0), "found 2"),
    ],
    ids=["resized", "not resized", "no boost", "no limit", "limit as high"],
)
def test_a_boost_needs_a_lower_limit_and_a_cluster_that_resizes_pods(
    tmp_path: Path, resources: list[str], runtime: RuntimeSettings, why: str | None
) -> None:
    api = {"GET /api/v1": {"resources": [{"name": name} for name in resources]}}
    said = no_boost(cluster(tmp_path, api), runtime)
    assert said is None if why is None else said is not None and why in said and "\n" not in said


def test_an_ingress_is_refused_with_what_to_use_instead(tmp_path: Path) -> None:
    service = load_study(PROJECT, "k8s-rounds").implementations["go-nethttp"]
    assert unfit(cluster(tmp_path, {}), service, RuntimeSettings(access="ingress")) == NO_INGRESS
    assert NO_INGRESS == 'access = "ingress" was removed in 0.2.0: use access = "node-port"'


METRICS = "GET /apis/metrics.k8s.io/v1beta1"
AUTOSCALED = RuntimeSettings(replicas=3, cpu_request=0.05, autoscale_cpu=0.5)


@pytest.mark.parametrize("status", [404, 503], ids=["nobody serves it", "who serves it is away"])
def test_an_autoscaler_needs_the_metrics_api(tmp_path: Path, status: int) -> None:
    assert no_autoscaler(cluster(tmp_path, {}), RuntimeSettings(replicas=3)) is None, "nobody asked for one"
    served = {METRICS: {"kind": "APIResourceList", "resources": [{"name": "nodes"}, {"name": "pods"}]}}
    assert no_autoscaler(cluster(tmp_path, served), AUTOSCALED) is None
    file = tmp_path / "kubeconfig"
    without = Cluster(file, httpx.MockTransport(lambda _request: httpx.Response(status)))
    assert no_autoscaler(without, AUTOSCALED) == NO_METRICS


@pytest.mark.parametrize("without", ["replicas", "cpu_request"])
def test_an_autoscaler_needs_pods_to_add_and_a_request_to_go_by(tmp_path: Path, without: str) -> None:
    said = no_autoscaler(cluster(tmp_path, {}), AUTOSCALED.model_copy(update={without: None}))
    assert said is not None and "both are needed" in said


def test_an_autoscaler_begins_with_one_pod_and_is_sent_as_the_deployments_own(tmp_path: Path) -> None:
    spec = pods("one", replicas=3, cpu_request=0.05, autoscale_cpu=0.5)
    assert plain(deployment(spec))["spec"]["replicas"] == 1
    path = "/apis/autoscaling/v2/namespaces/rematch-recorded/horizontalpodautoscalers/one"
    asked: list[str] = []
    made = autoscaler(spec)
    cluster(tmp_path, {f"PATCH {path}": plain(made)}, asked).apply(made)
    (sent,) = asked
    words = json.loads(sent.split(" ", 2)[2])
    assert (words["kind"], words["apiVersion"]) == ("HorizontalPodAutoscaler", "autoscaling/v2")
    assert (words["spec"]["minReplicas"], words["spec"]["maxReplicas"]) == (1, 3)
    assert words["spec"]["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "one"}
    (metric,) = words["spec"]["metrics"]
    assert metric["resource"]["name"] == "cpu"
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}


def test_the_first_pod_is_kept_busy_until_the_last_one_has_a_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        prober = Prober(
            wanted=tuple, look=lambda _uids: {}, expected=2, port=server.getsockname()[1], path="/"
        )
        prober.pods["a"] = Probed(process=PodProcess(1, 0, "127.0.0.1"))
        with kept_busy(prober):
            server.settimeout(0.2)
            with pytest.raises(TimeoutError):
                server.accept()  # it has not served
            server.settimeout(patient(10.0))
            prober.pods["a"].served_s = 1.0
            for _ in range(10):
                server.accept()[0].close()
            prober.pods["b"] = Probed(process=PodProcess(2, 0, "127.0.0.1"))
            server.close()


def test_a_level_that_a_cluster_has_no_metrics_for_is_left_out_and_said(tmp_path: Path) -> None:
    experiment = load_study(PROJECT, "k8s-scale-out").experiment
    gone = [Unavailable(variant="pods=autoscaled", reason=NO_METRICS)]
    plan = plan_without(experiment, "quick", gone, host="local", seed=1, launcher="kubernetes")
    assert {trial.configuration.levels["pods"] for trial in plan.trials} == {
        "one",
        "ten",
        "boosted",
        "scaled",
    }


def test_a_boosted_pod_begins_with_more_and_keeps_what_it_reserves() -> None:
    spec = pods("one", cpu_limit=1.0, cpu_boost=2.0, cpu_request=0.05, memory_limit_bytes=2**26)
    made = plain(deployment(spec))["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert (made["limits"]["cpu"], made["requests"]["cpu"]) == ("2000m", "50m")
    later = container_resources(spec, boosted=False)
    assert (later["limits"]["cpu"], later["requests"]["cpu"]) == ("1000m", "50m")
    assert later["limits"]["memory"] == made["limits"]["memory"]


def test_a_boost_is_taken_back_once_from_each_pod_that_has_served(tmp_path: Path) -> None:
    spec = pods("one", replicas=2, cpu_limit=1.0, cpu_boost=2.0)
    listed = {"kind": "PodList", "metadata": {}, "items": [pod("a"), pod("b")]}
    base = "/api/v1/namespaces/rematch-recorded/pods"
    answers = {f"GET {base}": listed} | {f"PATCH {base}/pod-{uid}/resize": pod(uid) for uid in ("a", "b")}
    asked: list[str] = []
    quotas = {1: 2.0, 2: 2.0}
    boost = StartBoost(cluster(tmp_path, answers, asked), spec, quota=quotas.get)
    a, b = PodProcess(1, 0, None), PodProcess(2, 0, None)
    boost.take_back({})
    assert asked == [] and not boost.complete and StartBoost(boost.cluster, pods("plain")).complete
    boost.take_back({"a": a})
    boost.take_back({"a": a})
    assert [line.split(" {")[0] for line in asked] == [f"GET {base}", f"PATCH {base}/pod-a/resize"]
    sent = json.loads(asked[1].split(" ", 2)[2])["spec"]["containers"]
    assert sent == [
        {"name": "service", "resources": {"limits": {"cpu": "1000m"}, "requests": {"cpu": "1000m"}}}
    ]
    assert boost.done == {}, "the kernel still allows two"
    quotas[1] = 1.0
    boost.take_back({"a": a, "b": b})
    assert set(boost.asked) == {"a", "b"} and set(boost.done) == {"a"} and not boost.complete
    quotas[2] = 0.9999
    boost.take_back({"a": a, "b": b})
    assert boost.complete


def test_a_boost_that_is_not_taken_back_fails_the_trial_in_one_line(tmp_path: Path) -> None:
    spec = pods("one", cpu_limit=1.0, cpu_boost=2.0)
    listed = {"kind": "PodList", "metadata": {}, "items": [pod("a")]}
    api = cluster(tmp_path, {"GET /api/v1/namespaces/rematch-recorded/pods": listed})
    boost = StartBoost(api, spec, quota=lambda _pid: None)
    with pytest.raises(TrialFailure, match="not taken back: no permission .* resource pods/resize") as caught:
        boost.take_back({"a": PodProcess(1, 0, None)})
    assert "\n" not in caught.value.reason
    assert boost.lacking().startswith("the CPU boost was taken back from 0 of 1 pods")


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("150000 100000", 1.5), ("max 100000", None), ("", None)],
    ids=["limited", "max", "empty"],
)
def test_the_kernels_limit_of_a_group_is_read_in_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cpus: float | None
) -> None:
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(
        "harness.launchers.kubernetes_start.group_folders", lambda _pid, _root: {"": tmp_path}
    )
    assert cpu_quota(1) == cpus
    (tmp_path / "cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr(
        "harness.launchers.kubernetes_start.group_folders", lambda _pid, _root: {"cpu": tmp_path}
    )
    assert cpu_quota(1) == 0.5


def test_what_few_clusters_have_is_measured_under_full_alone() -> None:
    rounds, scale = (load_study(PROJECT, name).experiment for name in ("k8s-rounds", "k8s-scale-out"))
    for profile in ("smoke", "quick"):
        assert {one.variant.runtime.access for one in configurations(rounds, profile)} <= {
            "cluster-ip",
            "node-port",
        }
        assert all(
            one.load is not None and one.load.profile.renew_s is None
            for one in configurations(rounds, profile)
        )
    full = configurations(rounds, "full")
    assert {one.load.profile.renew_s for one in full if one.load is not None} == {None, 5.0}
    assert {one.variant.runtime.cpu_boost for one in configurations(scale, "full")} == {None, 2.0}
