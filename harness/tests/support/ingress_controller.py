# SPDX-License-Identifier: Apache-2.0
"""A small real controller of ingresses for tests: it serves those of its class at one address of this machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.networking_v1 import IngressClassSpec
from lightkube.resources.core_v1 import Service
from lightkube.resources.networking_v1 import Ingress, IngressClass

from harness.errors import HostError
from harness.launchers.kubernetes_cluster import Cluster
from harness.tests.support.answering_server import Handler, Server, serving
from harness.tests.support.patience import patient

CLASS, CONTROLLER = "rematch-test", "rematch.io/test-controller"
#: Of 127.0.0.0/8, so that nobody else has port 80 there.
ADDRESS = ("127.93.0.1", 80)


class _Forwarding(Handler):
    server: IngressServer

    def respond(self) -> None:
        """Send the request on and its answer back."""
        if self.server.backend is None:
            self.answer(404, b"")
            return
        connection = HTTPConnection(*self.server.backend, timeout=patient(5))
        with contextlib.closing(connection):
            connection.request(self.command, self.path, self.body(), dict(self.headers))
            answer = connection.getresponse()
            self.answer(answer.status, answer.read())


class IngressServer(Server):
    """Where the ingresses are served; ``backend``: the service in the cluster that answers."""

    def __init__(self) -> None:
        super().__init__(_Forwarding, *ADDRESS)
        self.backend: tuple[str, int] | None = None

    @property
    def address(self) -> tuple[str, int]:
        return ADDRESS


@contextlib.contextmanager
def ingress_controller(cluster: Cluster) -> Iterator[IngressServer]:
    """Make the class, and serve its ingresses until the context ends; the class and ``cluster`` are gone then."""
    stop = threading.Event()
    with serving(IngressServer()) as server:
        watch = threading.Thread(target=_watch, args=(server, cluster, stop), daemon=True)
        cluster.apply(
            IngressClass(metadata=ObjectMeta(name=CLASS), spec=IngressClassSpec(controller=CONTROLLER))
        )
        watch.start()
        try:
            yield server
        finally:
            stop.set()
            watch.join(patient(10))
            cluster.delete(IngressClass, CLASS)
            cluster.close()


def _watch(server: IngressServer, cluster: Cluster, stop: threading.Event) -> None:
    """Give each new ingress the address, and send requests to its service from then on."""
    client = cluster._client
    status = {"status": {"loadBalancer": {"ingress": [{"ip": ADDRESS[0]}]}}}
    while not stop.wait(0.05):
        with contextlib.suppress(HostError), cluster.asking("list", "ingresses"):
            for ingress in client.list(Ingress, namespace="*"):
                if ingress.spec is None or ingress.spec.ingressClassName != CLASS or ingress.metadata is None:
                    continue
                name, place = str(ingress.metadata.name), str(ingress.metadata.namespace)
                backend = client.get(Service, name, namespace=place).spec
                server.backend = (str(backend.clusterIP), 8080) if backend is not None else None
                client.patch(Ingress.Status, name, status, namespace=place)
