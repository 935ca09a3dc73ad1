# SPDX-License-Identifier: Apache-2.0
"""How many CPUs the runtime in each pod goes by, asked when the pods are about to be stopped.

What Go says is of that moment: since Go 1.25 it follows its limit. What a JVM says is of its start.
"""

from __future__ import annotations

import time
from pathlib import Path

from harness.agent.http_exchange import Connection, ExchangeError, request_bytes
from harness.formats.runtime_cpus import go_cpus, jvm_cpus
from harness.launchers.arguments import GC_LOG
from harness.launchers.kubernetes_objects import PORT
from harness.model import KubernetesRecord, PodRecord, RuntimeCpus
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


__all__ = ["with_runtime_cpus"]
