# SPDX-License-Identifier: Apache-2.0
"""Services as plain processes on a host: built, started with their flags, stopped for certain."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HostError, TrialFailure
from harness.hosts import Command, Host, Station
from harness.launchers import aot
from harness.launchers.arguments import (
    expand,
    jvm_flags,
    misfit,
    native_start,
    runtime_arguments,
    setting_flags,
)
from harness.launchers.base import LaunchOrder, masked
from harness.launchers.builds import MADE_LATER, Builder, Built
from harness.launchers.forms import Form, Forms, form_of, program_in
from harness.launchers.last_words import STDERR, STDOUT
from harness.launchers.limits import enclose
from harness.launchers.process_instance import ProcessInstance
from harness.launchers.tools import Tools
from harness.loadgen.base import Endpoint
from harness.model import BackingSettings, BuildRecord, Implementation, InstanceRecord, Outcome, Variant
from harness.toolchains import Jdk
from harness.workloads import load_all_requests

#: The contract gives a service 5 s to finish what is in flight.
GRACE_S = 8.0

#: What an implementation needs beside itself, for as long as the context lasts: its environment.
Training = Callable[[Implementation, BackingSettings | None], AbstractContextManager[Mapping[str, str]]]


def _needs_nothing(
    _implementation: Implementation, _backing: BackingSettings | None
) -> AbstractContextManager[Mapping[str, str]]:
    return nullcontext({})


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """What a host has that is not the machine services are built on. JDKs stand in order of preference."""

    builds_on: Host
    jdks: tuple[Jdk, ...] = ()
    python: str = "python3"
    architecture: str = field(default_factory=platform.machine)


class ProcessLauncher:
    """Brings variants up as processes; see ``Launcher``.

    ``root`` is the project's folder; builds are kept below its ``.cache/builds``. ``training`` brings
    up what a training start for an AOT cache needs beside itself. ``elsewhere``: services run on ``host``,
    which is another machine than the one they are built on, with what is there.
    """

    name = "process"

    def __init__(
        self,
        host: Station,
        root: Path,
        tools: Tools,
        *,
        build_environment: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
        training: Training = _needs_nothing,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._elsewhere = elsewhere
        self._training = training
        self.host, self._root, self._tools, self._grace_s = host, root, tools, grace_s
        self.builds_on: Host = host if elsewhere is None else elsewhere.builds_on
        self.builder = Builder(self.builds_on, root, tools, build_environment)
        self.forms = Forms(self.builds_on, root, tools, build_environment)
        self._runtime_bytes: dict[Path, int] = {}
        self._refusals: dict[tuple[str, ...], str | None] = {}

    def unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        problem = misfit(implementation, variant.runtime)
        if problem is not None:
            return problem
        if self._elsewhere is not None and variant.runtime.memory_limit is not None:
            return (
                f"the memory of a plain process is limited on this machine only, not on {self.host.name}: "
                "measure it with --launcher container"
            )
        problem = self._lacks_build(implementation) or self._foreign_machine(implementation, variant)
        if problem is None and implementation.runtime == "jvm":
            return self._jvm_unavailable(implementation, variant)
        return problem

    def _foreign_machine(self, implementation: Implementation, variant: Variant) -> str | None:
        """Why what is built here cannot run there: it is another kind of processor."""
        here, there = platform.machine(), self._elsewhere.architecture if self._elsewhere else None
        compiled = implementation.runtime in ("go", "native") or form_of(variant.runtime) is not None
        if not compiled or there in (None, here):
            return None
        return f"what is built here is for {here}, and {self.host.name} is {there}"

    def _lacks_build(self, implementation: Implementation) -> str | None:
        missing = self.builder.missing_tool(implementation)
        if missing is not None and (
            missing.tool.startswith("JDK") or self.builder.find(implementation) is None
        ):
            return str(missing)
        return None

    def _jvm_unavailable(self, implementation: Implementation, variant: Variant) -> str | None:
        form = form_of(variant.runtime)
        jdk = self._jdk(implementation, form)
        if jdk is None:
            where = "" if self._elsewhere is None else f" on {self.host.name}"
            return f"no JDK {implementation.min_java or ''} or newer{where}"
        if variant.runtime.aot_cache and jdk.major < aot.AOT_SINCE:
            return f"an AOT cache needs JDK {aot.AOT_SINCE} or newer; the one used here is {jdk.version}"
        if form is not None:
            reason = self.forms.unavailable(implementation, form, self.builder.find(implementation))
            if reason is not None or form == "native":
                return reason
        flags = jvm_flags(variant.runtime, None, jdk.major)
        return self._refused(self.builds_on if form is not None else self.host, jdk.java, flags)

    def build(
        self, implementation: Implementation, variant: Variant, backing: BackingSettings | None = None
    ) -> BuildRecord:
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
        """Return the command that ``launch`` starts; nothing is built or started.

        Raises:
            InputError: the variant does not fit the implementation, or ``service.toml`` is wrong.
        """
        built = self.builder.folder(implementation, source_sha256)
        artifacts = self.host.install(built, without=MADE_LATER) if built.is_dir() else built
        form, program = form_of(variant.runtime), None
        if form is not None:
            made = self.forms.folder(implementation, form, built)
            program = program_in(self.host.install(made) if made.is_dir() else made, form)
        cache = self._cache_file(implementation, variant, artifacts) if variant.runtime.aot_cache else None
        told = runtime_arguments(
            implementation,
            variant.runtime,
            cpu_limit=_cpu_limit(variant, cpus),
            java_major=self.java_major(implementation, form),
            aot_cache=cache,
        )
        return Command(
            argv=self._argv(implementation, variant, artifacts, told.argv, port, program),
            folder=folder,
            environment=_merged(told.environment, environment or {}),
            cpus=cpus,
            stdout=Path(STDOUT),
            stderr=Path(STDERR),
            groups=groups,
        )

    def launch(self, order: LaunchOrder) -> ProcessInstance:
        implementation, variant, source = order.implementation, order.variant, order.build.source_sha256
        built = self.builder.find(implementation, source)
        if built is None:
            raise TrialFailure(
                Outcome.FAILED,
                f"{implementation.name}: the build of source {source[:12]} is gone from the cache; build it again",
            )
        if order.build.form is not None and order.build.form.problem is not None:
            raise TrialFailure(Outcome.FAILED, order.build.form.problem)
        if variant.runtime.aot_cache:
            self._aot_cache(implementation, variant, built, None)
        port = self.host.free_port(self.host.listen_address)
        around = enclose(variant.runtime, order.cpus)
        cpus = order.cpus if around is None else around.cpus
        try:
            command = self.command(
                implementation,
                variant,
                folder=order.folder,
                port=port,
                cpus=cpus,
                environment=order.environment,
                source_sha256=source,
                groups=() if around is None else around.doors,
            )
            process = self.host.spawn(command)
        except BaseException as problem:
            if around is not None:
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
            cpu_affinity=cpus or (),
            cpu_limit=_cpu_limit(variant, cpus),
            artifact_sha256=order.build.artifact_sha256,
            artifact_bytes=order.build.artifact_bytes,
            runtime_bytes=self._bytes_of_runtime(implementation, order.build),
            runtime_version=self._runtime_version(implementation, built, order.build),
            limits=None if around is None else around.record,
        )
        return ProcessInstance(process, record, order.folder, self._grace_s, self.host, around)

    def _argv(
        self,
        implementation: Implementation,
        variant: Variant,
        artifacts: Path,
        runtime_args: tuple[str, ...],
        port: int,
        program: Path | None = None,
    ) -> tuple[str, ...]:
        """The whole command line; ``program`` is that of the variant's form, where it has one."""
        file = self.builder.service_toml(implementation)
        form = form_of(variant.runtime)
        jdk = self._jdk(implementation, form)
        start = native_start(implementation.start) if form == "native" else implementation.start
        values: dict[str, str | tuple[str, ...]] = {
            "artifact": str(program if form == "native" else artifacts / implementation.artifact),
            "host": self.host.listen_address,
            "port": str(port),
            "settings": setting_flags(implementation, variant, file),
            "runtime_args": runtime_args,
            "python": sys.executable if self._elsewhere is None else self._elsewhere.python,
        }
        if jdk is not None:
            values["java"] = str(program if form == "jlink" else jdk.java)
        return expand(start, values, file=file, place="start")

    def _cache_file(self, implementation: Implementation, variant: Variant, artifacts: Path) -> Path:
        jdk = self._jdk(implementation)
        version, major = (jdk.version, jdk.major) if jdk is not None else ("", 0)
        return aot.cache_file(artifacts, version, jvm_flags(variant.runtime, variant.runtime.cpus, major))

    def _aot_cache(
        self, implementation: Implementation, variant: Variant, built: Built, backing: BackingSettings | None
    ) -> aot.AotCache:
        """The cache, made where it is used and by the JDK that uses it, unless it is there."""
        artifacts = self.host.install(built.folder, without=MADE_LATER)
        file = self._cache_file(implementation, variant, artifacts)
        found = aot.find_cache(self.host, file)
        if found is not None:
            return found
        contract = self.builder.source_folder(implementation).parent / "contract"
        every = load_all_requests(contract)
        # the contract's first mix is the one that all faces answer alike
        requests = tuple(request for request in every if request.mix == every[0].mix)
        flags = jvm_flags(variant.runtime, variant.runtime.cpus, self.java_major(implementation))
        runtime_args = (*flags, f"-XX:AOTCacheOutput={aot.unfinished(file)}")
        port = self.host.free_port(self.host.listen_address)
        with (
            self._training(implementation, backing) as environment,
            tempfile.TemporaryDirectory(prefix="rematch-aot-") as ours,
        ):
            command = Command(
                argv=self._argv(implementation, variant, artifacts, runtime_args, port),
                folder=self.host.open_folder(Path(ours)),
                environment=dict(environment),
                stdout=Path(STDOUT),
                stderr=Path(STDERR),
            )
            try:
                endpoint = Endpoint(host=self.host.listen_address, port=port)
                return aot.train(self.host, command, endpoint, requests, file)
            finally:
                self.host.close_folder(Path(ours))

    def _refused(self, host: Host, java: Path, flags: tuple[str, ...]) -> str | None:
        """Whether this JVM starts with these flags at all; it says itself why not."""
        argv = (str(java), *flags, "-version")
        key = (host.name, *argv)
        if key not in self._refusals:
            completed = host.run(Command(argv=argv, folder=Path("/")), 60.0)
            said = (completed.stdout + completed.stderr).strip().splitlines() or ["it said nothing"]
            self._refusals[key] = (
                None if completed.exit_code == 0 else f"the JVM refuses {' '.join(flags)}: {said[0]}"
            )
        return self._refusals[key]

    def _jdk(self, implementation: Implementation, form: Form | None = None) -> Jdk | None:
        """The JDK that runs it, which elsewhere is another than the one that built it.

        A form was made by the latter, and brings along what it needs of it.
        """
        if self._elsewhere is None or form is not None:
            return self._tools.jdk_for(implementation.min_java)
        return Tools(jdks=self._elsewhere.jdks).jdk_for(implementation.min_java)

    def java_major(self, implementation: Implementation, form: Form | None = None) -> int:
        jdk = self._jdk(implementation, form)
        return jdk.major if jdk is not None else 0

    def _runtime_version(
        self, implementation: Implementation, built: Built, build: BuildRecord
    ) -> str | None:
        """What runs it: elsewhere a JVM may be another than the one it was built with; of a native image
        what its compiler says of itself."""
        if build.form is not None and build.form.form == "native":
            return build.form.tool
        jdk = self._jdk(implementation)
        # of a trimmed runtime, too, it is the JDK that made it
        made_elsewhere = self._elsewhere is not None and build.form is None
        if not made_elsewhere or implementation.runtime != "jvm" or jdk is None:
            return built.runtime_version
        return f"{jdk.version} ({jdk.vendor})" if jdk.vendor else jdk.version

    def _bytes_of_runtime(self, implementation: Implementation, build: BuildRecord) -> int | None:
        """What must be installed beside the artifact: the whole JDK or what is left of it, nothing for Go
        and native images, unknown for others."""
        if build.form is not None:
            return 0 if build.form.form == "native" else build.form.image_bytes
        if implementation.runtime in ("go", "native"):
            return 0
        jdk = self._jdk(implementation)
        if implementation.runtime != "jvm" or jdk is None:
            return None
        home = jdk.home.resolve() if self.host.here else jdk.home
        if home not in self._runtime_bytes:
            size = self.host.folder_bytes(home)
            if size is None:
                return None
            self._runtime_bytes[home] = size
        return self._runtime_bytes[home]


def _cpu_limit(variant: Variant, cpus: tuple[int, ...] | None) -> int | None:
    """The variant's own limit, else as many as it is pinned to, else the runtime decides (``None``)."""
    return variant.runtime.cpus or (len(cpus) if cpus else None)


def _merged(told: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The order's environment wins, but for GODEBUG, which is a list: both hold."""
    merged = dict(told) | dict(given)
    if "GODEBUG" in told and "GODEBUG" in given:
        merged["GODEBUG"] = f"{told['GODEBUG']},{given['GODEBUG']}"
    return merged
