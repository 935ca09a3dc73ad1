# SPDX-License-Identifier: Apache-2.0
"""Answers of a real API server, recorded once and replayed: the client sends the very requests, and reads the answers.

    REMATCH_RECORD=1 KUBECONFIG=... python -m harness.tests.support.recorded_cluster

records them anew. Names are fixed, so that a replay sends the same bytes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from lightkube.resources.core_v1 import Event

from harness.errors import HostError
from harness.launchers.kubernetes_cluster import (
    INSTANCE,
    Cluster,
    PodsSpec,
    container_resources,
    deployment,
    kubeconfig,
    namespace,
    port_of,
    service,
)
from harness.launchers.kubernetes_pods import condition_moments, event_moments, name_of, trouble, uid_of
from harness.model import RuntimeSettings

RECORDED = Path(__file__).parents[1] / "golden" / "kubernetes" / "answers.json"
NAMESPACE = "rematch-recorded"
NOBODY = {"Impersonate-User": "nobody"}
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: recorded
contexts: [{name: recorded, context: {cluster: recorded, user: recorded}}]
clusters: [{name: recorded, cluster: {server: "http://recorded.invalid"}}]
users: [{name: recorded, user: {}}]
"""


def pods(name: str, **runtime: Any) -> PodsSpec:
    """Return what pods of an image that no node has are asked for."""
    return PodsSpec(
        name=name,
        namespace=NAMESPACE,
        labels={INSTANCE: name},
        image="docker.io/rematch/absent:1",
        argv=("/service/service", "--word", "$(NOT_EXPANDED)"),
        environment={"GOMAXPROCS": "1"},
        folder=Path("/tmp/rematch-recorded"),
        user=0,
        group=0,
        grace_s=2.0,
        runtime=RuntimeSettings.model_validate(runtime),
    )


def scenario(cluster: Cluster, nobody: Cluster, settle: Callable[[], None]) -> SimpleNamespace:
    """Walk through all that a launch asks of an API server, and what can go wrong; return what was read."""
    found = SimpleNamespace()
    found.version = cluster.version()
    cluster.apply(namespace(NAMESPACE, {"rematch.io/project": "recorded"}))
    several = pods("absent", replicas=2, cpu_limit=0.5, cpu_request=0.01, memory_limit="64m")
    found.node_port = int(port_of(cluster.apply(service(several, node_port=True))).nodePort or 0)
    cluster.apply(deployment(several))
    cluster.apply(deployment(pods("greedy", cpu_limit=1000.0)))
    boosted = pods("boosted", cpu_limit=0.5, cpu_boost=1.0, cpu_request=0.01)
    cluster.apply(deployment(boosted))
    found.resizable = cluster.has_core_resource("pods/resize")
    settle()
    found.limits = [_cpu_limit(cluster)]
    (pod,) = cluster.pods(pods("boosted"))
    cluster.resize(NAMESPACE, name_of(pod), container_resources(boosted, boosted=False))
    found.limits.append(_cpu_limit(cluster))
    seen = cluster.pods(several)
    found.absent = [trouble(pod) for pod in seen]
    found.conditions = condition_moments(seen[0])
    found.events = event_moments(cluster.objects(Event, NAMESPACE), uid_of(seen[0]))
    found.unscheduled = [trouble(pod) for pod in cluster.pods(pods("greedy"))]
    for asked, note in ((nobody, "forbidden"), (cluster, "refused")):
        wrong = pods("Not-A-Name" if note == "refused" else "absent")
        try:
            asked.apply(deployment(wrong))
        except HostError as problem:
            setattr(found, note, str(problem))
    cluster.remove_namespaces([NAMESPACE])
    return found


def _cpu_limit(cluster: Cluster) -> str:
    (pod,) = cluster.pods(pods("boosted"))
    resources = pod.spec.containers[0].resources if pod.spec is not None else None
    return str((resources.limits or {}).get("cpu")) if resources is not None else ""


class Replay(httpx.BaseTransport):
    """Answers each request with what was recorded for the next one, and refuses any other.

    A request that waits is repeated as often as it likes: its last recorded answer holds.
    """

    def __init__(self, exchanges: list[dict[str, Any]]) -> None:
        self.exchanges = exchanges
        self.at = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        known = self.exchanges[self.at]
        self.at += 1
        assert asked(request) == known["request"]
        return httpx.Response(known["status"], json=known["answer"])


class Recording(httpx.BaseTransport):
    """Sends requests on, and keeps them with their answers."""

    def __init__(
        self, inner: httpx.BaseTransport, exchanges: list[dict[str, Any]], more: dict[str, str]
    ) -> None:
        self._inner, self._exchanges, self._more = inner, exchanges, more

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers.update(self._more)
        answer = self._inner.handle_request(request)
        answer.read()
        said = {"request": asked(request), "status": answer.status_code, "answer": json.loads(answer.content)}
        self._exchanges.append(said)
        return httpx.Response(answer.status_code, json=said["answer"])


def asked(request: httpx.Request) -> dict[str, Any]:
    """Return what makes a request the same as another."""
    body = request.read()
    return {
        "method": request.method,
        "target": request.url.raw_path.decode(),
        "type": request.headers.get("content-type"),
        "body": json.loads(body) if body else None,
    }


def record() -> None:
    """Walk through the scenario with the cluster of KUBECONFIG, and keep what it answered."""
    from lightkube import KubeConfig
    from lightkube.config.client_adapter import verify_cluster

    file = kubeconfig()
    assert file is not None
    config = KubeConfig.from_file(file).get()  # type: ignore[no-untyped-call]  # the client's own
    verify = verify_cluster(config.cluster, config.user, config.abs_file)
    exchanges: list[dict[str, Any]] = []
    clusters = [
        Cluster(file, Recording(httpx.HTTPTransport(verify=verify), exchanges, more)) for more in ({}, NOBODY)
    ]
    scenario(clusters[0], clusters[1], lambda: time.sleep(8.0))
    deleted = [one for one in exchanges if one["request"]["target"].endswith(f"/namespaces/{NAMESPACE}")]
    waited = [one for one in deleted if one["request"]["method"] == "GET" and one["status"] == 200]
    kept = [one for one in exchanges if not any(one is again for again in waited)]
    for one in kept:
        _shorten(one["answer"])
    RECORDED.write_text(json.dumps(kept, indent=1) + "\n")


def _shorten(answer: Any) -> None:
    """Leave out who manages which field, and all of resources but names: it is long, and nobody reads it."""
    if isinstance(answer, dict):
        answer.pop("managedFields", None)
        if answer.get("kind") == "APIResourceList":
            answer["resources"] = [{"name": one["name"]} for one in answer["resources"]]
        for value in answer.values():
            _shorten(value)
    elif isinstance(answer, list):
        for value in answer:
            _shorten(value)


if __name__ == "__main__" and os.environ.get("REMATCH_RECORD") == "1":
    record()
