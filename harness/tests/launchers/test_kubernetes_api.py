# SPDX-License-Identifier: Apache-2.0
"""Pods without a cluster: what is sent to its API and read from answers that a real API server gave, why pods do not
start, a boost of the start, and what runtimes say."""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.definitions import load_study
from harness.errors import HostError, InputError, TrialFailure
from harness.model import Endpoint, KubernetesRecord, PodRecord, RuntimeCpus, RuntimeSettings
from harness.places.hosts.local import LocalHost
from harness.places.launchers import kubernetes, kubernetes_instance, kubernetes_pods
from harness.places.launchers.images import write_archive
from harness.places.launchers.kubernetes import (
    STARTED_WITHIN_S,
    UNSCHEDULED_FOR_S,
    KubernetesLauncher,
    containerd_socket,
    wait_started,
)
from harness.places.launchers.kubernetes_cluster import Cluster, PodsSpec, objects_of
from harness.places.launchers.kubernetes_instance import with_runtime_cpus
from harness.places.launchers.kubernetes_pods import (
    PodProbe,
    PodProcess,
    Prober,
    StartBoost,
    connected_through,
    cpu_quota,
    established,
    is_program,
)
from harness.places.launchers.process import ProcessLauncher
from harness.places.launchers.tools import Tools
from harness.tests.support.answering_server import Handler, Server, serving
from harness.tests.support.available import PROJECT
from harness.tests.support.instances import eventually
from harness.tests.support.recorded_cluster import KUBECONFIG, NAMESPACE, RECORDED, Replay, pods, scenario

GOLDEN = Path(__file__).parents[1] / "golden"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/one"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    return file


def test_the_recorded_api_server_gets_the_same_requests_and_its_answers_are_understood(config: Path) -> None:
    exchanges: list[dict[str, Any]] = json.loads(RECORDED.read_text())
    replay = Replay(exchanges)
    cluster, nobody = Cluster(config, replay), Cluster(config, replay)
    found = scenario(cluster, nobody)
    assert replay.at == len(exchanges)
    assert found.version.startswith("v1.")
    assert 30000 <= found.node_port <= 32767
    for said in found.absent:
        assert said is not None and not said.passing
        assert "docker.io/rematch/absent:1 (ErrImageNeverPull" in said.reason
    (greedy,) = found.unscheduled
    assert greedy is not None and greedy.passing and "Insufficient cpu" in greedy.reason
    assert found.conditions["PodScheduled"] == int(found.conditions["PodScheduled"])
    scheduled = found.events["Scheduled"]
    assert scheduled != int(scheduled) and abs(scheduled - found.conditions["PodScheduled"]) < 2
    assert not {"Pulled", "Created", "Started"} & found.events.keys()
    assert found.resizable and found.limits == ["1", "500m"], "resized without another pod"
    assert "no permission" in found.forbidden and 'cannot patch resource "deployments"' in found.forbidden
    assert "refused a request: Deployment.apps" in found.refused and "Not-A-Name" in found.refused


def failing(status: int, message: str) -> httpx.MockTransport:
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": status}
    return httpx.MockTransport(lambda _request: httpx.Response(status, json=said))


