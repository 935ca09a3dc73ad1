# SPDX-License-Identifier: Apache-2.0
"""From the request for pods until a load may come: what a cluster lacks, more pods, a CPU boost.

An autoscaler goes by the CPU time that pods use, so the first pods are asked without a pause, by the path of their
readiness, until the last one has a process. A boosted pod begins with a higher CPU limit. When it has served the
prober, the pod is resized in place to the limit that it was to have, and the load waits until the kernel enforces that.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Event, Pod

from harness.agent.cgroup import group_folders
from harness.errors import HostError, TrialFailure
from harness.launchers.arguments import ONLY_PODS
from harness.launchers.kubernetes_cluster import Cluster, PodsSpec, container_resources
from harness.launchers.kubernetes_pods import (
    PodProcess,
    Prober,
    Trouble,
    answers,
    ended_state,
    last_warning,
    name_of,
    not_made,
    trouble,
    uid_of,
)
from harness.launchers.tools import lacks_runtime
from harness.model import Implementation, Outcome, RuntimeSettings, Variant

#: From the request for pods until each has a process; with many pods the node is busy.
STARTED_WITHIN_S = 120.0
#: From the request for the first pod until an autoscaler has added the last; metrics are up to a minute old.
AUTOSCALED_WITHIN_S = 300.0
#: A pod that no node takes: another one may be on its way out.
UNSCHEDULED_FOR_S = 10.0
#: How often a cluster that has made too few pods is asked why.
ASK_EVERY_S = 2.0
#: How often a pod under way to its limit is looked at.
LOOK_EVERY_S = 0.02
#: Threads that ask without a pause: enough to keep a pod above any share of what it reserves.
WORKERS = 4
#: Kernels round quotas, and a limit is whole thousandths of a CPU.
_SAME_CPUS = 0.002
RESIZE = "pods/resize"
NO_METRICS = "no metrics API (metrics.k8s.io), by which a HorizontalPodAutoscaler goes"
NO_INGRESS = 'access = "ingress" was removed in 0.2.0: use access = "node-port"'
_UNSCHEDULABLE = "Unschedulable"


def unfit(cluster: Cluster, implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return what a variant needs that this cluster, or every pod, lacks; ``None``: nothing that is known."""
    if runtime.access == "ingress":
        return NO_INGRESS
    try:
        if lacking := no_boost(cluster, runtime) or no_autoscaler(cluster, runtime):
            return lacking
    except HostError as problem:
        return str(problem)
    if implementation.needs:
        return f"pods do not reach backing services of this machine: {', '.join(implementation.needs)}"
    if runtime.scale_from is not None and runtime.scale_from >= (runtime.replicas or 1):
        return f"scale_from = {runtime.scale_from} needs more replicas; found {runtime.replicas or 1}"
    both = runtime.scale_from is not None and runtime.autoscale_cpu is not None
    text = "either scale_from or autoscale_cpu adds pods, not both"
    return text if both else lacks_runtime(implementation, runtime, "pod")


def no_boost(cluster: Cluster, runtime: RuntimeSettings) -> str | None:
    """Return why pods cannot have ``cpu_boost`` in this cluster, or ``None``.

    Raises HostError: the cluster does not tell.
    """
    if runtime.cpu_boost is None:
        return None
    limit = runtime.cpu_limit or runtime.cpus
    if limit is None or limit >= runtime.cpu_boost:
        text = "no limit" if limit is None else f"{limit:g}"
        return f"cpu_boost = {runtime.cpu_boost:g} needs a lower CPU limit, cpu_limit or cpus; found {text}"
    if cluster.has_core_resource(RESIZE):
        return None
    return "a CPU boost of the start needs pods that are resized in place (Kubernetes 1.33); this cluster has none"


def no_autoscaler(cluster: Cluster, runtime: RuntimeSettings) -> str | None:
    """Return why pods cannot be added by an autoscaler in this cluster, or ``None``; raises as ``no_boost``."""
    if runtime.autoscale_cpu is None:
        return None
    if runtime.cpu_request is None or (runtime.replicas or 1) < 2:
        return "autoscale_cpu is a share of cpu_request, and adds pods up to replicas: both are needed"
    return None if cluster.has_metrics() else NO_METRICS


def plain(variant: Variant) -> Variant:
    """Return the variant without what concerns pods and not the program."""
    without: dict[str, object] = dict.fromkeys(ONLY_PODS) | {"memory_limit": None}
    return variant.model_copy(update={"runtime": variant.runtime.model_copy(update=without)})


def wait_started(cluster: Cluster, pods: PodsSpec, prober: Prober) -> float | None:
    """Wait until every pod has a process, or one of them has ended; return when more pods than at first were asked
    for by us, on the monotonic clock. Raises TrialFailure: one of them cannot start; says why."""
    scaled_s: float | None = None
    if pods.scale_from is not None:
        if not _wait(cluster, pods, prober, STARTED_WITHIN_S, lambda: prober.n_served >= pods.at_first):
            return None
        scaled_s = time.monotonic()
        cluster.scale(pods, pods.replicas)
    if pods.autoscale_cpu is None:
        _wait(cluster, pods, prober, STARTED_WITHIN_S, lambda: prober.all_found)
        return scaled_s
    with kept_busy(prober):
        _wait(cluster, pods, prober, AUTOSCALED_WITHIN_S, lambda: prober.all_found)
    return None


