# SPDX-License-Identifier: Apache-2.0
"""Why pods do not start, and how long each may take: decided from answers of an API, on a clock of the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.definitions import load_study
from harness.errors import HostError, TrialFailure
from harness.launchers import kubernetes_cluster, kubernetes_start
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_instance import KubernetesInstance
from harness.launchers.kubernetes_cluster import PodsSpec, deployment
from harness.launchers.kubernetes_pods import PodProcess, Probed, Prober, trouble
from harness.launchers.kubernetes_start import (
    AUTOSCALED_WITHIN_S,
    STARTED_WITHIN_S,
    UNSCHEDULED_FOR_S,
    unfit,
    wait_started,
)
from harness.model import ClockReading, InstanceRecord, KubernetesRecord, Outcome, RuntimeSettings
from harness.model.endpoint import Endpoint
from harness.tests.support.available import PROJECT
from harness.tests.support.recorded_cluster import KUBECONFIG, NAMESPACE, pods

SCALED = pods("one", replicas=2, cpu_request=0.05, autoscale_cpu=0.5)
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/one"
DEPLOYED = {
    "kind": "Deployment",
    "metadata": {"name": "one"},
    "spec": {"selector": {}, "template": {"metadata": {}, "spec": {"containers": [{"name": "service"}]}}},
}


class Clock:
    """Time that passes when somebody sleeps, a second at least: few answers are enough."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += max(seconds, 1.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(kubernetes_start, "time", made)
    return made


def cluster(folder: Path, answer: Callable[[httpx.Request], httpx.Response]) -> Cluster:
    file = folder / "kubeconfig"
    file.write_text(KUBECONFIG)
    return Cluster(file, httpx.MockTransport(answer))


def answering(folder: Path, answers: dict[str, Any]) -> Cluster:
    """Return an API that has these answers by path, and no pods, events or objects beside them."""

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path in answers:
            return httpx.Response(200, json=answers[path])
        if path in (PODS, EVENTS):
            return httpx.Response(200, json=listed())
        return httpx.Response(404, json={"kind": "Status", "code": 404, "message": f"{path} not found"})

    return cluster(folder, answer)


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "List", "metadata": {}, "items": list(items)}


def pod(uid: str, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"pod-{uid}", "uid": uid},
        "spec": {"containers": [{"name": "service"}]},
        "status": status,
    }


def waiting(uid: str, reason: str = "ContainerCreating") -> dict[str, Any]:
    state = {
        "name": "service",
        "image": "x",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": reason}},
    }
    return pod(uid, containerStatuses=[state])


def running(uid: str) -> dict[str, Any]:
    state = {"name": "service", "image": "x", "imageID": "", "ready": True, "restartCount": 0}
    return pod(uid, containerStatuses=[state | {"state": {"running": {}}}])


def unschedulable(uid: str) -> dict[str, Any]:
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
    return pod(uid, conditions=[why])


def prober(spec: PodsSpec, **processes: PodProcess) -> Prober:
    made = Prober(wanted=tuple, look=lambda _uids: {}, expected=spec.replicas, port=1, path="/")
    made.pods.update({uid: Probed(process=one) for uid, one in processes.items()})
    return made


def test_a_pod_that_an_autoscaler_adds_late_has_its_own_time_to_start(tmp_path: Path, clock: Clock) -> None:
    """The autoscaler takes longer than a pod may take to start; the pod is added pending, then runs."""
    added_s = STARTED_WITHIN_S + 5.0
    probed = prober(SCALED, a=PodProcess(1, 0, None))

    def answer(_request: httpx.Request) -> httpx.Response:
        if clock.now_s < added_s:
            return httpx.Response(200, json=listed(running("a")))
        if clock.now_s > added_s + UNSCHEDULED_FOR_S:
            probed.pods["b"] = Probed(process=PodProcess(2, 0, None))
        short = clock.now_s < added_s + UNSCHEDULED_FOR_S / 2
        return httpx.Response(200, json=listed(running("a"), unschedulable("b") if short else waiting("b")))

    def with_deployment(request: httpx.Request) -> httpx.Response:
        if request.url.path == DEPLOYMENT:
            return httpx.Response(200, json=DEPLOYED)
        return answer(request)

    wait_started(cluster(tmp_path, with_deployment), SCALED, probed)
    assert clock.now_s > added_s