def silent(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("timed out", request=request)


@pytest.mark.parametrize(
    ("transport", "words"),
    [
        (failing(401, "Unauthorized"), "does not accept the credentials"),
        (failing(500, "etcd is gone"), "refused a request: etcd is gone"),
        (httpx.MockTransport(silent), r"no cluster answers at http://recorded\.invalid \(timed out\)"),
    ],
)
def test_what_the_api_refuses_is_one_line(config: Path, transport: httpx.BaseTransport, words: str) -> None:
    with pytest.raises(HostError, match=words) as caught:
        Cluster(config, transport).pods(pods("any"))
    assert "\n" not in str(caught.value)


def test_a_service_without_a_port_of_the_node_is_reached_inside_the_cluster_alone() -> None:
    assert objects_of(pods("one"))[0].to_dict()["spec"]["type"] == "ClusterIP"


def test_an_image_of_the_same_folder_is_the_same_image(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "program").write_bytes(b"x" * 1000)
    one = write_archive(tmp_path / "one", "docker.io/rematch/x:1", tmp_path / "one.tar", {})
    other = write_archive(tmp_path / "other", "docker.io/rematch/x:1", tmp_path / "other.tar", {})
    assert one == other and one.image_bytes > 1000
    (tmp_path / "other" / "bin" / "program").write_bytes(b"y" * 1000)
    assert write_archive(tmp_path / "other", "docker.io/rematch/x:1", tmp_path / "y.tar", {}).id != one.id


def test_who_cannot_import_images_learns_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMATCH_CONTAINERD", str(tmp_path / "none"))
    with pytest.raises(InputError, match="REMATCH_CONTAINERD: no way to import images"):
        containerd_socket(tmp_path / "kubeconfig")


def test_an_open_connection_is_seen_in_its_network_and_no_other() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = {"pod": PodProcess(os.getpid(), 0, "127.0.0.1")}
        assert not established(os.getpid(), port)
        assert connected_through(Endpoint(host="127.0.0.1", port=port), found, port) == "pod"
        assert connected_through(Endpoint(host="127.0.0.1", port=port), found, port + 1) is None
    assert connected_through(Endpoint(host="127.0.0.1", port=port), found, port) is None


def saying(body: bytes = b"{}", status: int = 200) -> AbstractContextManager[Server]:
    """Answer every request alike."""

    class Says(Handler):
        def respond(self) -> None:
            self.answer(status, body)

    return serving(Server(Says))


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
    monkeypatch.setattr(kubernetes, "time", made)
    return made


def knowing(folder: Path, answers: Mapping[str, Any], asked: list[str] | None = None) -> Cluster:
    """Return an API that has these answers by method and path, and permits nothing else; ``asked`` gets each request."""

    def answer(request: httpx.Request) -> httpx.Response:
        words = f"{request.method} {request.url.path}"
        if asked is not None:
            asked.append(f"{words} {request.read().decode()}".strip())
        if words in answers:
            known = answers[words]
            return httpx.Response(200, json=known() if callable(known) else known)
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "message": words}
        return httpx.Response(403, json=status)

    (folder / "kubeconfig").write_text(KUBECONFIG)
    return Cluster(folder / "kubeconfig", httpx.MockTransport(answer))


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "List", "metadata": {}, "items": list(items)}


def pod(uid: str, **status: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "service"}]}
    return {"metadata": {"name": f"pod-{uid}", "uid": uid}, "spec": spec, "status": status}


UNPLACED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}
WAITING = {
    "name": "service", "image": "x", "imageID": "", "ready": False, "restartCount": 0,
    "state": {"waiting": {"reason": "ContainerCreating"}},
}  # fmt: skip


def prober(spec: PodsSpec, **processes: PodProcess) -> Prober:
    made = Prober(wanted=tuple, look=lambda _uids: {}, expected=spec.replicas, port=1, path="/")
    made.pods.update({uid: PodProbe(process=process) for uid, process in processes.items()})
    return made


@pytest.mark.parametrize(
    ("status", "words", "after_s"),
    [
        ({"conditions": [UNPLACED]}, "pod-a is pending: Unschedulable: 0/1 nodes", UNSCHEDULED_FOR_S),
        ({"containerStatuses": [WAITING]}, "pod-a is pending: ContainerCreating", STARTED_WITHIN_S),
        ({}, "pod-a is pending: no container yet", STARTED_WITHIN_S),
        (
            {"phase": "Failed", "reason": "OutOfcpu", "message": "Node has\nno room"},
            "pod-a was rejected by its node: OutOfcpu: Node has no room",
            0.0,
        ),
        (None, "0 of 1 processes of one were seen .*kubectl describe all -n", STARTED_WITHIN_S),
    ],
    ids=["no node", "waiting", "no container", "rejected", "no pod"],
)
def test_a_pod_that_does_not_start_fails_the_trial_in_its_time_with_the_reason(
    tmp_path: Path, clock: Clock, status: dict[str, Any] | None, words: str, after_s: float
) -> None:
    made = () if status is None else (pod("a", **status),)
    with pytest.raises(TrialFailure, match=words):
        wait_started(knowing(tmp_path, {f"GET {PODS}": listed(*made)}), pods("one"), prober(pods("one")))
    assert clock.now_s == pytest.approx(after_s, abs=2.0)


