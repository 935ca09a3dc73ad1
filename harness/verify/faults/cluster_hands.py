# SPDX-License-Identifier: Apache-2.0
"""Faults of a cluster: its API server, its kubelet, and pods of the session under way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.agent.processes import read_stat
from harness.errors import HostError
from harness.launchers.images import project_label
from harness.launchers.kubernetes_cluster import Cluster, kubeconfig
from harness.launchers.kubernetes_objects import PROJECT
from harness.launchers.kubernetes_pods import processes_of
from harness.verify.faults.hands import Hand
from harness.verify.faults.lacking import Lacking
from harness.verify.faults.plan import Act
from harness.verify.faults.scenes import Stage
from harness.verify.faults.sessions import Process, Running

if TYPE_CHECKING:
    from lightkube.resources.core_v1 import Pod

#: Nobody of the cluster is gone, or silent, for longer.
LONGEST_GONE_S = 5.0
#: Somebody else may start an API server that has ended.
SUPERVISED_WITHIN_S = 1.0
ANSWERS_WITHIN_S = 60.0
LOOK_EVERY_S = 0.02
_LOAD = "load-"


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """The cluster that KUBECONFIG names.

    Raises:
        Lacking: there is none.
    """
    file = kubeconfig()
    if file is None:
        raise Lacking("a cluster: KUBECONFIG names no kubeconfig")
    here = Cluster(file)
    try:
        yield here
    finally:
        here.close()


def namespaces_of(root: Path) -> list[str]:
    """Return the names of the namespaces that a project's sessions have in the cluster."""
    with cluster() as here:
        found = here.namespaces({PROJECT: project_label(root)})
        return [str(one.metadata.name) for one in found if one.metadata is not None]


def left_in_cluster(stage: Stage) -> Iterator[str]:
    """Yield what is in the cluster of ended sessions."""
    if stage.scene != "cluster":
        return
    try:
        yield from (f"left in the cluster: namespace {name}" for name in namespaces_of(stage.root))
    except HostError as problem:
        yield f"the cluster does not say what is left: {problem}"


@dataclass(frozen=True, kw_only=True)
class Aim:
    """A pod of the session under way."""

    namespace: str
    name: str
    uid: str


class OnPod(Hand):
    """Something that is done to one pod: the service's or the load's."""

    #: In the rest of a session its namespace goes, and there is no pod.
    PODS_UNTIL = 0.7

    def moment(self, running: Running) -> bool:
        at_s = running.began_s + self.fault.when * self.PODS_UNTIL * self.stage.usual_s
        return not running.ended(max(0.0, at_s - time.monotonic()))

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        if not self.moment(running):
            return False
        with cluster() as here:
            while not running.ended(LOOK_EVERY_S):
                aims = self._aims(here)
                if not aims:
                    continue
                record()
                with contextlib.suppress(HostError, OSError):  # it has just ended: another one is sought
                    if self.hit(here, aims[int(self.fault.where * len(aims)) % len(aims)]):
                        return True
        return False

    def hit(self, here: Cluster, aim: Aim) -> bool:
        """Do it; return whether it was there to be done to."""
        raise NotImplementedError

    def _aims(self, here: Cluster) -> list[Aim]:
        pods: list[Pod] = []
        with contextlib.suppress(HostError):
            for namespace in here.namespaces({PROJECT: project_label(self.stage.root)}):
                if namespace.metadata is not None and namespace.metadata.name:
                    pods += here.pods(namespace.metadata.name, {})
        aims = [
            Aim(namespace=str(one.metadata.namespace), name=str(one.metadata.name), uid=str(one.metadata.uid))
            for one in pods
            if one.metadata is not None
        ]
        role = self.fault.kind.target
        return [one for one in aims if not role or one.name.startswith(_LOAD) == (role == "generator")]


class Evicted(OnPod):
    """A pod is evicted, as by a node that is drained."""

    def hit(self, here: Cluster, aim: Aim) -> bool:
        here.evict(aim.namespace, aim.name)
        return True


class Deleted(OnPod):
    """A pod is deleted by somebody else."""

    def hit(self, here: Cluster, aim: Aim) -> bool:
        from lightkube.resources.core_v1 import Pod

        here.delete(Pod, aim.name, aim.namespace)
        return True


class NamespaceDeleted(OnPod):
    """The session's namespace is deleted with all that is in it."""

    def hit(self, here: Cluster, aim: Aim) -> bool:
        from lightkube.resources.core_v1 import Namespace

        here.delete(Namespace, aim.namespace)
        return True


