# SPDX-License-Identifier: Apache-2.0
"""Where a load reaches an instance's pods: inside the cluster, at a port of the node, or through an ingress."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from harness.errors import HostError, TrialFailure
from harness.launchers.kubernetes_cluster import Cluster, port_of
from harness.launchers.kubernetes_objects import PORT, PodsSpec, ingress
from harness.model import Outcome, RuntimeSettings
from harness.model.endpoint import Endpoint

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Service
    from lightkube.resources.networking_v1 import IngressClass

Access = Literal["cluster-ip", "node-port", "ingress"]
LOOPBACK = "127.0.0.1"
INGRESS_PORT = 80
#: Controllers write where they serve an ingress once a minute.
SERVED_WITHIN_S = 90.0
_NO_CONTROLLER = "the cluster has no ingress controller (no IngressClass)"
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


@dataclass(frozen=True)
class Controller:
    """A class of ingresses, and who serves it."""

    ingress_class: str
    controller: str

    @property
    def words(self) -> str:
        """As the record has it: ``nginx (k8s.io/ingress-nginx)``."""
        return f"{self.ingress_class} ({self.controller})"


def controller_of(cluster: Cluster) -> Controller | None:
    """Return the cluster's own choice of a controller, else the first by name; ``None``: it has none.

    Raises:
        HostError: no cluster answers, or it is not permitted.
    """
    return chosen(cluster.ingress_classes())


def chosen(classes: Sequence[IngressClass]) -> Controller | None:
    """Return the class that is marked as the default, else the first by name; ``None``: there is none."""
    known = [
        (
            (item.metadata.annotations or {}).get(_DEFAULT_CLASS) != "true",
            str(item.metadata.name),
            str(item.spec.controller if item.spec is not None else None),
        )
        for item in classes
        if item.metadata is not None
    ]
    return Controller(*min(known)[1:]) if known else None


def no_ingress(cluster: Cluster, runtime: RuntimeSettings) -> str | None:
    """Return why a load cannot come through an ingress in this cluster, or ``None``."""
    if runtime.access != "ingress":
        return None
    try:
        result = controller_of(cluster)
    except HostError as problem:
        return str(problem)
    if result is None:
        return _NO_CONTROLLER
    return cluster.not_permitted("patch", "ingresses.networking.k8s.io")


def reached_at(
    cluster: Cluster, pods: PodsSpec, made: Service, access: Access, controller: Controller | None
) -> Endpoint:
    """Return where the pods of a service are reached; for an ingress, make it and wait until it has an address.

    Raises:
        TrialFailure: no controller serves the ingress, or the cluster has none.
    """
    if access == "node-port":
        return Endpoint(host=LOOPBACK, port=int(port_of(made).nodePort or 0))
    if access == "cluster-ip":
        return Endpoint(host=str(made.spec.clusterIP) if made.spec is not None else "", port=PORT)
    if controller is None:  # it had one when the session was planned
        raise TrialFailure(Outcome.FAILED, _NO_CONTROLLER)
    cluster.apply(ingress(pods, controller.ingress_class))
    until = time.monotonic() + SERVED_WITHIN_S
    while (address := cluster.ingress_address(pods.namespace, pods.name)) is None:
        if time.monotonic() > until:
            text = f"{controller.words} has served no ingress of its class within {SERVED_WITHIN_S:.0f} s"
            raise TrialFailure(Outcome.FAILED, text)
        time.sleep(0.1)
    return Endpoint(host=address, port=INGRESS_PORT)


__all__ = ["Access", "Controller", "chosen", "controller_of", "no_ingress", "reached_at"]
