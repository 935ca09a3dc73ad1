# SPDX-License-Identifier: Apache-2.0
"""From the request for pods until a load may come: their processes, and more CPU until each has served (a boost).

A boosted pod begins with a higher CPU limit. When it has served the prober, the pod is resized in place to the limit
that it was to have, and the load waits until the kernel enforces that.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.cgroup import group_folders
from harness.errors import HostError, TrialFailure
from harness.launchers.kubernetes_autoscaler import AUTOSCALED_WITHIN_S, BusyPods, not_scaled
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_job import pods_of
from harness.launchers.kubernetes_objects import PodsSpec, container_resources
from harness.launchers.kubernetes_pods import (
    Found,
    Trouble,
    ended_state,
    last_warning,
    name_of,
    not_made,
    resize_trouble,
    trouble,
    uid_of,
)
from harness.launchers.kubernetes_prober import Prober
from harness.model import Outcome, RuntimeSettings

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Pod

#: From the request for pods until each has a process; with many pods the node is busy.
STARTED_WITHIN_S = 120.0
#: A pod that no node takes: another one may be on its way out.
UNSCHEDULED_FOR_S = 10.0
#: How often a cluster that has made too few pods is asked why.
ASK_EVERY_S = 2.0
#: How often a pod under way to its limit is looked at.
LOOK_EVERY_S = 0.02
#: Kernels round quotas, and a limit is whole thousandths of a CPU.
_SAME_CPUS = 0.002
RESIZE = "pods/resize"
_UNSCHEDULABLE = "Unschedulable"


def wait_started(cluster: Cluster, pods: PodsSpec, prober: Prober) -> float | None:
    """Wait until every pod has a process, or one of them has ended; return when more pods than at first were asked
    for, on the monotonic clock, or ``None``: they were not, or by an autoscaler, whose pods are kept busy.

    Raises:
        TrialFailure: one of them cannot start; says why.
    """
    scaled_s: float | None = None
    if pods.scale_from is not None:
        if not _wait(cluster, pods, prober, STARTED_WITHIN_S, lambda: prober.n_served >= pods.at_first):
            return None
        scaled_s = time.monotonic()
        cluster.scale(pods.namespace, pods.name, pods.replicas)
    if pods.autoscale_cpu is None:
        _wait(cluster, pods, prober, STARTED_WITHIN_S, lambda: prober.all_found)
        return scaled_s
    busy = BusyPods(prober)
    busy.start()
    try:
        _wait(cluster, pods, prober, AUTOSCALED_WITHIN_S, lambda: prober.all_found)
    finally:
        busy.stop()
    return None


def _wait(
    cluster: Cluster, pods: PodsSpec, prober: Prober, within_s: float, enough: Callable[[], bool]
) -> bool:
    """Wait until it is enough; return whether it is, or one of the pods has ended."""
    begun, ask_at_s = time.monotonic(), UNSCHEDULED_FOR_S
    since_s: dict[str, float] = {}
    while not enough():
        waited_s, there = time.monotonic() - begun, pods_of(cluster, pods)
        late = waited_s > within_s
        for pod in there:
            if ended_state(pod) is not None:
                return False
            said = trouble(pod)
            # an autoscaler adds pods later than the first one: each has its own time
            pending_s = waited_s - since_s.setdefault(uid_of(pod), waited_s)
            if said is not None and (late or not said.passing or pending_s > _patience_s(said)):
                raise TrialFailure(said.outcome, said.reason + _warned(cluster, pods, pod, said))
        if len(there) < pods.replicas and waited_s > ask_at_s:
            ask_at_s = waited_s + ASK_EVERY_S
            why = None
            with contextlib.suppress(HostError):  # who may make a deployment may not always read it
                why = not_made(cluster.deployment(pods.namespace, pods.name))
            if why is not None:
                raise TrialFailure(Outcome.FAILED, why)
        if late:
            raise TrialFailure(Outcome.FAILED, _too_few(cluster, pods, prober, waited_s))
        time.sleep(0.05)
    return True


def _too_few(cluster: Cluster, pods: PodsSpec, prober: Prober, waited_s: float) -> str:
    """Say how many processes were seen of pods that nothing is known to be wrong with."""
    if pods.scale_from is not None and prober.n_served < pods.at_first:
        return f"{prober.n_served} of the first {pods.at_first} pods have served within {waited_s:.0f} s"
    n = sum(pod.found is not None for pod in tuple(prober.pods.values()))
    seen = "no process" if n == 0 else f"{n} of {pods.replicas} processes"
    text = f"{seen} of {pods.name} were seen on this machine within {waited_s:.0f} s"
    if pods.autoscale_cpu is None or len(prober.pods) >= pods.replicas:
        return text
    try:
        return f"{text}; {not_scaled(cluster.autoscaler(pods.namespace, pods.name))}"
    except HostError as problem:
        return f"{text}; why the autoscaler adds none is not known: {problem}"


def _warned(cluster: Cluster, pods: PodsSpec, pod: Pod, said: Trouble) -> str:
    """What the cluster warned of last about a pod whose state does not say why it waits."""
    if not said.passing or _UNSCHEDULABLE in said.reason:
        return ""
    warning: str | None = None
    with contextlib.suppress(HostError):  # the state alone is said
        warning = last_warning(cluster.events(pods.namespace), uid_of(pod))
    return f"; {warning}" if warning else ""


def no_boost(cluster: Cluster, runtime: RuntimeSettings) -> str | None:
    """Return why pods cannot have ``cpu_boost`` in this cluster, or ``None``."""
    if runtime.cpu_boost is None:
        return None
    limit = runtime.cpu_limit or runtime.cpus
    if limit is None or limit >= runtime.cpu_boost:
        said = "no limit" if limit is None else f"{limit:g}"
        return f"cpu_boost = {runtime.cpu_boost:g} needs a lower CPU limit, cpu_limit or cpus; found {said}"
    try:
        if cluster.has_core_resource(RESIZE):
            return cluster.not_permitted("patch", RESIZE)
    except HostError as problem:
        return str(problem)
    return "a CPU boost of the start needs pods that are resized in place (Kubernetes 1.33); this cluster has none"


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

    def take_back(self, served: Mapping[str, Found]) -> None:
        """Resize those of the pods that have served and were not asked yet; look at those that were.

        Raises:
            TrialFailure: the cluster refuses, or the node cannot do it.
        """
        if self.spec.cpu_boost is None:
            return
        new = [uid for uid in served if uid not in self.asked]
        try:
            for pod in pods_of(self.cluster, self.spec) if new else ():
                if uid_of(pod) in new:
                    self.cluster.resize(
                        self.spec.namespace, name_of(pod), container_resources(self.spec, boosted=False)
                    )
                    self.asked[uid_of(pod)] = time.monotonic()
        except HostError as problem:
            raise TrialFailure(Outcome.FAILED, f"the CPU boost was not taken back: {problem}") from problem
        limit = self.spec.cpu_limit or 0.0
        for uid in [uid for uid in self.asked if uid not in self.done]:
            had = self.quota(served[uid].pid) if uid in served else None
            if had is not None and abs(had - limit) <= _SAME_CPUS:
                self.done[uid] = time.monotonic()

    def lacking(self) -> str:
        """Return in words why not every pod has its limit yet."""
        pods: Collection[Pod] = ()
        with contextlib.suppress(HostError):
            pods = pods_of(self.cluster, self.spec)
        why = next((said for pod in pods if (said := resize_trouble(pod)) is not None), "the kernel has not")
        n = len(self.done)
        return f"the CPU boost was taken back from {n} of {self.spec.replicas} pods; {why}"


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


def _patience_s(said: Trouble) -> float:
    return UNSCHEDULED_FOR_S if _UNSCHEDULABLE in said.reason else STARTED_WITHIN_S


__all__ = ["LOOK_EVERY_S", "StartBoost", "cpu_quota", "no_boost", "wait_started"]