class PodKilled(OnPod):
    """The first process of a pod's container gets SIGKILL."""

    def hit(self, here: Cluster, aim: Aim) -> bool:
        found = processes_of([aim.uid]).get(aim.uid)
        return found is not None and Process(found.pid, found.start_ticks).send(signal.SIGKILL)


class MemoryExhausted(OnPod):
    """A pod may have no more memory than it has, so that the kernel kills it when it needs some."""

    def hit(self, here: Cluster, aim: Aim) -> bool:
        found = processes_of([aim.uid]).get(aim.uid)
        if found is None:
            return False
        limit, usage = _memory_files(found.pid)
        limit.write_text(usage.read_text().strip())
        return True


class ApiServerKilled(Hand):
    """The API server is killed, and is there again after a while."""

    def order(self) -> dict[str, object]:
        self.server = _named("kube-apiserver")
        return {}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        if not self.moment(running):
            return False
        again = _command_of(self.server)
        record()
        if not self.server.send(signal.SIGKILL):
            return False
        self.stack.callback(_wait_until_it_answers)
        began_s = time.monotonic()
        running.ended(self.fault.size * LONGEST_GONE_S)
        while time.monotonic() < began_s + SUPERVISED_WITHIN_S:
            with contextlib.suppress(Lacking):
                _named("kube-apiserver")
                return True
            time.sleep(LOOK_EVERY_S)
        again()
        return True

    def mend(self) -> None:
        _wait_until_it_answers()


class KubeletStopped(Hand):
    """The kubelet does nothing for a while."""

    def order(self) -> dict[str, object]:
        self.kubelet = _named("kubelet")
        return {}

    def strike(self, running: Running, record: Callable[[], None]) -> bool:
        if not self.moment(running):
            return False
        record()
        if not self.kubelet.send(signal.SIGSTOP):
            return False
        try:
            running.ended(self.fault.size * LONGEST_GONE_S)
        finally:
            self.kubelet.send(signal.SIGCONT)
        return True


CLUSTER_HANDS: Mapping[Act, type[Hand]] = MappingProxyType(
    {
        "api server": ApiServerKilled, "kubelet": KubeletStopped, "evict": Evicted, "delete pod": Deleted,
        "kill pod": PodKilled, "pod memory": MemoryExhausted, "namespace": NamespaceDeleted,
    }
)  # fmt: skip


def _named(name: str) -> Process:
    """Return the one process of this name on this machine.

    Raises:
        Lacking: there is none, or several.
    """
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "comm").read_text().strip() == name[:15]:
                stat = read_stat(int(entry.name))
                if stat is not None and not stat.ended:
                    found.append(Process(int(entry.name), stat.start_ticks))
    if len(found) != 1:
        raise Lacking(f"{name} as one process of this machine; found {len(found)}")
    return found[0]


def _command_of(one: Process) -> Callable[[], None]:
    """Return what starts a process again as it was started, with its output where it went."""
    about = Path(f"/proc/{one.pid}")
    words = [os.fsdecode(word) for word in (about / "cmdline").read_bytes().split(b"\0")[:-1]]
    pairs = [
        os.fsdecode(pair).partition("=") for pair in (about / "environ").read_bytes().split(b"\0") if pair
    ]
    folder, out = os.readlink(about / "cwd"), os.readlink(about / "fd" / "2")

    def start() -> None:
        with Path(out if out.startswith("/") else os.devnull).open("ab") as stream:
            subprocess.Popen(
                words,
                env={name: value for name, _, value in pairs},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    return start


def _wait_until_it_answers() -> None:
    until = time.monotonic() + ANSWERS_WITHIN_S
    while time.monotonic() < until:
        with contextlib.suppress(HostError), cluster() as here:
            here.nodes()
            return
        time.sleep(LOOK_EVERY_S)


def _memory_files(pid: int) -> tuple[Path, Path]:
    """Return the files of a process's control group with its limit of memory and with what it has."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        if "memory" in kinds.split(","):
            group = Path("/sys/fs/cgroup/memory") / path.lstrip("/")
            return group / "memory.limit_in_bytes", group / "memory.usage_in_bytes"
        if not kinds:
            group = Path("/sys/fs/cgroup") / path.lstrip("/")
            if (group / "memory.max").is_file():
                return group / "memory.max", group / "memory.current"
    raise OSError("no control group of memory")


__all__ = ["CLUSTER_HANDS", "cluster", "left_in_cluster", "namespaces_of"]
