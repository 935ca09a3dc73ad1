# SPDX-License-Identifier: Apache-2.0
"""Objects of a session in a cluster: namespace, deployment, service, ingress, autoscaler, and the job of a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Namespace, Service
from lightkube.resources.networking_v1 import Ingress

#: On every namespace and object that is made here; nothing without it is ever touched.
PROJECT, OWNER, INSTANCE = "rematch.io/project", "rematch.io/owner", "rematch.io/instance"
PORT = 8080
#: Where the trial's folder is seen inside; the service's working directory.
TRIAL = "/trial"
CONTAINER = "service"

Resource = TypeVar("Resource")


@dataclass(frozen=True, kw_only=True)
class PodsSpec:
    """What pods are asked for. CPU in CPUs, memory in bytes; ``None``: not limited, nothing reserved.

    ``cpu_boost``: the CPU limit at the start, from which pods are resized to ``cpu_limit``. ``autoscale_cpu``: share of
    ``cpu_request`` above which an autoscaler adds pods, up to ``replicas``; ``None``: no autoscaler. ``scale_from``:
    how many are asked for at first; ``None``: all, or one for an autoscaler to add to. ``pull_policy``: when a
    node pulls the image; by default it must have it.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    image: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    user: int
    group: int
    grace_s: float
    replicas: int = 1
    cpu_request: float | None = None
    cpu_limit: float | None = None
    cpu_boost: float | None = None
    autoscale_cpu: float | None = None
    scale_from: int | None = None
    memory_limit_bytes: int | None = None
    pull_policy: str = "Never"

    @property
    def at_first(self) -> int:
        """How many pods the deployment is made with."""
        if self.autoscale_cpu is not None:
            return 1
        return self.replicas if self.scale_from is None else self.scale_from

    @property
    def selector(self) -> dict[str, str]:
        """The label by which its pods are chosen."""
        return {INSTANCE: self.labels[INSTANCE]}


def namespace(name: str, labels: Mapping[str, str]) -> Namespace:
    """Return a namespace with these labels."""
    return _typed(Namespace, {"metadata": {"name": name, "labels": dict(labels)}})


def deployment(spec: PodsSpec) -> Deployment:
    """Return a deployment of these pods. It has no readiness probe: the harness asks the real path itself."""
    return _of_pods(
        Deployment,
        spec,
        {
            "replicas": spec.at_first,
            "selector": {"matchLabels": spec.selector},
            "template": _template(spec, "Always", TRIAL),
        },
    )


def job(spec: PodsSpec) -> Job:
    """Return a job that runs one pod to its end, once; its command names files by the paths that they have here."""
    template = _template(spec, "Never", str(spec.folder))
    return _of_pods(Job, spec, {"template": template, "backoffLimit": 0, "parallelism": 1, "completions": 1})


def autoscaler(spec: PodsSpec) -> HorizontalPodAutoscaler:
    """Return what adds pods to this deployment by the CPU time that they use, with the cluster's own pace."""
    target = {"type": "Utilization", "averageUtilization": round(100 * (spec.autoscale_cpu or 0.0))}
    return _of_pods(
        HorizontalPodAutoscaler,
        spec,
        {
            "minReplicas": 1,
            "maxReplicas": spec.replicas,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": spec.name},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    )


def service(spec: PodsSpec, *, node_port: bool) -> Service:
    """Return what makes these pods one address: inside the cluster, and at a port of each node if asked for."""
    ports = [{"port": PORT, "targetPort": PORT, "protocol": "TCP"}]
    kind = "NodePort" if node_port else "ClusterIP"
    return _of_pods(Service, spec, {"type": kind, "selector": spec.selector, "ports": ports})


def ingress(spec: PodsSpec, ingress_class: str) -> Ingress:
    """Return what has a controller of this class send every request to these pods' service."""
    backend = {"service": {"name": spec.name, "port": {"number": PORT}}}
    paths = [{"backend": backend, "path": "/", "pathType": "Prefix"}]
    return _of_pods(Ingress, spec, {"ingressClassName": ingress_class, "rules": [{"http": {"paths": paths}}]})


def container_resources(spec: PodsSpec, *, boosted: bool) -> dict[str, dict[str, str]]:
    """Return limits and requests; of memory as much is reserved as is allowed. ``boosted``: those of the start."""
    limit = spec.cpu_boost if boosted else spec.cpu_limit
    request = limit if spec.cpu_request is None else spec.cpu_request
    memory = {} if spec.memory_limit_bytes is None else {"memory": str(spec.memory_limit_bytes)}
    resources = {"limits": {**_cpu(limit), **memory}, "requests": {**_cpu(request), **memory}}
    return {what: amounts for what, amounts in resources.items() if amounts}


def _cpu(cpus: float | None) -> dict[str, str]:
    return {} if cpus is None else {"cpu": f"{round(cpus * 1000)}m"}


def _template(spec: PodsSpec, restart: str, mounted_at: str) -> dict[str, Any]:
    mount: dict[str, Any] = {"name": "trial", "mountPath": mounted_at}
    environment: list[dict[str, Any]] = [
        {"name": name, "value": value} for name, value in spec.environment.items()
    ]
    if spec.replicas > 1:  # each writes its logs into a folder of its own
        own_name = {"fieldRef": {"fieldPath": "metadata.name"}}
        environment.insert(0, {"name": "POD_NAME", "valueFrom": own_name})
        mount["subPathExpr"] = "$(POD_NAME)"
    words = [word.replace("$(", "$$(") for word in spec.argv]  # else Kubernetes expands $(NAME) in commands
    container = {
        "name": CONTAINER,
        "image": spec.image,
        "imagePullPolicy": spec.pull_policy,
        "command": words[:1],
        "args": words[1:],
        "env": environment,
        "workingDir": mounted_at,
        "resources": container_resources(spec, boosted=spec.cpu_boost is not None),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [mount],
    }
    volume = {"name": "trial", "hostPath": {"path": str(spec.folder), "type": "DirectoryOrCreate"}}
    pod = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": max(1, round(spec.grace_s)),
        "securityContext": {"runAsUser": spec.user, "runAsGroup": spec.group},
        "containers": [container],
        "volumes": [volume],
    }
    return {"metadata": {"labels": dict(spec.labels)}, "spec": pod}


def _of_pods(kind: type[Resource], spec: PodsSpec, described: Mapping[str, Any]) -> Resource:
    metadata = {"name": spec.name, "namespace": spec.namespace, "labels": dict(spec.labels)}
    return _typed(kind, {"metadata": metadata, "spec": described})


def _typed(kind: type[Resource], document: Mapping[str, Any]) -> Resource:
    typed: Resource = kind.from_dict(document)  # type: ignore[attr-defined]  # every resource of the client has it
    return typed
