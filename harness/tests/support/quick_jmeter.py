# SPDX-License-Identifier: Apache-2.0
"""The real JMeter in trials of a test, which are too short for what C2 would compile."""

from __future__ import annotations

from dataclasses import dataclass

from harness.loadgen.base import LoadCommand, LoadSpec
from harness.loadgen.tools.jmeter import JMeter
from harness.tests.support.tools_here import QUICK_JVM


@dataclass(frozen=True, kw_only=True)
class QuickJMeter(JMeter):
    """The adapter's command, whose JVM compiles less."""

    def command(self, spec: LoadSpec) -> LoadCommand:
        command = super().command(spec)
        environment = {**command.environment, "JDK_JAVA_OPTIONS": QUICK_JVM}
        return command.model_copy(update={"environment": environment})
