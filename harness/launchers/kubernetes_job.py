# SPDX-License-Identifier: Apache-2.0
"""A load generator in a job of the cluster: the same program and command as here, and its files in the same folder."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.errors import HostError, RematchError, TrialFailure
from harness.hosts.base import Command, Stopped, StopSignal
from harness.hosts.local import LocalHost
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_objects import INSTANCE, PodsSpec, job
from harness.launchers.kubernetes_pods import Found, ended_state, processes_of, trouble
from harness.model import ClockReading, Outcome
from harness.sampling import read_resources

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Pod

_STARTED_WITHIN_S = 60.0
_TOLD_WITHIN_S = 10.0
_UNKNOWN_END = 1


class JobProcess:
    """A process in a job; see ``Process``. Its output, of both streams, goes to the file of its stdout."""

    #: What made the container used before the program ran is on its process's account and cannot be told apart.
    cpu_at_launch_s = 0.0

    def __init__(
        self, cluster: Cluster, spec: PodsSpec, command: Command, launched: ClockReading, found: Found | None
    ) -> None:
        self._cluster, self._spec, self._command = cluster, spec, command
        self.launched = launched
        self._found = found
        self._cpu_s: float | None = None
        self._exit_code: int | None = None
        self._stopped: Stopped | None = None

    @property
    def pid(self) -> int:
        return 0 if self._found is None else self._found.pid

    @property
    def start_ticks(self) -> int:
        return 0 if self._found is None else self._found.start_ticks

    def exited(self) -> int | None:
        """Return the exit code once the API knows it; asks it only when the process is gone from this machine."""
        if self._exit_code is None and not self._alive():
            self._exit_code = self._how_it_ended()
            self._keep_output()
        return self._exit_code

    def wait(self, timeout_s: float) -> int | None:
        deadline = time.monotonic() + timeout_s
        while self.exited() is None and time.monotonic() < deadline:
            time.sleep(min(0.02, timeout_s))
        return self._exit_code

    def cpu_s(self) -> float | None:
        if self._found is not None and self._exit_code is None:
            seen = read_resources(self.pid, self.start_ticks, pss=False).cpu_s
            self._cpu_s = self._cpu_s if seen is None else seen
        return self._cpu_s

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Stopped:
        from lightkube.resources.batch_v1 import Job

        if self._stopped is None:
            begin, ended = time.monotonic(), self._exit_code is not None
            self._cluster.delete(Job, self._spec.name, self._spec.namespace)
            deadline = begin + self._spec.grace_s + _STARTED_WITHIN_S
            while self._alive() and time.monotonic() < deadline:
                time.sleep(0.02)
            if self._exit_code is None:
                self._exit_code = 143
            how: StopSignal | str = "exited" if ended else first
            self._stopped = Stopped.model_validate(
                {"exit_code": self._exit_code, "signal": how, "stop_s": time.monotonic() - begin}
            )
        return self._stopped

    def _alive(self) -> bool:
        return self._found is not None and LocalHost().start_ticks(self.pid) == self.start_ticks

    def _how_it_ended(self) -> int:
        deadline = time.monotonic() + _TOLD_WITHIN_S
        while time.monotonic() < deadline:
            pods = pods_of(self._cluster, self._spec)
            ended = ended_state(pods[0]) if pods else None
            if ended is not None:
                return int(ended.exitCode)
            if not pods:
                break
            time.sleep(0.02)
        return _UNKNOWN_END

    def _keep_output(self) -> None:
        if self._command.stdout is None:
            return
        with contextlib.suppress(HostError):
            pod = pods_of(self._cluster, self._spec)[:1]
            name = str(pod[0].metadata.name) if pod and pod[0].metadata is not None else ""
            lines = list(self._cluster.log_lines(self._spec.namespace, name)) if name else []
            (self._command.folder / self._command.stdout).write_text("".join(lines), encoding="utf-8")


def start_job(
    cluster: Cluster, spec: PodsSpec, command: Command, clock: Callable[[], ClockReading]
) -> JobProcess:
    """Start a command as a job and return when its process is seen, or has ended already.

    Raises:
        TrialFailure: its pod does not start; says why.
    """
    try:
        cluster.apply(job(spec))
        deadline = time.monotonic() + _STARTED_WITHIN_S
        while True:
            pods = pods_of(cluster, spec)
            uids = [str(pod.metadata.uid) for pod in pods if pod.metadata is not None]
            result = processes_of(uids)
            if result:
                return JobProcess(cluster, spec, command, clock(), next(iter(result.values())))
            if pods and ended_state(pods[0]) is not None:
                return JobProcess(cluster, spec, command, clock(), None)
            said = trouble(pods[0]) if pods else None
            late = time.monotonic() > deadline
            if said is not None and (late or not said.passing):
                raise TrialFailure(Outcome.FAILED, f"the load generator's job: {said.reason}")
            if late:
                raise TrialFailure(Outcome.FAILED, "the load generator's job has no process on this machine")
            time.sleep(0.02)
    except BaseException:
        from lightkube.resources.batch_v1 import Job

        with contextlib.suppress(RematchError):
            cluster.delete(Job, spec.name, spec.namespace)
        raise


def pods_of(cluster: Cluster, spec: PodsSpec) -> list[Pod]:
    """Return the pods of a job or deployment that was made with these labels."""
    return cluster.pods(spec.namespace, {INSTANCE: spec.labels[INSTANCE]})


def kinds_of_an_instance(spec: PodsSpec, *, ingress: bool) -> tuple[Any, ...]:
    """Return the kinds of objects that an instance has, who adds pods first; ``ingress``: that one, too."""
    from lightkube.resources.core_v1 import Service
    from lightkube.resources.networking_v1 import Ingress

    makers = kinds_that_make_pods(spec)
    return (*makers, Service, Ingress) if ingress else (*makers, Service)


def kinds_that_make_pods(spec: PodsSpec) -> tuple[Any, ...]:
    """Return the kinds of objects without which an instance's pods end: who adds pods, then the deployment."""
    from lightkube.resources.apps_v1 import Deployment
    from lightkube.resources.autoscaling_v2 import HorizontalPodAutoscaler

    return (Deployment,) if spec.autoscale_cpu is None else (HorizontalPodAutoscaler, Deployment)


def remove_objects(cluster: Cluster, spec: PodsSpec, *, ingress: bool = False) -> None:
    """Delete a deployment and what leads to it, as far as the cluster still answers."""
    for kind in kinds_of_an_instance(spec, ingress=ingress):
        with contextlib.suppress(HostError):
            cluster.delete(kind, spec.name, spec.namespace)


def new_name(kind: str) -> str:
    """Return a name that no other object has: ``service-1f0c9a2b``."""
    return f"{kind}-{secrets.token_hex(4)}"


__all__ = [
    "JobProcess", "kinds_of_an_instance", "kinds_that_make_pods", "new_name", "pods_of", "remove_objects", "start_job",
]  # fmt: skip
