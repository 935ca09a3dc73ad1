# SPDX-License-Identifier: Apache-2.0
"""A service that runs in pods of a cluster: watched by its processes on this machine, stopped through the API.

Pods' processes are processes of this machine, which is the cluster's node, so the same sampler reads them. Of several
pods the role ``service`` is their sum, and ``pod-1``, ``pod-2`` ... are each of them.
When the pods are about to be stopped, each runtime is asked how many CPUs it goes by. What Go says is of that moment:
since Go 1.25 it follows its limit. What a JVM says is of its start.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Event, Pod

from harness.agent.process_tree import TICKS_PER_S
from harness.agent.sampler import Subject
from harness.errors import HostError, TrialFailure
from harness.formats.runtime_metrics import go_cpus, jvm_cpus
from harness.model import (
    ClockReading,
    Endpoint,
    InstanceRecord,
    KubernetesRecord,
    Outcome,
    PodRecord,
    ResourceReading,
    RuntimeCpus,
)
from harness.places.hosts.local import LocalHost, group_of, start_ticks_of
from harness.places.hosts.measuring import Sampling, Started
from harness.places.launchers.arguments import GC_LOG
from harness.places.launchers.base import STDERR, Instance
from harness.places.launchers.kubernetes_cluster import PORT, Cluster, PodsSpec
from harness.places.launchers.kubernetes_pods import (
    EVENTS_OF_A_START,
    LOOK_EVERY_S,
    PodProbe,
    Prober,
    StartBoost,
    condition_moments,
    connected_through,
    ended_state,
    event_moments,
    field_of,
    name_of,
    status_of,
    trouble,
    uid_of,
)

METRICS = "/metrics"
#: Of one pod: one that hangs must not delay its own end.
ANSWER_WITHIN_S = 1.0
#: What a JVM says of itself stands in the first kilobytes of its log.
LOG_BYTES = 1 << 16
_SILENT = {"native": "a native image does not say", "other": "no reader for programs of this kind"}
#: The kubelet tells the API that a container has ended when it has looked, once a second.
TOLD_WITHIN_S = 8.0
#: From the end of the grace period until pods are gone from the API, on a busy machine.
GONE_WITHIN_S = 40.0
_TERMINATED, _KILLED = 143, 137


class KubernetesInstance(Instance):
    """A running variant in its pods. ``record`` is of the first pod's process; ``kind``: of its runtime; ``whole``: the
    processes of all its pods."""

    def __init__(
        self,
        cluster: Cluster,
        spec: PodsSpec,
        record: InstanceRecord,
        endpoint: Endpoint,
        prober: Prober,
        kind: str,
        whole: Subject,
    ) -> None:
        super().__init__(record, spec.folder, spec.grace_s, LocalHost())
        self._cluster, self._spec, self._prober, self._kind = cluster, spec, prober, kind
        self._boost = StartBoost(cluster, spec)
        self.endpoint, self.whole = endpoint, whole
        self._exit_code: int | None = None
        self._out_of_memory: str | None = None
        self._stopped = False

    @property
    def around(self) -> KubernetesRecord:
        """The cluster around it, as it was at the launch."""
        assert self._record.kubernetes is not None, "every instance of this class has one"
        return self._record.kubernetes

    def exited(self) -> int | None:
        if self._exit_code is None and not self._stopped and not all(self._alive() or [False]):
            self._note_end()
        return self._exit_code

    def out_of_memory(self) -> str | None:
        return self._out_of_memory or super().out_of_memory()

    def lacking(self, deadline_s: float) -> str | None:
        """Wait until every pod has served the prober, and has given back what it had for its start; return why not
        all did by then, or ``None``. Raises TrialFailure: the cluster refuses to take it back."""
        while not (self._prober.all_served and self._boost.complete):
            self._boost.take_back(self._prober.served)
            over = time.monotonic() > deadline_s or self.exited() is not None
            if over and self._prober.all_served:
                return (
                    f"the CPU boost was taken back from {len(self._boost.done)} of {self._spec.replicas} pods; their "
                    f"conditions say why: kubectl describe pods -n {self._spec.namespace}"
                )
            if over:
                reasons = [problem.reason for pod in self._pods() if (problem := trouble(pod)) is not None]
                why = reasons[0] if reasons else "the others do not answer"
                return f"{len(self._prober.served)} of {self._spec.replicas} pods have served; {why}"
            time.sleep(LOOK_EVERY_S if self._prober.all_served else 0.005)
        return None

    def unrouted(self, deadline_s: float) -> str | None:
        """Wait until connections to the service's address have reached every pod; return why not, or ``None``. Call
        it when every pod has served: the prober must be silent."""
        while True:
            processes, pods = self._prober.processes, self._prober.pods
            left = {uid: process for uid, process in processes.items() if pods[uid].routed_s is None}
            if not left:
                return None
            if time.monotonic() > deadline_s or self.exited() is not None:
                n = self._spec.replicas
                return f"{len(left)} of {n} pods are not reached through the service's address"
            uid = connected_through(self.endpoint, left, PORT)
            if uid is not None:
                pods[uid].routed_s = time.monotonic()
            time.sleep(0.002)

    def pod_endpoints(self) -> dict[str, Endpoint]:
        """Return ``pod-1``, ``pod-2`` ... -> the address in the cluster where it alone listens."""
        addresses = [item.address for item in self._prober.processes.values() if item.address is not None]
        return {
            f"pod-{number}": Endpoint(host=address, port=PORT)
            for number, address in enumerate(addresses, start=1)
        }

    def stop(self) -> InstanceRecord:
        if self._stopped:
            return self._record
        self._prober.stop()
        ended_before = self.exited() is not None
        around = with_runtime_cpus(self._around_at_stop(), self._kind, self._spec.folder)
        try:
            how, stop_s = self._end(ended_before, time.monotonic())
        finally:
            self._stopped = True
            self._cluster.remove(self._spec)
        self._lay_out_files(around)
        self._record = self._record.model_copy(
            update={"stop_signal": how, "exit_code": self._exit_code, "stop_s": stop_s, "kubernetes": around}
        )
        return self._record

    def _end(self, ended_before: bool, begin: float) -> tuple[str, float]:
        pods = self._pods()
        readers = [self._log_reader(pod) for pod in pods]
        self._cluster.delete(Deployment, self._spec.name, self._spec.namespace)
        deadline = begin + self._spec.grace_s + GONE_WITHIN_S
        stop_s: float | None = None
        while True:
            if stop_s is None and not any(self._alive()):
                stop_s = time.monotonic() - begin
            left = self._pods()
            for pod in left:
                ended = ended_state(pod)
                if ended is not None and self._exit_code is None:
                    self._exit_code = int(ended.exitCode)
            if stop_s is not None and (self._exit_code is not None or not left):
                break
            if time.monotonic() > deadline:
                raise HostError(
                    f"pods of {self._spec.name} do not end: kubectl get pods -n {self._spec.namespace}"
                )
            time.sleep(0.02)
        for reader in readers:
            reader.join(timeout=2.0)
        if ended_before:
            return "exited", stop_s
        if self._exit_code is None:  # gone before the API was told how
            self._exit_code = _KILLED if stop_s >= self._spec.grace_s else _TERMINATED
        return ("SIGKILL" if self._exit_code == _KILLED else "SIGTERM"), stop_s

    def _log_reader(self, pod: Pod) -> threading.Thread:
        """Have what a pod says written down until its end: it is gone with the pod."""
        name = name_of(pod)
        path = self._spec.folder / (STDERR if self._spec.replicas == 1 else f"{name}/{STDERR}")

        def read() -> None:
            with contextlib.suppress(HostError, OSError):
                path.parent.mkdir(exist_ok=True)
                with path.open("w", encoding="utf-8") as out:
                    for line in self._cluster.log_lines(self._spec.namespace, name):
                        out.write(line)

        reader = threading.Thread(target=read, name=f"log of {name}", daemon=True)
        reader.start()
        return reader

    def _note_end(self) -> None:
        """Learn from the API how it ended; a pod that is gone was told to end."""
        deadline = time.monotonic() + TOLD_WITHIN_S
        while self._exit_code is None:
            pods = self._pods()
            for pod in pods:
                ended = ended_state(pod)
                if ended is None:
                    continue
                self._exit_code = int(ended.exitCode)
                why = trouble(pod)
                if why is not None and why.outcome == Outcome.OUT_OF_MEMORY:
                    self._out_of_memory = why.reason
                if ended.message and not self.stderr_file.exists():
                    self.stderr_file.write_text(ended.message)
                return
            if not pods or time.monotonic() > deadline:
                self._exit_code = _TERMINATED
            time.sleep(0.02)

    def _around_at_stop(self) -> KubernetesRecord:
        events: Sequence[Event] = ()
        with contextlib.suppress(HostError):  # without events there are two clocks
            events = self._cluster.objects(Event, self._spec.namespace)
        place = {uid: number for number, uid in enumerate(self._prober.pods)}  # as they were seen
        pods = sorted(self._pods(), key=lambda pod: place.get(uid_of(pod), len(place)))
        known = tuple(self._pod_record(pod, events) for pod in pods)
        return self.around.model_copy(update={"watched_s": self._after(self._prober.ended_s), "pods": known})

    def _pod_record(self, pod: Pod, events: Sequence[Event]) -> PodRecord:
        uid = uid_of(pod)
        probed = self._prober.pods.get(uid) or PodProbe()
        process, moments = probed.process, event_moments(events, uid)
        return PodRecord(
            name=name_of(pod),
            uid=uid,
            node=field_of(pod, "spec.nodeName"),
            address=field_of(pod, "status.podIP") or field_of(process, "address"),
            pid=field_of(process, "pid"),
            process_start_ticks=field_of(process, "start_ticks"),
            conditions_epoch_s=condition_moments(pod),
            events_epoch_s=moments,
            events_lost=tuple(reason for reason in EVENTS_OF_A_START if reason not in moments),
            # the kernel counts a process's start in ticks since the machine was started, as the monotonic clock does
            process_after_s=None if process is None else self._after(process.start_ticks / TICKS_PER_S),
            program_after_s=self._after(probed.program_s),
            program_gap_s=None if probed.program_s is None else probed.program_gap_s,
            first_served_after_s=self._after(probed.served_s),
            probes=probed.probes if uid in self._prober.pods else None,
            longest_probe_gap_s=probed.longest_gap_s if uid in self._prober.pods else None,
            routed_after_s=self._after(probed.routed_s),
            boost_ended_after_s=self._after(self._boost.done.get(uid)),
            restarts=field_of(status_of(pod), "restartCount"),
            at_stop=None if process is None else group_of(process.pid, process.start_ticks),
        )

    def _after(self, monotonic_s: float | None) -> float | None:
        """Return a moment as seconds since the launch."""
        return None if monotonic_s is None else monotonic_s - self._record.launched.monotonic_s

    def _lay_out_files(self, around: KubernetesRecord) -> None:
        """Have the first pod's files lie where those of a process would; the others' have the pod's number."""
        for n, pod in enumerate(around.pods, start=1) if self._spec.replicas > 1 else ():
            own = self._spec.folder / pod.name
            for file in sorted(own.iterdir()) if own.is_dir() else ():
                if file.is_file():
                    file.rename(self._spec.folder / (file.name if n == 1 else f"pod-{n}-{file.name}"))
            with contextlib.suppress(OSError):
                own.rmdir()

    def _alive(self) -> list[bool]:
        """Return whether each process lives that was seen."""
        processes = self._prober.processes.values()
        return [start_ticks_of(item.pid) == item.start_ticks for item in processes]

    def _pods(self) -> list[Pod]:
        return self._cluster.pods(self._spec)


