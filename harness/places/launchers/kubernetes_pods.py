# SPDX-License-Identifier: Apache-2.0
"""State of pods: what keeps one from running, processes on this machine, conditions and events, the first answer, a
CPU boost of the start.

The prober runs on the cluster's node and asks each pod at its own address, 100 times a second from its launch on, on a
new connection each time. A pod's process and address are read from this machine's kernel as soon as they exist, not
from the API, which learns of them up to a second later. A pod that never answers has no answer: it is censored, not
dropped.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lightkube.models.core_v1 import ContainerStateTerminated, ContainerStatus, PodCondition
from lightkube.resources.core_v1 import Event, Pod

from harness.agent.cgroup import group_folders, text_of, whole_number
from harness.agent.http_exchange import Connection, request_bytes
from harness.agent.process_tree import TICKS_PER_S
from harness.agent.processes import read_stat
from harness.errors import HostError, TrialFailure
from harness.model import Endpoint, Outcome
from harness.places.launchers.kubernetes_cluster import Cluster, PodsSpec, container_resources

#: The events of every start of a pod; one that is not there was lost, or dropped by a limit of the cluster.
EVENTS_OF_A_START = ("Scheduled", "Pulled", "Created", "Started")
#: Why a container waits that will not run by waiting.
_NOT_MADE = (
    "ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError",
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError",
)  # fmt: skip
_OWN_ADDRESS = re.compile(r"\|-- (\d+\.\d+\.\d+\.\d+)\s*\n\s*/32 host LOCAL")
#: The name of an event ends in the moment of its making, in nanoseconds; its fields have whole seconds.
_MOMENT = re.compile(r"\.([0-9a-f]{15,16})$")
_LAST_LINES, _LONGEST = 3, 300
#: What is no service in a pod, by the beginning of its name: programs that set up a container and then become its own
#: program, and what keeps a pod's namespaces.
_SURROUNDINGS = ("runc", "crun", "youki", "pause")
#: A container's process is moved into its control group at once.
_MOVED_WITHIN_S = 1.0
#: As the kernel writes it in /proc/net/tcp.
_ESTABLISHED = "01"
PROBES_PER_S = 100.0
#: A pod that takes longer for an answer is asked again.
ANSWER_WITHIN_S = 2.0
#: Of one connection through the service's address.
ROUTED_WITHIN_S = 0.2
#: How often the kernel is asked for new processes.
LOOKS_PER_S = 100.0
#: How often a pod under way to its limit is looked at.
LOOK_EVERY_S = 0.02
#: Kernels round quotas, and a limit is whole thousandths of a CPU.
_SAME_CPUS = 0.002
#: How often the API is asked for pods that do not exist yet.
ASKED_FOR_PODS_PER_S = 25.0


@dataclass(frozen=True)
class Trouble:
    """Why a pod does not run. ``passing``: it may still come right by itself."""

    outcome: Outcome
    reason: str
    passing: bool = False


@dataclass(frozen=True)
class PodProcess:
    """The first process of a pod's container on this machine, and its address in the cluster."""

    pid: int
    start_ticks: int
    address: str | None


def trouble(pod: Pod) -> Trouble | None:
    """Return what keeps a pod from running, or ``None``: nothing that is known."""
    name, ended = name_of(pod), ended_state(pod)
    if ended is None:
        return _waiting(pod)
    if ended.reason == "OOMKilled":
        limits = field_of((field_of(pod, "spec.containers") or [None])[0], "resources.limits") or {}
        limit = f" of {limits['memory']}" if "memory" in limits else ""
        text = f"pod {name}: killed by the kernel (OOMKilled): the memory limit{limit} was reached"
        return Trouble(Outcome.OUT_OF_MEMORY, text)
    waiting = field_of(status_of(pod), "state.waiting.reason")
    loop = "crash loop, " if waiting == "CrashLoopBackOff" else ""
    lines = [line.strip() for line in (ended.message or "").splitlines() if line.strip()]
    text = f"; last lines: {' | '.join(lines[-_LAST_LINES:])[:_LONGEST]}" if lines else "; no output"
    return Trouble(Outcome.FAILED, f"pod {name}: {loop}exited with {ended.exitCode}{text}")


