# SPDX-License-Identifier: Apache-2.0
"""This machine as the node of a cluster: an instance of several pods is read as one, and loads run as jobs.

A load generator runs in a job with the same program and command as here, and its files in the same folder.
Pods' processes are processes of this machine, so the same sampler reads them. Of several pods the role ``service``
is their sum, and ``pod-1``, ``pod-2`` ... are each of them.
"""

from __future__ import annotations

import contextlib
import csv
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lightkube.resources.batch_v1 import Job

from harness.agent.process_tree import read_tree
from harness.agent.sampler import SamplerSummary, Watched
from harness.errors import HostError, RematchError, TrialFailure
from harness.hosts.base import Command, Process, Stopped, StopSignal, now
from harness.hosts.local import LocalHost
from harness.hosts.measuring import Sampling, Started
from harness.launchers.kubernetes_cluster import Cluster, PodsSpec, job
from harness.launchers.kubernetes_instance import KubernetesInstance
from harness.launchers.kubernetes_pods import PodProcess, Processes, ended_state, name_of, trouble, uid_of
from harness.model import ClockReading, Outcome, ResourceReading
from harness.model.endpoint import Endpoint
from harness.sampling import tree_here

_STARTED_WITHIN_S = 60.0
_TOLD_WITHIN_S = 10.0
_UNKNOWN_END = 1
SERVICE = "service"


#: Instances by what names the process of their first pod: (pid, start ticks).
Groups = dict[tuple[int, int], KubernetesInstance]


def _group(groups: Groups, watched: Watched) -> KubernetesInstance | None:
    """Return the pods that this process stands for; ``None``: it is no pod."""
    return groups.get((watched.pid, watched.start_ticks))


class KubernetesHost(LocalHost):
    """A ``MeasuringHost``: this machine, which is the node of the cluster."""

    translates = True

    def __init__(self, groups: Groups) -> None:
        super().__init__()
        self._groups = groups

    def resources(self, watched: Watched, *, pss: bool = True) -> ResourceReading:
        group = _group(self._groups, watched)
        if group is None or len(group.members) < 2:
            return super().resources(watched, pss=pss)
        return added([super(KubernetesHost, self).resources(member, pss=pss) for member in group.members])

    def sampler(self, samples: Path, machine: Path, hz: float) -> Sampling:
        return _PodSampling(super().sampler(samples, machine, hz), samples, self._groups)

    def first_answer(
        self,
        endpoint: Endpoint,
        request: bytes,
        watched: Watched,
        *,
        launched: ClockReading,
        deadline_s: float,
    ) -> Started:
        """Poll through the service's address, and wait until every pod serves and is reached through it. An address
        inside the cluster is asked after that alone: before kube-proxy knows it, another program may answer. Raises
        TrialFailure: not all did before the deadline."""
        group = _group(self._groups, watched)
        deadline_s += 0.0 if group is None else group.added_s

        def ask() -> Started:
            return super(KubernetesHost, self).first_answer(
                endpoint, request, watched, launched=launched, deadline_s=deadline_s
            )

        if group is None:
            return ask()
        started = None if group.asked_last else ask()
        if started is None or started.first.answer is not None:
            until = launched.monotonic_s + deadline_s
            why = group.lacking(until) or group.unrouted(until)
            if why is not None:
                raise TrialFailure(Outcome.TIMED_OUT, why)
        return started or ask()


class JobHost(KubernetesHost):
    """As ``KubernetesHost``, but what is spawned here runs in a job of the cluster."""

    def __init__(self, groups: Groups, start: Callable[[Command], Process]) -> None:
        super().__init__(groups)
        self._start = start

    def spawn(self, command: Command) -> Process:  # type: ignore[override]  # a pod's process is no child of ours
        return self._start(command)


class _PodSampling:
    """A sampler that watches each pod, and lays their sum beside them when it stops."""

    def __init__(self, inner: Sampling, samples: Path, groups: Groups) -> None:
        self._inner, self._samples, self._groups = inner, samples, groups
        self._several = 0
        self._stopped = False

    def add(self, role: str, watched: Watched) -> None:
        group = _group(self._groups, watched) if role == SERVICE else None
        if group is None or len(group.members) < 2:
            self._inner.add(role, watched)
            return
        self._several = len(group.members)
        for number, member in enumerate(group.members, start=1):
            self._inner.add(f"pod-{number}", member)

    def pace(self, hz: float) -> None:
        self._inner.pace(hz)

    def stop(self) -> SamplerSummary:
        summary = self._inner.stop()
        if self._several and not self._stopped:
            self._stopped = True
            with_sum(self._samples, self._several)
        return summary


