# SPDX-License-Identifier: Apache-2.0
"""The cluster that a kubeconfig names, and the objects of a session in it: one client, a timeout, errors in one line.

Objects are typed and sent by server-side apply with one field manager. Everything made here stands in a namespace
that carries this project's label, and goes with it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
from lightkube import Client, KubeConfig
from lightkube.codecs import load_all_yaml
from lightkube.core.exceptions import ConfigError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Namespace, Pod, Service
from lightkube.types import CascadeType

from harness.errors import HostError
from harness.model import RuntimeSettings
from harness.places.launchers.cgroup import bytes_of
from harness.places.launchers.container import left_behind, owner
from harness.places.launchers.images import project_label

#: On every namespace and object that is made here; nothing without it is ever touched.
PROJECT, OWNER, INSTANCE = "rematch.io/project", "rematch.io/owner", "rematch.io/instance"
PORT = 8080
#: Where the trial's folder is seen inside; the service's working directory.
TRIAL = "/trial"
CONTAINER = "service"
MANIFEST = Path(__file__).parent / "templates" / "pods.yaml.jinja"

Resource = TypeVar("Resource")


@dataclass(frozen=True, kw_only=True)
class PodsSpec:
    """What pods are asked for, by ``runtime``: see ``docs/kubernetes.md``."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    image: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    user: int = field(default_factory=os.getuid)
    group: int = field(default_factory=os.getgid)
    grace_s: float
    runtime: RuntimeSettings

    @property
    def replicas(self) -> int:
        """How many pods there are in the end."""
        return self.runtime.replicas or 1

    @property
    def cpu_limit(self) -> float | None:
        """CPU limit of each pod, in CPUs; ``None``: not limited."""
        return self.runtime.cpu_limit or (float(self.runtime.cpus) if self.runtime.cpus else None)

    @property
    def cpu_request(self) -> float | None:
        """CPUs that are reserved for each pod: as many as the limit, unless it was asked for less."""
        return self.cpu_limit if self.runtime.cpu_request is None else self.runtime.cpu_request

    @property
    def memory_limit_bytes(self) -> int | None:
        """Memory limit of each pod, which is reserved too; ``None``: not limited."""
        return None if self.runtime.memory_limit is None else bytes_of(self.runtime.memory_limit)

    @property
    def at_first(self) -> int:
        """How many pods the deployment is made with."""
        return self.runtime.scale_from or self.replicas

    @property
    def selector(self) -> dict[str, str]:
        """The label by which its pods are chosen."""
        return {INSTANCE: self.labels[INSTANCE]}


