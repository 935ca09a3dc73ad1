# SPDX-License-Identifier: Apache-2.0
"""What is done once before the trials: a capacity measured, builds, backing services, generators tried."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from harness.definitions import load_implementations
from harness.errors import InputError, TrialFailure
from harness.loadgen.base import refuse
from harness.loadgen.flow import is_flow
from harness.measure.runner import TrialSpec
from harness.measure.session.capacity_trials import CapacityTrials, arrivals, calibrate, least_of, saturated
from harness.measure.session.headroom import (
    ECHO_IMPLEMENTATION,
    ECHO_WORKLOAD,
    echo_configuration,
    echo_variant,
    echoed,
    measure_echo,
    wanted_readings,
)
from harness.measure.session.memory import MemoryTrials, fit_memory, memory_asked
from harness.measure.session.planning import first_configurations
from harness.measure.session.rehearsing import Rehearsals
from harness.model import (
    BackingSettings,
    BuildRecord,
    Calibration,
    CalibrationSpec,
    CapacityGoals,
    Configuration,
    EchoReading,
    GeneratorName,
    MemoryFit,
    PlannedTrial,
)
from harness.places.backing import BackingNeed
from harness.provenance import without_paths
from harness.store import SessionWriter, explained
from harness.workloads import load_cases


@dataclass(kw_only=True)
class Preparation(Rehearsals):
    """Everything a session needs before its trials."""

    writer: SessionWriter
    builds: dict[str, BuildRecord] = field(default_factory=dict)
    echo: tuple[EchoReading, ...] = ()

    def capacity(self) -> Calibration | None:
        """The capacity that scaled loads are shares of: written earlier, else measured now; ``None``: none are."""
        prepared = self.prepared
        order = prepared.experiment.profiles[prepared.plan.profile].calibration
        if order is None:
            return None
        known = self.writer.session.calibration()
        if known is not None:
            return known
        firsts = first_configurations(prepared)
        if order.of == "reference":
            firsts = firsts[:1]
        elif order.among:
            firsts = [first for first in firsts if first.variant_name in order.among]
        with explained(self.writer.session.folder):
            try:
                result = least_of([self._calibrated(configuration, order) for configuration in firsts])
            finally:
                self.close()
        self.writer.write_calibration(result)
        self.writer.event(
            "calibrated", capacity_per_s=result.capacity_per_s, configuration=result.configuration
        )
        return result

    def _calibrated(self, configuration: Configuration, order: CalibrationSpec) -> Calibration:
        assembly, goals = self.assembly, order.goals
        busy = saturated(configuration, order)
        requests = self.prepared.study.requests[configuration.mix]
        tool = None if goals is None else goals.generator or order.generator
        if goals is not None and tool is not None:
            refuse(assembly.generator(tool), arrivals(goals, tool).profile, requests)
        self.say(f"calibration with {configuration.key}")
        self._prepare_for(busy)
        trial = replace(
            self.rehearsal("calibration", busy, self.built(configuration), requests),
            warm_up_generator=self.warm_up_generator(configuration),
            cases=load_cases(self.contract()),
            contract=self.contract(),
        )
        search = self.search_of(trial, goals, tool, n_steps=len(requests) if is_flow(requests) else 1)
        return calibrate(order, trial, self.parts(busy.load, busy.warm_up), search)

    def search_of(
        self, trial: TrialSpec, goals: CapacityGoals | None, tool: GeneratorName | None, n_steps: int = 1
    ) -> CapacityTrials | None:
        """Return what searches for a capacity after the load of ``trial``; ``None``: nobody asks for it."""
        if goals is None or tool is None:
            return None
        warm_up = trial.planned.configuration.warm_up
        return CapacityTrials(
            order=trial,
            goals=goals,
            tool=tool,
            generator=self.assembly.generator(tool),
            context=self.parts(arrivals(goals, tool), warm_up),
            n_steps=n_steps,
        )

    def memory(self) -> MemoryFit | None:
        """The heaps and limits that variants leave to be measured: written earlier, else measured now.

        Raises:
            InputError: what was written is of another definition.
            MemoryFitFailed: they cannot be had.
        """
        asked = memory_asked(self.prepared)
        if not asked:
            return None
        known = self.writer.session.memory()
        if known is not None:
            if known.asked != asked:
                words = [
                    ", ".join(f"{name}: {what}" for name, what in each.items())
                    for each in (asked, known.asked)
                ]
                raise InputError(
                    "memory was measured for another definition when this session began",
                    file=self.writer.session.key,
                    found=words[0],
                    allowed=f"{words[1]}; another --seed, or --new",
                )
            return known
        with explained(self.writer.session.folder):
            result = fit_memory(MemoryTrials(self))
        self.writer.write_memory(result)
        self.writer.event(
            "memory measured",
            took_s=result.took_s,
            resolved=result.resolved,
            unsteady=[f"{item.implementation} {item.collector}" for item in result.least if not item.steady],
        )
        return result

    def before(self, left: list[PlannedTrial]) -> None:
        """Make everything that the trials in ``left`` need; ``builds`` and ``echo`` hold it afterwards."""
        self.echo = self.writer.session.echo()
        self._build(left)
        seen: set[str] = set()
        for trial in left:
            needs = self.implementation(trial.configuration).needs
            key = f"{needs} {trial.configuration.backing}"
            if needs and key not in seen:
                seen.add(key)
                self.say(f"preparation of {', '.join(needs)}")
                self._prepare_for(trial.configuration)
        self._try_generators(left)

    def close(self) -> None:
        """Stop the backing services that outlive a trial."""
        for source in self.assembly.backing.values():
            for pid in source.close():
                self.ledger.forget(pid)

    def _build(self, left: list[PlannedTrial]) -> None:
        known = self.writer.session.builds()
        fresh: dict[str, BuildRecord] = {}
        tidied = partial(without_paths, places=self.assembly.places)
        for configuration in (trial.configuration for trial in left):
            name = configuration.variant.build_name
            if name in fresh:
                continue
            self.say(f"build of {name}")
            build = self.built(configuration)
            form = build.form and build.form.model_copy(update={"argv": tidied(build.form.argv)})
            fresh[name] = build.model_copy(update={"argv": tidied(build.argv), "form": form})
            if name in known and known[name].source_sha256 != build.source_sha256:
                raise InputError(
                    f"the source of {name} changed since this session began; its trials would not be comparable",
                    file=self.writer.session.key, allowed="the source as it was, another --seed, or --new",
                )  # fmt: skip
        self.builds = {**fresh, **known}
        self.writer.write_builds(self.builds)

    def _prepare_for(self, configuration: Configuration) -> None:
        need = BackingNeed(
            workload=configuration.workload,
            contract=self.contract(),
            settings=configuration.backing or BackingSettings(),
        )
        for name in self.implementation(configuration).needs:
            self.assembly.backing[name].prepare(need)

    def _try_generators(self, left: list[PlannedTrial]) -> None:
        # against echo a generator has CPUs of its own, which in a duet it has not: its share is measured in each trial
        configurations = [trial.configuration for trial in left if trial.duet is None]
        wanted = wanted_readings(configurations, self.echo)
        if not wanted:
            return
        implementation = load_implementations(self.assembly.root, ECHO_WORKLOAD).get(ECHO_IMPLEMENTATION)
        reason: str | None = f"services/{ECHO_WORKLOAD}/{ECHO_IMPLEMENTATION} is not there"
        if implementation is not None:
            reason = self.assembly.launcher.unavailable(implementation, echo_variant())
        if implementation is None or reason is not None:
            self.writer.event("headroom unknown", reason=reason)
            return
        build = self.assembly.launcher.build(implementation, echo_variant())
        for load, mix in wanted:
            self.say(f"headroom of {load.generator} with {mix}")
            requests = self.prepared.study.requests[mix]
            try:
                echo = echo_configuration(load, mix, requests)
                trial = self.rehearsal("echo", echo, build, echoed(requests)[0], implementation)
                reading = measure_echo(load, trial, self.parts(load))
            except TrialFailure as failure:
                self.writer.event("headroom unknown", reason=str(failure), generator=load.generator, mix=mix)
                continue
            self.echo = (*self.echo, reading)
            self.writer.write_echo(self.echo)
