# SPDX-License-Identifier: Apache-2.0
"""Services in containers of this machine's Docker daemon: the same builds and flags as plain processes.

An image is made of the build and the files that it loads, so nothing is installed or pulled. Measured on the host's
network (a proxy or bridge would be measured too), with the trial's folder as working directory. The daemon makes no
log of collections or requests; stdout and stderr go through its own log.
"""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import signal
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agent.machine_info import hostname_hash
from harness.agent.processes import alive, this_process
from harness.errors import HostError, RematchError, TrialFailure
from harness.model import ContainerRecord, InstanceRecord, Outcome
from harness.places.hosts.base import now
from harness.places.hosts.local import group_of, start_ticks_of
from harness.places.hosts.measuring import MeasuringHost
from harness.places.launchers.arguments import cpu_limit
from harness.places.launchers.base import STDERR, STDOUT, Instance, LaunchSpec
from harness.places.launchers.cgroup import bytes_of
from harness.places.launchers.images import LABEL, OWNER, ImageLauncher, project_label
from harness.places.launchers.process import ProcessLauncher
from harness.toolchains import Surroundings, how_to_get, require_package, wanted

if TYPE_CHECKING:
    from docker import DockerClient

#: Where the trial's folder is seen inside; the service's working directory.
TRIAL = "/trial"
_SILENT = "no Docker daemon answers"


