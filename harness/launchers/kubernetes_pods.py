# SPDX-License-Identifier: Apache-2.0
"""What is known of pods: what keeps one from running, their processes on this machine, conditions and events."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from harness.agent.processes import read_stat
from harness.model import Outcome

if TYPE_CHECKING:
    from lightkube.models.core_v1 import (
        ContainerStateTerminated,
        ContainerStateWaiting,
        ContainerStatus,
        PodCondition,
    )
    from lightkube.resources.apps_v1 import Deployment
    from lightkube.resources.core_v1 import Event, Pod

#: The events of every start of a pod; one that is not there was lost, or dropped by a limit of the cluster.
EVENTS_OF_A_START = ("Scheduled", "Pulled", "Created", "Started")
_NO_IMAGE = ("ErrImageNeverPull", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ImageInspectError")
_NOT_MADE = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError")
_OWN_ADDRESS = re.compile(r"\|-- (\d+\.\d+\.\d+\.\d+)\s*\n\s*/32 host LOCAL")
#: The name of an event ends in the moment of its making, in nanoseconds; its fields have whole seconds.
_MOMENT = re.compile(r"\.([0-9a-f]{15,16})$")
_LAST_LINES, _LONGEST = 3, 300
#: Programs that set up a container and then become its own program, by the beginning of their names.
_RUNTIMES = ("runc", "crun", "youki")
#: What keeps a pod's namespaces while its containers come and go.
_HOLDER = "pause"
#: A container's process is moved into its control group at once.
_MOVED_WITHIN_S = 1.0
#: As the kernel writes it in /proc/net/tcp.
_ESTABLISHED = "01"


@dataclass(frozen=True)
class Trouble:
    """Why a pod does not run. ``passing``: it may still come right by itself."""

    outcome: Outcome
    reason: str
    passing: bool = False


@dataclass(frozen=True)
class Found:
    """The first process of a pod's container on this machine, and its address in the cluster.

    ``entered``: it runs the container's own program. Before that, for some hundredths of a second, the same process
    is the container runtime's, which sets up its surroundings.
    """

    pid: int
    start_ticks: int
    address: str | None
    entered: bool = True


def trouble(pod: Pod) -> Trouble | None:
    """Return what keeps a pod from running, or ``None``: nothing that is known."""
    ended = ended_state(pod)
    return _waiting(pod) if ended is None else _ended(pod, ended)


def _ended(pod: Pod, ended: ContainerStateTerminated) -> Trouble:
    name = name_of(pod)
    if ended.reason == "OOMKilled":
        limit = _memory_limit(pod)
        text = f"pod {name}: killed by the kernel (OOMKilled): the memory limit{limit} was reached"
        return Trouble(Outcome.OUT_OF_MEMORY, text)
    waiting = _waiting_state(pod)
    loop = "crash loop, " if waiting is not None and waiting.reason == "CrashLoopBackOff" else ""
    text = f"; last lines: {_last_lines(ended)}" if ended.message else "; no output"
    return Trouble(Outcome.FAILED, f"pod {name}: {loop}exited with {ended.exitCode}{text}")


def _waiting(pod: Pod) -> Trouble | None:
    name, status, waiting = name_of(pod), status_of(pod), _waiting_state(pod)
    reason = waiting.reason if waiting is not None else None
    if waiting is not None and reason in _NO_IMAGE:
        image = status.image if status is not None else ""
        text = f"pod {name}: image not found: {image} ({reason}: {waiting.message or ''})"
        return Trouble(Outcome.FAILED, text)
    if waiting is not None and reason in _NOT_MADE:
        return Trouble(Outcome.FAILED, f"pod {name}: {reason}: {waiting.message or ''}")
    for condition in _conditions(pod):
        if condition.type == "PodScheduled" and condition.status != "True":
            text = f"pod {name} is pending: {condition.reason}: {condition.message}"
            return Trouble(Outcome.FAILED, text, passing=True)
    if status is None and pod.status is not None and pod.status.phase == "Failed":
        text = f"pod {name} was rejected by its node: {pod.status.reason}: {_one_line(pod.status.message)}"
        return Trouble(Outcome.FAILED, text)
    if status is None or waiting is not None:
        return Trouble(Outcome.FAILED, f"pod {name} is pending: {reason or 'no container yet'}", passing=True)
    return None


def not_made(deployment: Deployment | None) -> str | None:
    """Return why the cluster makes no pods of a deployment, or ``None``: it does not say."""
    conditions = (
        deployment.status.conditions if deployment is not None and deployment.status is not None else None
    )
    for condition in conditions or ():
        if condition.type == "ReplicaFailure" and condition.status == "True":
            return f"the cluster makes no more pods: {condition.reason}: {_one_line(condition.message)}"
    return None


def last_warning(events: Iterable[Event], uid: str) -> str | None:
    """Return the newest warning about a pod, such as a volume that is not mounted; ``None``: there is none."""
    warnings = [
        (event_moment(event) or 0.0, f"{event.reason}: {_one_line(event.message)}")
        for event in events
        if event.involvedObject.uid == uid and event.type == "Warning"
    ]
    return max(warnings)[1] if warnings else None


def _waiting_state(pod: Pod) -> ContainerStateWaiting | None:
    status = status_of(pod)
    return status.state.waiting if status is not None and status.state is not None else None


def status_of(pod: Pod) -> ContainerStatus | None:
    """Return the state of the pod's one container; ``None``: it has none yet."""
    states = pod.status.containerStatuses if pod.status is not None else None
    return states[0] if states else None


