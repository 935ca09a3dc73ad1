# SPDX-License-Identifier: Apache-2.0
"""Made-up trials in pods: what is known of them, so that tables must find it."""

from __future__ import annotations

from harness.model import KubernetesRecord, PodRecord, RuntimeCpus, TrialRecord
from harness.tests.support import records

#: The first pod serves after that long, each further one so much later, and the cluster's clocks are this far behind.
FIRST_SERVED_S, LATER_S, EVENT_LATE_S = 0.5, 0.25, 0.0625
POD_IMAGE_BYTES, POD_IMPORT_S, POD_GROUP_BYTES, THROTTLED_S = 9_000_000, 1.5, 30 * 2**20, 0.25


def in_pods(record: TrialRecord) -> TrialRecord:
    """The same trial as if it had been made in pods, of which the first answered all requests but one of each other."""
    assert record.instance is not None
    runtime = record.planned.configuration.variant.runtime
    n_pods = runtime.replicas or 1
    launched = record.instance.launched.wall_epoch_s
    around = KubernetesRecord(
        server="v0.0", node="a made-up node", proxy_mode="iptables", namespace="rematch-0",
        access=runtime.access or "node-port", replicas=n_pods, cpu_request=runtime.cpu_request,
        cpu_limit=runtime.cpu_limit, memory_limit_bytes=None, image_bytes=POD_IMAGE_BYTES, image_import_s=POD_IMPORT_S,
        samples="made up", pods=tuple(_pod(number, launched, _goes_by(record)) for number in range(n_pods)),
    )  # fmt: skip
    n_requests = None if record.load is None else record.load.n_requests
    boundaries = [
        one
        if n_requests is None or one.name not in ("before-load", "after-load")
        else one.model_copy(update={"answered_by_pod": _answered(n_pods, n_requests, one.name)})
        for one in record.boundaries
    ]
    instance = record.instance.model_copy(update={"kubernetes": around})
    return record.model_copy(update={"instance": instance, "boundaries": tuple(boundaries)})


def _goes_by(record: TrialRecord) -> RuntimeCpus:
    """A Go program goes by two CPUs, another one by one."""
    if record.planned.configuration.variant_name.startswith("go-"):
        return RuntimeCpus(cpus=2, said_in="made up")
    return RuntimeCpus(cpus=1, collector="Serial", said_in="made up")


def _pod(number: int, launched: float, goes_by: RuntimeCpus) -> PodRecord:
    served = FIRST_SERVED_S + number * LATER_S
    return PodRecord(
        name=f"pod-{number + 1}", uid=f"uid-{number + 1}", node="node", address=f"192.0.2.{number + 1}",
        pid=100 + number, process_after_s=served / 2, conditions_epoch_s={"Ready": float(int(launched + served))},
        events_epoch_s={"Scheduled": launched, "Started": launched + served / 2 + EVENT_LATE_S},
        events_lost=("Pulled",), first_served_after_s=served, routed_after_s=served + LATER_S, runtime_cpus=goes_by,
        at_stop=records.group_reading(POD_GROUP_BYTES, throttled_s=THROTTLED_S),
    )  # fmt: skip


def _answered(n_pods: int, n_requests: int, name: str) -> dict[str, int]:
    """Each pod had answered seven requests before the load."""
    others = {f"pod-{number}": 1 for number in range(2, n_pods + 1)}
    during = {"pod-1": n_requests - len(others), **others}
    return {pod: 7 + (n if name == "after-load" else 0) for pod, n in during.items()}
