# SPDX-License-Identifier: Apache-2.0
"""The agents that run on a remote machine, by the notes they keep there."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from pathlib import Path

from harness.tests.chaos.faults.sessions import Process

ENDS_WITHIN_S = 30.0


def agents(base: Path) -> list[Process]:
    """Return those below our folder on that machine, which is this one under another address."""
    found = []
    for about in (base / "sessions").glob("agent-*/agent.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):  # written, or removed, as we look
            said = json.loads(about.read_text("utf-8"))
            found.append(Process(said["pid"], said["start_ticks"]))
    return [one for one in found if one.runs]


def end_agents(base: Path) -> None:
    """End those that still run, and what they started; return when they are gone."""
    left = agents(base)
    for one in left:
        one.send(signal.SIGTERM)
    until = time.monotonic() + ENDS_WITHIN_S
    while any(one.runs for one in left) and time.monotonic() < until:
        time.sleep(0.05)
    for one in left:
        one.send(signal.SIGKILL)
