# SPDX-License-Identifier: Apache-2.0
"""Answers of a real API server, recorded once and replayed: the client sends the very requests, and reads the answers.
Names are fixed, so that a replay sends the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from lightkube.resources.core_v1 import Event

from harness.errors import HostError
from harness.model import RuntimeSettings
from harness.places.launchers.kubernetes_cluster import (
    INSTANCE,
    Cluster,
    PodsSpec,
    container_resources,
    objects_of,
)
from harness.places.launchers.kubernetes_pods import (
    condition_moments,
    event_moments,
    name_of,
    trouble,
    uid_of,
)

RECORDED = Path(__file__).parents[1] / "golden" / "kubernetes" / "answers.json"
NAMESPACE = "rematch-recorded"
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


def scenario(cluster: Cluster, nobody: Cluster) -> SimpleNamespace:
    """Walk through all that a launch asks of an API server, and what can go wrong; return what was read."""
    found = SimpleNamespace()
    found.version = cluster.version()
    cluster.make_namespace(NAMESPACE, {"rematch.io/project": "recorded"})
    several = pods("absent", replicas=2, cpu_limit=0.5, cpu_request=0.01, memory_limit="64m")
    service, deployment = objects_of(several, node_port=True)
    found.node_port = int(cluster.apply(service).spec.ports[0].nodePort or 0)
    cluster.apply(deployment)
    cluster.apply(objects_of(pods("greedy", cpu_limit=1000.0))[1])
    boosted = pods("boosted", cpu_limit=0.5, cpu_boost=1.0, cpu_request=0.01)
    cluster.apply(objects_of(boosted)[1])
    found.resizable = cluster.has_core_resource("pods/resize")
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
            asked.apply(objects_of(wrong)[1])
        except HostError as problem:
            setattr(found, note, str(problem))
    cluster.remove_namespaces([NAMESPACE])
    return found


def _cpu_limit(cluster: Cluster) -> str:
    (pod,) = cluster.pods(pods("boosted"))
    resources = pod.spec.containers[0].resources if pod.spec is not None else None
    return str((resources.limits or {}).get("cpu")) if resources is not None else ""


class Replay(httpx.BaseTransport):
    """Answers each request with what was recorded for the next one, and refuses any other."""

    def __init__(self, exchanges: list[dict[str, Any]]) -> None:
        self.exchanges = exchanges
        self.at = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        known = self.exchanges[self.at]
        self.at += 1
        assert asked(request) == known["request"]
        return httpx.Response(known["status"], json=known["answer"])


def asked(request: httpx.Request) -> dict[str, Any]:
    """Return what makes a request the same as another."""
    body = request.read()
    return {
        "method": request.method,
        "target": request.url.raw_path.decode(),
        "type": request.headers.get("content-type"),
        "body": json.loads(body) if body else None,
    }
