# SPDX-License-Identifier: Apache-2.0
"""Locust's own distribution: a master that gives out users, and workers that have them.

A worker runs the script that a single Locust runs and writes the rows of its own users, on its own clock;
no row crosses the network. What does are users going out, and every three seconds the workers' statistics,
which the master adds up: a count beside that of the rows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UnsupportedLoad
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.distribution import Seats, Tally
from harness.loadgen.summary import ORDER_FILE
from harness.loadgen.template import as_it_is
from harness.model import ClosedLoad, LoadProfile

SCRIPT, MASTER_SCRIPT, TOTALS = "locustfile.py", "locust_master.py", "totals.json"
#: How long the master waits for its workers before it gives up.
WORKERS_WITHIN_S = 60
#: The master looks for its workers once a second, and waits half a second for their last report.
MEETING_S = 2.0


@dataclass(frozen=True, kw_only=True)
class LocustMaster:
    """``alone``: the adapter of a single Locust."""

    alone: LoadGenerator

    def shares(self, profile: LoadProfile, n: int) -> tuple[LoadProfile, ...]:
        """The whole load to each: the master divides the users, one after another, among its workers."""
        if isinstance(profile, ClosedLoad) and profile.users < n:
            raise UnsupportedLoad(f"{profile.users} users cannot be divided among {n} load generators")
        return (profile,) * n

    def secrets(self) -> dict[str, bytes]:
        """None: Locust's messages are neither encrypted nor authenticated."""
        return {}

    def coordinator(self, spec: LoadSpec, seats: Seats) -> LoadCommand:
        """A master, bound to its own address; its script knows the end of the load and no request."""
        command = self.alone.command(spec)
        script = as_it_is("harness.loadgen.tools.locust", MASTER_SCRIPT)
        return command.model_copy(
            update={
                "argv": (
                    *command.argv,
                    *("--master", "--expect-workers", str(len(seats.members))),
                    *("--expect-workers-max-wait", str(WORKERS_WITHIN_S)),
                    *("--master-bind-host", seats.coordinator.host),
                    *("--master-bind-port", str(seats.coordinator.port)),
                ),
                "files": {SCRIPT: script, ORDER_FILE: command.files[ORDER_FILE]},
                "outputs": (TOTALS, SCRIPT, ORDER_FILE),
                "expected_s": command.expected_s + MEETING_S,
            }
        )

    def member(self, spec: LoadSpec, seats: Seats, number: int) -> LoadCommand:
        """A worker: how many users and how quickly is not for it to say."""
        command = self.alone.command(spec)
        return command.model_copy(
            update={
                "argv": (
                    *_without(command.argv, "-u", "-r"),
                    *("--worker", "--master-host", seats.coordinator.host),
                    *("--master-port", str(seats.coordinator.port)),
                ),
                "expected_s": command.expected_s + MEETING_S,
            }
        )

    def gather(self, coordinator: Path, members: Sequence[Path], seats: Seats) -> Tally:
        """The rows are where they belong; the master's totals are what its workers reported to it."""
        try:
            totals = json.loads((coordinator / TOTALS).read_text("utf-8"))
            return Tally(int(totals["n_requests"]), int(totals["n_errors"]))
        except (OSError, ValueError, KeyError):
            return Tally(None, None)


def _without(argv: Sequence[str], *options: str) -> list[str]:
    """The words without these options and their values."""
    kept: list[str] = []
    words = iter(argv)
    for word in words:
        if word in options:
            next(words, None)
        else:
            kept.append(word)
    return kept


__all__ = ["MASTER_SCRIPT", "SCRIPT", "TOTALS", "LocustMaster"]
