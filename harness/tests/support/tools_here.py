# SPDX-License-Identifier: Apache-2.0
"""The JDKs, Maven, Go and GraalVM of this machine, for tests that start real services without a session."""

from __future__ import annotations

from harness.launchers.tools import Tools, tools_among
from harness.tests.support.sessions import REPOSITORY
from harness.toolchains import Surroundings, find_jdks, find_tool


def tools_here() -> Tools:
    """Return the usable tools of this machine; what is missing or too old is ``None``."""
    around = Surroundings(project=REPOSITORY)
    return tools_among(
        [find_tool(name, around) for name in ("maven", "go", "native-image")], find_jdks(around)
    )