def test_more_pods_are_asked_for_once_the_first_have_served(tmp_path: Path, clock: Clock) -> None:
    spec = pods("one", replicas=3, scale_from=1)
    assert objects_of(spec)[1].to_dict()["spec"]["replicas"] == 1
    probed, asked = prober(spec, a=PodProcess(1, 0, None)), list[str]()

    def scaled() -> dict[str, Any]:
        probed.pods.update({uid: PodProbe(process=PodProcess(2, 0, None)) for uid in "bc"})
        return {"kind": "Scale", "metadata": {"name": "one"}}

    api = knowing(tmp_path, {f"GET {PODS}": listed(pod("a")), f"PATCH {DEPLOYMENT}/scale": scaled}, asked)
    with pytest.raises(TrialFailure, match="pod-a is pending|and 0 have served, within"):
        wait_started(api, spec, probed)
    assert not [line for line in asked if line.startswith("PATCH")]
    probed.pods["a"].served_s = 1.0
    assert wait_started(api, spec, probed) == clock.now_s
    (scale,) = [line for line in asked if line.startswith("PATCH")]
    assert json.loads(scale.split(" ", 2)[2])["spec"] == {"replicas": 3}


BOOSTED = RuntimeSettings(cpus=1, cpu_boost=2.0)


@pytest.mark.parametrize(
    ("resources", "runtime", "why"),
    [
        (["pods/resize"], BOOSTED, None),
        (["pods"], BOOSTED, "resized in place (Kubernetes 1.33)"),
        (None, BOOSTED, "no permission on "),
        ([], RuntimeSettings(cpus=1), None),
        (["pods/resize"], RuntimeSettings(cpu_boost=2.0), "found no limit"),
        (["pods/resize"], RuntimeSettings(cpu_boost=2.0, cpu_limit=2.0), "found 2"),
        ([], RuntimeSettings(access="ingress"), 'use "node-port"'),
        ([], RuntimeSettings(replicas=3, cpu_request=0.05, autoscale_cpu=0.5), "use scale_from"),
        ([], RuntimeSettings(replicas=2, scale_from=2), "scale_from = 2 needs more replicas; found 2"),
    ],
)
def test_what_a_cluster_or_every_pod_lacks_is_said_in_one_line(
    tmp_path: Path, resources: list[str] | None, runtime: RuntimeSettings, why: str | None
) -> None:
    answer = {"kind": "APIResourceList", "resources": [{"name": name} for name in resources or ()]}
    api = knowing(tmp_path, {} if resources is None else {"GET /api/v1": answer})
    program = load_study(PROJECT, "k8s-rounds").implementations["go-nethttp"]
    launcher = KubernetesLauncher(ProcessLauncher(LocalHost(), tmp_path, Tools()), tmp_path)
    reason = launcher._lacking(api, program, runtime)
    assert reason is None if why is None else why in (reason or "") and "\n" not in (reason or "")


def test_a_boost_is_taken_back_once_from_each_pod_that_has_served(tmp_path: Path) -> None:
    spec = pods("one", replicas=2, cpu_limit=1.0, cpu_boost=2.0, cpu_request=0.05)
    answers = {f"GET {PODS}": listed(pod("a"), pod("b"))}
    answers |= {f"PATCH {PODS}/pod-{uid}/resize": pod(uid) for uid in "ab"}
    asked, quotas = list[str](), {1: 2.0, 2: 2.0}
    boost = StartBoost(knowing(tmp_path, answers, asked), spec, quota=quotas.get)
    a, b = PodProcess(1, 0, None), PodProcess(2, 0, None)
    boost.take_back({})
    assert asked == [] and not boost.complete and StartBoost(boost.cluster, pods("plain")).complete
    boost.take_back({"a": a})
    boost.take_back({"a": a})
    assert [line.split(" ")[1] for line in asked if line.startswith("PATCH")] == [f"{PODS}/pod-a/resize"]
    assert boost.done == {}, "the kernel still allows two"
    quotas.update({1: 1.0, 2: 0.9999})
    boost.take_back({"a": a, "b": b})
    assert boost.complete
    forbidden = StartBoost(knowing(tmp_path, {f"GET {PODS}": listed(pod("a"))}), spec)
    with pytest.raises(TrialFailure, match="not taken back: no permission .*pod-a/resize") as caught:
        forbidden.take_back({"a": a})
    assert "\n" not in caught.value.reason


