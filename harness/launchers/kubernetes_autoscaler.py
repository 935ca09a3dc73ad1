# SPDX-License-Identifier: Apache-2.0
"""Pods that an autoscaler of the cluster adds: whether it can, and the requests that give it a reason to.

An autoscaler goes by the CPU time that pods use, so there has to be work from the first pod on until the last one has a
process. It is asked for at the pods' own addresses, by the path of their readiness, so that no load tool is needed.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.errors import HostError
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_prober import Prober, answers
from harness.model import RuntimeSettings

if TYPE_CHECKING:
    from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler

#: From the request for the first pod until an autoscaler has added the last; metrics are up to a minute old.
AUTOSCALED_WITHIN_S = 300.0
#: Threads that ask without a pause: enough to keep a pod above any share of what it reserves.
WORKERS = 4
NO_METRICS = "no metrics API (metrics.k8s.io), by which a HorizontalPodAutoscaler goes"


def no_autoscaler(cluster: Cluster, runtime: RuntimeSettings) -> str | None:
    """Return why pods cannot be added by an autoscaler in this cluster, or ``None``."""
    if runtime.autoscale_cpu is None:
        return None
    if runtime.cpu_request is None or (runtime.replicas or 1) < 2:
        return "autoscale_cpu is a share of cpu_request, and adds pods up to replicas: both are needed"
    try:
        if not cluster.has_metrics():
            return NO_METRICS
        return cluster.not_permitted("patch", "horizontalpodautoscalers.autoscaling")
    except HostError as problem:
        return str(problem)


def not_scaled(found: HorizontalPodAutoscaler | None) -> str:
    """Return why an autoscaler has not added its pods, in the cluster's words as far as it has any."""
    status = None if found is None else found.status
    if status is None or not status.conditions:
        return "the cluster's autoscaler has not looked at it yet"
    for condition in status.conditions:  # ScalingLimited is true of one that has done its work
        if condition.type in ("AbleToScale", "ScalingActive") and condition.status != "True":
            text = " ".join(f"{condition.reason}: {condition.message}".split())
            return f"the autoscaler: {condition.type} is {condition.status}: {text}"
    used = [
        item.resource.current.averageUtilization
        for item in status.currentMetrics or ()
        if item.resource is not None and item.resource.current.averageUtilization is not None
    ]
    seen = f"saw {used[0]} % of the reserved CPU in use" if used else "saw no CPU in use"
    return f"the autoscaler {seen} and wants {status.desiredReplicas} pods"


@dataclass
class BusyPods:
    """Asks the pods that have served, without a pause, until each pod that there will be has a process."""

    prober: Prober
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin to ask, as soon as a pod has served."""
        for number in range(WORKERS):
            thread = threading.Thread(target=self._work, name=f"busy-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop asking. Idempotent."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        prober = self.prober
        while not (self._stop.is_set() or prober.all_found):
            served = [
                pod.found.address
                for pod in tuple(prober.pods.values())
                if pod.served_s is not None and pod.found is not None and pod.found.address is not None
            ]
            for address in served:
                answers(address, prober.port, prober.path)
            if not served:
                self._stop.wait(0.02)


__all__ = ["AUTOSCALED_WITHIN_S", "NO_METRICS", "BusyPods", "no_autoscaler", "not_scaled"]
