# SPDX-License-Identifier: Apache-2.0
"""The objects of a session in a cluster, as typed objects: namespace, deployment, service, and the job of a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightkube.models.core_v1 import Container, PodTemplateSpec, ResourceRequirements
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


@dataclass(frozen=True, kw_only=True)
class PodsSpec:
    """What pods are asked for. CPU in CPUs, memory in bytes; ``None``: not limited, nothing reserved.

    ``cpu_boost``: the CPU limit at the start, from which pods are resized to ``cpu_limit``. ``autoscale_cpu``: share of
    ``cpu_request`` above which an autoscaler adds pods, up to ``replicas``; ``None``: nobody adds any. ``scale_from``:
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


def namespace(name: str, labels: Mapping[str, str]) -> Namespace:
    """Return a namespace with these labels."""
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import Namespace

    return Namespace(metadata=ObjectMeta(name=name, labels=dict(labels)))


def deployment(spec: PodsSpec) -> Deployment:
    """Return a deployment of these pods. It has no readiness probe: the harness asks the real path itself."""
    from lightkube.models.apps_v1 import DeploymentSpec
    from lightkube.models.meta_v1 import LabelSelector, ObjectMeta
    from lightkube.resources.apps_v1 import Deployment

    return Deployment(
        metadata=ObjectMeta(name=spec.name, namespace=spec.namespace, labels=dict(spec.labels)),
        spec=DeploymentSpec(
            replicas=spec.at_first,
            selector=LabelSelector(matchLabels={INSTANCE: spec.labels[INSTANCE]}),
            template=_template(spec, "Always"),
        ),
    )


def autoscaler(spec: PodsSpec) -> HorizontalPodAutoscaler:
    """Return what adds pods to this deployment by the CPU time that they use, with the cluster's own pace."""
    from lightkube.models.autoscaling_v2 import (
        CrossVersionObjectReference,
        HorizontalPodAutoscalerSpec,
        MetricSpec,
        MetricTarget,
        ResourceMetricSource,
    )
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler

    target = MetricTarget(type="Utilization", averageUtilization=round(100 * (spec.autoscale_cpu or 0.0)))
    return HorizontalPodAutoscaler(
        metadata=ObjectMeta(name=spec.name, namespace=spec.namespace, labels=dict(spec.labels)),
        spec=HorizontalPodAutoscalerSpec(
            minReplicas=1,
            maxReplicas=spec.replicas,
            scaleTargetRef=CrossVersionObjectReference(
                apiVersion="apps/v1", kind="Deployment", name=spec.name
            ),
            metrics=[MetricSpec(type="Resource", resource=ResourceMetricSource(name="cpu", target=target))],
        ),
    )


def service(spec: PodsSpec, *, node_port: bool) -> Service:
    """Return what makes these pods one address: inside the cluster, and at a port of each node if asked for."""
    from lightkube.models.core_v1 import ServicePort, ServiceSpec
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.core_v1 import Service

    return Service(
        metadata=ObjectMeta(name=spec.name, namespace=spec.namespace, labels=dict(spec.labels)),
        spec=ServiceSpec(
            type="NodePort" if node_port else "ClusterIP",
            selector={INSTANCE: spec.labels[INSTANCE]},
            ports=[ServicePort(port=PORT, targetPort=PORT, protocol="TCP")],
        ),
    )


def job(spec: PodsSpec) -> Job:
    """Return a job that runs one pod to its end, once."""
    from lightkube.models.batch_v1 import JobSpec
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.resources.batch_v1 import Job

    return Job(
        metadata=ObjectMeta(name=spec.name, namespace=spec.namespace, labels=dict(spec.labels)),
        spec=JobSpec(template=_template(spec, "Never"), backoffLimit=0, parallelism=1, completions=1),
    )


