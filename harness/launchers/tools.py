# SPDX-License-Identifier: Apache-2.0
"""The outside tools that a launcher builds and starts services with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.toolchains import Jdk, Surroundings, find_go, find_jdks, find_maven, find_tool


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """What is here. JDKs stand in order of preference."""

    jdks: tuple[Jdk, ...] = ()
    maven: Path | None = None
    go: Path | None = None
    native_image: Path | None = None

    def jdk_for(self, min_java: int | None) -> Jdk | None:
        """Return the first JDK that is new enough, or ``None``.

        The same one serves every variant of equal needs, whatever JDK is on PATH.
        """
        return next((jdk for jdk in self.jdks if jdk.major >= (min_java or 0)), None)


def find_tools(around: Surroundings) -> Tools:
    """Return the usable tools of this machine; what is missing or too old is ``None``."""
    maven, go, native_image = find_maven(around), find_go(around), find_tool("native-image", around)
    return Tools(
        jdks=find_jdks(around),
        maven=maven.path if maven.usable else None,
        go=go.path if go.usable else None,
        native_image=native_image.path if native_image.usable else None,
    )
