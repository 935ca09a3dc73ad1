# SPDX-License-Identifier: Apache-2.0
"""Services as plain processes on a host: built, started with their flags, stopped for certain."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from harness.errors import HostError, TrialFailure
from harness.model import (
    BackingSettings,
    BuildRecord,
    Endpoint,
    Implementation,
    InstanceRecord,
    Outcome,
    Request,
    Variant,
)
from harness.places.hosts.base import Command, Host, Process, run_words
from harness.places.hosts.measuring import MeasuringHost
from harness.places.launchers import training
from harness.places.launchers.arguments import (
    cpu_limit,
    expand,
    jvm_flags,
    misfit,
    native_start,
    runtime_arguments,
    setting_flags,
)
from harness.places.launchers.base import STDERR, STDOUT, Instance, LaunchSpec, masked
from harness.places.launchers.builds import MADE_LATER, Builder, Built
from harness.places.launchers.cgroup import ControlGroup, enclose
from harness.places.launchers.forms import Forms, form_of, program_in
from harness.places.launchers.tools import Elsewhere, Form, Tools, named_program, version_of, with_toolchain
from harness.toolchains import JavaRuntime
from harness.workloads import load_all_requests

#: The contract gives a service 5 s to finish what is in flight.
GRACE_S = 8.0

#: What an implementation needs beside itself, for as long as the context lasts: its environment.
Training = Callable[[Implementation, BackingSettings | None], AbstractContextManager[Mapping[str, str]]]


class ProcessLauncher:
    """Brings variants up as processes; see ``Launcher``. Builds are kept below ``.cache/builds`` of the project at
    ``root``. ``training`` brings up what a training start for an AOT cache needs beside itself. ``elsewhere``:
    services run on ``host``, which is another machine than the one they are built on, with what is there."""

    name = "process"

    def __init__(
        self,
        host: MeasuringHost,
        root: Path,
        tools: Tools,
        *,
        grace_s: float = GRACE_S,
        training: Training = lambda *_: nullcontext({}),
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._elsewhere = elsewhere
        self._training = training
        self.host, self._grace_s = host, grace_s
        self.builds_on: Host = host if elsewhere is None else elsewhere.builds_on
        self.builder = Builder(self.builds_on, root, tools)
        self.forms = Forms(self.builder)
        self._bytes: dict[Path, int | None] = {}
        self._refusals: dict[tuple[str, ...], str | None] = {}

    def unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        why = f"to start {implementation.name}"
        missing = None if self._elsewhere else self.builder.missing_program(implementation.start, why)
        implementation = with_toolchain(implementation, variant.runtime, variant.trained)
        return (
            self._toolchain_problem(implementation)
            or self.unfit(implementation, variant)
            or (None if missing is None else str(missing))
        )

    def unfit(self, implementation: Implementation, variant: Variant) -> str | None:
        """As ``unavailable``, but for a program of PATH that starts it: a container contains that."""
        problem = misfit(implementation, variant.runtime)
        if problem is not None:
            return problem
        if self._elsewhere is not None and variant.runtime.memory_limit is not None:
            return (
                f"memory is limited on the machine of the harness only, not on {self.host.name}: run it there"
            )
        lacking = self.builder.missing_tool(implementation)
        if lacking is not None and (
            lacking.tool.startswith("JDK") or self.builder.find(implementation) is None
        ):
            return str(lacking)
        compiled = implementation.runtime in ("go", "native") or form_of(variant.runtime) is not None
        own = platform.machine()
        architecture = own if self._elsewhere is None else self._elsewhere.architecture
        if compiled and architecture != own:
            problem = f"what is built here is for {own}, and {self.host.name} is {architecture}"
        if problem is None and implementation.runtime == "jvm":
            return self._jvm_unavailable(implementation, variant)
        return problem

    def _toolchain_problem(self, implementation: Implementation) -> str | None:
        """Why the toolchain that a variant names cannot be had, in words of its own; ``None``: it can, or none is."""
        named = implementation.toolchain
        if named is None:
            return None
        oldest = implementation.oldest_java or implementation.min_java
        if named.java is not None and named.java < (oldest or 0):
            return f"its sources and libraries need Java {oldest} or newer, not {named.java}"
        if named.java is not None and self._jdk(implementation) is None:
            where = "here" if self._elsewhere is None else f"on {self.host.name}"
            return f"no JDK {named.java} {where}; install it with: make toolchains"
        if named.goamd64 is not None and platform.machine() != "x86_64":
            return f"GOAMD64={named.goamd64} is of processors of the family x86-64, and this one is none"
        return self.builder.refused(implementation)

    def _jvm_unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        form = form_of(variant.runtime)
        jdk = self._jdk(implementation, form)
        if jdk is None:
            where = "" if self._elsewhere is None else f" on {self.host.name}"
            return f"no JDK {implementation.min_java or ''} or newer{where}"
        if variant.runtime.aot_cache and jdk.major < training.AOT_SINCE:
            return f"an AOT cache needs JDK {training.AOT_SINCE} or newer; the one used here is {jdk.version}"
        if form is not None:
            reason = self.forms.unavailable(implementation, form, self.builder.find(implementation))
            if reason is not None or form == "native":
                return reason
        runtime = variant.runtime
        if runtime.heap_multiple is not None:  # no JVM knows what it comes to, nobody does yet
            runtime = runtime.model_copy(update={"heap_max": None})
        flags = jvm_flags(runtime, None, jdk.major)
        host = self.builds_on if form is not None else self.host
        argv = (str(jdk.java), *flags, "-version")
        if (host.name, *argv) not in self._refusals:
            try:
                completed = run_words(host, *argv)
            except HostError as error:  # nothing is started here; a far host may answer next time
                return str(error)
            output = (completed.stdout + completed.stderr).strip().splitlines() or ["no output"]
            why = f"the JVM refuses {' '.join(flags)}: {output[0]}"
            self._refusals[host.name, *argv] = None if completed.exit_code == 0 else why
        return self._refusals[host.name, *argv]

    def build(
        self, implementation: Implementation, variant: Variant, backing: BackingSettings | None = None
    ) -> BuildRecord:
        implementation = with_toolchain(implementation, variant.runtime, variant.trained)
        if variant.runtime.pgo and self.builder.find(implementation) is None:
            self._take_profile(implementation, variant, backing)
        built = self.builder.build(implementation)
        form = form_of(variant.runtime)
        if form is not None:
            made = self.forms.make(implementation, form, built)
            changes: dict[str, object] = {"form": made}
            if made.form == "native" and made.image_bytes is not None:
                changes |= {"artifact_bytes": made.image_bytes, "artifact_sha256": made.image_sha256}
            return built.record.model_copy(update=changes)
        if not variant.runtime.aot_cache:
            return built.record
        cache = self._aot_cache(implementation, variant, built, backing)
        return built.record.model_copy(
            update={"aot_training_s": cache.training_s, "aot_cache_bytes": cache.cache_bytes}
        )

    def start_in_image(
        self, implementation: Implementation, variant: Variant, limit: int | None, values: Mapping[str, str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return command and environment of a variant in an image; ``values``: program, address and port inside.
        Raises InputError: the variant does not fit the implementation, or ``service.toml`` is wrong."""
        jdk = self._jdk(implementation)
        major = jdk.major if jdk is not None else 0
        arguments = runtime_arguments(implementation, variant.runtime, cpu_limit=limit, java_major=major)
        return self._words(implementation, variant, arguments.argv, values), arguments.environment

    def _words(
        self,
        implementation: Implementation,
        variant: Variant,
        runtime_args: tuple[str, ...],
        values: Mapping[str, str],
    ) -> tuple[str, ...]:
        """Fill in the start of ``service.toml``."""
        file = self.builder.service_toml(implementation)
        native = variant.runtime.form == "native"
        start = native_start(implementation.start) if native else implementation.start
        flags = setting_flags(implementation, variant, file)
        known: dict[str, str | tuple[str, ...]] = {**values, "runtime_args": runtime_args, "settings": flags}
        return expand(start, known, file=file, place="start")

    def launch(self, spec: LaunchSpec) -> ProcessInstance:
        variant, source = spec.variant, spec.build.source_sha256
        implementation = with_toolchain(spec.implementation, variant.runtime, variant.trained)
        built = self.builder.find(implementation, source)
        if built is None:
            raise TrialFailure(
                Outcome.FAILED,
                f"{implementation.name}: the build of source {source[:12]} is gone from the cache; build it again",
            )
        if spec.build.form is not None and spec.build.form.problem is not None:
            raise TrialFailure(Outcome.FAILED, spec.build.form.problem)
        if variant.runtime.aot_cache:
            self._aot_cache(implementation, variant, built, None)
        address = implementation.address or self.host.listen_address
        port = self.host.free_port(address)
        around = enclose(variant.runtime, spec.cpus)
        try:
            command = self.command(
                implementation,
                variant,
                folder=spec.folder,
                port=port,
                cpus=around.cpus,
                environment=spec.environment,
                source_sha256=source,
                groups=around.doors,
            )
            process = self.host.spawn(command)
        except BaseException as problem:
            around.release()
            if isinstance(problem, HostError):
                raise TrialFailure(Outcome.FAILED, str(problem)) from problem
            raise
        record = InstanceRecord(
            argv=command.argv,
            environment=masked(command.environment),
            pid=process.pid,
            process_start_ticks=process.start_ticks,
            port=port,
            launched=process.launched,
            cpu_affinity=around.cpus or (),
            cpu_limit=cpu_limit(variant, around.cpus),
            artifact_sha256=spec.build.artifact_sha256,
            artifact_bytes=spec.build.artifact_bytes,
            runtime_bytes=self._installed_bytes(implementation, spec.build),
            runtime_version=self._runtime_version(implementation, built.runtime_version, spec.build),
            limits=around.record,
        )
        instance = ProcessInstance(process, record, spec.folder, self._grace_s, self.host, around)
        tls = variant.settings.get("tls") == "on"
        instance.endpoint = Endpoint(host=address, port=port, scheme="https" if tls else "http")
        return instance

    def command(
        self,
        implementation: Implementation,
        variant: Variant,
        *,
        folder: Path,
        port: int,
        cpus: tuple[int, ...] | None = None,
        environment: Mapping[str, str] | None = None,
        source_sha256: str | None = None,
        groups: tuple[Path, ...] = (),
    ) -> Command:
        """Return the command that starts a variant; nothing is built or started. Raises InputError: the variant does
        not fit the implementation, or ``service.toml`` is wrong."""
        implementation = with_toolchain(implementation, variant.runtime, variant.trained)
        built = self.builder.folder(implementation, source_sha256)
        artifacts = self.host.install(built, without=MADE_LATER) if built.is_dir() else built
        form, program = form_of(variant.runtime), None
        if form is not None:
            made = self.forms.folder(implementation, form, built)
            program = program_in(self.host.install(made) if made.is_dir() else made, form)
        cache = self._cache(implementation, variant, artifacts)[0] if variant.runtime.aot_cache else None
        jdk = self._jdk(implementation, form)
        arguments = runtime_arguments(
            implementation,
            variant.runtime,
            cpu_limit=cpu_limit(variant, cpus),
            java_major=jdk.major if jdk is not None else 0,
            aot_cache=cache,
        )
        return Command(
            argv=self._argv(implementation, variant, artifacts, arguments.argv, port, program),
            folder=folder,
            environment=arguments.environment | dict(environment or {}),
            cpus=cpus,
            stdout=Path(STDOUT),
            stderr=Path(STDERR),
            groups=groups,
        )

    def _argv(
        self,
        implementation: Implementation,
        variant: Variant,
        artifacts: Path,
        runtime_args: tuple[str, ...],
        port: int,
        program: Path | None = None,
    ) -> tuple[str, ...]:
        """Return the whole command line; ``program`` is that of the variant's form, where it has one."""
        form = form_of(variant.runtime)
        jdk = self._jdk(implementation, form)
        values = {
            "artifact": str(program if form == "native" else artifacts / implementation.artifact),
            "host": implementation.address or self.host.listen_address,
            "port": str(port),
            "python": sys.executable if self._elsewhere is None else self._elsewhere.python,
        }
        if jdk is not None:
            values["java"] = str(program if form == "jlink" else jdk.java)
        return self._words(implementation, variant, runtime_args, values)

    def _jdk(self, implementation: Implementation, form: Form | None = None) -> JavaRuntime | None:
        """Return the Java that runs it, which elsewhere is another than the one that built it and made its forms."""
        if self._elsewhere is None or form is not None:
            return self.builder.tools.java_that_runs(implementation)
        return Tools(jdks=self._elsewhere.jdks).java_that_runs(implementation)

    def _runtime_version(
        self, implementation: Implementation, built_version: str | None, build: BuildRecord
    ) -> str | None:
        """Return what runs it: elsewhere a JVM may be another than the one it was built with; of a native image
        what its compiler says of itself, of a trimmed runtime the JDK that made it."""
        if build.form is not None:
            return build.form.tool if build.form.form == "native" else built_version
        program, jdk = named_program(implementation.start), self._jdk(implementation)
        if self._elsewhere is not None and implementation.runtime == "other" and program is not None:
            return version_of(self.host, program, {})
        named = implementation.toolchain is not None and implementation.toolchain.java is not None
        another = implementation.runtime == "jvm" and (self._elsewhere is not None or named)
        return jdk.full_version if another and jdk is not None else built_version

    def _installed_bytes(self, implementation: Implementation, build: BuildRecord) -> int | None:
        """Return what must be installed beside the artifact: the whole JDK or what is left of it, nothing for Go
        and native images, unknown for others."""
        if build.form is not None:
            return 0 if build.form.form == "native" else build.form.image_bytes
        if implementation.runtime in ("go", "native"):
            return 0
        jdk = self._jdk(implementation)
        if implementation.runtime != "jvm" or jdk is None:
            return None
        home = jdk.home.resolve() if self.host.is_local else jdk.home
        if self._bytes.get(home) is None:
            self._bytes[home] = self.host.folder_bytes(home)
        return self._bytes[home]

    def _cache(
        self, implementation: Implementation, variant: Variant, artifacts: Path
    ) -> tuple[Path, tuple[str, ...]]:
        """Return where the AOT cache of this variant lies, or would, beside its artifacts, and the flags it is of."""
        jdk = self._jdk(implementation)
        version, major = (jdk.version, jdk.major) if jdk is not None else ("", 0)
        flags = jvm_flags(variant.runtime, variant.runtime.cpus, major)
        return training.cache_file(artifacts, version, flags), flags

    def _aot_cache(
        self, implementation: Implementation, variant: Variant, built: Built, backing: BackingSettings | None
    ) -> training.AotCache:
        """The cache, made where it is used and by the JDK that uses it, unless it is there."""
        artifacts = self.host.install(built.folder, without=MADE_LATER)
        file, flags = self._cache(implementation, variant, artifacts)
        result = training.find_cache(self.host, file)
        if result is not None:
            return result
        words = (*flags, f"-XX:AOTCacheOutput={file}")
        with (
            tempfile.TemporaryDirectory(prefix="rematch-aot-") as local,
            self._training_start(implementation, variant, artifacts, backing, Path(local), words) as start,
        ):
            return training.train_cache(self.host, *start, file)

    def _take_profile(
        self, implementation: Implementation, variant: Variant, backing: BackingSettings | None
    ) -> None:
        """Make the CPU profile that a Go program is compiled with, where the service will run, unless it is there."""
        file = self.builder.profile_file(implementation)
        if file.with_suffix(".json").is_file():
            return
        trained = self.builder.build(training.profiled(implementation))
        artifacts = self.host.install(trained.folder, without=MADE_LATER)
        with tempfile.TemporaryDirectory(prefix="rematch-pgo-") as local:
            with self._training_start(implementation, variant, artifacts, backing, Path(local)) as start:
                cpu_s, n_requests = training.train_profile(self.host, *start)
            training.keep_profile(Path(local) / training.PROFILE, file, cpu_s=cpu_s, n_requests=n_requests)

    @contextmanager
    def _training_start(
        self,
        implementation: Implementation,
        variant: Variant,
        artifacts: Path,
        backing: BackingSettings | None,
        local: Path,
        runtime_args: tuple[str, ...] = (),
    ) -> Iterator[tuple[Command, Endpoint, tuple[Request, ...]]]:
        """What starts a variant for a training run, where it listens, and what to ask it; the folder of the command
        on the host is in ``ours`` when the context is left."""
        contract = self.builder.service_toml(implementation).parent.parent / "contract"
        every = load_all_requests(contract)
        # the contract's first mix is the one that all faces answer alike
        requests = tuple(request for request in every if request.mix == every[0].mix)
        port = self.host.free_port(self.host.listen_address)
        with self._training(implementation, backing) as environment:
            command = Command(
                argv=self._argv(implementation, variant, artifacts, runtime_args, port),
                folder=self.host.open_folder(local),
                environment=dict(environment),
                stdout=Path(STDOUT),
                stderr=Path(STDERR),
            )
            try:
                yield command, Endpoint(host=self.host.listen_address, port=port), requests
            finally:
                self.host.close_folder(local)


class ProcessInstance(Instance):
    def __init__(
        self,
        process: Process,
        record: InstanceRecord,
        folder: Path,
        grace_s: float,
        host: MeasuringHost,
        around: ControlGroup,
    ) -> None:
        super().__init__(record, folder, grace_s, host)
        self.process, self._around = process, around
        self.cpu_at_launch_s = process.cpu_at_launch_s

    def exited(self) -> int | None:
        return self.process.exited()

    def stop(self) -> InstanceRecord:
        self._around.note(self._record.pid, self._record.process_start_ticks)
        stopped = self.process.stop(self._grace_s)
        self._around.release()
        changes = {"stop_signal": stopped.signal, "exit_code": stopped.exit_code, "stop_s": stopped.stop_s}
        self._record = self._record.model_copy(update={**changes, "limits": self._around.record})
        return self._record

    def out_of_memory(self) -> str | None:
        limits = self._record.limits
        if limits is not None and limits.out_of_memory:
            return "killed by the kernel: the memory limit of its control group was reached"
        return super().out_of_memory()