def _waiting(pod: Pod) -> Trouble | None:
    name, status, waiting = name_of(pod), status_of(pod), field_of(status_of(pod), "state.waiting")
    reason, message = field_of(waiting, "reason"), field_of(waiting, "message") or ""
    if reason in _NOT_MADE:
        return Trouble(Outcome.FAILED, f"pod {name}: {field_of(status, 'image') or ''} ({reason}: {message})")
    for condition in _conditions(pod):
        if condition.type == "PodScheduled" and condition.status != "True":
            text = f"pod {name} is pending: {condition.reason}: {condition.message}"
            return Trouble(Outcome.FAILED, text, passing=True)
    if status is None and field_of(pod, "status.phase") == "Failed":
        message = " ".join((field_of(pod, "status.message") or "").split())[:_LONGEST]
        why = f"{field_of(pod, 'status.reason')}: {message}"
        return Trouble(Outcome.FAILED, f"pod {name} was rejected by its node: {why}")
    if status is None or waiting is not None:
        return Trouble(Outcome.FAILED, f"pod {name} is pending: {reason or 'no container yet'}", passing=True)
    return None


def field_of(thing: object, path: str) -> Any:
    """Return what stands at a path of names in an object of the API; ``None``: a part of it is absent."""
    for name in path.split("."):
        thing = getattr(thing, name, None)
    return thing


def status_of(pod: Pod) -> ContainerStatus | None:
    """Return the state of the pod's one container; ``None``: it has none yet."""
    return next(iter(field_of(pod, "status.containerStatuses") or ()), None)


def ended_state(pod: Pod) -> ContainerStateTerminated | None:
    """Return how the pod's container ended, now or before its last restart; ``None``: it has not."""
    states = (field_of(status_of(pod), f"{which}.terminated") for which in ("state", "lastState"))
    return next((state for state in states if state is not None), None)


class Processes:
    """Finds the processes of pods, as often as it is asked to. The kernel names a process's control groups, and the
    path of a pod's has its uid. Of each container the first process has id 1 of its own. Whoever has lived outside of
    pods for a while is not looked at again."""

    def __init__(self) -> None:
        self._outside: set[int] = set()

    def __call__(self, uids: Collection[str]) -> dict[str, PodProcess]:
        """Return pod uid -> its container's first process on this machine, once that runs the container's own program;
        pods without one are left out."""
        wanted = {f"pod{form}": uid for uid in uids for form in (uid, uid.replace("-", "_"))}
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()} if wanted else set()
        self._outside &= pids
        results: dict[str, PodProcess] = {}
        for pid in pids - self._outside:
            entry, stat = Path(f"/proc/{pid}"), read_stat(pid)
            with contextlib.suppress(OSError):  # it has just ended
                groups = (entry / "cgroup").read_text()
                uid = next((uid for form, uid in wanted.items() if form in groups), None)
                if stat is None or stat.ended:
                    continue
                if uid is not None and is_program(entry):
                    results[uid] = PodProcess(pid, stat.start_ticks, _address_of(entry))
                age_s = time.monotonic() - stat.start_ticks / TICKS_PER_S
                if "pod" not in groups and age_s > _MOVED_WITHIN_S:
                    self._outside.add(pid)
        return results


def is_program(entry: Path) -> bool:
    """Tell whether a process, by its folder in ``/proc``, is a container's first and runs its own program by now."""
    ids = re.search(r"^NSpid:\s*(.+)$", (entry / "status").read_text(), flags=re.MULTILINE)
    first = ids is not None and ids.group(1).split()[-1] == "1"
    return first and not (entry / "comm").read_text().startswith(_SURROUNDINGS)


