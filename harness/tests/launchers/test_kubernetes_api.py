# SPDX-License-Identifier: Apache-2.0
"""What is sent to a cluster's API and read from its answers, with answers that a real API server gave."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from harness.definitions import load_study
from harness.errors import HostError, InputError
from harness.hosts.local import LocalHost
from harness.launchers.images import Images, write_archive
from harness.launchers.kubernetes import NodeImages, store_for
from harness.launchers.kubernetes_cluster import Cluster, deployment, service
from harness.launchers.kubernetes_instance import added, with_sum
from harness.launchers.kubernetes_pods import (
    PodProcess,
    connected_through,
    established,
    lost,
)
from harness.launchers.process import ProcessLauncher
from harness.model import BuildRecord, ClockReading, ResourceReading
from harness.model.endpoint import Endpoint
from harness.tests.support.available import PROJECT
from harness.tests.support.recorded_cluster import KUBECONFIG, RECORDED, Replay, pods, scenario


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    return file


def test_the_recorded_api_server_gets_the_same_requests_and_its_answers_are_understood(config: Path) -> None:
    exchanges: list[dict[str, Any]] = json.loads(RECORDED.read_text())
    replay = Replay(exchanges)
    cluster, nobody = Cluster(config, replay), Cluster(config, replay)
    found = scenario(cluster, nobody, lambda: None)
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
    assert lost(found.events) == ("Pulled", "Created", "Started")
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


def test_a_log_that_is_refused_while_it_is_streamed_is_one_line(config: Path) -> None:
    def refused(_request: httpx.Request) -> httpx.Response:
        json_type = {"content-type": "application/json"}
        return httpx.Response(404, headers=json_type, content=iter([b'{"kind": "Status", ', b'"code": 404}']))

    with pytest.raises(HostError, match="refused to show a log") as caught:
        list(Cluster(config, httpx.MockTransport(refused)).log_lines("any", "gone", follow=True))
    assert "\n" not in str(caught.value)


def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_text("apiVersion: v1\nkind: Config\ncurrent-context: none\n")
    with pytest.raises(HostError, match="broken: no kubeconfig that can be used"):
        Cluster(file)


def plain(made: Any) -> dict[str, Any]:
    """Return an object as it is sent."""
    sent: dict[str, Any] = made.to_dict()
    return sent


def test_limits_and_requests_are_said_in_the_clusters_units_and_words_are_not_expanded() -> None:
    said = plain(deployment(pods("one", replicas=3, cpu_limit=0.5, cpu_request=0.02, memory_limit="64m")))
    assert said["spec"]["replicas"] == 3
    (container,) = said["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {
        "limits": {"cpu": "500m", "memory": "67108864"}, "requests": {"cpu": "20m", "memory": "67108864"},
    }  # fmt: skip
    assert container["args"] == ["--word", "$$(NOT_EXPANDED)"]
    assert container["volumeMounts"][0]["subPathExpr"] == "$(POD_NAME)"
    assert container["imagePullPolicy"] == "Never"
    alone = plain(deployment(pods("one")))["spec"]["template"]["spec"]["containers"][0]
    assert alone["resources"] == {} and "subPathExpr" not in alone["volumeMounts"][0]
    kinds = [plain(service(pods("one"), node_port=outside))["spec"]["type"] for outside in (True, False)]
    assert kinds == ["NodePort", "ClusterIP"]


def test_an_image_of_the_same_folder_is_the_same_image(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "program").write_bytes(b"x" * 1000)
    one = write_archive(tmp_path / "one", "docker.io/rematch/x:1", tmp_path / "one.tar", {})
    other = write_archive(tmp_path / "other", "docker.io/rematch/x:1", tmp_path / "other.tar", {})
    assert one == other and one.image_bytes > 1000
    (tmp_path / "other" / "bin" / "program").write_bytes(b"y" * 1000)
    assert write_archive(tmp_path / "other", "docker.io/rematch/x:1", tmp_path / "y.tar", {}).id != one.id


def test_an_import_is_timed_where_the_node_had_not_the_image(tmp_path: Path) -> None:
    """``true`` takes any archive, and ``echo`` says of any image that the node has it."""
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "service").write_text("program")
    built = SimpleNamespace(folder=tmp_path / "built", artifact=tmp_path / "built" / "service")
    builder = SimpleNamespace(find=lambda *_: built)
    process = cast(ProcessLauncher, SimpleNamespace(builds_on=LocalHost(), builder=builder))
    record = BuildRecord(
        implementation="x",
        source_sha256="0" * 64,
        argv=(),
        build_s=None,
        artifact_bytes=7,
        artifact_sha256="1" * 64,
    )
    images = []
    for program in ("true", "echo"):
        store = NodeImages(host=LocalHost(), words=(str(shutil.which(program)),))
        service = load_study(PROJECT, "k8s-rounds").implementations["go-nethttp"]
        images.append(Images(process, tmp_path, store, {}).of_build(service, record))
    assert images[0][0] == images[1][0]
    assert images[0][1].import_s is not None and images[1][1].import_s is None


def test_who_cannot_import_images_is_told_what_to_set_and_a_registry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="REMATCH_REGISTRY: .*no longer pushed") as caught:
        store_for(LocalHost(), tmp_path / "k", {"REMATCH_REGISTRY": "me:secret@localhost:5000"})
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="REMATCH_CONTAINERD: no way to import images"):
        store_for(LocalHost(), tmp_path / "kubeconfig", {"REMATCH_CONTAINERD": str(tmp_path / "none")})


def test_an_open_connection_is_seen_in_its_network_and_no_other() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = {"pod": PodProcess(os.getpid(), 0, "127.0.0.1")}
        assert not established(os.getpid(), port)
        assert connected_through(Endpoint(host="127.0.0.1", port=port), found, port) == "pod"
        assert connected_through(Endpoint(host="127.0.0.1", port=port), found, port + 1) is None
    assert connected_through(Endpoint(host="127.0.0.1", port=port), found, port) is None


def test_samples_of_several_pods_are_kept_and_summed(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    head = "monotonic_s,role,rss_bytes,cpu_s,n_threads,n_descriptors\n"
    file.write_text(
        head
        + "1.0,pod-1,100,0.500000,3,7\n1.0,pod-2,50,0.250000,2,\n1.1,pod-1,110,0.600000,,\n1.1,generator,9,1.0,1,1\n"
    )
    with_sum(file, 2)
    assert file.read_text().splitlines()[3] == "1.0,service,150,0.750000,5,"
    assert sum(line.split(",")[1] == "service" for line in file.read_text().splitlines()) == 1
    at = ClockReading(wall_epoch_s=1.0, monotonic_s=1.0)
    one = ResourceReading(at=at, rss_bytes=1, pss_bytes=None, cpu_s=0.5, n_threads=1, n_descriptors=1)
    both = added([one, one.model_copy(update={"pss_bytes": 5})])
    assert (both.rss_bytes, both.pss_bytes, both.cpu_s) == (2, None, 1.0)
