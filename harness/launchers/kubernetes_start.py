# SPDX-License-Identifier: Apache-2.0
"""From the request for pods until a load may come: what a cluster lacks, more pods, a CPU boost.

A boosted pod begins with a higher CPU limit. When it has served the prober, the pod is resized in place to the limit
that it was to have, and the load waits until the kernel enforces that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from harness.agent.cgroup import group_folders
from harness.errors import HostError, TrialFailure
from harness.launchers.kubernetes_cluster import Cluster, PodsSpec, container_resources
from harness.launchers.kubernetes_pods import PodProcess, Prober, ended_state, name_of, trouble, uid_of
from harness.model import Implementation, Outcome, RuntimeSettings

#: From the request for pods until each has a process; with many pods the node is busy.
STARTED_WITHIN_S = 120.0
#: A pod that no node takes: another one may be on its way out.
UNSCHEDULED_FOR_S = 10.0
#: How often a pod under way to its limit is looked at.
LOOK_EVERY_S = 0.02
#: Kernels round quotas, and a limit is whole thousandths of a CPU.
_SAME_CPUS = 0.002


def unfit(cluster: Cluster, implementation: Implementation, runtime: RuntimeSettings) -> str | None:
    """Return what a variant needs that this cluster, or every pod, lacks; ``None``: nothing that is known."""
    if runtime.access == "ingress":
        return 'access = "ingress" was removed in 0.2.0: use access = "node-port"'
    if runtime.autoscale_cpu is not None:
        return "autoscale_cpu was removed in 0.2.0: use scale_from"
    if implementation.needs:
        return f"pods do not reach backing services of this machine: {', '.join(implementation.needs)}"
    if runtime.scale_from is not None and runtime.scale_from >= (runtime.replicas or 1):
        return f"scale_from = {runtime.scale_from} needs more replicas; found {runtime.replicas or 1}"
    if runtime.cpu_boost is None:
        return None
    limit = runtime.cpu_limit or runtime.cpus
    if limit is None or limit >= runtime.cpu_boost:
        text = "no limit" if limit is None else f"{limit:g}"
        return f"cpu_boost = {runtime.cpu_boost:g} needs a lower CPU limit, cpu_limit or cpus; found {text}"
    try:
        resized = cluster.has_core_resource("pods/resize")
    except HostError as problem:
        return str(problem)
    why = "a CPU boost of the start needs pods that are resized in place (Kubernetes 1.33); this cluster has none"
    return None if resized else why


def wait_started(cluster: Cluster, pods: PodsSpec, prober: Prober) -> float | None:
    """Wait until every pod has a process, or one of them has ended; return when more pods than at first were asked
    for by us, on the monotonic clock. Raises TrialFailure: one of them cannot start; says why."""
    scaled_s: float | None = None
    if pods.runtime.scale_from is not None:
        if not _wait(cluster, pods, prober, lambda: prober.n_served >= pods.at_first):
            return None
        scaled_s = time.monotonic()
        cluster.scale(pods, pods.replicas)
    _wait(cluster, pods, prober, lambda: len(prober.processes) >= prober.expected)
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
            if problem is None:
                continue
            unplaced = "Unschedulable" in problem.reason and waited_s > UNSCHEDULED_FOR_S
            if late or unplaced or not problem.passing:
                raise TrialFailure(problem.outcome, problem.reason)
        if late:
            raise TrialFailure(
                Outcome.FAILED,
                f"{len(prober.processes)} of {pods.replicas} processes of {pods.name} were seen on this machine, and "
                f"{prober.n_served} have served, within {waited_s:.0f} s; kubectl describe all -n {pods.namespace} may "
                "say why",
            )
        time.sleep(0.05)
    return True


def cpu_quota(pid: int) -> float | None:
    """Return how many CPUs' time the control group of a process may use; ``None``: not limited, or not known."""
    folders = group_folders(pid)
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

