# SPDX-License-Identifier: Apache-2.0
"""The project's Go services as the parties of verifications with real processes."""

from __future__ import annotations

from pathlib import Path

from harness.errors import RematchError
from harness.hosts.base import Command
from harness.hosts.local import LocalHost
from harness.project import find_root
from harness.toolchains import Surroundings, Tool, build_environment


def build_go_service(source: str, target: Path, go: Tool, around: Surroundings) -> None:
    """Build ``services/<source>`` into a file, with the flags of its own build: Go compiles libraries for each set.

    Raises:
        RematchError: it does not build.
    """
    command = (str(go.require()), "build", "-trimpath", "-tags", "netgo,osusergo", "-o", str(target), ".")
    folder = find_root() / "services" / source
    build = Command(argv=command, folder=folder, environment=build_environment(around))
    done = LocalHost().run(build, timeout_s=300.0)
    if done.exit_code != 0:
        raise RematchError(
            f"services/{source}: go build ended with {done.exit_code}: {done.stderr.strip()[:300]}"
        )
