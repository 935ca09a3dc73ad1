# SPDX-License-Identifier: Apache-2.0
"""Services in containers of a Docker daemon on this machine: the same builds and flags as plain processes.

The image is the service's own ``Dockerfile`` (its stage ``prebuilt``) around what was built here. Where no
base image was named, a Java service stands on a trimmed runtime with the libraries it loads, from scratch.
Measured on the host's network (a proxy or bridge would be measured too), with the trial's folder as working
directory. The daemon makes no log of collections or requests; stdout and stderr go through its own log.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import InputError, RematchError, TrialFailure
from harness.launchers.arguments import expand, native_start, runtime_arguments, setting_flags
from harness.launchers.base import LaunchOrder, masked
from harness.launchers.images import (
    LABEL,
    OWNER,
    Image,
    build_image,
    find_image,
    import_root,
    project_label,
    tag_of,
)
from harness.launchers.process import (
    GRACE_S,
    OUT_OF_MEMORY_WORDS,
    PORT_TAKEN,
    STDERR,
    STDOUT,
    ProcessLauncher,
)
from harness.launchers.rootfs import lay_out, libraries, runtime_root
from harness.loadgen.base import Endpoint
from harness.model import (
    BackingSettings,
    BuildRecord,
    ClockReading,
    ContainerRecord,
    Implementation,
    InstanceRecord,
    Outcome,
    Variant,
)
from harness.ports import free_port
from harness.processes import alive, read_stat
from harness.sampling.group import read_group

if TYPE_CHECKING:
    from docker import DockerClient

ADDRESS = "127.0.0.1"

#: Where the trial's folder is seen inside; the service's working directory.
TRIAL = "/trial"
NATIVE_DOCKERFILE = (
    'ARG BASE_IMAGE=scratch\nFROM ${BASE_IMAGE}\nCOPY service /service\nENTRYPOINT ["/service"]\n'
)
_MEMORY_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30}


class ContainerInstance:
    """A running variant in its container; see ``Instance``."""

    #: What the container's own set-up used before the program ran is on its process's account and
    #: cannot be told apart; the daemon's part is not on it.
    cpu_at_launch_s = 0.0

    def __init__(self, container: Any, record: InstanceRecord, folder: Path, grace_s: float) -> None:
        self._container = container
        self._record, self._folder, self._grace_s = record, folder, grace_s
        self._exit_code: int | None = None
        self._removed = False
        self.endpoint = Endpoint(host=ADDRESS, port=record.port)

    @property
    def record(self) -> InstanceRecord:
        return self._record

    @property
    def stderr_file(self) -> Path:
        return self._folder / STDERR

    def exited(self) -> int | None:
        if self._exit_code is None and not alive(self._record.pid, self._record.process_start_ticks):
            self._note_end()
        return self._exit_code

    def stop(self) -> InstanceRecord:
        if self._removed:
            return self._record
        begin = time.monotonic()
        how = "exited"
        reading = read_group(self._record.pid, self._record.process_start_ticks)
        if self.exited() is None:
            how = "SIGTERM"
            self._kill("SIGTERM")
            if not self._ended_within(self._grace_s):
                how = "SIGKILL"
                self._kill("SIGKILL")
            self._note_end()
        stop_s = time.monotonic() - begin
        around = self._record.container
        if around is not None:
            state = self._state()
            around = around.model_copy(
                update={"at_stop": reading, "out_of_memory": bool(state.get("OOMKilled", False))}
            )
        self._container.remove(force=True, v=True)
        self._removed = True
        self._record = self._record.model_copy(
            update={
                "stop_signal": how, "exit_code": self._exit_code, "stop_s": stop_s, "container": around,
            }
        )  # fmt: skip
        return self._record

    def out_of_memory(self) -> str | None:
        around = self._record.container
        if around is not None and around.out_of_memory:
            return "killed by the kernel: the container's memory limit was reached"
        for name in (STDERR, STDOUT):
            for line in self._tail(name).splitlines():
                if any(word in line for word in OUT_OF_MEMORY_WORDS):
                    return line.strip()[:300]
        if self._exit_code == 137 and self._record.stop_signal != "SIGKILL":
            return "killed by SIGKILL, and not by us: the kernel does that when memory is out"
        return None

    def port_taken(self) -> bool:
        return self.exited() not in (None, 0) and PORT_TAKEN.search(self._tail(STDERR)) is not None

    def _note_end(self) -> None:
        """Wait for the daemon to have seen the end, and fetch what the service said."""
        self._exit_code = int(self._container.wait(timeout=30)["StatusCode"])
        for name, wanted in ((STDOUT, "stdout"), (STDERR, "stderr")):
            said = self._container.logs(stdout=wanted == "stdout", stderr=wanted == "stderr")
            (self._folder / name).write_bytes(said)

    def _kill(self, signal: str) -> None:
        import docker.errors

        with contextlib.suppress(docker.errors.APIError):  # it has just ended
            self._container.kill(signal)

    def _ended_within(self, grace_s: float) -> bool:
        deadline = time.monotonic() + grace_s
        while alive(self._record.pid, self._record.process_start_ticks):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _state(self) -> Mapping[str, Any]:
        self._container.reload()
        state: Mapping[str, Any] = self._container.attrs["State"]
        return state

    def _tail(self, name: str) -> str:
        try:
            return (self._folder / name).read_bytes()[-65536:].decode(errors="replace")
        except OSError:
            return ""


class ContainerLauncher:
    """Brings variants up in containers; see ``Launcher``. Artifacts are those that ``process`` builds.

    ``bases`` is runtime -> the base image to build on; a runtime that is not named stands on nothing but
    its own files. ``socket`` is the daemon's address; default: DOCKER_HOST, or where it usually listens.
    """

    name = "container"

    def __init__(
        self,
        process: ProcessLauncher,
        root: Path,
        *,
        bases: Mapping[str, str] | None = None,
        socket: str | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self._process, self._root, self._socket, self._grace_s = process, root, socket, grace_s
        self._bases = dict(bases or {})
        self._client: DockerClient | None = None
        self._silent: str | None = None
        self._engine = ""
        self._images: dict[str, Image] = {}

    def unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        if self._connected() is None:
            return self._silent
        dockerfile = self._process.builder.source_folder(implementation) / "Dockerfile"
        if not dockerfile.is_file():
            return f"{implementation.name} has no Dockerfile"
        if variant.runtime.aot_cache:
            return "an AOT cache belongs to the JDK that made it, and the container has another one"
        return self._process.unavailable(
            implementation, variant.model_copy(update={"runtime": _without_limit(variant)})
        )

    def build(
        self, implementation: Implementation, variant: Variant, backing: BackingSettings | None = None
    ) -> BuildRecord:
        client = self._needed()
        self._sweep(client)
        record = self._process.build(implementation, self._inside(implementation, variant), backing)
        if record.form is None or record.form.problem is None:
            tag = self._tag(implementation, variant, record)
            self._images[tag] = find_image(client, tag) or self._make(
                client, implementation, variant, record, tag
            )
        return record

    def launch(self, order: LaunchOrder) -> ContainerInstance:
        import docker.errors

        client = self._needed()
        if order.build.form is not None and order.build.form.problem is not None:
            raise TrialFailure(Outcome.FAILED, order.build.form.problem)
        tag = self._tag(order.implementation, order.variant, order.build)
        image = self._images.get(tag) or find_image(client, tag)
        if image is None:
            raise TrialFailure(
                Outcome.FAILED, f"{order.implementation.name}: its image {tag} is gone; build again"
            )
        port = free_port(ADDRESS)
        argv, told = self._argv(order, image, port)
        environment = {**told, **order.environment}
        runtime = order.variant.runtime
        quota = float(runtime.cpus) if runtime.cpus else None
        cpuset = ",".join(map(str, order.cpus)) if order.cpus else None
        user = f"{os.getuid()}:{os.getgid()}"
        memory = _bytes(runtime.memory_limit)
        launched = ClockReading(wall_epoch_s=time.time(), monotonic_s=time.monotonic())
        container: Any = None
        try:
            container = client.containers.create(
                image.id,
                entrypoint=[argv[0]],
                command=list(argv[1:]),
                environment=environment,
                labels={LABEL: project_label(self._root), OWNER: _owner()},
                network_mode="host",
                user=user,
                working_dir=TRIAL,
                volumes={str(order.folder): {"bind": TRIAL, "mode": "rw"}},
                cpuset_cpus=cpuset,
                nano_cpus=round(quota * 1e9) if quota else None,
                mem_limit=memory,
                memswap_limit=memory,
            )
            created = time.monotonic()
            container.start()
            started = time.monotonic()
            container.reload()
            return self._instance(
                order, container, image, argv, environment, port, launched,
                ContainerRecord(
                    engine=self._engine,
                    image_id=image.id,
                    image_bytes=image.image_bytes,
                    layer_bytes=image.layer_bytes,
                    network="host",
                    user=user,
                    cpuset=cpuset,
                    cpu_quota=quota,
                    memory_limit_bytes=memory,
                    create_s=created - launched.monotonic_s,
                    start_s=started - created,
                ),
            )  # fmt: skip
        except BaseException as problem:
            if container is not None:
                with contextlib.suppress(docker.errors.APIError):
                    container.remove(force=True, v=True)
            if isinstance(problem, docker.errors.APIError):
                raise TrialFailure(
                    Outcome.FAILED, f"the Docker daemon did not start it: {problem}"
                ) from problem
            raise

    def _instance(
        self,
        order: LaunchOrder,
        container: Any,
        image: Image,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        port: int,
        launched: ClockReading,
        around: ContainerRecord,
    ) -> ContainerInstance:
        pid = int(container.attrs["State"]["Pid"])
        stat = read_stat(pid) if pid else None
        form = order.build.form
        record = InstanceRecord(
            argv=argv,
            environment=masked(environment),
            pid=pid,
            process_start_ticks=stat.start_ticks if stat else 0,
            port=port,
            launched=launched,
            cpu_affinity=order.cpus or (),
            cpu_limit=order.variant.runtime.cpus or (len(order.cpus) if order.cpus else None),
            artifact_sha256=order.build.artifact_sha256,
            artifact_bytes=order.build.artifact_bytes,
            runtime_bytes=max(0, image.image_bytes - order.build.artifact_bytes),
            runtime_version=form.tool if form is not None else None,
            container=around,
        )
        return ContainerInstance(container, record, order.folder, self._grace_s)

    def _argv(self, order: LaunchOrder, image: Image, port: int) -> tuple[tuple[str, ...], dict[str, str]]:
        """The start of ``service.toml``, with the program and artifact that the image's ENTRYPOINT names."""
        implementation, variant = order.implementation, order.variant
        file = self._process.builder.service_toml(implementation)
        if not image.entrypoint:
            raise InputError(
                "the image has no ENTRYPOINT", file=file.with_name("Dockerfile"), place="ENTRYPOINT"
            )
        limit = variant.runtime.cpus or (len(order.cpus) if order.cpus else None)
        told = runtime_arguments(
            implementation,
            _without_limit(variant),
            cpu_limit=limit,
            java_major=self._process.java_major(implementation),
        )
        native = variant.runtime.form == "native"
        values: dict[str, str | tuple[str, ...]] = {
            "artifact": image.entrypoint[-1],
            "java": image.entrypoint[0],
            "python": image.entrypoint[0],
            "host": ADDRESS,
            "port": str(port),
            "settings": setting_flags(implementation, variant, file),
            "runtime_args": told.argv,
        }
        start = native_start(implementation.start) if native else implementation.start
        return expand(start, values, file=file, place="start"), told.environment

    def _inside(self, implementation: Implementation, variant: Variant) -> Variant:
        """The variant as it is built: a Java program without a base image brings a trimmed runtime."""
        runtime = _without_limit(variant)
        if implementation.runtime == "jvm" and "jvm" not in self._bases and runtime.form in (None, "jvm"):
            runtime = runtime.model_copy(update={"form": "jlink"})
        return variant.model_copy(update={"runtime": runtime})

    def _tag(self, implementation: Implementation, variant: Variant, record: BuildRecord) -> str:
        native = variant.runtime.form == "native"
        base = "" if native else self._bases.get(implementation.runtime, "")
        form = (
            record.form.model_dump_json(include={"form", "tool", "modules", "image_sha256"})
            if record.form
            else ""
        )
        return tag_of(implementation.name, record.source_sha256, record.artifact_sha256, base, form)

    def _make(
        self,
        client: DockerClient,
        implementation: Implementation,
        variant: Variant,
        record: BuildRecord,
        tag: str,
    ) -> Image:
        label = project_label(self._root)
        builder = self._process.builder
        built = builder.find(implementation, record.source_sha256)
        if built is None:
            raise RematchError(f"{implementation.name}: its build is gone from the cache; build it again")
        with tempfile.TemporaryDirectory(prefix="rematch-image-") as name:
            work = Path(name)
            context = work / "context"
            context.mkdir()
            form = record.form.form if record.form is not None else None
            made = (
                self._process.forms.program(implementation, form, built.folder) if form is not None else None
            )
            base = self._bases.get(implementation.runtime, "scratch")
            if form == "native" and made is not None:
                shutil.copy2(made, context / "service")
                (context / "Dockerfile").write_text(NATIVE_DOCKERFILE)
                lay_out(work / "root", libraries(self._process.host, [made]))
                base = self._base(client, work / "root", tag, ())
                return build_image(client, context, tag, label=label, arguments={"BASE_IMAGE": base})
            if form == "jlink" and made is not None:
                (work / "root").mkdir()
                runtime_root(self._process.host, made.parent.parent, work / "root")
                base = self._base(client, work / "root", tag, ("ENV PATH=/opt/java/bin",))
            for file in sorted(built.folder.rglob("*")):
                inner = file.relative_to(built.folder)
                if file.is_file() and not _made_later(inner):
                    (context / inner).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(file, context / inner)
            shutil.copy2(builder.source_folder(implementation) / "Dockerfile", context / "Dockerfile")
            arguments = {"BASE_IMAGE": base}
            return build_image(client, context, tag, label=label, target="prebuilt", arguments=arguments)

    def _base(self, client: DockerClient, root: Path, tag: str, settings: tuple[str, ...]) -> str:
        name, _, version = tag.partition(":")
        base = f"{name}-base:{version}"
        import_root(client, root, base, label=project_label(self._root), settings=settings)
        return base

    def _sweep(self, client: DockerClient) -> None:
        """Remove this project's containers whose harness is gone; those of a living one stay."""
        import docker.errors

        mine: dict[str, str | list[str] | bool] = {"label": f"{LABEL}={project_label(self._root)}"}
        for container in client.containers.list(all=True, filters=mine):
            pid, _, ticks = container.labels.get(OWNER, "0:0").partition(":")
            if not alive(int(pid), int(ticks)):
                with contextlib.suppress(docker.errors.APIError):  # somebody else removes it
                    container.remove(force=True, v=True)

    def _needed(self) -> DockerClient:
        client = self._connected()
        if client is None:
            raise RematchError(self._silent or "no Docker daemon answers")
        return client

    def _connected(self) -> DockerClient | None:
        import docker
        import docker.errors

        if self._client is None and self._silent is None:
            try:
                client = (
                    docker.DockerClient(base_url=self._socket)
                    if self._socket is not None
                    else docker.from_env()
                )
                version = client.version()
                self._engine = f"{version.get('Version')} (API {version.get('ApiVersion')})"
                self._client = client
            except (docker.errors.DockerException, OSError) as problem:
                self._silent = no_daemon(str(problem), self._root)
        return self._client


