# SPDX-License-Identifier: Apache-2.0
"""The cluster that a kubeconfig names: one client, a timeout on every request, and errors in one line.

Objects are typed and sent by server-side apply with one field manager. Everything made here stands in a namespace
that carries this project's label, and goes with it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.errors import HostError
from harness.launchers.kubernetes_objects import CONTAINER

if TYPE_CHECKING:
    import httpx
    from lightkube import Client
    from lightkube.models.core_v1 import ResourceRequirements, ServicePort
    from lightkube.resources.apps_v1 import Deployment
    from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler
    from lightkube.resources.batch_v1 import Job
    from lightkube.resources.core_v1 import Event, Namespace, Node, Pod, Service
    from lightkube.resources.networking_v1 import IngressClass

MANAGER = "rematch"
#: Of one request: to connect, to send, to read, to get a connection.
REQUEST_S = 10.0
#: A namespace goes when everything in it has gone; pods have their grace period first.
REMOVED_WITHIN_S = 90.0
_FORBIDDEN, _UNAUTHORIZED, _NOT_FOUND, _UNAVAILABLE = 403, 401, 404, 503

#: Of a namespace that is being removed: an API of the cluster does not answer; something is left inside.
_AWAY, _CONTENT = "NamespaceDeletionDiscoveryFailure", "NamespaceContentRemaining"

AnObject = TypeVar("AnObject")


def kubeconfig() -> Path | None:
    """Return the kubeconfig that is asked for or usual, or ``None``: there is none."""
    said = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    path = Path(said) if said else Path.home() / ".kube" / "config"
    return path if path.is_file() else None


class Cluster:
    """A cluster's API. ``transport``: what carries requests; ``None``: the network."""

    def __init__(self, file: Path, transport: httpx.BaseTransport | None = None) -> None:
        import httpx
        from lightkube import Client, KubeConfig
        from lightkube.core.exceptions import ConfigError

        try:
            config = KubeConfig.from_file(file).get()  # type: ignore[no-untyped-call]  # the client's own
            if config is None:
                raise ConfigError("no current context")
            self.address = str(config.cluster.server)
            self.context = str(config.context_name)
            self._client: Client = Client(
                config=config,
                namespace="default",
                timeout=httpx.Timeout(REQUEST_S),
                field_manager=MANAGER,
                trust_env=False,
                transport=transport,  # type: ignore[arg-type]  # None is its default
            )
        except (ConfigError, OSError, ValueError, KeyError, TypeError) as problem:
            raise HostError(f"{file}: no kubeconfig that can be used: {problem}") from problem

    def close(self) -> None:
        """Close the connections."""
        with contextlib.suppress(AttributeError):  # a release of the client that has no such method
            self._client._client._client.close()  # the public client has no close

    def version(self) -> str:
        """Return the version of the API server, which answers this to anybody.

        Raises:
            HostError: no cluster answers.
        """
        with self.asking("get", "version"):
            return str(self._raw("/version")["gitVersion"])

    def proxy_mode(self, address: str = "127.0.0.1") -> str | None:
        """Return kube-proxy's mode as it says itself on this node; ``None``: it does not answer."""
        import httpx

        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.get(f"http://{address}:10249/proxyMode", timeout=2.0, trust_env=False)
            return answer.text.strip() or None
        return None

    def nodes(self) -> list[Node]:
        """Return the nodes."""
        from lightkube.resources.core_v1 import Node

        with self.asking("list", "nodes"):
            return list(self._client.list(Node))

    def apply(self, made: AnObject) -> AnObject:
        """Have an object be as it is described, by server-side apply.

        Raises:
            HostError: no cluster answers, or it is not permitted.
        """
        with self.asking("patch", _resource_of(made)):
            answer: AnObject = self._client.apply(made, force=True)  # type: ignore[call-overload]  # any resource
            return answer

    def pods(self, namespace: str, labels: dict[str, str]) -> list[Pod]:
        """Return the pods with these labels."""
        from lightkube.resources.core_v1 import Pod

        with self.asking("list", "pods"):
            return list(self._client.list(Pod, namespace=namespace, labels=dict(labels)))

    def events(self, namespace: str) -> list[Event]:
        """Return all events of a namespace."""
        from lightkube.resources.core_v1 import Event

        with self.asking("list", "events"):
            return list(self._client.list(Event, namespace=namespace))

    def job(self, namespace: str, name: str) -> Job | None:
        """Return a job, or ``None``: it is gone."""
        from lightkube.resources.batch_v1 import Job

        with self.absent_is_none(), self.asking("get", "jobs.batch"):
            return self._client.get(Job, name, namespace=namespace)
        return None

    def deployment(self, namespace: str, name: str) -> Deployment | None:
        """Return a deployment, or ``None``: it is gone."""
        from lightkube.resources.apps_v1 import Deployment

        with self.absent_is_none(), self.asking("get", "deployments.apps"):
            return self._client.get(Deployment, name, namespace=namespace)
        return None

    def autoscaler(self, namespace: str, name: str) -> HorizontalPodAutoscaler | None:
        """Return what adds pods to a deployment, or ``None``: it is gone."""
        from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler

        with self.absent_is_none(), self.asking("get", "horizontalpodautoscalers.autoscaling"):
            return self._client.get(HorizontalPodAutoscaler, name, namespace=namespace)
        return None

    def log_lines(self, namespace: str, pod: str, *, follow: bool = False) -> Iterator[str]:
        """Yield what a pod's container said, stdout and stderr together; ``follow``: until it ends."""
        with self.asking("get", "pods/log"):
            yield from self._client.log(pod, namespace=namespace, follow=follow)

    def delete(self, kind: Any, name: str, namespace: str | None = None) -> None:
        """Delete an object and what belongs to it; one that is gone is no error."""
        from lightkube.types import CascadeType

        where = {} if namespace is None else {"namespace": namespace}
        with self.absent_is_none(), self.asking("delete", _resource_of(kind)):
            self._client.delete(kind, name, cascade=CascadeType.BACKGROUND, **where)  # type: ignore[call-overload]  # any resource

    def has_core_resource(self, name: str) -> bool:
        """Tell whether the API knows a resource of its core group, such as ``pods/resize``."""
        with self.asking("get", "api/v1"):
            return any(item["name"] == name for item in self._raw("/api/v1")["resources"])

    def not_permitted(self, verb: str, resource: str) -> str | None:
        """Return that a verb is not permitted, asked before it is tried; ``None``: it is, or the API does not say.

        ``resource``: as roles name it, ``pods/resize`` or ``ingresses.networking.k8s.io``.
        """
        from lightkube.models.authorization_v1 import ResourceAttributes, SelfSubjectAccessReviewSpec
        from lightkube.resources.authorization_v1 import SelfSubjectAccessReview

        (name, _, part), group = resource.partition(".")[0].partition("/"), resource.partition(".")[2]
        asked = ResourceAttributes(verb=verb, resource=name, group=group, subresource=part)
        review = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resourceAttributes=asked))
        with contextlib.suppress(HostError), self.asking("create", "selfsubjectaccessreviews"):
            said = self._client.create(review).status
            if said is not None and not said.allowed:
                return f"no permission on the cluster at {self.address}: verb {verb}, resource {resource}"
        return None

    def has_metrics(self) -> bool:
        """Tell whether the cluster serves what its pods use (``metrics.k8s.io``)."""
        with self.absent_is_none(), self.asking("get", "apis/metrics.k8s.io"):
            # nobody is registered, or who is does not answer
            result = self._raw("/apis/metrics.k8s.io/v1beta1", absent=(_NOT_FOUND, _UNAVAILABLE))
            return any(item["name"] == "pods" for item in result["resources"])
        return False

    def scale(self, namespace: str, deployment: str, replicas: int) -> None:
        """Have a deployment be of so many pods."""
        from lightkube.resources.apps_v1 import Deployment

        with self.asking("patch", "deployments.apps/scale"):
            self._client.patch(
                Deployment.Scale, deployment, {"spec": {"replicas": replicas}}, namespace=namespace
            )

    def resize(self, namespace: str, pod: str, resources: ResourceRequirements) -> None:
        """Have a running pod's container have other resources, without a restart."""
        from lightkube.resources.core_v1 import Pod

        named = {"limits": resources.limits, "requests": resources.requests}
        changed = {"name": CONTAINER, "resources": {what: cpus for what, cpus in named.items() if cpus}}
        with self.asking("patch", "pods/resize"):
            self._client.patch(Pod.Resize, pod, {"spec": {"containers": [changed]}}, namespace=namespace)

    def ingress_classes(self) -> list[IngressClass]:
        """Return the classes of ingresses that controllers of this cluster serve."""
        from lightkube.resources.networking_v1 import IngressClass

        with self.asking("list", "ingressclasses.networking.k8s.io"):
            return list(self._client.list(IngressClass))

    def ingress_address(self, namespace: str, name: str) -> str | None:
        """Return where a controller serves an ingress; ``None``: it does not yet."""
        from lightkube.resources.networking_v1 import Ingress

        with self.asking("get", "ingresses.networking.k8s.io"):
            result = self._client.get(Ingress, name, namespace=namespace)
        balancer = result.status.loadBalancer if result.status is not None else None
        places = [
            item.ip or item.hostname for item in (balancer.ingress if balancer is not None else None) or ()
        ]
        return next((place for place in places if place), None)

    def namespaces(self, labels: dict[str, str]) -> list[Namespace]:
        """Return the namespaces with these labels."""
        from lightkube.resources.core_v1 import Namespace

        with self.asking("list", "namespaces"):
            return list(self._client.list(Namespace, labels=dict(labels)))

    def remove_namespaces(self, names: list[str]) -> None:
        """Delete namespaces and wait until they are gone, or empty where the cluster cannot end them yet.

        Raises:
            HostError: one of them does not go.
        """
        from lightkube.resources.core_v1 import Namespace

        for name in names:
            self.delete(Namespace, name)
        deadline = time.monotonic() + REMOVED_WITHIN_S
        left = list(names)
        while left:
            remains = {name: said for name in left if (said := self._remains(name)) is not None}
            left = list(remains)
            if left and time.monotonic() > deadline:
                why = remains[left[0]] or f"kubectl get all -n {left[0]}"
                raise HostError(f"the cluster does not remove namespace {left[0]}: {why}")
            time.sleep(0.1 if left else 0.0)

    def _raw(self, path: str, absent: tuple[int, ...] = (_NOT_FOUND,)) -> dict[str, Any]:
        """Return what the API says at a path that is no object's. ``absent``: statuses that mean nobody serves it."""
        http: httpx.Client = self._client._client._client
        answer = http.get(path)
        if answer.status_code in absent:
            raise NotThere(f"the cluster at {self.address} does not serve {path}")
        answer.raise_for_status()
        try:
            said: dict[str, Any] = answer.json()
        except ValueError as problem:
            raise HostError(f"what answers at {self.address}{path} is no Kubernetes API") from problem
        return said

    def _remains(self, name: str) -> str | None:
        """Return what the cluster says of a namespace that it is to remove; ``None``: it is gone, or empty.

        While an API that is registered is away, such as that of metrics, a cluster empties namespaces and ends none.
        """
        from lightkube.resources.core_v1 import Namespace

        with self.absent_is_none(), self.asking("get", "namespaces"):
            result = self._client.get(Namespace, name)
            conditions = (result.status.conditions if result.status is not None else None) or ()
            true = {
                condition.type: " ".join((condition.message or "").split())
                for condition in conditions
                if condition.status == "True"
            }
            known = {condition.type for condition in conditions}
            if _AWAY in true and _CONTENT in known and _CONTENT not in true:
                return None
            return "; ".join(true.values())
        return None

    @contextlib.contextmanager
    def absent_is_none(self) -> Iterator[None]:
        """Go on where the object that is asked for is not there."""
        try:
            yield
        except NotThere:
            return

    @contextlib.contextmanager
    def asking(self, verb: str, resource: str) -> Iterator[None]:
        """Say in one line what the API refused. ``resource``: as roles name it.

        Raises:
            HostError: no permission, no answer, or another refusal.
            NotThere: the object does not exist.
        """
        import httpx

        try:
            yield
        except httpx.HTTPStatusError as problem:
            code, said = _refusal(problem)
            if code == _NOT_FOUND:
                raise NotThere(f"the cluster at {self.address}: {said}") from problem
            if code == _FORBIDDEN:
                raise HostError(
                    f"no permission on the cluster at {self.address}: verb {verb}, resource {resource} ({said})"
                ) from problem
            if code == _UNAUTHORIZED:
                raise HostError(
                    f"the cluster at {self.address} does not accept the credentials of the kubeconfig"
                ) from problem
            raise HostError(
                f"the cluster at {self.address} refused to {verb} {resource}: {said}"
            ) from problem
        except httpx.StreamError as problem:  # of a log that is refused the client has not read why
            raise HostError(f"the cluster at {self.address} refused to {verb} {resource}") from problem
        except httpx.HTTPError as problem:
            said = str(problem) or type(problem).__name__
            raise HostError(
                f"no cluster answers at {self.address} ({said}): start it, or set KUBECONFIG to one that runs"
            ) from problem


class NotThere(HostError):
    """The object that was asked for does not exist in the cluster."""


def _refusal(problem: httpx.HTTPStatusError) -> tuple[int, str]:
    """The status of a refusal and its message in one line; a proxy in front of an API answers without one."""
    import httpx

    answer = problem.response
    said = answer.reason_phrase
    with contextlib.suppress(ValueError, KeyError, TypeError, httpx.StreamError):
        said = str(answer.json()["message"] or said)
    return answer.status_code, " ".join(said.split())


def port_of(service: Service) -> ServicePort:
    """Return the one port of a service as the cluster has it."""
    ports = service.spec.ports if service.spec is not None else None
    if not ports:
        raise HostError("the cluster made a service without a port")
    return ports[0]


def _resource_of(made: object) -> str:
    """As roles name it: ``deployments.apps``."""
    kind = made if isinstance(made, type) else type(made)
    info = kind._api_info  # type: ignore[attr-defined]  # every resource of the client has it
    group = info.resource.group
    return f"{info.plural}.{group}" if group else str(info.plural)


__all__ = ["MANAGER", "Cluster", "NotThere", "kubeconfig", "port_of"]