def ended_state(pod: Pod) -> ContainerStateTerminated | None:
    """Return how the pod's container ended, now or before its last restart; ``None``: it has not."""
    status = status_of(pod)
    for state in () if status is None else (status.state, status.lastState):
        if state is not None and state.terminated is not None:
            return state.terminated
    return None


def resize_trouble(pod: Pod) -> str | None:
    """Return why a pod has not the resources that it was resized to, or ``None``: the node does not say."""
    for condition in _conditions(pod):
        if condition.type in ("PodResizePending", "PodResizeInProgress") and condition.status == "True":
            said = f": {condition.message}" if condition.message else ""
            return f"pod {name_of(pod)}: {condition.type}{f' ({condition.reason})' if condition.reason else ''}{said}"
    return None


class Processes:
    """Finds the processes of pods, as often as it is asked to.

    The kernel names a process's control groups, and the path of a pod's has its uid, whoever made the cluster. Of
    each container the first process has id 1 of its own; the pod's own holder (``pause``) is none of them. Whoever
    has lived outside of pods for a while is not looked at again, so that looking often costs little: a container's
    process is its runtime's for a hundredth of a second or two.
    """

    def __init__(self) -> None:
        self._others: set[int] = set()

    def __call__(self, uids: Collection[str]) -> dict[str, Found]:
        """Return pod uid -> its container's first process on this machine; pods without one are left out."""
        wanted = {form: uid for uid in uids for form in (uid, uid.replace("-", "_"))}
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()} if wanted else set()
        self._others &= pids
        results: dict[str, Found] = {}
        for pid in pids - self._others:
            try:
                one = self._one(pid, wanted)
            except OSError:  # it has just ended
                continue
            if one is not None:
                results[one[0]] = one[1]
        return results

    def _one(self, pid: int, wanted: Mapping[str, str]) -> tuple[str, Found] | None:
        entry = Path(f"/proc/{pid}")
        groups = (entry / "cgroup").read_text()
        stat = read_stat(pid)
        if stat is None or stat.ended:
            return None
        if "pod" not in groups:
            if time.monotonic() - stat.start_ticks / os.sysconf("SC_CLK_TCK") > _MOVED_WITHIN_S:
                self._others.add(pid)
            return None
        uid = next((uid for form, uid in wanted.items() if f"pod{form}" in groups), None)
        if uid is None or not _is_first(entry):
            return None
        return uid, Found(pid, stat.start_ticks, _address_of(entry), entered=has_entered(pid))


