# SPDX-License-Identifier: Apache-2.0
"""The JDKs, Maven, Go and GraalVM of this machine, for tests that start real services without a session."""

from __future__ import annotations

from dataclasses import dataclass

from harness.loadgen.base import LoadCommand, LoadSpec
from harness.loadgen.tools.jmeter import JMeter
from harness.places.launchers.tools import Tools, tools_among
from harness.tests.support.sessions import REPOSITORY
from harness.toolchains import Surroundings, find_jdks, find_tool

#: For JVMs of tests, which start much and repeat little: what C2 would compile is not used long enough.
QUICK_JVM = "-XX:TieredStopAtLevel=1"


def tools_here() -> Tools:
    """Return the usable tools of this machine; what is missing or too old is ``None``."""
    around = Surroundings(project=REPOSITORY)
    return tools_among(
        [find_tool(name, around) for name in ("maven", "go", "native-image")], find_jdks(around)
    )


@dataclass(frozen=True, kw_only=True)
class QuickJMeter(JMeter):
    """The real JMeter in trials of a test, which are too short for what C2 would compile."""

    def command(self, spec: LoadSpec) -> LoadCommand:
        command = super().command(spec)
        environment = {**command.environment, "JDK_JAVA_OPTIONS": QUICK_JVM}
        return command.model_copy(update={"environment": environment})