def test_a_pod_that_no_node_takes_for_a_while_is_pending_however_late_it_was_added(
    tmp_path: Path, clock: Clock
) -> None:
    api = answering(tmp_path, {PODS: listed(running("a"), unschedulable("b"))})
    with pytest.raises(TrialFailure, match="pod-b is pending: Unschedulable: 0/1 nodes"):
        wait_started(api, SCALED, prober(SCALED, a=PodProcess(1, 0, None)))
    assert clock.now_s == pytest.approx(UNSCHEDULED_FOR_S, abs=2.0)


def test_a_pod_whose_volume_is_not_mounted_says_so_when_its_time_is_over(
    tmp_path: Path, clock: Clock
) -> None:
    def event(second: int, kind: str, message: str) -> dict[str, Any]:
        return {
            "metadata": {"name": f"e-{second}"},
            "involvedObject": {"uid": "a"},
            "type": kind,
            "reason": "FailedMount" if kind == "Warning" else "Scheduled",
            "message": message,
            "eventTime": f"2026-01-01T00:00:{second:02d}.000001Z",
        }

    events = listed(
        event(1, "Warning", "first"), event(2, "Warning", "no such\n  path"), event(3, "Normal", "x")
    )
    spec = pods("one")
    api = answering(tmp_path, {PODS: listed(waiting("a")), EVENTS: events})
    with pytest.raises(TrialFailure) as caught:
        wait_started(api, spec, prober(spec))
    assert caught.value.reason == "pod pod-a is pending: ContainerCreating; FailedMount: no such path"
    assert clock.now_s > STARTED_WITHIN_S


def test_pods_that_the_cluster_does_not_make_are_no_silence(tmp_path: Path, clock: Clock) -> None:
    """A quota, or a policy that forbids volumes of the node: there is a deployment, and no pod."""
    said = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "hostPath is\nforbidden",
    }
    made = {**DEPLOYED, "status": {"conditions": [said]}}
    spec = pods("one")
    with pytest.raises(TrialFailure) as caught:
        wait_started(answering(tmp_path, {DEPLOYMENT: made}), spec, prober(spec))
    assert caught.value.reason == "the cluster makes no more pods: FailedCreate: hostPath is forbidden"
    assert clock.now_s < STARTED_WITHIN_S


def test_a_pod_that_its_node_rejects_has_failed_at_once() -> None:
    from lightkube.resources.core_v1 import Pod

    rejected = pod("a", phase="Failed", reason="OutOfcpu", message="Node has\nno room")
    said = trouble(Pod.from_dict(rejected))  # type: ignore[no-untyped-call]  # the client's own
    assert said is not None and not said.passing
    assert said.reason == "pod pod-a was rejected by its node: OutOfcpu: Node has no room"


