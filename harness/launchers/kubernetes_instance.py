# SPDX-License-Identifier: Apache-2.0
"""A service that runs in pods of a cluster: watched by its processes on this machine, stopped through the API."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HostError
from harness.hosts.local import LocalHost
from harness.hosts.measuring import MeasuringHost
from harness.launchers.exit_reason import STDERR, TAIL_BYTES, memory_complaint, port_complaint
from harness.launchers.kubernetes_cluster import Cluster
from harness.launchers.kubernetes_cpus import with_runtime_cpus
from harness.launchers.kubernetes_job import kinds_of_an_instance, kinds_that_make_pods
from harness.launchers.kubernetes_objects import INSTANCE, PORT, PodsSpec
from harness.launchers.kubernetes_pods import (
    Found,
    condition_moments,
    created,
    ended_state,
    event_moments,
    lost,
    status_of,
    trouble,
    uid_of,
)
from harness.launchers.kubernetes_prober import Prober, answers, connected_through
from harness.launchers.kubernetes_start import LOOK_EVERY_S, StartBoost
from harness.model import GroupReading, InstanceRecord, KubernetesRecord, Outcome, PodRecord
from harness.model.endpoint import Endpoint

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Event, Pod

#: The kubelet tells the API that a container has ended when it has looked, once a second.
TOLD_WITHIN_S = 8.0
#: From the end of the grace period until pods are gone from the API, on a busy machine.
GONE_WITHIN_S = 40.0
_TERMINATED, _KILLED = 143, 137


class KubernetesInstance:
    """A running variant in its pods; see ``Instance``. ``record`` is of the first pod's process.

    ``kind``: of its runtime, ``go``, ``jvm``, ``native`` or ``other``.
    """

    #: What made the container used before the program ran is on its process's account and cannot be told apart.
    cpu_at_launch_s = 0.0

    def __init__(
        self,
        cluster: Cluster,
        spec: PodsSpec,
        record: InstanceRecord,
        endpoint: Endpoint,
        prober: Prober,
        boost: StartBoost | None = None,
        host: MeasuringHost | None = None,
        kind: str = "other",
    ) -> None:
        self._cluster, self._spec, self._record, self._prober = cluster, spec, record, prober
        self._kind = kind
        self._boost = boost or StartBoost(cluster, spec)
        self.host = host or LocalHost()
        self.endpoint = endpoint
        self._exit_code: int | None = None
        self._out_of_memory: str | None = None
        self._stopped = False

    @property
    def record(self) -> InstanceRecord:
        return self._record

    @property
    def stderr_file(self) -> Path:
        return self._spec.folder / STDERR

    def exited(self) -> int | None:
        if self._exit_code is None and not self._stopped and not self._all_alive():
            self._note_end()
        return self._exit_code

    def out_of_memory(self) -> str | None:
        return self._out_of_memory or memory_complaint(self._tail)

    def port_taken(self) -> bool:
        return port_complaint(self._tail, self.exited())

    def lacking(self, deadline_s: float) -> str | None:
        """Wait until every pod has served the prober, and has given back what it had for its start; return why not
        all did by then, or ``None``.

        Raises:
            TrialFailure: the cluster refuses to take it back.
        """
        while not (self._prober.all_served and self._boost.complete):
            self._boost.take_back(self._served())
            over = time.monotonic() > deadline_s or self.exited() is not None
            if over and self._prober.all_served:
                return self._boost.lacking()
            if over:
                served = sum(item.served_s is not None for item in self._prober.pods.values())
                why = next((said.reason for pod in self._pods() if (said := trouble(pod)) is not None), "")
                return (
                    f"{served} of {self._spec.replicas} pods have served; {why or 'the others do not answer'}"
                )
            time.sleep(LOOK_EVERY_S if self._prober.all_served else 0.005)
        return None

    def _served(self) -> dict[str, Found]:
        probed = self._prober.pods.copy()
        return {
            uid: one.found
            for uid, one in probed.items()
            if one.served_s is not None and one.found is not None
        }

    def unrouted(self, deadline_s: float) -> str | None:
        """Wait until connections to the service's address have reached every pod; return why not, or ``None``.

        Call it when every pod has served: the prober must be silent. An ingress has to answer rightly; to which pod it
        sends a request is its own choice each time.
        """
        around = self._record.kubernetes
        if around is not None and around.access == "ingress":
            while not answers(self.endpoint.host, self.endpoint.port, self._prober.path):
                if time.monotonic() > deadline_s or self.exited() is not None:
                    return f"the ingress at {self.endpoint.host} ({around.ingress}) does not answer rightly"
                time.sleep(LOOK_EVERY_S)
            return None
        pods = self._prober.pods
        while True:
            left = {
                uid: one.found for uid, one in pods.items() if one.routed_s is None and one.found is not None
            }
            if not left:
                return None
            if time.monotonic() > deadline_s or self.exited() is not None:
                return (
                    f"{len(left)} of {self._spec.replicas} pods are not reached through the service's address"
                )
            uid = connected_through(self.endpoint, left, PORT)
            if uid is not None:
                pods[uid].routed_s = time.monotonic()
            time.sleep(0.002)

    def pod_endpoints(self) -> dict[str, Endpoint]:
        """Return ``pod-1``, ``pod-2`` ... -> the address in the cluster where it alone listens."""
        result = (pod.found for pod in tuple(self._prober.pods.values()))
        addresses = [item.address for item in result if item is not None and item.address is not None]
        return {
            f"pod-{number}": Endpoint(host=address, port=PORT)
            for number, address in enumerate(addresses, start=1)
        }

    def stop(self) -> InstanceRecord:
        if self._stopped:
            return self._record
        self._prober.stop()
        begin = time.monotonic()
        ended_before = self.exited() is not None
        around = self._around()
        asked_s = time.monotonic()
        around = with_runtime_cpus(around, self._kind, self._spec.folder)
        begin += time.monotonic() - asked_s  # that question is no part of its end
        try:
            how, stop_s = self._end(ended_before, begin)
        finally:
            self._stopped = True
            self.remove()
        self._lay_out_files(around)
        self._record = self._record.model_copy(
            update={"stop_signal": how, "exit_code": self._exit_code, "stop_s": stop_s, "kubernetes": around}
        )
        return self._record

    def remove(self) -> None:
        """Delete its objects; its pods end within their grace period."""
        self._prober.stop()
        around = self._record.kubernetes
        ingress = around is not None and around.access == "ingress"
        for kind in kinds_of_an_instance(self._spec, ingress=ingress):
            self._cluster.delete(kind, self._spec.name, self._spec.namespace)

    def _end(self, ended_before: bool, begin: float) -> tuple[str, float]:
        pods = self._pods()
        readers = [self._log_reader(pod) for pod in pods]
        for kind in kinds_that_make_pods(self._spec):
            self._cluster.delete(kind, self._spec.name, self._spec.namespace)
        deadline = begin + self._spec.grace_s + GONE_WITHIN_S
        stop_s: float | None = None
        left: Sequence[Pod] = pods
        while left or stop_s is None:
            if stop_s is None and not any(self._alive()):
                stop_s = time.monotonic() - begin
            left = self._pods()
            for pod in left:
                ended = ended_state(pod)
                if ended is not None and self._exit_code is None:
                    self._exit_code = int(ended.exitCode)
            if self._exit_code is not None and stop_s is not None:
                break
            if time.monotonic() > deadline:
                raise HostError(
                    f"pods of {self._spec.name} do not end: kubectl get pods -n {self._spec.namespace}"
                )
            time.sleep(0.02)
        for reader in readers:
            reader.join(timeout=2.0)
        stop_s = time.monotonic() - begin if stop_s is None else stop_s
        if ended_before:
            return "exited", stop_s
        if self._exit_code is None:  # gone before the API was told how
            self._exit_code = _KILLED if stop_s >= self._spec.grace_s else _TERMINATED
        return ("SIGKILL" if self._exit_code == _KILLED else "SIGTERM"), stop_s

    def _log_reader(self, pod: Pod) -> threading.Thread:
        """Have what a pod says written down until its end: it is gone with the pod."""
        name = str(pod.metadata.name) if pod.metadata is not None else ""
        path = self._spec.folder / (STDERR if self._spec.replicas == 1 else f"{name}/{STDERR}")

        def read() -> None:
            with contextlib.suppress(HostError, OSError):
                path.parent.mkdir(exist_ok=True)
                with path.open("w", encoding="utf-8") as out:
                    for line in self._cluster.log_lines(self._spec.namespace, name, follow=True):
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

    def _around(self) -> KubernetesRecord:
        around = self._record.kubernetes
        assert around is not None, "every instance of this class has one"
        events: Sequence[Event] = ()
        with contextlib.suppress(HostError):  # without events there are two clocks
            events = self._cluster.events(self._spec.namespace)
        pods = sorted(self._pods(), key=lambda pod: self._number(uid_of(pod)))
        watched = self._prober.ended_s
        launched = self._record.launched.monotonic_s
        return around.model_copy(
            update={
                "watched_s": None if watched is None else watched - launched,
                "pods": tuple(self._pod_record(pod, events) for pod in pods),
            }
        )

    def _pod_record(self, pod: Pod, events: Sequence[Event]) -> PodRecord:
        uid, status = uid_of(pod), status_of(pod)
        probed = self._prober.pods.get(uid)
        result = None if probed is None else probed.found
        launched = self._record.launched.monotonic_s
        moments = event_moments(events, uid)
        reading: GroupReading | None = None
        if result is not None:
            reading = self.host.group(result.pid, result.start_ticks)
        served = None if probed is None or probed.served_s is None else probed.served_s - launched
        address = pod.status.podIP if pod.status is not None else None
        return PodRecord(
            name=str(pod.metadata.name) if pod.metadata is not None else "",
            uid=uid,
            node=pod.spec.nodeName if pod.spec is not None else None,
            address=address or (result.address if result is not None else None),
            pid=None if result is None else result.pid,
            process_start_ticks=None if result is None else result.start_ticks,
            created_epoch_s=created(pod),
            conditions_epoch_s=condition_moments(pod),
            events_epoch_s=moments,
            events_lost=lost(moments),
            process_after_s=None if result is None else _since_boot_s(result.start_ticks) - launched,
            program_after_s=None
            if probed is None or probed.program_s is None
            else probed.program_s - launched,
            program_gap_s=None if probed is None or probed.program_s is None else probed.program_gap_s,
            first_served_after_s=served,
            probes=None if probed is None else probed.probes,
            longest_probe_gap_s=None if probed is None else probed.longest_gap_s,
            routed_after_s=None if probed is None or probed.routed_s is None else probed.routed_s - launched,
            boost_ended_after_s=None if (ended := self._boost.done.get(uid)) is None else ended - launched,
            restarts=None if status is None else status.restartCount,
            at_stop=reading,
        )

    def _lay_out_files(self, around: KubernetesRecord) -> None:
        """Have the first pod's files lie where those of a process would; the others' have the pod's number."""
        for number, pod in enumerate(around.pods, start=1) if self._spec.replicas > 1 else ():
            own = self._spec.folder / pod.name
            for file in sorted(own.iterdir()) if own.is_dir() else ():
                if file.is_file():
                    file.rename(
                        self._spec.folder / (file.name if number == 1 else f"pod-{number}-{file.name}")
                    )
            with contextlib.suppress(OSError):
                own.rmdir()

    def _number(self, uid: str) -> int:
        """The first pod is the one whose process the record names; the others follow as they were seen."""
        one = self._prober.pods.get(uid)
        if one is not None and one.found is not None and one.found.pid == self._record.pid:
            return -1
        known = list(self._prober.pods)
        return known.index(uid) if uid in known else len(known)

    def _alive(self) -> list[bool]:
        """Whether each process lives that was seen."""
        seen = [pod.found for pod in tuple(self._prober.pods.values()) if pod.found is not None]
        return [self.host.start_ticks(item.pid) == item.start_ticks for item in seen]

    def _all_alive(self) -> bool:
        alive = self._alive()
        return bool(alive) and all(alive)

    def _pods(self) -> list[Pod]:
        return self._cluster.pods(self._spec.namespace, _selected(self._spec.labels))

    def _tail(self, name: str) -> str:
        with contextlib.suppress(OSError):
            return (self._spec.folder / name).read_bytes()[-TAIL_BYTES:].decode(errors="replace")
        return ""


def _selected(labels: Mapping[str, str]) -> dict[str, str]:
    return {INSTANCE: labels[INSTANCE]}


def _since_boot_s(start_ticks: int) -> float:
    """The kernel counts a process's start in ticks since the machine was started, as the monotonic clock does."""
    return start_ticks / os.sysconf("SC_CLK_TCK")


__all__ = ["KubernetesInstance"]
