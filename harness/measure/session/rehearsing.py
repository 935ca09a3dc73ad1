# SPDX-License-Identifier: Apache-2.0
"""Trials that stand in no plan: of a calibration, of the echo service, of memory; and the parts that any trial has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.loadgen.base import LoadGenerator
from harness.measure.runner import Limits, TrialContext, TrialSpec
from harness.measure.runner.trial import unplanned
from harness.measure.session.planning import Prepared
from harness.measure.session.signals import RunningProcesses
from harness.measure.session.wiring import Assembly
from harness.model import BuildRecord, Configuration, Implementation, Load, Request, WarmUpSpec


@dataclass(kw_only=True)
class Rehearsals:
    """A plan and the parts that carry it out."""

    assembly: Assembly
    prepared: Prepared
    ledger: RunningProcesses
    limits: Limits

    def say(self, doing: str) -> None:
        """Hear what is being done."""

    def contract(self) -> Path:
        """Return the folder of the workload's contract."""
        return self.prepared.study.contract(self.assembly.root)

    def parts(self, load: Load | None, warm_up: WarmUpSpec | None = None) -> TrialContext:
        """Return what the runner works with, its load generators' own words among it."""
        assembly = self.assembly
        tools = [item.generator for item in (warm_up, load) if item is not None]
        words = {local: remote for tool in tools for local, remote in assembly.load_words(tool).items()}
        return TrialContext(
            host=assembly.host,
            launcher=assembly.launcher,
            ledger=self.ledger,
            cpus=assembly.stations.cpus,
            cores=assembly.stations.cores,
            sampling_hz=assembly.sampling_hz,
            backing=assembly.backing,
            other_host=assembly.load_host,
            database_host=assembly.database_host,
            load_words=words,
            speed_gate=assembly.speed_gate,
        )

    def built(self, configuration: Configuration) -> BuildRecord:
        """Build what a configuration starts."""
        implementation = self.implementation(configuration)
        return self.assembly.launcher.build(implementation, configuration.variant, configuration.backing)

    def implementation(self, configuration: Configuration) -> Implementation:
        """Return what a configuration's variant is of."""
        return self.prepared.study.implementations[configuration.variant.implementation]

    def rehearsal(
        self,
        name: str,
        configuration: Configuration,
        build: BuildRecord,
        requests: tuple[Request, ...],
        implementation: Implementation | None = None,
    ) -> TrialSpec:
        """Return a trial that stands in no plan, in a folder that is thrown away.

        ``implementation``: where the study has none of it.
        """
        load = configuration.load
        return TrialSpec(
            planned=unplanned(name, configuration),
            experiment=name,
            session_id=name,
            implementation=implementation or self.implementation(configuration),
            build=build,
            generator=None if load is None else self.assembly.generator(load.generator),
            requests=requests,
            cases=(),
            folder=self.assembly.root / ".cache" / name / self.prepared.session_id / "trial",
            seed=self.prepared.plan.seed,
            limits=self.limits,
        )

    def warm_up_generator(self, configuration: Configuration) -> LoadGenerator | None:
        """Return the tool of a warm-up in windows; ``None``: there is none."""
        asked = configuration.warm_up
        return None if asked is None else self.assembly.generator(asked.generator)