def objects_of(spec: PodsSpec, *, node_port: bool = False) -> list[Any]:
    """Return the service that makes these pods one address (inside the cluster, and at a port of each node if asked
    for), and their deployment."""
    environment: list[Any] = [{"name": name, "value": value} for name, value in spec.environment.items()]
    if spec.replicas > 1:  # each writes its logs into a folder of its own
        environment.insert(0, {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
    words = [word.replace("$(", "$$(") for word in spec.argv]  # else Kubernetes expands $(NAME) in commands
    described = {
        "spec": spec, "node_port": node_port, "port": PORT, "trial": TRIAL, "words": words,
        "grace_s": max(1, round(spec.grace_s)), "environment": environment,
        "resources": container_resources(spec, boosted=spec.runtime.cpu_boost is not None),
    }  # fmt: skip
    return load_all_yaml(MANIFEST.read_text("utf-8"), context=described)


def container_resources(spec: PodsSpec, *, boosted: bool) -> dict[str, dict[str, str]]:
    """Return limits and requests; of memory as much is reserved as is allowed. ``boosted``: those of the start."""
    limit = spec.runtime.cpu_boost if boosted else spec.cpu_limit
    request = limit if spec.runtime.cpu_request is None else spec.cpu_request
    memory = {} if spec.memory_limit_bytes is None else {"memory": str(spec.memory_limit_bytes)}
    resources = {"limits": {**_cpu(limit), **memory}, "requests": {**_cpu(request), **memory}}
    return {what: amounts for what, amounts in resources.items() if amounts}


def _cpu(cpus: float | None) -> dict[str, str]:
    return {} if cpus is None else {"cpu": f"{round(cpus * 1000)}m"}


MANAGER = "rematch"
#: Of one request: to connect, to send, to read, to get a connection.
REQUEST_S = 10.0
#: A namespace goes when everything in it has gone; pods have their grace period first.
REMOVED_WITHIN_S = 90.0
_FORBIDDEN, _UNAUTHORIZED, _NOT_FOUND = 403, 401, 404


class ObjectNotFound(HostError):
    """The object that was asked for does not exist in the cluster."""


def kubeconfig() -> Path | None:
    """Return the kubeconfig that is asked for or usual, or ``None``: there is none."""
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    path = Path(named) if named else Path.home() / ".kube" / "config"
    return path if path.is_file() else None


class Cluster:
    """A cluster's API. ``transport``: what carries requests; ``None``: the network. Every method raises
    ``HostError``: no cluster answers, or the request is refused."""

    def __init__(self, file: Path, transport: httpx.BaseTransport | None = None) -> None:
        try:
            config = KubeConfig.from_file(file).get()  # type: ignore[no-untyped-call]  # the client's own
            if config is None:
                raise ConfigError("no current context")
            self.address = str(config.cluster.server)
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
        self._client._client._client.close()  # the public client has no close

    def version(self) -> str:
        """Return the version of the API server, which answers this to anybody."""
        with self.asking():
            return str(self._raw("/version")["gitVersion"])

    def proxy_mode(self) -> str | None:
        """Return kube-proxy's mode as it says itself on this node; ``None``: it does not answer."""
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.get("http://127.0.0.1:10249/proxyMode", timeout=2.0, trust_env=False)
            return answer.text.strip() or None
        return None

    def apply(self, wanted: Resource) -> Resource:
        """Have an object be as it is described, by server-side apply."""
        with self.asking():
            answer: Resource = self._client.apply(wanted, force=True)  # type: ignore[call-overload]  # any resource
            return answer

    def make_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a namespace with these labels."""
        self.apply(Namespace(metadata=ObjectMeta(name=name, labels=dict(labels))))

    def objects(
        self, kind: type[Resource], namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> list[Resource]:
        """Return the objects of a kind with these labels."""
        where: dict[str, Any] = {} if namespace is None else {"namespace": namespace}
        where |= {} if labels is None else {"labels": dict(labels)}
        with self.asking():
            return list(self._client.list(kind, **where))  # type: ignore[type-var]  # any resource

    def pods(self, spec: PodsSpec) -> list[Pod]:
        """Return the pods of a deployment."""
        return self.objects(Pod, spec.namespace, spec.selector)

    def log_lines(self, namespace: str, pod: str) -> Iterator[str]:
        """Yield what a pod's container writes until it ends, stdout and stderr together."""
        with self.asking():
            yield from self._client.log(pod, namespace=namespace, follow=True)

    def delete(self, kind: type[Any], name: str, namespace: str | None = None) -> None:
        """Delete an object and what belongs to it; one that is gone is no error."""
        where = {} if namespace is None else {"namespace": namespace}
        with contextlib.suppress(ObjectNotFound), self.asking():
            self._client.delete(kind, name, cascade=CascadeType.BACKGROUND, **where)  # type: ignore[call-overload]  # any resource

    def remove(self, spec: PodsSpec) -> None:
        """Delete an instance's objects as far as the cluster answers."""
        for kind in (Deployment, Service):
            with contextlib.suppress(HostError):
                self.delete(kind, spec.name, spec.namespace)

    def has_core_resource(self, name: str) -> bool:
        """Tell whether the API knows a resource of its core group, such as ``pods/resize``."""
        with self.asking():
            return any(item["name"] == name for item in self._raw("/api/v1")["resources"])

    def scale(self, spec: PodsSpec, replicas: int) -> None:
        """Have a deployment be of so many pods."""
        with self.asking():
            wanted = {"spec": {"replicas": replicas}}
            self._client.patch(Deployment.Scale, spec.name, wanted, namespace=spec.namespace)

    def resize(self, namespace: str, pod: str, resources: Mapping[str, Any]) -> None:
        """Have a running pod's container have other resources, without a restart."""
        containers = [{"name": CONTAINER, "resources": dict(resources)}]
        with self.asking():
            self._client.patch(Pod.Resize, pod, {"spec": {"containers": containers}}, namespace=namespace)

    def remove_namespaces(self, names: list[str]) -> None:
        """Delete namespaces and wait until they are gone. Raises HostError: one of them does not go."""
        for name in names:
            self.delete(Namespace, name)
        deadline = time.monotonic() + REMOVED_WITHIN_S
        while left := [name for name in names if self._is_there(name)]:
            if time.monotonic() > deadline:
                where = f"namespace {left[0]}"
                raise HostError(f"the cluster does not remove {where}: kubectl describe {where}")
            time.sleep(0.1)

    def _is_there(self, namespace: str) -> bool:
        with contextlib.suppress(ObjectNotFound), self.asking():
            self._client.get(Namespace, namespace)
            return True
        return False

    def sweep(self, root: Path) -> None:
        """Remove a project's namespaces whose harness is gone."""
        gone = []
        for item in self.objects(Namespace, labels={PROJECT: project_label(root)}):
            label = ((item.metadata.labels if item.metadata is not None else None) or {}).get(OWNER, "")
            if item.metadata is not None and left_behind(label.replace(".", ":")):
                gone.append(str(item.metadata.name))
        self.remove_namespaces(gone)

    def _raw(self, path: str) -> dict[str, Any]:
        """Return what the API says at a path that is no object's."""
        generic = self._client._client
        answer = generic._client.get(path)
        generic.raise_for_status(answer)  # type: ignore[no-untyped-call]  # it has no types
        try:
            document: dict[str, Any] = answer.json()
        except ValueError as problem:
            raise HostError(f"what answers at {self.address}{path} is no Kubernetes API") from problem
        return document

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Turn a refusal of the API into one line. Raises NotThere: the object does not exist; HostError: no
        permission, no answer, or another refusal."""
        where = f"the cluster at {self.address}"
        try:
            yield
        except httpx.HTTPStatusError as problem:
            code, message = problem.response.status_code, " ".join(str(problem).split())
            if code == _NOT_FOUND:
                raise ObjectNotFound(f"{where}: {message}") from problem
            text = {
                _FORBIDDEN: f"no permission on {where}: {message}",
                _UNAUTHORIZED: f"{where} does not accept the credentials of the kubeconfig",
            }.get(code, f"{where} refused a request: {message}")
            raise HostError(text) from problem
        except httpx.StreamError as problem:  # of a log that is refused the client has not read why
            raise HostError(f"{where} refused to show a log") from problem
        except httpx.HTTPError as problem:
            why = str(problem) or type(problem).__name__
            raise HostError(
                f"no cluster answers at {self.address} ({why}): start it, or set KUBECONFIG to one"
            ) from problem


def labels_here(root: Path) -> dict[str, str]:
    """Return what names this project and this very process on all that is made in a cluster."""
    return {PROJECT: project_label(root), OWNER: owner().replace(":", ".")}


def new_name(kind: str) -> str:
    """Return a name that no other object has: ``service-1f0c9a2b``."""
    return f"{kind}-{secrets.token_hex(4)}"
