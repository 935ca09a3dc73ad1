# SPDX-License-Identifier: Apache-2.0
"""From the request for pods until a load may come: what a cluster lacks, more pods, a CPU boost.

A boosted pod begins with a higher CPU limit. When it has served the prober, the pod is resized in place to the limit
that it was to have, and the load waits until the kernel enforces that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.agent.cgroup import group_folders
from harness.errors import HostError, TrialFailure
from harness.launchers.arguments import ONLY_PODS
from harness.launchers.kubernetes_cluster import Cluster, PodsSpec, container_resources
from harness.launchers.kubernetes_pods import PodProcess, Prober, ended_state, name_of, trouble, uid_of
from harness.launchers.tools import lacks_runtime
from harness.model import Implementation, Outcome, RuntimeSettings, Variant

#: From the request for pods until each has a process; with many pods the node is busy.
STARTED_WITHIN_S = 120.0
#: A pod that no node takes: another one may be on its way out.
UNSCHEDULED_FOR_S = 10.0
#: How often a pod under way to its limit is looked at.
LOOK_EVERY_S = 0.02
#: Kernels round quotas, and a limit is whole thousandths of a CPU.
_SAME_CPUS = 0.002
RESIZE = "pods/resize"
#: What variants of earlier experiments name and no launcher does any more.
REMOVED = {
    "ingress": 'access = "ingress" was removed in 0.2.0: use access = "node-port"',
    "autoscale_cpu": "autoscale_cpu was removed in 0.2.0: use scale_from",
}
_UNSCHEDULABLE = "Unschedulable"


def unfit(cluster: Cluster, implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return what a variant needs that this cluster, or every pod, lacks; ``None``: nothing that is known."""
    if runtime.access == "ingress":
        return REMOVED["ingress"]
    if runtime.autoscale_cpu is not None:
        return REMOVED["autoscale_cpu"]
    if (lacking := no_boost(cluster, runtime)) is not None:
        return lacking
    if implementation.needs:
        return f"pods do not reach backing services of this machine: {', '.join(implementation.needs)}"
    if runtime.scale_from is not None and runtime.scale_from >= (runtime.replicas or 1):
        return f"scale_from = {runtime.scale_from} needs more replicas; found {runtime.replicas or 1}"
    return lacks_runtime(implementation, runtime, "pod")


def no_boost(cluster: Cluster, runtime: RuntimeSettings) -> str | None:
    """Return why pods cannot have ``cpu_boost`` in this cluster, or ``None``."""
    if runtime.cpu_boost is None:
        return None
    limit = runtime.cpu_limit or runtime.cpus
    if limit is None or limit >= runtime.cpu_boost:
        text = "no limit" if limit is None else f"{limit:g}"
        return f"cpu_boost = {runtime.cpu_boost:g} needs a lower CPU limit, cpu_limit or cpus; found {text}"
    try:
        if cluster.has_core_resource(RESIZE):
            return None
    except HostError as problem:
        return str(problem)
    return "a CPU boost of the start needs pods that are resized in place (Kubernetes 1.33); this cluster has none"


def plain(variant: Variant) -> Variant:
    """Return the variant without what concerns pods and not the program."""
    without: dict[str, object] = dict.fromkeys(ONLY_PODS) | {"memory_limit": None}
    return variant.model_copy(update={"runtime": variant.runtime.model_copy(update=without)})


def wait_started(cluster: Cluster, pods: PodsSpec, prober: Prober) -> float | None:
    """Wait until every pod has a process, or one of them has ended; return when more pods than at first were asked
    for by us, on the monotonic clock. Raises TrialFailure: one of them cannot start; says why."""
    scaled_s: float | None = None
    if pods.runtime.scale_from is not None:
        if not _wait(cluster, pods, prober, lambda: prober.n_served >= pods.at_first):
            return None
        scaled_s = time.monotonic()
        cluster.scale(pods, pods.replicas)
    _wait(cluster, pods, prober, lambda: prober.all_found)
    return scaled_s


def _wait(cluster: Cluster, pods: PodsSpec, prober: Prober, enough: Callable[[], bool]) -> bool:
    """Wait until it is enough; return whether it is, or one of the pods has ended."""
    begun = time.monotonic()
    while not enough():
        waited_s = time.monotonic() - begun
        late = waited_s > STARTED_WITHIN_S
        for pod in cluster.pods(pods):
            if ended_state(pod) is not None:
                return False
            problem = trouble(pod)
            unplaced = (
                problem is not None and _UNSCHEDULABLE in problem.reason and waited_s > UNSCHEDULED_FOR_S
            )
            if problem is not None and (late or unplaced or not problem.passing):
                raise TrialFailure(problem.outcome, problem.reason)
        if late:
            raise TrialFailure(Outcome.FAILED, _too_few(pods, prober, waited_s))
        time.sleep(0.05)
    return True


def _too_few(pods: PodsSpec, prober: Prober, waited_s: float) -> str:
    """Return how many processes were seen of pods that nothing is known to be wrong with."""
    if pods.runtime.scale_from is not None and prober.n_served < pods.at_first:
        return f"{prober.n_served} of the first {pods.at_first} pods have served within {waited_s:.0f} s"
    n = len(prober.processes)
    seen = "no process" if n == 0 else f"{n} of {pods.replicas} processes"
    return (
        f"{seen} of {pods.name} were seen on this machine within {waited_s:.0f} s; "
        f"kubectl describe all -n {pods.namespace} may say why"
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


@dataclass
class StartBoost:
    """Takes back what pods had for their start. Moments are on the monotonic clock, by the pod's uid.

    ``quota``: returns the CPUs that the kernel lets a process's group have; ``None``: it is not known.
    """

    cluster: Cluster
    spec: PodsSpec
    quota: Callable[[int], float | None] = cpu_quota
    asked: dict[str, float] = field(default_factory=dict)
    done: dict[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every pod has the limit that it was to have."""
        return self.spec.runtime.cpu_boost is None or len(self.done) >= self.spec.replicas

    def take_back(self, served: Mapping[str, PodProcess]) -> None:
        """Resize those of the pods that have served and were not asked yet; look at those that were.

        Raises TrialFailure: the cluster refuses, or the node cannot do it.
        """
        if self.spec.runtime.cpu_boost is None:
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