def ingress(spec: PodsSpec, ingress_class: str) -> Ingress:
    """Return what has a controller of this class send every request to these pods' service."""
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.models.networking_v1 import (
        HTTPIngressPath,
        HTTPIngressRuleValue,
        IngressBackend,
        IngressRule,
        IngressServiceBackend,
        IngressSpec,
        ServiceBackendPort,
    )
    from lightkube.resources.networking_v1 import Ingress

    to = IngressBackend(service=IngressServiceBackend(name=spec.name, port=ServiceBackendPort(number=PORT)))
    paths = HTTPIngressRuleValue(paths=[HTTPIngressPath(backend=to, path="/", pathType="Prefix")])
    return Ingress(
        metadata=ObjectMeta(name=spec.name, namespace=spec.namespace, labels=dict(spec.labels)),
        spec=IngressSpec(ingressClassName=ingress_class, rules=[IngressRule(http=paths)]),
    )


def _template(spec: PodsSpec, restart: str) -> PodTemplateSpec:
    from lightkube.models.core_v1 import (
        HostPathVolumeSource,
        PodSecurityContext,
        PodSpec,
        PodTemplateSpec,
        Volume,
    )
    from lightkube.models.meta_v1 import ObjectMeta

    # a job sees the load's folder by the name that it has here: its command names files by it
    return PodTemplateSpec(
        metadata=ObjectMeta(labels=dict(spec.labels)),
        spec=PodSpec(
            automountServiceAccountToken=False,
            enableServiceLinks=False,
            restartPolicy=restart,
            terminationGracePeriodSeconds=max(1, round(spec.grace_s)),
            securityContext=PodSecurityContext(runAsUser=spec.user, runAsGroup=spec.group),
            containers=[_container(spec, str(spec.folder) if restart == "Never" else TRIAL)],
            volumes=[
                Volume(
                    name="trial",
                    hostPath=HostPathVolumeSource(path=str(spec.folder), type="DirectoryOrCreate"),
                )
            ],
        ),
    )


def _container(spec: PodsSpec, seen_at: str) -> Container:
    from lightkube.models.core_v1 import (
        Container,
        EnvVar,
        EnvVarSource,
        ObjectFieldSelector,
        VolumeMount,
    )

    several = spec.replicas > 1
    environment = [EnvVar(name=name, value=value) for name, value in spec.environment.items()]
    if several:  # each writes its logs into a folder of its own
        own_name = EnvVarSource(fieldRef=ObjectFieldSelector(fieldPath="metadata.name"))
        environment.insert(0, EnvVar(name="POD_NAME", valueFrom=own_name))
    return Container(
        name=CONTAINER,
        image=spec.image,
        imagePullPolicy=spec.pull_policy,
        command=[_literal(word) for word in spec.argv[:1]],
        args=[_literal(word) for word in spec.argv[1:]],
        env=environment,
        workingDir=seen_at,
        resources=container_resources(spec, boosted=spec.cpu_boost is not None),
        terminationMessagePolicy="FallbackToLogsOnError",
        volumeMounts=[
            VolumeMount(name="trial", mountPath=seen_at, subPathExpr="$(POD_NAME)" if several else None)
        ],
    )


def container_resources(spec: PodsSpec, *, boosted: bool) -> ResourceRequirements:
    """Return limits and requests; of memory as much is reserved as is allowed. ``boosted``: those of the start."""
    from lightkube.models.core_v1 import ResourceRequirements

    cpu_limit = spec.cpu_boost if boosted else spec.cpu_limit
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    if cpu_limit is not None:
        limits["cpu"] = _milli(cpu_limit)
    asked = cpu_limit if spec.cpu_request is None else spec.cpu_request
    if asked is not None:
        requests["cpu"] = _milli(asked)
    if spec.memory_limit_bytes is not None:
        limits["memory"] = requests["memory"] = str(spec.memory_limit_bytes)
    return ResourceRequirements(limits=limits or None, requests=requests or None)


def _milli(cpus: float) -> str:
    return f"{round(cpus * 1000)}m"


def _literal(word: str) -> str:
    """Kubernetes expands ``$(NAME)`` in commands; ``$$(NAME)`` is the text itself."""
    return word.replace("$(", "$$(")


__all__ = [
    "CONTAINER",
    "INSTANCE",
    "OWNER",
    "PORT",
    "PROJECT",
    "TRIAL",
    "PodsSpec",
    "autoscaler",
    "container_resources",
    "deployment",
    "ingress",
    "job",
    "namespace",
    "service",
]