def engine_here(root: Path, socket: str | None = None) -> tuple[str | None, str | None]:
    """Return the Docker daemon that answers here, or ``None`` and why none does."""
    import docker
    import docker.errors

    try:
        client = docker.DockerClient(base_url=socket) if socket is not None else docker.from_env()
        try:
            version = client.version()
        finally:
            client.close()
    except (docker.errors.DockerException, OSError) as problem:
        return None, no_daemon(str(problem), root)
    return f"Docker {version.get('Version')} (API {version.get('ApiVersion')})", None


def no_daemon(problem: str, root: Path) -> str:
    """Return why nothing can be measured in containers here, and what to do."""
    from harness.toolchains import Surroundings, how_to_get, wanted

    get = how_to_get(wanted("docker"), Surroundings(project=root))
    return (
        f"no Docker daemon answers ({problem.splitlines()[0][:160]}): it is wanted to measure services in containers; "
        f"get it with: {get}; then start it (or set DOCKER_HOST) and be allowed to use its socket"
    )


def _made_later(inner: Path) -> bool:
    """Whether a file of a build's folder came after the build: caches, runtimes, native images, notes."""
    first = inner.parts[0]
    return first.startswith((".tmp-", "jlink-", "native-", "aot-")) or first == "build.json"


def _without_limit(variant: Variant) -> Any:
    return variant.runtime.model_copy(update={"memory_limit": None})


def _bytes(text: str | None) -> int | None:
    return None if text is None else int(text[:-1]) * _MEMORY_UNITS[text[-1].lower()]


def _owner() -> str:
    stat = read_stat(os.getpid())
    return f"{os.getpid()}:{stat.start_ticks if stat else 0}"


__all__ = ["ContainerInstance", "ContainerLauncher", "no_daemon"]