def _address_of(entry: Path) -> str | None:
    """The address in the process's own network, as its kernel tables have it."""
    table = (entry / "net" / "fib_trie").read_text()
    addresses = [address for address in _OWN_ADDRESS.findall(table) if not address.startswith("127.")]
    return addresses[0] if addresses else None


def established(pid: int, port: int) -> bool:
    """Whether a process's own network has an open connection to a port of it."""
    suffix = f":{port:04X}"
    rows: list[str] = []
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):  # it has just ended, or has no such protocol
            rows += Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    cells = (row.split(maxsplit=4) for row in rows)
    return any(row[1].endswith(suffix) and row[3] == _ESTABLISHED for row in cells)


def condition_moments(pod: Pod) -> dict[str, float]:
    """Return condition -> when it became true, in epoch seconds; the API has whole ones."""
    return {
        condition.type: condition.lastTransitionTime.timestamp()
        for condition in _conditions(pod)
        if condition.status == "True" and condition.lastTransitionTime is not None
    }


def event_moments(events: Iterable[Event], uid: str) -> dict[str, float]:
    """Return reason -> the first event of it about a pod, in epoch seconds, to the microsecond where it is known."""
    moments: dict[str, float] = {}
    for event in events:
        at = _event_moment(event)
        if event.involvedObject.uid == uid and event.reason and at is not None:
            moments[event.reason] = min(at, moments.get(event.reason, at))
    return moments


def _event_moment(event: Event) -> float | None:
    """Return when an event was made: its own microseconds, else those in its name, else its whole second."""
    if event.eventTime is not None:
        return round(event.eventTime.timestamp(), 6)
    match = _MOMENT.search(field_of(event, "metadata.name") or "")
    if match is not None:
        return round(int(match.group(1), 16) / 1e9, 6)
    return None if event.firstTimestamp is None else event.firstTimestamp.timestamp()


def _conditions(pod: Pod) -> list[PodCondition]:
    return list(field_of(pod, "status.conditions") or ())


def name_of(pod: Pod) -> str:
    """Return a pod's name."""
    return str(field_of(pod, "metadata.name") or "?")


def uid_of(pod: Pod) -> str:
    """Return a pod's uid."""
    return str(field_of(pod, "metadata.uid") or "")


@dataclass
class PodProbe:
    """What is known of one pod so far. Moments are on the monotonic clock. ``program_s``: when its process was first
    seen with the service's program, known to within ``program_gap_s`` before it."""

    process: PodProcess | None = None
    program_s: float | None = None
    program_gap_s: float = 0.0
    served_s: float | None = None
    probes: int = 0
    longest_gap_s: float = 0.0
    routed_s: float | None = None


