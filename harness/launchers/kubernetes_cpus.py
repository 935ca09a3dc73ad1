# SPDX-License-Identifier: Apache-2.0
"""How many CPUs the runtime in each pod goes by, asked when the pods are about to be stopped.

What Go says is of that moment: since Go 1.25 it follows its limit. What a JVM says is of its start.
"""

from __future__ import annotations

import time
from pathlib import Path

from harness.agent.http_exchange import Connection, ExchangeError, request_bytes
from harness.formats.counters import go_cpus, jvm_cpus
from harness.launchers.arguments import GC_LOG, ONLY_PODS
from harness.launchers.chosen import with_toolchain
from harness.launchers.kubernetes_access import no_ingress
from harness.launchers.kubernetes_autoscaler import no_autoscaler
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_objects import PORT
from harness.launchers.kubernetes_start import no_boost
from harness.model import Implementation, KubernetesRecord, PodRecord, RuntimeCpus, RuntimeSettings, Variant
from harness.model.endpoint import Endpoint

METRICS = "/metrics"
#: Of one pod, and of all of them: pods that hang must not delay their own end.
ANSWER_WITHIN_S, ALL_WITHIN_S = 1.0, 5.0
#: What a JVM says of itself stands in the first kilobytes of its log.
LOG_BYTES = 1 << 16
_KINDS = {"native": "a native image does not say", "other": "no reader for programs of this kind"}


def with_runtime_cpus(around: KubernetesRecord, kind: str, folder: Path) -> KubernetesRecord:
    """Return the record with what each pod's runtime says.

    ``kind``: ``go``, ``jvm``, or what cannot be asked: ``native`` or ``other``. ``folder``: the trial's; each of
    several pods has a folder of its own name in it.
    """
    until = time.monotonic() + ALL_WITHIN_S

    def of(pod: PodRecord) -> RuntimeCpus:
        if kind == "go":
            return _asked(pod, until)
        if kind == "jvm":
            return _logged((folder / pod.name if around.replicas > 1 else folder) / GC_LOG)
        return RuntimeCpus(why_not=_KINDS.get(kind, _KINDS["other"]))

    pods = tuple(pod.model_copy(update={"runtime_cpus": of(pod)}) for pod in around.pods)
    return around.model_copy(update={"pods": pods})


def _asked(pod: PodRecord, until: float) -> RuntimeCpus:
    if pod.address is None or pod.first_served_after_s is None:
        return RuntimeCpus(why_not="the pod did not serve")
    within_s = min(ANSWER_WITHIN_S, until - time.monotonic())
    if within_s <= 0:
        return RuntimeCpus(why_not="not asked: other pods did not answer in time")
    endpoint = Endpoint(host=pod.address, port=PORT)
    try:
        with Connection(endpoint, within_s) as connection:
            answer = connection.exchange(request_bytes("GET", METRICS, {}, None, endpoint))
    except (ExchangeError, OSError) as problem:
        return RuntimeCpus(why_not=f"no answer to GET {METRICS} ({str(problem) or type(problem).__name__})")
    if answer.status != 200:
        return RuntimeCpus(why_not=f"GET {METRICS}: {answer.status}")
    return go_cpus(answer.body.decode("utf-8", "replace"))


def _logged(log: Path) -> RuntimeCpus:
    try:
        with log.open("rb") as stream:
            return jvm_cpus(stream.read(LOG_BYTES).decode("utf-8", "replace"))
    except OSError:
        return RuntimeCpus(why_not="no GC log")


def unfit(cluster: Cluster, implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return what a variant needs that this cluster, or every pod, lacks; ``None``: nothing that is known."""
    return (
        no_boost(cluster, runtime)
        or no_ingress(cluster, runtime)
        or no_autoscaler(cluster, runtime)
        or _not_in_pods(implementation, runtime)
    )


def kind_of(implementation: Implementation, runtime: RuntimeSettings) -> str:
    """Return what executes the program in its pods: ``go``, ``jvm``, ``native`` or ``other``."""
    return "native" if runtime.form == "native" else implementation.runtime


def _not_in_pods(implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return what no pod of this launcher has, whatever the cluster."""
    if implementation.needs:
        return f"pods do not reach backing services of this machine: {', '.join(implementation.needs)}"
    if runtime.scale_from is not None and runtime.scale_from >= (runtime.replicas or 1):
        return f"scale_from = {runtime.scale_from} needs more replicas; found {runtime.replicas or 1}"
    if runtime.scale_from is not None and runtime.autoscale_cpu is not None:
        return "either scale_from or autoscale_cpu adds pods, not both"
    if runtime.aot_cache:
        return "an AOT cache belongs to the JDK that made it, and the pod has another one"
    if with_toolchain(implementation, runtime).toolchain is not None:
        return "a toolchain that a variant names is that of plain processes; the pod has another one"
    return None


def plain(variant: Variant) -> Variant:
    """Return the variant without what concerns pods and not the program."""
    without: dict[str, object] = dict.fromkeys(ONLY_PODS) | {"memory_limit": None}
    return variant.model_copy(update={"runtime": variant.runtime.model_copy(update=without)})


__all__ = ["kind_of", "plain", "unfit", "with_runtime_cpus"]