def processes_of(uids: Collection[str]) -> dict[str, Found]:
    """Return what ``Processes`` finds at once, without those that are the container runtime's still."""
    return {uid: result for uid, result in Processes()(uids).items() if result.entered}


def has_entered(pid: int) -> bool:
    """Whether a container's first process runs the container's own program by now.

    Raises:
        OSError: it has ended, or it is the pod's own holder, of which nobody can tell before it says so.
    """
    name = Path(f"/proc/{pid}/comm").read_text().strip()
    if name == _HOLDER:
        raise ProcessLookupError
    return not name.startswith(_RUNTIMES)


def _is_first(entry: Path) -> bool:
    if (entry / "comm").read_text().strip() == _HOLDER:
        return False
    ids = re.search(r"^NSpid:\s*(.+)$", (entry / "status").read_text(), flags=re.MULTILINE)
    return ids is not None and ids.group(1).split()[-1] == "1"


def _address_of(entry: Path) -> str | None:
    """The address in the process's own network, as its kernel tables have it."""
    table = (entry / "net" / "fib_trie").read_text()
    others = [address for address in _OWN_ADDRESS.findall(table) if not address.startswith("127.")]
    return others[0] if others else None


def established(pid: int, port: int) -> bool:
    """Whether a process's own network has an open connection to a port of it."""
    suffix = f":{port:04X}"
    for name in ("tcp", "tcp6"):
        try:
            rows = Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
        except OSError:  # it has just ended, or has no such protocol
            continue
        cells = (row.split(maxsplit=4) for row in rows)
        if any(row[1].endswith(suffix) and row[3] == _ESTABLISHED for row in cells):
            return True
    return False


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
        if event.involvedObject.uid != uid or not event.reason:
            continue
        at = event_moment(event)
        if at is not None and at < moments.get(event.reason, float("inf")):
            moments[event.reason] = at
    return moments


def event_moment(event: Event) -> float | None:
    """Return when an event was made: its own microseconds, else those in its name, else its whole second."""
    if event.eventTime is not None:
        return round(event.eventTime.timestamp(), 6)
    name = event.metadata.name if event.metadata is not None else None
    match = _MOMENT.search(name or "")
    if match is not None:
        return round(int(match.group(1), 16) / 1e9, 6)
    return None if event.firstTimestamp is None else event.firstTimestamp.timestamp()


def lost(moments: Mapping[str, float]) -> tuple[str, ...]:
    """Return the events of every start that were not found."""
    return tuple(reason for reason in EVENTS_OF_A_START if reason not in moments)


def created(pod: Pod) -> float | None:
    """Return when the API made the pod, in whole epoch seconds."""
    at = pod.metadata.creationTimestamp if pod.metadata is not None else None
    return at.replace(tzinfo=at.tzinfo or UTC).timestamp() if isinstance(at, datetime) else None


def _conditions(pod: Pod) -> list[PodCondition]:
    return list((pod.status.conditions if pod.status is not None else None) or ())


def name_of(pod: Pod) -> str:
    """Return a pod's name."""
    return str(pod.metadata.name) if pod.metadata is not None else "?"


def uid_of(pod: Pod) -> str:
    """Return a pod's uid."""
    return str(pod.metadata.uid) if pod.metadata is not None else ""


def _memory_limit(pod: Pod) -> str:
    containers = pod.spec.containers if pod.spec is not None else []
    limits = containers[0].resources.limits if containers and containers[0].resources is not None else None
    return f" of {limits['memory']}" if limits and "memory" in limits else ""


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())[:_LONGEST]


def _last_lines(ended: ContainerStateTerminated) -> str:
    lines = [line.strip() for line in (ended.message or "").splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:])[:_LONGEST]


__all__ = [
    "EVENTS_OF_A_START",
    "Found",
    "Trouble",
    "condition_moments",
    "created",
    "ended_state",
    "established",
    "event_moment",
    "event_moments",
    "last_warning",
    "lost",
    "name_of",
    "not_made",
    "processes_of",
    "resize_trouble",
    "status_of",
    "trouble",
    "uid_of",
]
