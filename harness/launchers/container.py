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
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import InputError, RematchError, TrialFailure
from harness.launchers.arguments import expand, native_start, runtime_arguments, setting_flags
from harness.launchers.base import LaunchOrder, masked
from harness.launchers.build_images import BuildImages
from harness.launchers.container_instance import ADDRESS, ContainerInstance
from harness.launchers.control_group import bytes_of
from harness.launchers.docker_engine import connect, engine_of, owner, sweep
from harness.launchers.images import LABEL, OWNER, Image, find_image, project_label
from harness.launchers.process import GRACE_S, ProcessLauncher
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
from harness.processes import read_stat

if TYPE_CHECKING:
    from docker import DockerClient

#: Where the trial's folder is seen inside; the service's working directory.
TRIAL = "/trial"


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
        self._made = BuildImages(process, root, self._bases)
        self._client: DockerClient | None = None
        self._silent: str | None = None
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
        sweep(client, self._root)
        record = self._process.build(implementation, self._inside(implementation, variant), backing)
        if record.form is None or record.form.problem is None:
            tag = self._made.tag(implementation, variant, record)
            self._images[tag] = find_image(client, tag) or self._made.make(
                client, implementation, record, tag
            )
        return record

    def launch(self, order: LaunchOrder) -> ContainerInstance:
        import docker.errors

        client = self._needed()
        if order.build.form is not None and order.build.form.problem is not None:
            raise TrialFailure(Outcome.FAILED, order.build.form.problem)
        tag = self._made.tag(order.implementation, order.variant, order.build)
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
        memory = None if runtime.memory_limit is None else bytes_of(runtime.memory_limit)
        launched = ClockReading(wall_epoch_s=time.time(), monotonic_s=time.monotonic())
        container: Any = None
        try:
            container = client.containers.create(
                image.id,
                entrypoint=[argv[0]],
                command=list(argv[1:]),
                environment=environment,
                labels={LABEL: project_label(self._root), OWNER: owner()},
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
                    engine=engine_of(client),
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

    def _needed(self) -> DockerClient:
        client = self._connected()
        if client is None:
            raise RematchError(self._silent or "no Docker daemon answers")
        return client

    def _connected(self) -> DockerClient | None:
        if self._client is None and self._silent is None:
            try:
                self._client = connect(self._socket, self._root)
            except RematchError as problem:
                self._silent = str(problem)
        return self._client


def _without_limit(variant: Variant) -> Any:
    return variant.runtime.model_copy(update={"memory_limit": None})


__all__ = ["ContainerLauncher"]