class ContainerLauncher(ImageLauncher["DockerClient"]):
    """Brings variants up in containers; see ``Launcher``. ``host``: this machine, default: that of ``process``;
    ``address``: where the daemon listens."""

    name = "container"

    def __init__(
        self, process: ProcessLauncher, root: Path, *, host: MeasuringHost | None = None, address: str | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(process, root, **more)
        self._host, self._address = host or process.host, address or usual_address()

    def _connect(self) -> DockerClient:
        if not self._host.is_local:
            raise RematchError(
                f"containers are measured on the machine of the harness: run it on {self._host.name}, or measure "
                "processes there (--launcher process)"
            )
        return connect(self._address, self._root)

    def _has(self, place: DockerClient, image: str) -> bool:
        with asking(self._address), contextlib.suppress(docker_sdk().errors.ImageNotFound):
            return place.images.get(image) is not None
        return False

    def _add(self, place: DockerClient, archive: Path, image: str) -> None:
        errors = docker_sdk().errors
        with archive.open("rb") as stream, asking(self._address):
            try:
                place.images.load(stream)  # sent as it is read
            except (errors.APIError, errors.ImageLoadError) as problem:
                raise RematchError(
                    f"image {image}: the Docker daemon could not take it: {problem}"
                ) from problem

    def sweep_left(self) -> None:
        """Remove this project's containers whose harness is gone, and our own that have ended (the daemon was gone when
        they were to be removed). Those of another living harness stay, and those of one on another machine."""
        labelled: dict[str, str | list[str] | bool] = {"label": f"{LABEL}={project_label(self._root)}"}
        with asking(self._address):
            listed = self._needed().containers.list(all=True, filters=labelled, ignore_removed=True)
        for container in listed:
            label = container.labels.get(OWNER, "0:0")
            if left_behind(label) or (label == owner() and container.status in ("exited", "dead")):
                with contextlib.suppress(docker_sdk().errors.APIError):  # another session removes it
                    container.remove(force=True, v=True)

    def launch(self, spec: LaunchSpec) -> ContainerInstance:
        client, host, runtime = self._needed(), self._host, spec.variant.runtime
        api = client.api
        image_name, image = self._image(spec.implementation, spec.build)
        port = host.free_port(host.listen_address)
        limit = cpu_limit(spec.variant, spec.cpus)
        argv, environment = self._started_by(spec, limit, host.listen_address, port)
        memory = None if runtime.memory_limit is None else bytes_of(runtime.memory_limit)
        cpuset = ",".join(map(str, spec.cpus)) if spec.cpus else None
        name = f"rematch-{secrets.token_hex(8)}"  # by which it can be removed before anybody knows its id
        try:
            with asking(self._address, "the Docker daemon did not start it"):
                engine = engine_of(client)
                config = api.create_host_config(
                    network_mode="host",
                    binds=[f"{spec.folder}:{TRIAL}:rw"],
                    mem_limit=memory,
                    memswap_limit=memory,
                    nano_cpus=runtime.cpus * 10**9 if runtime.cpus else None,
                    cpuset_cpus=cpuset,
                )
                launched = now()
                made = api.create_container(
                    image_name,
                    list(argv[1:]),
                    entrypoint=[argv[0]],
                    environment=dict(environment),
                    labels={LABEL: project_label(self._root), OWNER: owner()},
                    user=host.user,
                    working_dir=TRIAL,
                    host_config=config,
                    name=name,
                    use_config_proxy=False,  # a service has no variables but those of its record
                )["Id"]
                made_s = time.monotonic()
                api.start(made)
                started_s = time.monotonic()
                state = api.inspect_container(made)
            pid = int(state["State"]["Pid"])
            record = self._record(
                spec,
                image,
                environment,
                argv=argv,
                pid=pid,
                process_start_ticks=(start_ticks_of(pid) if pid else None) or 0,
                port=port,
                launched=launched,
                cpu_affinity=spec.cpus or (),
                cpu_limit=limit,
                container=ContainerRecord(
                    engine=engine,
                    image_id=image.id,
                    image_bytes=image.image_bytes,
                    layer_bytes=(image.image_bytes,),
                    network="host",
                    user=host.user,
                    cpuset=cpuset,
                    cpu_quota=float(runtime.cpus) if runtime.cpus else None,
                    memory_limit_bytes=memory,
                    create_s=made_s - launched.monotonic_s,
                    start_s=started_s - made_s,
                ),
            )
            container = client.containers.prepare_model(state)
            return ContainerInstance(container, record, spec.folder, self._grace_s, host, self._address)
        except BaseException:  # also a signal: the daemon may have made one whose id did not arrive
            remove_named(client, name)
            raise


class ContainerInstance(Instance):
    """A running variant in its container; ``address``: where its daemon listens."""

    def __init__(
        self,
        container: Any,
        record: InstanceRecord,
        folder: Path,
        grace_s: float,
        host: MeasuringHost,
        address: str,
    ) -> None:
        super().__init__(record, folder, grace_s, host)
        self._container, self._address = container, address
        self._exit_code: int | None = None
        self._removed = False

    def exited(self) -> int | None:
        if self._exit_code is None and not self._alive():
            self._note_end()
        return self._exit_code

    def stop(self) -> InstanceRecord:
        if self._removed:
            return self._record
        begin = time.monotonic()
        around = self._record.container
        try:
            reading = group_of(self._record.pid, self._record.process_start_ticks)
            how = self._end()
            stop_s = time.monotonic() - begin
            with asking(self._address):
                self._container.reload()
            if around is not None:
                killed = bool(self._container.attrs["State"].get("OOMKilled", False))
                around = around.model_copy(update={"at_stop": reading, "out_of_memory": killed})
        finally:
            self._remove()
        changes = {"stop_signal": how, "exit_code": self._exit_code, "stop_s": stop_s, "container": around}
        self._record = self._record.model_copy(update=changes)
        return self._record

    def out_of_memory(self) -> str | None:
        around = self._record.container
        if around is not None and around.out_of_memory:
            return "killed by the kernel: the container's memory limit was reached"
        return super().out_of_memory()

    def _end(self) -> str:
        """End the service; return what did it."""
        if self.exited() is not None:
            return "exited"
        with asking(self._address):
            self._container.stop(timeout=math.ceil(self._grace_s))  # SIGTERM, then SIGKILL
        self._note_end()
        return "SIGKILL" if self._exit_code == _KILLED else "SIGTERM"

    def _remove(self) -> None:
        """Have nothing of it live on: the daemon removes it, and where none answers the kernel ends it."""
        try:
            with asking(self._address), contextlib.suppress(docker_sdk().errors.NotFound):
                self._container.remove(force=True, v=True)
            self._removed = True
        except BaseException:
            if self._record.process_start_ticks and self._alive():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._record.pid, signal.SIGKILL)
            raise

    def _note_end(self) -> None:
        """Wait for the daemon to have seen the end, and fetch what the service said."""
        with asking(self._address):
            self._exit_code = int(self._container.wait(timeout=30)["StatusCode"])
            outputs = {
                STDOUT: self._container.logs(stdout=True, stderr=False),
                STDERR: self._container.logs(stdout=False, stderr=True),
            }
        for name, output in outputs.items():
            (self._folder / name).write_bytes(output)

    def _alive(self) -> bool:
        return start_ticks_of(self._record.pid) == self._record.process_start_ticks


