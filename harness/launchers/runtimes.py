# SPDX-License-Identifier: Apache-2.0
"""What a built program runs on, here or elsewhere: which JDK, its version and size, the flags it takes."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HostError
from harness.hosts.base import Command, Host
from harness.hosts.measuring import MeasuringHost
from harness.launchers.builds import Built, named_program, version_of
from harness.launchers.forms import Form
from harness.launchers.tools import Tools
from harness.model import BuildRecord, Implementation
from harness.toolchains import JavaRuntime, Jdk


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """What a host has that is not the machine services are built on. JDKs stand in order of preference."""

    builds_on: Host
    jdks: tuple[Jdk, ...] = ()
    python: str = "python3"
    architecture: str = field(default_factory=platform.machine)


class Runtimes:
    """The runtimes of ``host``; ``elsewhere``: it is another machine than the one services are built on."""

    def __init__(self, host: MeasuringHost, tools: Tools, elsewhere: Elsewhere | None) -> None:
        self._host, self._tools, self._elsewhere = host, tools, elsewhere
        self._bytes: dict[Path, int] = {}
        self._refusals: dict[tuple[str, ...], str | None] = {}

    @property
    def python(self) -> str:
        """The Python that runs it."""
        return sys.executable if self._elsewhere is None else self._elsewhere.python

    def jdk(self, implementation: Implementation, form: Form | None = None) -> JavaRuntime | None:
        """Return the Java that runs it, which elsewhere is another than the one that built it.

        A form was made by the latter, and brings along what it needs of it.
        """
        if self._elsewhere is None or form is not None:
            return self._tools.java_that_runs(implementation)
        return Tools(jdks=self._elsewhere.jdks).java_that_runs(implementation)

    def java_major(self, implementation: Implementation, form: Form | None = None) -> int:
        """Return the release of that JDK, 0 where there is none."""
        jdk = self.jdk(implementation, form)
        return jdk.major if jdk is not None else 0

    def refused(self, host: Host, java: Path, flags: tuple[str, ...]) -> str | None:
        """Return why this JVM does not start with these flags, in its own words; ``None``: it does."""
        argv = (str(java), *flags, "-version")
        key = (host.name, *argv)
        if key not in self._refusals:
            try:
                completed = host.run(Command(argv=argv, folder=Path("/")), 60.0)
            except HostError as error:  # nothing is started here; a far host may answer next time
                return str(error)
            output = (completed.stdout + completed.stderr).strip().splitlines() or ["no output"]
            self._refusals[key] = (
                None if completed.exit_code == 0 else f"the JVM refuses {' '.join(flags)}: {output[0]}"
            )
        return self._refusals[key]

    def version(self, implementation: Implementation, built: Built, build: BuildRecord) -> str | None:
        """Return what runs it: elsewhere a JVM may be another than the one it was built with; of a native image
        what its compiler says of itself."""
        if build.form is not None and build.form.form == "native":
            return build.form.tool
        program = named_program(implementation.start)
        if self._elsewhere is not None and implementation.runtime == "other" and program is not None:
            return version_of(self._host, program, {})
        jdk = self.jdk(implementation)
        # of a trimmed runtime, too, it is the JDK that made it
        named = implementation.toolchain is not None and implementation.toolchain.java is not None
        another = (self._elsewhere is not None or named) and build.form is None
        if not another or implementation.runtime != "jvm" or jdk is None:
            return built.runtime_version
        return f"{jdk.version} ({jdk.vendor})" if jdk.vendor else jdk.version

    def installed_bytes(self, implementation: Implementation, build: BuildRecord) -> int | None:
        """Return what must be installed beside the artifact: the whole JDK or what is left of it, nothing for Go
        and native images, unknown for others."""
        if build.form is not None:
            return 0 if build.form.form == "native" else build.form.image_bytes
        if implementation.runtime in ("go", "native"):
            return 0
        jdk = self.jdk(implementation)
        if implementation.runtime != "jvm" or jdk is None:
            return None
        home = jdk.home.resolve() if self._host.here else jdk.home
        if home not in self._bytes:
            size = self._host.folder_bytes(home)
            if size is None:
                return None
            self._bytes[home] = size
        return self._bytes[home]
