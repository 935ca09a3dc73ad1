# SPDX-License-Identifier: Apache-2.0
"""Services in pods of a Kubernetes cluster whose node is this machine: the same builds and flags as plain processes.

A session has a namespace of its own, labelled and removed at its end. An instance is a deployment and a service;
its pods' processes are watched on this machine, and asked at their own addresses until each has served.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from lightkube.resources.core_v1 import Node

from harness.agent.sampler import Subject
from harness.errors import HostError, InputError, RematchError, TrialFailure
from harness.model import Endpoint, Implementation, KubernetesRecord, Outcome, RuntimeSettings
from harness.places.hosts.base import Completed, now, run_words
from harness.places.launchers.arguments import ONLY_PODS
from harness.places.launchers.base import LaunchSpec
from harness.places.launchers.images import ImageLauncher
from harness.places.launchers.kubernetes_cluster import (
    INSTANCE,
    PORT,
    Cluster,
    PodsSpec,
    kubeconfig,
    labels_here,
    new_name,
    objects_of,
)
from harness.places.launchers.kubernetes_instance import KubernetesHost, KubernetesInstance
from harness.places.launchers.kubernetes_pods import Prober, Processes, ended_state, field_of, trouble, uid_of

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: From the request for pods until each has a process; with many pods the node is busy.
STARTED_WITHIN_S = 120.0
#: A pod that no node takes: another one may be on its way out.
UNSCHEDULED_FOR_S = 10.0


class KubernetesLauncher(ImageLauncher[Cluster]):
    """Brings variants up in pods; see ``Launcher``. A Java program brings a trimmed runtime."""

    name, noun, prefix = "kubernetes", "pod", "docker.io/rematch/"
    outside = (*ONLY_PODS, "memory_limit")

    _server = _node = ""
    _socket = Path()

    @cached_property
    def host(self) -> KubernetesHost:
        """This machine, which knows which processes are of the same pods."""
        return KubernetesHost()

    def _lacking(
        self, place: Cluster, implementation: Implementation, runtime: RuntimeSettings
    ) -> str | None:
        needs = ", ".join(implementation.needs)
        first, boost = runtime.scale_from or 0, runtime.cpu_boost or 0.0
        replicas, limit = runtime.replicas or 1, runtime.cpu_limit or runtime.cpus
        reasons = (
            (runtime.access == "ingress", 'access = "ingress" was removed in 0.2.0: use "node-port"'),
            (runtime.autoscale_cpu is not None, "autoscale_cpu was removed in 0.2.0: use scale_from"),
            (needs, f"pods do not reach backing services of this machine: {needs}"),
            (first >= replicas, f"scale_from = {first} needs more replicas; found {replicas}"),
            (
                boost and (limit is None or limit >= boost),
                f"cpu_boost = {boost:g} needs a lower CPU limit, cpu_limit or cpus; found {limit or 'no limit'}",
            ),
        )
        lacking = next((reason for holds, reason in reasons if holds), None)
        if lacking is not None or not boost:
            return lacking
        try:
            resized = place.has_core_resource("pods/resize")
        except HostError as problem:
            return str(problem)
        why = "a CPU boost of the start needs pods that are resized in place (Kubernetes 1.33); this cluster has none"
        return None if resized else why

    def launch(self, spec: LaunchSpec) -> KubernetesInstance:
        cluster, runtime = self._needed(), spec.variant.runtime
        name, image = self._image(spec.implementation, spec.build)
        argv, environment = self._started_by(spec, runtime.cpus, "0.0.0.0", PORT)
        own_name = new_name("service")
        pods = PodsSpec(
            name=own_name,
            namespace=self._namespace,
            labels={**labels_here(self._root), INSTANCE: own_name},
            image=name,
            argv=argv,
            environment=environment,
            folder=spec.folder,
            grace_s=self._grace_s,
            runtime=runtime,
        )
        access = runtime.access or "node-port"
        prober = Prober(
            wanted=lambda: [uid_of(pod) for pod in cluster.pods(pods)],
            look=Processes(),
            expected=pods.replicas,
            port=PORT,
            path=spec.implementation.readiness,
        )
        try:
            service, deployment = objects_of(pods, node_port=access == "node-port")
            made = cluster.apply(service)
            endpoint = (
                Endpoint(host="127.0.0.1", port=int(made.spec.ports[0].nodePort or 0))
                if access == "node-port"
                else Endpoint(host=str(made.spec.clusterIP or ""), port=PORT)
            )
            launched = now()
            cluster.apply(deployment)
            prober.start()
            scaled_s = wait_started(cluster, pods, prober)
            later_s = None if scaled_s is None else scaled_s - launched.monotonic_s
            ids = [(item.pid, item.start_ticks) for item in prober.processes.values()] or [(0, 0)]
            pid, start_ticks = ids[0]
            record = self._record(
                spec,
                image,
                environment,
                argv=argv,
                pid=pid,
                process_start_ticks=start_ticks,
                port=endpoint.port,
                launched=launched,
                cpu_affinity=(),
                cpu_limit=runtime.cpus,
                kubernetes=KubernetesRecord(
                    server=self._server,
                    node=self._node,
                    proxy_mode=cluster.proxy_mode(),
                    namespace=pods.namespace,
                    access=access,
                    replicas=pods.replicas,
                    cpu_request=pods.cpu_request,
                    cpu_limit=pods.cpu_limit,
                    cpu_boost=runtime.cpu_boost,
                    scale_from=runtime.scale_from,
                    scaled_after_s=later_s,
                    memory_limit_bytes=pods.memory_limit_bytes,
                    image_bytes=image.image_bytes,
                    image_import_s=image.import_s,
                    image_from="imported by ctr",
                    samples="processes of the pods, read on their node, which is this machine",
                ),
            )
            kind = "native" if runtime.form == "native" else spec.implementation.runtime
            whole = Subject(pid, start_ticks, siblings=tuple(ids[1:]))
            instance = KubernetesInstance(cluster, pods, record, endpoint, prober, kind, whole)
            if pid:
                self.host.groups[ids[0]] = instance
            return instance
        except BaseException:
            prober.stop()
            cluster.remove(pods)
            raise

    def close(self) -> None:
        """Remove this session's namespace with everything in it; a cluster that is gone is left alone."""
        if self._place is not None:
            if (name := vars(self).pop("_namespace", None)) is not None:
                with contextlib.suppress(HostError):
                    self._place.remove_namespaces([name])
            self._place.close()
        self._place = None

    @cached_property
    def _namespace(self) -> str:
        name = new_name("rematch")
        self._needed().make_namespace(name, labels_here(self._root))
        return name

    def sweep_left(self) -> None:
        """Remove the namespaces of sessions that were killed, and wait until their pods are gone."""
        self._needed().sweep(self._root)

    def _has(self, place: Cluster, image: str) -> bool:
        done = self._images("ls", "-q", f"name=={image}")
        return done.exit_code == 0 and bool(done.stdout.strip())

    def _add(self, place: Cluster, archive: Path, image: str) -> None:
        done = self._images("import", str(archive))
        if done.exit_code:
            output = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["nothing"]
            raise RematchError(f"ctr -a {self._socket}: {image} was not imported: {output[0][:300]}")

    def _images(self, *words: str) -> Completed:
        """Ask for the node's images, or bring one."""
        asked = ("ctr", "-a", str(self._socket), "-n", "k8s.io", "images", *words)
        try:
            return run_words(self._process.builds_on, *asked, within_s=_BROUGHT_WITHIN_S)
        except HostError as problem:
            raise RematchError(f"images cannot be brought to the cluster: {problem}") from problem

    def _connect(self) -> Cluster:
        file = kubeconfig()
        if file is None:
            raise HostError(
                "no cluster: KUBECONFIG names no file and there is no ~/.kube/config; set it to the kubeconfig of a "
                "cluster whose node is this machine (k3s, kubeadm)"
            )
        cluster = Cluster(file)
        self._server, nodes = cluster.version(), cluster.objects(Node)
        boot = _BOOT_ID.read_text().strip() if _BOOT_ID.is_file() else ""
        infos = [info for node in nodes if (info := field_of(node, "status.nodeInfo"))]
        if not infos or any(info.bootID != boot for info in infos):
            raise HostError(
                f"the cluster at {cluster.address} has nodes on other machines, where pods cannot be sampled: measure "
                "on a cluster of which this machine is the one node"
            )
        facts = infos[0]
        self._node = f"kubelet {facts.kubeletVersion}, {facts.containerRuntimeVersion}, {facts.osImage}"
        self._socket = containerd_socket(file)
        return cluster


