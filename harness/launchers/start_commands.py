# SPDX-License-Identifier: Apache-2.0
"""The command that starts a variant as a plain process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.hosts.base import Command
from harness.hosts.measuring import MeasuringHost
from harness.launchers import aot
from harness.launchers.arguments import (
    cpu_limit,
    expand,
    jvm_flags,
    native_start,
    runtime_arguments,
    setting_flags,
)
from harness.launchers.builds import MADE_LATER, Builder
from harness.launchers.chosen import with_toolchain
from harness.launchers.exit_reason import STDERR, STDOUT
from harness.launchers.forms import Forms, form_of, program_in
from harness.launchers.runtimes import Runtimes
from harness.model import Implementation, Variant


class StartCommands:
    """How variants are started on ``host``, with what was built and what runs it there."""

    def __init__(self, host: MeasuringHost, builder: Builder, forms: Forms, runtimes: Runtimes) -> None:
        self._host, self._builder, self._forms, self._runtimes = host, builder, forms, runtimes

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
        """Return the command that starts a variant; nothing is built or started.

        Raises:
            InputError: the variant does not fit the implementation, or ``service.toml`` is wrong.
        """
        implementation = with_toolchain(implementation, variant.runtime, variant.trained)
        built = self._builder.folder(implementation, source_sha256)
        artifacts = self._host.install(built, without=MADE_LATER) if built.is_dir() else built
        form, program = form_of(variant.runtime), None
        if form is not None:
            made = self._forms.folder(implementation, form, built)
            program = program_in(self._host.install(made) if made.is_dir() else made, form)
        cache = self.cache_file(implementation, variant, artifacts) if variant.runtime.aot_cache else None
        told = runtime_arguments(
            implementation,
            variant.runtime,
            cpu_limit=cpu_limit(variant, cpus),
            java_major=self._runtimes.java_major(implementation, form),
            aot_cache=cache,
        )
        return Command(
            argv=self.argv(implementation, variant, artifacts, told.argv, port, program),
            folder=folder,
            environment=_merged(told.environment, environment or {}),
            cpus=cpus,
            stdout=Path(STDOUT),
            stderr=Path(STDERR),
            groups=groups,
        )

    def argv(
        self,
        implementation: Implementation,
        variant: Variant,
        artifacts: Path,
        runtime_args: tuple[str, ...],
        port: int,
        program: Path | None = None,
    ) -> tuple[str, ...]:
        """Return the whole command line; ``program`` is that of the variant's form, where it has one."""
        file = self._builder.service_toml(implementation)
        form = form_of(variant.runtime)
        jdk = self._runtimes.jdk(implementation, form)
        start = native_start(implementation.start) if form == "native" else implementation.start
        values: dict[str, str | tuple[str, ...]] = {
            "artifact": str(program if form == "native" else artifacts / implementation.artifact),
            "host": implementation.address or self._host.listen_address,
            "port": str(port),
            "settings": setting_flags(implementation, variant, file),
            "runtime_args": runtime_args,
            "python": self._runtimes.python,
        }
        if jdk is not None:
            values["java"] = str(program if form == "jlink" else jdk.java)
        return expand(start, values, file=file, place="start")

    def cache_file(self, implementation: Implementation, variant: Variant, artifacts: Path) -> Path:
        """Return where the AOT cache of this variant lies, or would, beside its artifacts."""
        jdk = self._runtimes.jdk(implementation)
        version, major = (jdk.version, jdk.major) if jdk is not None else ("", 0)
        return aot.cache_file(artifacts, version, jvm_flags(variant.runtime, variant.runtime.cpus, major))


def _merged(told: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The order's environment wins, but for GODEBUG, which is a list: both hold."""
    merged = dict(told) | dict(given)
    if "GODEBUG" in told and "GODEBUG" in given:
        merged["GODEBUG"] = f"{told['GODEBUG']},{given['GODEBUG']}"
    return merged