#: The exit code of what SIGKILL ended.
_KILLED = 137
#: A daemon whose answer was not waited for may finish what it was asked for, and is asked again until then.
SETTLED_WITHIN_S = 1.0


def remove_named(client: DockerClient, name: str) -> None:
    """Remove what has come to be of a container, and what the daemon is still making of it. Raises nothing where no
    daemon answers: the next session removes it then."""
    until = time.monotonic() + SETTLED_WITHIN_S
    while True:
        with contextlib.suppress(docker_sdk().errors.DockerException, OSError):
            client.api.remove_container(name, force=True, v=True)
            return
        if time.monotonic() > until:
            return
        time.sleep(0.1)


@cache
def docker_sdk() -> Any:
    """Return the Docker SDK, which is loaded when a daemon is first asked. Raises MissingTool."""
    require_package("docker")
    import docker.errors

    return docker


def usual_address() -> str:
    """Return where the daemon listens: DOCKER_HOST, the usual socket, or that of a daemon of our own user."""
    usual = Path("/var/run/docker.sock")
    own = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "docker.sock"
    return os.environ.get("DOCKER_HOST") or f"unix://{own if own.exists() and not usual.exists() else usual}"


def connect(address: str, root: Path) -> DockerClient:
    """Return a client of the daemon at an address. Raises RematchError: none answers; says what to do."""
    docker = docker_sdk()
    try:
        client: DockerClient = docker.DockerClient(base_url=address)
        return client
    except (docker.errors.DockerException, OSError) as problem:
        get = how_to_get(wanted("docker"), Surroundings(project=root))
        why = _innermost(problem).splitlines()[0][:200]
        raise RematchError(
            f"{_SILENT} (at {address}: {why}): it is required to measure services in containers; install it with: "
            f"{get}; then start it (or set DOCKER_HOST) and grant access to its socket"
        ) from problem


@contextlib.contextmanager
def asking(address: str, refusal: str = "the Docker daemon") -> Iterator[None]:
    """Turn what goes wrong with the daemon while a trial is under way into one line. Raises TrialFailure: the daemon
    refuses, which begins with ``refusal``; HostError: none answers any more, which says nothing about the service."""
    errors = docker_sdk().errors
    try:
        yield
    except errors.APIError as problem:
        text = " ".join(str(problem.explanation or problem).split())
        raise TrialFailure(Outcome.FAILED, f"{refusal}: {text}") from problem
    except (errors.DockerException, OSError) as problem:
        raise HostError(
            f"{_SILENT} at {address}: {_innermost(problem)}; start the daemon again: finished trials are kept, and the "
            "same command resumes the session"
        ) from problem


def _innermost(problem: BaseException) -> str:
    """Return what the system said, without the names of what passed it on."""
    while isinstance(problem.__context__, Exception) and not isinstance(problem.__context__, RematchError):
        problem = problem.__context__
    return str(getattr(problem, "strerror", None) or problem or type(problem).__name__)


def engine_of(client: DockerClient) -> str:
    """Return the daemon's version as it says it."""
    version = client.version()
    return f"{version.get('Version')} (API {version.get('ApiVersion')})"


def engine_on(host: MeasuringHost, root: Path) -> tuple[str | None, str | None]:
    """Return the Docker daemon that answers on a host, or ``None`` and why none does."""
    if not host.is_local:
        return None, "containers are measured on the machine of the harness only"
    try:
        with contextlib.closing(connect(usual_address(), root)) as client:
            return f"Docker {engine_of(client)}", None
    except RematchError as problem:
        return None, str(problem)


def owner() -> str:
    """Return what names this very process on the containers it makes: id, start time, machine."""
    pid, ticks = this_process()
    return f"{pid}:{ticks}:{hostname_hash()}"


def left_behind(label: str) -> bool:
    """Tell whether a process of this machine that ``owner`` named is gone; of another machine nobody knows here."""
    pid, ticks, machine = (*label.split(":"), "", "", "")[:3]
    known = machine in ("", hostname_hash()) and pid.isdigit() and ticks.isdigit()
    return known and not alive(int(pid), int(ticks))