def with_sum(samples: Path, pods: int) -> None:
    """Add rows of role ``service`` to a file of samples: at each reading of the last pod the sum of all.

    What a pod was last read as is its part of a sum; before all have been read there is none.
    """
    with samples.open(newline="") as stream:
        reader = csv.DictReader(stream)
        columns = list(reader.fieldnames or ())
        rows = list(reader)
    last: dict[str, Mapping[str, str]] = {}
    written: list[Mapping[str, str]] = []
    for row in rows:
        written.append(row)
        if not row["role"].startswith("pod-"):
            continue
        last[row["role"]] = row
        if row["role"] == f"pod-{pods}" and len(last) == pods:
            of = list(last.values())
            counted = {name: _sum([item[name] for item in of]) for name in columns[2:]}
            written.append({"monotonic_s": row["monotonic_s"], "role": SERVICE, **counted})
    with samples.open("w", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(written)


def _sum(cells: Sequence[str]) -> str:
    if "" in cells:
        return ""
    total = sum(float(cell) for cell in cells)
    return f"{total:.6f}" if any("." in cell for cell in cells) else str(int(total))


def added(readings: Sequence[ResourceReading]) -> ResourceReading:
    """Return the sum of readings; what one of them lacks, the sum lacks. Its moment is the last one's."""

    def of(name: str) -> float | int | None:
        values = [getattr(reading, name) for reading in readings]
        return None if None in values else sum(values)

    names = type(readings[-1]).model_fields.keys() - {"at"}
    return readings[-1].model_copy(update={name: of(name) for name in names})


class JobProcess:
    """A process in a job; see ``Process``. Its output, of both streams, goes to the file of its stdout."""

    #: What made the container used before the program ran is on its process's account and cannot be told apart.
    cpu_at_launch_s = 0.0

    def __init__(
        self, cluster: Cluster, spec: PodsSpec, command: Command, process: PodProcess | None
    ) -> None:
        self._cluster, self._spec, self._command = cluster, spec, command
        self.launched = now()
        self._process = process
        self.pid = 0 if process is None else process.pid
        self.start_ticks = 0 if process is None else process.start_ticks
        self._cpu_s: float | None = None
        self._exit_code: int | None = None
        self._stopped: Stopped | None = None

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
        if self._process is not None and self._exit_code is None:
            cpu_s = read_tree(self.pid, self.start_ticks, pss=False, reader=tree_here()).cpu_s
            self._cpu_s = self._cpu_s if cpu_s is None else cpu_s
        return self._cpu_s

    def stop(self, grace_s: float, first: StopSignal = "SIGTERM") -> Stopped:
        if self._stopped is None:
            begin, ended = time.monotonic(), self._exit_code is not None
            self._cluster.delete(Job, self._spec.name, self._spec.namespace)
            deadline = begin + self._spec.grace_s + _STARTED_WITHIN_S
            while self._alive() and time.monotonic() < deadline:
                time.sleep(0.02)
            if self._exit_code is None:
                self._exit_code = 143
            how = "exited" if ended else first
            self._stopped = Stopped(self._exit_code, how, time.monotonic() - begin)
        return self._stopped

    def _alive(self) -> bool:
        return self._process is not None and LocalHost().start_ticks(self.pid) == self.start_ticks

    def _how_it_ended(self) -> int:
        deadline = time.monotonic() + _TOLD_WITHIN_S
        while time.monotonic() < deadline:
            pods = self._cluster.pods(self._spec)
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
            pods = self._cluster.pods(self._spec)
            lines = self._cluster.log_lines(self._spec.namespace, name_of(pods[0])) if pods else ()
            (self._command.folder / self._command.stdout).write_text("".join(lines), encoding="utf-8")


def start_job(cluster: Cluster, spec: PodsSpec, command: Command) -> JobProcess:
    """Start a command as a job; return when its process is seen, or has ended. Raises TrialFailure: its pod does not
    start."""
    try:
        cluster.apply(job(spec))
        deadline, look = time.monotonic() + _STARTED_WITHIN_S, Processes()
        while True:
            pods = cluster.pods(spec)
            processes = look([uid_of(pod) for pod in pods])
            if processes:
                return JobProcess(cluster, spec, command, next(iter(processes.values())))
            if pods and ended_state(pods[0]) is not None:
                return JobProcess(cluster, spec, command, None)
            problem = trouble(pods[0]) if pods else None
            late = time.monotonic() > deadline
            if problem is not None and (late or not problem.passing):
                raise TrialFailure(Outcome.FAILED, f"the load generator's job: {problem.reason}")
            if late:
                raise TrialFailure(Outcome.FAILED, "the load generator's job has no process on this machine")
            time.sleep(0.02)
    except BaseException:
        with contextlib.suppress(RematchError):
            cluster.delete(Job, spec.name, spec.namespace)
        raise