def _wait(
    cluster: Cluster, pods: PodsSpec, prober: Prober, within_s: float, enough: Callable[[], bool]
) -> bool:
    """Wait until it is enough; return whether it is, or one of the pods has ended."""
    begun, ask_at_s = time.monotonic(), UNSCHEDULED_FOR_S
    since_s: dict[str, float] = {}
    while not enough():
        waited_s, made = time.monotonic() - begun, cluster.pods(pods)
        late = waited_s > within_s
        for pod in made:
            if ended_state(pod) is not None:
                return False
            problem = trouble(pod)
            # an autoscaler adds pods later than the first one: each has its own time
            pending_s = waited_s - since_s.setdefault(uid_of(pod), waited_s)
            unplaced = problem is not None and _UNSCHEDULABLE in problem.reason
            patience_s = UNSCHEDULED_FOR_S if unplaced else STARTED_WITHIN_S
            if problem is not None and (late or not problem.passing or pending_s > patience_s):
                raise TrialFailure(problem.outcome, problem.reason + _warned(cluster, pods, pod, problem))
        if len(made) < pods.replicas and waited_s > ask_at_s:
            ask_at_s = waited_s + ASK_EVERY_S
            why = None
            with contextlib.suppress(HostError):  # who may make a deployment may not always read it
                why = not_made(cluster.get(Deployment, pods.name, pods.namespace))
            if why is not None:
                raise TrialFailure(Outcome.FAILED, why)
        if late:
            raise TrialFailure(Outcome.FAILED, _too_few(cluster, pods, prober, waited_s))
        time.sleep(0.05)
    return True


def _too_few(cluster: Cluster, pods: PodsSpec, prober: Prober, waited_s: float) -> str:
    """Return how many processes were seen of pods that nothing is known to be wrong with."""
    if pods.scale_from is not None and prober.n_served < pods.at_first:
        return f"{prober.n_served} of the first {pods.at_first} pods have served within {waited_s:.0f} s"
    n = len(prober.processes)
    seen = "no process" if n == 0 else f"{n} of {pods.replicas} processes"
    text = f"{seen} of {pods.name} were seen on this machine within {waited_s:.0f} s"
    if pods.autoscale_cpu is None or len(prober.pods) >= pods.replicas:
        return text
    return f"{text}; the autoscaler says why: kubectl describe hpa {pods.name} -n {pods.namespace}"


def _warned(cluster: Cluster, pods: PodsSpec, pod: Pod, problem: Trouble) -> str:
    """Return what the cluster warned of last about a pod whose state does not say why it waits."""
    if not problem.passing or _UNSCHEDULABLE in problem.reason:
        return ""
    warning: str | None = None
    with contextlib.suppress(HostError):  # the state alone is said
        warning = last_warning(cluster.objects(Event, pods.namespace), uid_of(pod))
    return f"; {warning}" if warning else ""


@contextlib.contextmanager
def kept_busy(prober: Prober) -> Iterator[None]:
    """Ask the pods that have served, without a pause, until each pod that there will be has a process."""
    over = threading.Event()

    def work() -> None:
        while not (over.is_set() or prober.all_found):
            served = [process.address for process in prober.served.values() if process.address is not None]
            for address in served:
                answers(address, prober.port, prober.path)
            if not served:
                over.wait(0.02)

    threads = [threading.Thread(target=work, name=f"busy-{number}", daemon=True) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@dataclass
class StartBoost:
    """Takes back what pods had for their start. Moments are on the monotonic clock, by the pod's uid.

    ``quota``: returns the CPUs that the kernel lets a process's group have; ``None``: it is not known.
    """

    cluster: Cluster
    spec: PodsSpec
    quota: Callable[[int], float | None] = field(default_factory=lambda: cpu_quota)
    asked: dict[str, float] = field(default_factory=dict)
    done: dict[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every pod has the limit that it was to have."""
        return self.spec.cpu_boost is None or len(self.done) >= self.spec.replicas

    def take_back(self, served: Mapping[str, PodProcess]) -> None:
        """Resize those of the pods that have served and were not asked yet; look at those that were.

        Raises TrialFailure: the cluster refuses, or the node cannot do it.
        """
        if self.spec.cpu_boost is None:
            return
        new = [uid for uid in served if uid not in self.asked]
        try:
            for pod in self.cluster.pods(self.spec) if new else ():
                if uid_of(pod) in new:
                    resources = container_resources(self.spec, boosted=False)
                    self.cluster.resize(self.spec.namespace, name_of(pod), resources)
                    self.asked[uid_of(pod)] = time.monotonic()
        except HostError as problem:
            raise TrialFailure(Outcome.FAILED, f"the CPU boost was not taken back: {problem}") from problem
        limit = self.spec.cpu_limit or 0.0
        for uid in [uid for uid in self.asked if uid not in self.done]:
            quota = self.quota(served[uid].pid) if uid in served else None
            if quota is not None and abs(quota - limit) <= _SAME_CPUS:
                self.done[uid] = time.monotonic()

    def lacking(self) -> str:
        """Return in words that not every pod has its limit yet."""
        return (
            f"the CPU boost was taken back from {len(self.done)} of {self.spec.replicas} pods; their conditions say "
            f"why: kubectl describe pods -n {self.spec.namespace}"
        )


def cpu_quota(pid: int, root: Path = Path("/")) -> float | None:
    """Return how many CPUs' time the control group of a process may use; ``None``: not limited, or not known."""
    folders = group_folders(pid, root)
    try:
        if "" in folders:
            quota, period = (folders[""] / "cpu.max").read_text().split()
        else:
            quota = (folders["cpu"] / "cpu.cfs_quota_us").read_text()
            period = (folders["cpu"] / "cpu.cfs_period_us").read_text()
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, KeyError, ValueError):  # gone, without such a controller, or "max"
        return None