@pytest.mark.parametrize(("text", "cpus"), [("150000 100000", 1.5), ("max 100000", None), ("", None)])
def test_the_kernels_limit_of_a_group_is_read_in_cpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cpus: float | None
) -> None:
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(kubernetes_pods, "group_folders", lambda _pid: {"": tmp_path})
    assert cpu_quota(1) == cpus
    (tmp_path / "cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    monkeypatch.setattr(kubernetes_pods, "group_folders", lambda _pid: {"cpu": tmp_path})
    assert cpu_quota(1) == 0.5


@pytest.mark.parametrize(
    ("name", "ids", "counts"),
    [
        ("service", "7 1", True),
        ("runc:[2:INIT]", "7 1", False),
        ("pause", "7 1", False),
        ("worker", "9 3", False),
    ],
)
def test_of_a_pod_the_first_process_that_runs_the_containers_own_program_counts(
    tmp_path: Path, name: str, ids: str, counts: bool
) -> None:
    (tmp_path / "comm").write_text(f"{name}\n")
    (tmp_path / "status").write_text(f"Name:\t{name}\nNSpid:\t{ids}\n")
    assert is_program(tmp_path) is counts


def test_a_pod_is_probed_from_its_program_on_until_it_answers() -> None:
    looks: list[Callable[[], dict[str, PodProcess]]] = [dict, dict]
    with saying() as server:
        port = server.endpoint.port
        found = {"a": PodProcess(1, 0, server.endpoint.host)}
        made = Prober(
            wanted=lambda: ["a"],
            look=lambda _: looks.pop()() if looks else found,
            expected=1,
            port=port,
            path="/",
        )
        made.start()
        assert eventually(lambda: made.all_served)
        made.stop()
    probed = made.pods["a"]
    assert probed.program_s is not None and probed.served_s is not None and probed.probes >= 1
    assert 0 < probed.program_gap_s < probed.program_s <= probed.served_s <= (made.ended_s or 0)


def record(*served: bool) -> KubernetesRecord:
    made = tuple(
        PodRecord(name=f"one-{n}", uid=f"uid-{n}", node="n", address="127.0.0.1", pid=1,
                  first_served_after_s=0.5 if one else None)
        for n, one in enumerate(served, start=1)
    )  # fmt: skip
    return KubernetesRecord(
        server="v1", node="n", proxy_mode=None, namespace="n", access="node-port", replicas=len(made),
        cpu_request=None, cpu_limit=0.5, memory_limit_bytes=None, samples="none", pods=made,
    )  # fmt: skip


def what_pods_say(around: KubernetesRecord, kind: str, folder: Path) -> list[RuntimeCpus]:
    results = [pod.runtime_cpus for pod in with_runtime_cpus(around, kind, folder).pods]
    return [result for result in results if result is not None]


def test_each_go_pod_that_served_says_its_cpus_and_the_others_have_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (GOLDEN / "runtime_metrics" / "go1.26-nethttp.txt").read_bytes()
    for status in (200, 404):
        with saying(body, status) as server:
            monkeypatch.setattr(kubernetes_instance, "PORT", server.endpoint.port)
            answers = what_pods_say(record(True, False), "go", tmp_path)
        expected = (2, None) if status == 200 else (None, "GET /metrics: 404")
        assert (answers[0].cpus, answers[0].why_not) == expected
        assert answers[1].why_not == "the pod did not serve"
    (gone,) = what_pods_say(record(True), "go", tmp_path)
    assert "no answer to GET /metrics" in (gone.why_not or "")


def test_the_log_of_one_jvm_is_in_the_trials_folder_and_of_several_in_their_own(tmp_path: Path) -> None:
    log = gzip.decompress((GOLDEN / "jvm_log" / "jdk25-Serial.log.gz").read_bytes())
    serial = RuntimeCpus(cpus=2, collector="Serial", said_in="GC log")
    (tmp_path / "gc.log").write_bytes(log)
    assert what_pods_say(record(True), "jvm", tmp_path) == [serial]
    (tmp_path / "one-2").mkdir()
    (tmp_path / "one-2" / "gc.log").write_bytes(log)
    assert what_pods_say(record(True, True), "jvm", tmp_path) == [RuntimeCpus(why_not="no GC log"), serial]
    assert all(what_pods_say(record(True), kind, tmp_path)[0].why_not for kind in ("native", "other"))