@dataclass
class Prober:
    """Probes pods by their uid until each has answered, or until it is stopped. ``wanted``: returns the uids that
    exist by now; ``look``: the processes of some of them. ``expected``: how many pods there will be. ``port`` and
    ``path``: what they are asked for."""

    wanted: Callable[[], Collection[str]]
    look: Callable[[Collection[str]], Mapping[str, PodProcess]]
    expected: int
    port: int
    path: str
    pods: dict[str, PodProbe] = field(default_factory=dict)
    ended_s: float | None = None

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._asked_s, self._looked_s = -math.inf, time.monotonic()
        self._thread = threading.Thread(target=self._work, name="prober", daemon=True)

    def start(self) -> None:
        """Begin to probe."""
        self._thread.start()

    def stop(self) -> None:
        """Stop probing. Idempotent."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def processes(self) -> dict[str, PodProcess]:
        """The processes that were seen, by the pod's uid."""
        pods = self.pods.copy()
        return {uid: pod.process for uid, pod in pods.items() if pod.process is not None}

    @property
    def served(self) -> dict[str, PodProcess]:
        """The processes of the pods that have answered, by the pod's uid."""
        return {uid: item for uid, item in self.processes.items() if self.pods[uid].served_s is not None}

    @property
    def all_served(self) -> bool:
        """Whether each pod has answered."""
        return len(self.served) >= self.expected

    def _work(self) -> None:
        probing: list[Future[None]] = []
        with ThreadPoolExecutor(self.expected, "prober of a pod") as pool:
            while len(probing) < self.expected and not self._stop.is_set():
                probing += [pool.submit(self._probe, pod, address) for pod, address in self._find()]
                self._stop.wait(1.0 / LOOKS_PER_S)
        self.ended_s = time.monotonic()

    def _probe(self, pod: PodProbe, address: str) -> None:
        """Ask one pod until it answers; each has a thread, so that a slow one does not delay the others."""
        begun = last = time.monotonic()
        number = 0
        while not self._stop.is_set():
            pod.probes += 1
            if answers(address, self.port, self.path):
                pod.served_s = time.monotonic()
                return
            number = max(number + 1, int((time.monotonic() - begun) * PROBES_PER_S))
            self._stop.wait(max(0.0, begun + number / PROBES_PER_S - time.monotonic()))
            now_s = time.monotonic()
            pod.longest_gap_s, last = max(pod.longest_gap_s, now_s - last), now_s

    def _find(self) -> Iterator[tuple[PodProbe, str]]:
        """Look for pods and their processes; yield those pods whose address has become known, with it."""
        now_s = time.monotonic()
        if len(self.pods) < self.expected and now_s - self._asked_s >= 1.0 / ASKED_FOR_PODS_PER_S:
            self._asked_s = now_s
            with contextlib.suppress(HostError):  # asked again at the next look
                for uid in self.wanted():
                    self.pods.setdefault(uid, PodProbe())
        left = [uid for uid, pod in self.pods.items() if pod.process is None or pod.process.address is None]
        seen = self.look(left)
        before_s, self._looked_s = self._looked_s, time.monotonic()
        for uid, process in seen.items():
            pod = self.pods[uid]
            if pod.process is None:
                pod.program_s, pod.program_gap_s = self._looked_s, self._looked_s - before_s
            pod.process = process
            if process.address is not None:
                yield pod, process.address


def answers(address: str, port: int, path: str) -> bool:
    """Ask once, on a new connection; whether a right answer (2xx) came."""
    asked = request_bytes("GET", path, {}, None, Endpoint(host=address, port=port))
    try:
        with socket.create_connection((address, port), timeout=ANSWER_WITHIN_S) as connection:
            connection.settimeout(ANSWER_WITHIN_S)
            connection.sendall(asked)
            head = connection.recv(64)
    except OSError:
        return False
    return re.match(rb"HTTP/\S+ 2", head) is not None


def connected_through(endpoint: Endpoint, pods: Mapping[str, PodProcess], port: int) -> str | None:
    """Connect once to a service's address and return the uid of the pod that has the connection; ``None``: none has.
    A pod's own table of connections tells: until kube-proxy knows a service, its address leads anywhere. Nobody else
    may connect to the pods meanwhile."""
    with contextlib.suppress(OSError), Connection(endpoint, ROUTED_WITHIN_S, from_outside=True) as connection:
        connection.open()
        return next((uid for uid, process in pods.items() if established(process.pid, port)), None)
    return None


def cpu_quota(pid: int) -> float | None:
    """Return how many CPUs' time the control group of a process may use; ``None``: not limited, or not known."""
    folders = group_folders(pid)
    group = folders.get("", folders.get("cpu", Path("/nowhere")))
    files = ("cpu.max",) if "" in folders else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    numbers = [whole_number(word) for file in files for word in text_of(group / file).split()]
    quota, period = [*numbers, None, None][:2]  # none: gone, without such a controller, or "max"
    return quota / period if quota and period else None


@dataclass
class StartBoost:
    """Takes back what pods had for their start. Moments are on the monotonic clock, by the pod's uid. ``quota``:
    returns the CPUs that the kernel lets a process's group have; ``None``: it is not known."""

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
        """Resize those of the pods that have served and were not asked yet; look at those that were. Raises
        TrialFailure: the cluster refuses, or the node cannot do it."""
        if self.complete:
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