def with_runtime_cpus(around: KubernetesRecord, kind: str, folder: Path) -> KubernetesRecord:
    """Return the record with what each pod's runtime says. ``kind``: ``go``, ``jvm``, or what cannot be asked:
    ``native`` or ``other``. ``folder``: the trial's; each of several pods has a folder of its own name in it."""

    def of(pod: PodRecord) -> RuntimeCpus:
        if kind == "go":
            return _asked(pod)
        if kind == "jvm":
            return _logged((folder / pod.name if around.replicas > 1 else folder) / GC_LOG)
        return RuntimeCpus(why_not=_SILENT.get(kind, _SILENT["other"]))

    pods = tuple(pod.model_copy(update={"runtime_cpus": of(pod)}) for pod in around.pods)
    return around.model_copy(update={"pods": pods})


def _asked(pod: PodRecord) -> RuntimeCpus:
    if pod.address is None or pod.first_served_after_s is None:
        return RuntimeCpus(why_not="the pod did not serve")
    try:
        url = f"{Endpoint(host=pod.address, port=PORT).url}{METRICS}"
        answer = httpx.get(url, timeout=ANSWER_WITHIN_S, trust_env=False)
    except httpx.HTTPError as problem:
        return RuntimeCpus(why_not=f"no answer to GET {METRICS} ({str(problem) or type(problem).__name__})")
    if answer.status_code != 200:
        return RuntimeCpus(why_not=f"GET {METRICS}: {answer.status_code}")
    return go_cpus(answer.text)


