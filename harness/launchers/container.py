# SPDX-License-Identifier: Apache-2.0
"""Services in containers of a host's Docker daemon: the same builds and flags as plain processes.

The image is the service's own ``Dockerfile`` (its stage ``prebuilt``) around what was built here; the host's
own daemon makes it of what is sent there, so nothing is installed or pulled on another machine. Where no
base image was named, a Java service stands on a trimmed runtime with the libraries it loads, from scratch.
Measured on the host's network (a proxy or bridge would be measured too), with the trial's folder as working
directory. The daemon makes no log of collections or requests; stdout and stderr go through its own log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.agent.docker_api import DockerReply
from harness.errors import InputError, RematchError, TrialFailure
from harness.hosts.base import Command
from harness.hosts.measuring import MeasuringHost
from harness.launchers.arguments import cpu_limit, expand, native_start, runtime_arguments, setting_flags
from harness.launchers.base import LaunchSpec, masked
from harness.launchers.build_images import BuildImages
from harness.launchers.chosen import with_toolchain
from harness.launchers.container_instance import (
    ContainerInstance,
    cpuset_of,
    create_body,
    make_and_start,
    memory_bytes,
    new_name,
    remove_named,
)
from harness.launchers.docker_engine import connect, engine_of, sweep
from harness.launchers.images import Image, find_image
from harness.launchers.process import GRACE_S, ProcessLauncher
from harness.model import (
    BackingSettings,
    BuildRecord,
    ClockReading,
    ContainerRecord,
    Implementation,
    InstanceRecord,
    Outcome,
    RuntimeSettings,
    Variant,
)

if TYPE_CHECKING:
    from docker import DockerClient


class ContainerLauncher:
    """Brings variants up in containers; see ``Launcher``. Artifacts are those that ``process`` builds.

    ``bases`` is runtime -> the base image to build on; a runtime that is not named stands on nothing but
    its own files. ``host`` is where containers run; default: where ``process`` builds. ``socket`` is the
    daemon's address there; default: the host's usual one.
    """

    name = "container"

    def __init__(
        self,
        process: ProcessLauncher,
        root: Path,
        *,
        bases: Mapping[str, str] | None = None,
        host: MeasuringHost | None = None,
        socket: str | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self._process, self._root, self._socket, self._grace_s = process, root, socket, grace_s
        self._host = host or process.host
        self._bases = dict(bases or {})
        self._made = BuildImages(process, root, self._bases)
        self._client: DockerClient | None = None
        self._silent: str | None = None
        self._images: dict[str, Image] = {}
        self._engine: str | None = None
        self._machines: tuple[str, str] | None = None

    def unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        if self._connected() is None:
            return self._silent
        dockerfile = self._process.builder.source_folder(implementation) / "Dockerfile"
        if not dockerfile.is_file():
            return f"{implementation.name} has no Dockerfile"
        if (foreign := self._foreign_machine()) is not None:
            return foreign
        if variant.runtime.aot_cache:
            return "an AOT cache belongs to the JDK that made it, and the container has another one"
        if with_toolchain(implementation, variant.runtime).toolchain is not None:
            return (
                "a toolchain that a variant names is that of plain processes; the container has another one"
            )
        return self._process.unfit(
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

    def launch(self, spec: LaunchSpec) -> ContainerInstance:
        client = self._needed()
        if spec.build.form is not None and spec.build.form.problem is not None:
            raise TrialFailure(Outcome.FAILED, spec.build.form.problem)
        tag = self._made.tag(spec.implementation, spec.variant, spec.build)
        image = self._images.get(tag) or find_image(client, tag)
        if image is None:
            raise TrialFailure(
                Outcome.FAILED, f"{spec.implementation.name}: its image {tag} is gone; build again"
            )
        port = self._host.free_port(self._host.listen_address)
        argv, told = self._argv(spec, image, port)
        environment = {**told, **spec.environment}
        body = create_body(spec, image, argv, environment, root=self._root, user=self._host.user)
        name = new_name()
        try:
            made, started, seen = make_and_start(self._host, client, name, body, self._socket)
            state = json.loads(seen.body)
            around = self._around(spec, client, image, made, started)
            record = self._record(spec, image, argv, environment, port, state, made, around)
            container = client.containers.prepare_model(state)
            return ContainerInstance(container, record, spec.folder, self._grace_s, self._host)
        except BaseException:  # a signal among it: the daemon may have made what nobody here has heard of
            remove_named(self._host, client, name, self._socket)
            raise

    def _around(
        self, spec: LaunchSpec, client: DockerClient, image: Image, made: DockerReply, started: DockerReply
    ) -> ContainerRecord:
        runtime = spec.variant.runtime
        return ContainerRecord(
            engine=self._engine or engine_of(client),
            image_id=image.id,
            image_bytes=image.image_bytes,
            layer_bytes=image.layer_bytes,
            network="host",
            user=self._host.user,
            cpuset=cpuset_of(spec),
            cpu_quota=float(runtime.cpus) if runtime.cpus else None,
            memory_limit_bytes=memory_bytes(runtime),
            create_s=made.ended_monotonic_s - made.began_monotonic_s,
            start_s=started.ended_monotonic_s - started.began_monotonic_s,
        )

    def _record(
        self,
        spec: LaunchSpec,
        image: Image,
        argv: tuple[str, ...],
        environment: Mapping[str, str],
        port: int,
        state: Mapping[str, Any],
        made: DockerReply,
        around: ContainerRecord,
    ) -> InstanceRecord:
        pid = int(state["State"]["Pid"])
        form = spec.build.form
        return InstanceRecord(
            argv=argv,
            environment=masked(environment),
            pid=pid,
            process_start_ticks=(self._host.start_ticks(pid) if pid else None) or 0,
            port=port,
            launched=ClockReading(wall_epoch_s=made.began_wall_epoch_s, monotonic_s=made.began_monotonic_s),
            cpu_affinity=spec.cpus or (),
            cpu_limit=cpu_limit(spec.variant, spec.cpus),
            artifact_sha256=spec.build.artifact_sha256,
            artifact_bytes=spec.build.artifact_bytes,
            runtime_bytes=max(0, image.image_bytes - spec.build.artifact_bytes),
            runtime_version=form.tool if form is not None else self._brought_along(spec),
            container=around,
        )

    def _brought_along(self, spec: LaunchSpec) -> str | None:
        """The runtime inside the artifact; of a runtime that the base image has, nobody here knows."""
        if spec.implementation.runtime != "go":
            return None
        built = self._process.builder.find(spec.implementation, spec.build.source_sha256)
        return built.runtime_version if built is not None else None

    def _argv(self, spec: LaunchSpec, image: Image, port: int) -> tuple[tuple[str, ...], dict[str, str]]:
        """The start of ``service.toml``, with the program and artifact that the image's ENTRYPOINT names."""
        implementation, variant = spec.implementation, spec.variant
        file = self._process.builder.service_toml(implementation)
        if not image.entrypoint:
            raise InputError(
                "the image has no ENTRYPOINT", file=file.with_name("Dockerfile"), place="ENTRYPOINT"
            )
        told = runtime_arguments(
            implementation,
            _without_limit(variant),
            cpu_limit=cpu_limit(variant, spec.cpus),
            java_major=self._process.runtimes.java_major(implementation),
        )
        native = variant.runtime.form == "native"
        values: dict[str, str | tuple[str, ...]] = {
            "artifact": image.entrypoint[-1],
            "java": image.entrypoint[0],
            "python": image.entrypoint[0],
            "host": self._host.listen_address,
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

    def _foreign_machine(self) -> str | None:
        """Why what is built here cannot run there: it is another kind of processor."""
        if self._host.here:
            return None
        if self._machines is None:
            asked = Command(argv=("uname", "-m"), folder=Path("/"))
            ours, theirs = self._process.builds_on.run(asked, 20.0), self._host.run(asked, 20.0)
            self._machines = ours.stdout.strip(), theirs.stdout.strip()
        here, there = self._machines
        return (
            None if here == there else f"what is built here is for {here}, and {self._host.name} is {there}"
        )

    def _connected(self) -> DockerClient | None:
        if self._client is None and self._silent is None:
            try:
                self._client = connect(self._host, self._root, self._socket)
                self._engine = engine_of(self._client)
            except RematchError as problem:
                self._silent = str(problem)
        return self._client


def _without_limit(variant: Variant) -> RuntimeSettings:
    return variant.runtime.model_copy(update={"memory_limit": None})


__all__ = ["ContainerLauncher"]
