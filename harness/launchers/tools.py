# SPDX-License-Identifier: Apache-2.0
"""The outside tools that a launcher builds and starts services with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.model import Implementation
from harness.toolchains import JavaRuntime, Jdk, Tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """What is here. JDKs stand in order of preference; ``runtimes`` have no compiler, and run what names them."""

    jdks: tuple[Jdk, ...] = ()
    runtimes: tuple[JavaRuntime, ...] = ()
    maven: Path | None = None
    go: Path | None = None
    native_image: Path | None = None

    def jdk_for(self, min_java: int | None) -> Jdk | None:
        """Return the first JDK that is new enough, or ``None``.

        The same one serves every variant of equal needs, whatever JDK is on PATH.
        """
        return next((jdk for jdk in self.jdks if jdk.major >= (min_java or 0)), None)

    def java_that_runs(self, implementation: Implementation) -> JavaRuntime | None:
        """Return the Java of the release that a variant names, else the JDK that is new enough; ``None``: none is."""
        named = implementation.toolchain
        if named is None or named.java is None:
            return self.jdk_for(implementation.min_java)
        return next((one for one in (*self.jdks, *self.runtimes) if one.major == named.java), None)


def tools_among(found: Iterable[Tool], jdks: Sequence[Jdk], runtimes: Sequence[JavaRuntime] = ()) -> Tools:
    """Return those of the tools that were found that a launcher uses: asking each again costs a process."""
    paths = {tool.name: tool.path for tool in found if tool.usable}
    return Tools(
        jdks=tuple(jdks),
        runtimes=tuple(runtimes),
        maven=paths.get("maven"),
        go=paths.get("go"),
        native_image=paths.get("native-image"),
    )
