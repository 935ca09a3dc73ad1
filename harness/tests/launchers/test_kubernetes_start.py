# SPDX-License-Identifier: Apache-2.0
"""What a cluster may lack, why pods do not start, a boost of the start: decided from answers of an API, on a clock of
the test."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from lightkube.resources.core_v1 import Pod

from harness.definitions import load_study
from harness.errors import HostError, TrialFailure
from harness.launchers import kubernetes_cluster, kubernetes_start
from harness.launchers.kubernetes_cluster import (
    Cluster,
    PodsSpec,
    autoscaler,
    container_resources,
    deployment,
)
from harness.launchers.kubernetes_instance import KubernetesInstance
from harness.launchers.kubernetes_pods import PodProcess, Probed, Prober, trouble
from harness.launchers.kubernetes_start import (
    AUTOSCALED_WITHIN_S,
    NO_INGRESS,
    NO_METRICS,
    STARTED_WITHIN_S,
    UNSCHEDULED_FOR_S,
    StartBoost,
    cpu_quota,
    kept_busy,
    no_autoscaler,
    no_boost,
    unfit,
    wait_started,
)
from harness.model import (
    ClockReading,
    InstanceRecord,
    KubernetesRecord,
    RuntimeSettings,
    Unavailable,
)
from harness.model.endpoint import Endpoint
from harness.model.plan import configurations
from harness.session.planning import plan_without
from harness.tests.support.available import PROJECT
from harness.tests.support.patience import patient
from harness.tests.support.recorded_cluster import KUBECONFIG, NAMESPACE, pods

AUTOSCALED = RuntimeSettings(replicas=3, cpu_request=0.05, autoscale_cpu=0.5)
METRICS = "GET /apis/metrics.k8s.io/v1beta1"
REFUSED = json.dumps({"kind": "Status", "message": "nobody\nmay"})
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


def _with_state(uid: str, *, state: dict[str, Any], ready: bool) -> dict[str, Any]:
    known = {"name": "service", "image": "x", "imageID": "", "ready": ready, "restartCount": 0}
    return pod(uid, containerStatuses=[known | {"state": state}])


waiting = partial(_with_state, state={"waiting": {"reason": "ContainerCreating"}}, ready=False)
running = partial(_with_state, state={"running": {}}, ready=True)


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
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    made = {**DEPLOYED, "status": {"conditions": [refused | {"message": "hostPath is\nforbidden"}]}}
    spec = pods("one")
    with pytest.raises(TrialFailure) as caught:
        wait_started(answering(tmp_path, {DEPLOYMENT: made}), spec, prober(spec))
    assert caught.value.reason == "the cluster makes no more pods: FailedCreate: hostPath is forbidden"
    assert clock.now_s < STARTED_WITHIN_S


def test_a_pod_that_its_node_rejects_has_failed_at_once() -> None:
    rejected = pod("a", phase="Failed", reason="OutOfcpu", message="Node has\nno room")
    said = trouble(Pod.from_dict(rejected))  # type: ignore[no-untyped-call]  # the client's own
    assert said is not None and not said.passing
    assert said.reason == "pod pod-a was rejected by its node: OutOfcpu: Node has no room"
    without = trouble(Pod.from_dict(pod("a")))  # type: ignore[no-untyped-call]  # the client's own
    assert without is not None and without.passing
    assert without.reason == "pod pod-a is pending: no container yet"


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
    ("status", "body", "words"),
    [
        (403, REFUSED, r"no permission .* verb get, resource apis/metrics.k8s.io \(nobody may\)"),
        (401, REFUSED, "does not accept the credentials"),
        (502, "<html>", "refused to get apis/metrics.k8s.io: Bad Gateway"),
        (200, "<html>", "is no Kubernetes API"),
    ],
    ids=["not permitted", "no credentials", "a proxy", "something else"],
)
def test_an_api_that_does_not_tell_what_it_has_is_not_said_to_be_away(
    tmp_path: Path, status: int, body: str, words: str
) -> None:
    api = cluster(tmp_path, lambda _request: httpx.Response(status, text=body))
    with pytest.raises(HostError, match=words) as caught:
        api.has_metrics()
    assert "\n" not in str(caught.value) and "no cluster answers" not in str(caught.value)
    service = load_study(PROJECT, "k8s-rounds").implementations["go-nethttp"]
    assert unfit(api, service, AUTOSCALED) == str(caught.value)
    for ask in (api.version, lambda: api.has_core_resource("pods/resize")):
        with pytest.raises(HostError) as other:
            ask()
        assert "\n" not in str(other.value)


def test_an_autoscaler_that_adds_nothing_fails_the_trial_after_its_time(tmp_path: Path, clock: Clock) -> None:
    api = answering(tmp_path, {PODS: listed(running("a"))})
    with pytest.raises(TrialFailure, match=r"1 of 2 processes of one were seen .*kubectl describe hpa one"):
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
    KubernetesInstance(cluster(tmp_path, answer), SCALED, record, endpoint, prober(SCALED)).stop()
    assert asked[:2] == ["horizontalpodautoscalers", "deployments"]


def knowing(folder: Path, answers: Mapping[str, Any], asked: list[str] | None = None) -> Cluster:
    """Return an API that has these answers by method and path, and permits nothing else; ``asked`` gets each request."""

    def answer(request: httpx.Request) -> httpx.Response:
        words = f"{request.method} {request.url.path}"
        if asked is not None:
            asked.append(f"{words} {request.read().decode()}".strip())
        if words in answers:
            return httpx.Response(200, json=answers[words])
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "message": words}
        return httpx.Response(403, json=status)

    return cluster(folder, answer)


BOOSTED = RuntimeSettings(cpus=1, cpu_boost=2.0)


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
    said = no_boost(knowing(tmp_path, api), runtime)
    assert said is None if why is None else said is not None and why in said and "\n" not in said


def test_an_ingress_is_refused_with_what_to_use_instead(tmp_path: Path) -> None:
    service = load_study(PROJECT, "k8s-rounds").implementations["go-nethttp"]
    assert unfit(knowing(tmp_path, {}), service, RuntimeSettings(access="ingress")) == NO_INGRESS
    assert NO_INGRESS == 'access = "ingress" was removed in 0.2.0: use access = "node-port"'


@pytest.mark.parametrize("status", [404, 503], ids=["nobody serves it", "who serves it is away"])
def test_an_autoscaler_needs_the_metrics_api_and_pods_to_add_and_a_request_to_go_by(
    tmp_path: Path, status: int
) -> None:
    assert no_autoscaler(knowing(tmp_path, {}), RuntimeSettings(replicas=3)) is None, "nobody asked for one"
    served = {METRICS: {"kind": "APIResourceList", "resources": [{"name": "nodes"}, {"name": "pods"}]}}
    assert no_autoscaler(knowing(tmp_path, served), AUTOSCALED) is None
    file = tmp_path / "kubeconfig"
    without = Cluster(file, httpx.MockTransport(lambda _request: httpx.Response(status)))
    assert no_autoscaler(without, AUTOSCALED) == NO_METRICS
    for field in ("replicas", "cpu_request"):
        lacking = no_autoscaler(knowing(tmp_path, served), AUTOSCALED.model_copy(update={field: None}))
        assert lacking is not None and "both are needed" in lacking


def plain(made: Any) -> dict[str, Any]:
    """Return an object as it is sent."""
    return dict(made.to_dict())


def test_an_autoscaler_begins_with_one_pod_and_is_sent_as_the_deployments_own(tmp_path: Path) -> None:
    spec = pods("one", replicas=3, cpu_request=0.05, autoscale_cpu=0.5)
    assert plain(deployment(spec))["spec"]["replicas"] == 1
    path = "/apis/autoscaling/v2/namespaces/rematch-recorded/horizontalpodautoscalers/one"
    asked: list[str] = []
    made = autoscaler(spec)
    knowing(tmp_path, {f"PATCH {path}": plain(made)}, asked).apply(made)
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
    levels = {trial.configuration.levels["pods"] for trial in plan.trials}
    assert levels == {"one", "ten", "boosted", "scaled"}


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
    boost = StartBoost(knowing(tmp_path, answers, asked), spec, quota=quotas.get)
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
    api = knowing(tmp_path, {"GET /api/v1/namespaces/rematch-recorded/pods": listed})
    boost = StartBoost(api, spec, quota=lambda _pid: None)
    with pytest.raises(TrialFailure, match="not taken back: no permission .* resource pods/resize") as caught:
        boost.take_back({"a": PodProcess(1, 0, None)})
    assert "\n" not in caught.value.reason
    assert boost.lacking().startswith("the CPU boost was taken back from 0 of 1 pods")


@pytest.mark.parametrize(("text", "cpus"), [("150000 100000", 1.5), ("max 100000", None), ("", None)])
def test_the_kernels_limit_of_a_group_is_read_in_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cpus: float | None
) -> None:
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(kubernetes_start, "group_folders", lambda _pid, _root: {"": tmp_path})
    assert cpu_quota(1) == cpus
    (tmp_path / "cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr(kubernetes_start, "group_folders", lambda _pid, _root: {"cpu": tmp_path})
    assert cpu_quota(1) == 0.5


def test_what_few_clusters_have_is_measured_under_full_alone() -> None:
    rounds, scale = (load_study(PROJECT, name).experiment for name in ("k8s-rounds", "k8s-scale-out"))
    for profile in ("smoke", "quick"):
        planned = configurations(rounds, profile)
        assert {one.variant.runtime.access for one in planned} <= {"cluster-ip", "node-port"}
        assert all(one.load is not None and one.load.profile.renew_s is None for one in planned)
    full = configurations(rounds, "full")
    assert {one.load.profile.renew_s for one in full if one.load is not None} == {None, 5.0}
    assert {one.variant.runtime.cpu_boost for one in configurations(scale, "full")} == {None, 2.0}