def growing(folder: Path, probed: Prober, asked: list[Any]) -> Cluster:
    """Return an API in which pod ``a`` runs, and two more do as soon as the deployment is scaled."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "PATCH":
            asked.append((request.url.path, json.loads(request.read())["spec"]))
            probed.pods.update({uid: Probed(process=PodProcess(2, 0, None)) for uid in "bc"})
            return httpx.Response(200, json={"kind": "Scale", "metadata": {"name": "one"}})
        return httpx.Response(200, json=listed(running("a")) if request.url.path == PODS else DEPLOYED)

    return cluster(folder, answer)


def test_more_pods_are_asked_for_once_the_first_have_served(tmp_path: Path, clock: Clock) -> None:
    spec = pods("one", replicas=3, scale_from=1)
    made: Any = deployment(spec)
    assert made.to_dict()["spec"]["replicas"] == 1
    probed = prober(spec, a=PodProcess(1, 0, None))
    asked: list[Any] = []
    api = growing(tmp_path, probed, asked)
    with pytest.raises(TrialFailure, match="0 of the first 1 pods have served within"):
        wait_started(api, spec, probed)
    assert asked == []
    probed.pods["a"].served_s = 1.0
    assert wait_started(api, spec, probed) == clock.now_s
    assert asked == [(f"{DEPLOYMENT}/scale", {"replicas": 3})]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            httpx.Response(403, json={"kind": "Status", "code": 403, "message": "nobody\nmay"}),
            r"no permission .* verb get, resource apis/metrics.k8s.io \(nobody may\)",
        ),
        (
            httpx.Response(401, json={"kind": "Status", "code": 401, "message": "x"}),
            "does not accept the credentials",
        ),
        (httpx.Response(502, text="<html>"), "refused to get apis/metrics.k8s.io: Bad Gateway"),
        (httpx.Response(200, text="<html>"), "is no Kubernetes API"),
    ],
    ids=["not permitted", "no credentials", "a proxy", "something else"],
)
def test_an_api_that_does_not_tell_what_it_has_is_not_said_to_be_away(
    tmp_path: Path, answer: httpx.Response, words: str
) -> None:
    api = cluster(tmp_path, lambda _request: answer)
    with pytest.raises(HostError, match=words) as caught:
        api.has_metrics()
    assert "\n" not in str(caught.value) and "no cluster answers" not in str(caught.value)
    wanted = RuntimeSettings(replicas=2, cpu_request=0.05, autoscale_cpu=0.5)
    assert unfit(api, load_study(PROJECT, "k8s-rounds").implementations["go-nethttp"], wanted) == str(
        caught.value
    )
    for ask in (api.version, lambda: api.has_core_resource("pods/resize")):
        with pytest.raises(HostError) as other:
            ask()
        assert "\n" not in str(other.value)


def test_an_autoscaler_that_adds_nothing_fails_the_trial_after_its_time(tmp_path: Path, clock: Clock) -> None:
    api = answering(tmp_path, {PODS: listed(running("a"))})
    with pytest.raises(TrialFailure, match=r"^1 of 2 processes of one were seen .*kubectl describe hpa one"):
        wait_started(api, SCALED, prober(SCALED, a=PodProcess(1, 0, None)))
    assert clock.now_s > AUTOSCALED_WITHIN_S


def ending(*true: str) -> dict[str, Any]:
    kinds = ("NamespaceDeletionDiscoveryFailure", "NamespaceContentRemaining", "NamespaceFinalizersRemaining")
    said = [{"type": one, "status": str(one in true), "message": f"{one}\nof it"} for one in kinds]
    return {"kind": "Namespace", "metadata": {"name": "gone"}, "status": {"conditions": said}}


@pytest.mark.parametrize("content", [False, True], ids=["empty", "not empty"])
def test_a_namespace_that_cannot_be_ended_while_an_api_is_away_is_waited_for_until_it_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bool
) -> None:
    made = Clock()
    monkeypatch.setattr(kubernetes_cluster, "time", made)
    away = ("NamespaceDeletionDiscoveryFailure", *(["NamespaceContentRemaining"] if content else []))
    api = answering(tmp_path, {"/api/v1/namespaces/gone": ending(*away)})
    if not content:
        api.remove_namespaces(["gone"])
        assert made.now_s <= 1.0
        return
    with pytest.raises(HostError) as caught:
        api.remove_namespaces(["gone"])
    assert str(caught.value) == (
        "the cluster does not remove namespace gone: NamespaceDeletionDiscoveryFailure of it; "
        "NamespaceContentRemaining of it"
    )


def test_who_adds_pods_is_gone_before_the_deployment_that_it_would_add_to(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE":
            asked.append(request.url.path.split("/")[-2])
        return httpx.Response(200, json=listed())

    spec = SCALED
    around = KubernetesRecord(
        server="v1", node="n", proxy_mode=None, namespace=NAMESPACE, access="node-port", replicas=2,
        cpu_request=0.05, cpu_limit=None, memory_limit_bytes=None, samples="none",
    )  # fmt: skip
    record = InstanceRecord(
        argv=(), environment={}, pid=0, process_start_ticks=0, port=1, cpu_affinity=(), cpu_limit=None,
        launched=ClockReading(wall_epoch_s=0.0, monotonic_s=0.0), artifact_sha256="", artifact_bytes=0,
        runtime_bytes=None, runtime_version=None, kubernetes=around,
    )  # fmt: skip
    endpoint = Endpoint(host="127.0.0.1", port=1)
    KubernetesInstance(cluster(tmp_path, answer), spec, record, endpoint, prober(spec)).stop()
    assert asked[:2] == ["horizontalpodautoscalers", "deployments"]
