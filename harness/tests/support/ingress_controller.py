# SPDX-License-Identifier: Apache-2.0
"""A small real controller of ingresses for tests: it serves those of its class at one address of this machine."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.errors import HostError
from harness.launchers.kubernetes_cluster import Cluster
from harness.tests.support.patience import patient

CLASS, CONTROLLER = "rematch-test", "rematch.io/test-controller"
#: Of 127.0.0.0/8, so that nobody else has port 80 there.
ADDRESS = ("127.93.0.1", 80)


@dataclass
class Serving:
    """Where it serves, and the address in the cluster that it sends connections on to."""

    address: tuple[str, int] = ADDRESS
    to: tuple[str, int] | None = None
    stop: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def ingress_controller(cluster: Cluster) -> Iterator[Serving]:
    """Make the class, and serve its ingresses until the context ends; the class and ``cluster`` are gone then."""
    from lightkube.models.meta_v1 import ObjectMeta
    from lightkube.models.networking_v1 import IngressClassSpec
    from lightkube.resources.networking_v1 import IngressClass

    serving = Serving()
    with socket.create_server(serving.address) as server:
        server.settimeout(0.1)
        threads = [
            threading.Thread(target=work, args=(serving, other), daemon=True)
            for work, other in ((_watch, cluster), (_forward, server))
        ]
        cluster.apply(
            IngressClass(metadata=ObjectMeta(name=CLASS), spec=IngressClassSpec(controller=CONTROLLER))
        )
        try:
            for thread in threads:
                thread.start()
            yield serving
        finally:
            serving.stop.set()
            for thread in threads:
                thread.join(patient(10))
            cluster.delete(IngressClass, CLASS)
            cluster.close()


def _watch(serving: Serving, cluster: Cluster) -> None:
    """Give each new ingress the address, and send connections to its service from then on."""
    from lightkube.resources.core_v1 import Service
    from lightkube.resources.networking_v1 import Ingress

    client = cluster._client
    status = {"status": {"loadBalancer": {"ingress": [{"ip": serving.address[0]}]}}}
    while not serving.stop.wait(0.05):
        with contextlib.suppress(HostError), cluster.asking("list", "ingresses"):
            for one in client.list(Ingress, namespace="*"):
                name, place = str(one.metadata.name), str(one.metadata.namespace)  # type: ignore[union-attr]  # listed
                if one.spec is None or one.spec.ingressClassName != CLASS:
                    continue
                found = client.get(Service, name, namespace=place).spec
                serving.to = (str(found.clusterIP), 8080) if found is not None else None
                client.patch(Ingress.Status, name, status, namespace=place)


def _forward(serving: Serving, server: socket.socket) -> None:
    while not serving.stop.is_set():
        with contextlib.suppress(OSError):
            connection, _ = server.accept()
            threading.Thread(target=_pump, args=(connection, serving.to), daemon=True).start()


def _pump(connection: socket.socket, to: tuple[str, int] | None) -> None:
    """Send one request on and its answer back."""
    with connection, contextlib.suppress(OSError):
        if to is None:
            connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        with socket.create_connection(to, timeout=patient(5)) as service:
            service.settimeout(patient(5))
            back = threading.Thread(target=_copy, args=(service, connection), daemon=True)
            back.start()
            _copy(connection, service)
            back.join(patient(5))


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
