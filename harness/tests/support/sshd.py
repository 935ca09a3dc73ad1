# SPDX-License-Identifier: Apache-2.0
"""A real sshd with keys of its own, for tests; where there is none, they say so."""

from __future__ import annotations

from dataclasses import dataclass

from harness.tests.support.available import not_run
from harness.tests.support.machine import sshd
from harness.tests.support.machine.lacking import Lacking


@dataclass
class Sshd(sshd.Sshd):
    """One sshd, as ``harness.tests.support.machine.sshd`` has it."""

    def start(self) -> None:
        """Start it; return when it answers. Where there is none, the test says that it was not run."""
        try:
            super().start()
        except Lacking as problem:
            not_run(str(problem))
