# SPDX-License-Identifier: Apache-2.0
"""A load generator of one trial, or one of several: started, sampled, ended for certain."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.agent.sampler import Watched
from harness.hosts.base import Command, Process
from harness.hosts.measuring import Sampling
from harness.loadgen.base import LoadCommand
from harness.model import GeneratorRecord
from harness.runner.context import LoadSlot, Notes, TrialContext, TrialSpec

#: What a sampler on the load's own host writes, beside the load's files.
OWN_SAMPLES, OWN_MACHINE = "generator-samples.csv", "machine-load.csv"


@dataclass
class LoadProcess:
    """One generator: its share of the load, where it runs, and what became of it.

    ``ours``: its folder here; ``there``: the same on its host. ``number`` counts from 1, ``of``: how many.
    """

    number: int
    of: int
    place: LoadSlot
    ours: Path
    there: Path
    command: LoadCommand
    record: GeneratorRecord
    running: Process | None = None
    own_sampler: Sampling | None = None
    exit_code: int | None = None

    @property
    def name(self) -> str:
        """What a failure calls it."""
        return "the load generator" if self.of == 1 else f"load generator {self.number} of {self.of}"

    @property
    def role(self) -> str:
        """What samples call it; each begins as the first one's does."""
        return "generator" if self.number == 1 else f"generator-{self.number}"

    def begin(self, sampler: Sampling, context: TrialContext, notes: Notes) -> None:
        """Start it and have it sampled: by a sampler of its own where it is not on the service's host."""
        host = self.place.host
        self.running = running = host.spawn(
            Command(
                argv=self.command.argv,
                folder=self.there,
                environment=self.command.environment,
                cpus=notes.placement.generator if notes.placement else None,
                stdout=Path(self.command.stdout),
                stderr=Path(self.command.stderr),
            )
        )
        if host.here:
            context.ledger.note(pid=running.pid, role=f"load generator {self.record.name}")
        if context.load_apart:
            files = (self.there / OWN_SAMPLES, self.there / OWN_MACHINE)
            self.own_sampler = sampler = host.sampler(*files, context.sampling_hz)
        watched = Watched(
            pid=running.pid, start_ticks=running.start_ticks, cpu_at_launch_s=running.cpu_at_launch_s
        )
        sampler.add(self.role, watched)

    def ended(self, wait_s: float) -> bool:
        """Wait so long for its end; whether it has ended."""
        if self.exit_code is None and self.running is not None:
            self.exit_code = self.running.wait(wait_s)
            if self.exit_code is None:
                self.running.cpu_s()  # kept there: the account of a child that nobody waits for closes with it
        return self.exit_code is not None

    def end(self, spec: TrialSpec, context: TrialContext) -> None:
        """End it for certain, and keep how it ended."""
        if self.running is None:
            return
        self.running.stop(grace_s=spec.limits.generator_stop_s)
        if self.place.host.here:
            context.ledger.forget(self.running.pid)
        if self.own_sampler is not None:
            self.own_sampler.stop()
        ended = {"exit_code": self.exit_code, "cpu_s": self.running.cpu_s()}
        self.record = self.record.model_copy(update=ended)

    def close(self) -> None:
        """Bring back what it left; what a tool made for itself goes (JMeter's JVM keeps preferences)."""
        self.place.host.close_folder(self.ours)
        for path in self.ours.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)


__all__ = ["OWN_SAMPLES", "LoadProcess"]