def _logged(log: Path) -> RuntimeCpus:
    try:
        with log.open("rb") as stream:
            return jvm_cpus(stream.read(LOG_BYTES).decode("utf-8", "replace"))
    except OSError:
        return RuntimeCpus(why_not="no GC log")


class KubernetesHost(LocalHost):
    """A ``MeasuringHost``: this machine, which is the node of the cluster. ``groups``: instances by id and start of
    their first pod's process."""

    translates = True

    def __init__(self) -> None:
        super().__init__()
        self.groups: dict[tuple[int, int], KubernetesInstance] = {}

    def resources(self, watched: Subject, *, pss: bool = True) -> ResourceReading:
        group = self.groups.get((watched.pid, watched.start_ticks))
        return super().resources(watched if group is None else group.whole, pss=pss)

    def sampler(self, samples: Path, machine: Path, hz: float) -> Sampling:
        return _PodSampling(super().sampler(samples, machine, hz), self.groups)

    def first_answer(
        self, endpoint: Endpoint, request: bytes, watched: Subject, launched: ClockReading, deadline_s: float
    ) -> Started:
        """Poll through the service's address, and wait until every pod serves and is reached through it. An address
        inside the cluster is asked after that alone: before kube-proxy knows it, another program may answer. Raises
        TrialFailure: not all did before the deadline."""
        group = self.groups.get((watched.pid, watched.start_ticks))
        deadline_s += 0.0 if group is None else group.around.scaled_after_s or 0.0

        def ask() -> Started:
            return super(KubernetesHost, self).first_answer(endpoint, request, watched, launched, deadline_s)

        if group is None:
            return ask()
        started = ask() if group.around.access == "node-port" else None
        if started is None or started.first.answer is not None:
            until = launched.monotonic_s + deadline_s
            why = group.lacking(until) or group.unrouted(until)
            if why is not None:
                raise TrialFailure(Outcome.TIMED_OUT, why)
        return started or ask()


class _PodSampling:
    """A sampler that watches each of several pods beside their sum."""

    def __init__(self, inner: Sampling, groups: dict[tuple[int, int], KubernetesInstance]) -> None:
        self._inner, self._groups = inner, groups
        self.pace, self.stop = inner.pace, inner.stop

    def add(self, role: str, watched: Subject) -> None:
        group = self._groups.get((watched.pid, watched.start_ticks))
        watched = watched if group is None else group.whole
        self._inner.add(role, watched)
        first = (watched.pid, watched.start_ticks)
        for number, ids in enumerate((first, *watched.siblings), start=1) if watched.siblings else ():
            self._inner.add(f"pod-{number}", Subject(*ids))
