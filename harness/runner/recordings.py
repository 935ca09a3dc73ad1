# SPDX-License-Identifier: Apache-2.0
"""A JVM's flight recording, printed as JSON by the JDK it came from: analysis has no JDK."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HostError
from harness.hosts.base import Command, Host
from harness.launchers.arguments import RECORDING

PRINTED = "recording.json"
EVENTS = "jdk.Compilation,jdk.Deoptimization"
PRINT_WITHIN_S = 60.0


def keep_recording(host: Host, jfr: Path, there: Path, folder: Path) -> bool:
    """Write what ``jfr print --json`` says of the recording in ``there`` to ``folder``; return whether there was one.

    The JVM writes it when it ends, so ask after that; one that was killed left none.
    """
    words = ("print", "--json", "--stack-depth", "1", "--events", EVENTS, str(there / RECORDING))
    try:
        completed = host.run(Command(argv=(str(jfr), *words), folder=there), PRINT_WITHIN_S)
    except HostError:  # no such program there: the analysis says that nothing was recorded
        return False
    if completed.exit_code != 0 or not completed.stdout.lstrip().startswith("{"):
        return False
    (folder / PRINTED).write_text(completed.stdout, "utf-8")
    return True
