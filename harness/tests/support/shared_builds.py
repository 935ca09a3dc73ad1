# SPDX-License-Identifier: Apache-2.0
"""``python -m harness.tests.support.shared_builds WORKLOAD/NAME...``: build services that tests wait for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from harness.definitions import load_implementations
from harness.hosts.local import LocalHost
from harness.launchers.builds import Builder
from harness.tests.support.sessions import REPOSITORY
from harness.tests.support.tools_here import tools_here


def build(names: Iterable[str]) -> None:
    """Build each of these services of the project, unless its build is there.

    Raises:
        LookupError: there is no such service. RematchError: a build failed, or a tool for it is missing.
    """
    builder = Builder(LocalHost(), REPOSITORY, tools_here(), os.environ)
    for name in names:
        workload, _, implementation = name.partition("/")
        builder.build(load_implementations(REPOSITORY, workload)[implementation])


if __name__ == "__main__":
    build(sys.argv[1:])