def wait_started(cluster: Cluster, pods: PodsSpec, prober: Prober) -> float | None:
    """Wait until every pod has a process, or one of them has ended; return when more pods than at first were asked
    for by us, on the monotonic clock. Raises TrialFailure: one of them cannot start; says why."""
    scaled_s: float | None = None
    if pods.runtime.scale_from is not None:
        if not _wait(cluster, pods, prober, lambda: len(prober.served) >= pods.at_first):
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
                f"{len(prober.served)} have served, within {waited_s:.0f} s; kubectl describe all -n {pods.namespace} "
                "may say why",
            )
        time.sleep(0.05)
    return True


#: Names the containerd socket of the cluster's node.
SOCKET = "REMATCH_CONTAINERD"
USUAL = (Path("/run/k3s/containerd/containerd.sock"), Path("/run/containerd/containerd.sock"))
_BROUGHT_WITHIN_S = 300.0


def containerd_socket(kubeconfig: Path) -> Path:
    """Return through what images get to the cluster's node. Raises InputError: it is not there."""
    named = os.environ.get(SOCKET)
    likely = (Path(named),) if named else (kubeconfig.with_name("containerd.sock"), *USUAL)
    socket = next((path for path in likely if path.is_socket()), None)
    if socket is None:
        raise InputError(
            "no way to import images into the cluster's node",
            place=SOCKET,
            found=named or "not set",
            allowed="the path of the node's containerd socket",
        )
    return socket
