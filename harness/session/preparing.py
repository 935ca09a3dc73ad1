# SPDX-License-Identifier: Apache-2.0
"""What is done once before the trials: a capacity measured, builds, backing services, generators tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.backing import BackingNeed, source_of
from harness.definitions import load_implementations
from harness.errors import InputError, TrialFailure
from harness.loadgen.base import LoadGenerator, refuse
from harness.loadgen.flow import is_flow
from harness.memory_sizing.fit import fit_memory
from harness.memory_sizing.probe import FitSpec, asked_of
from harness.model import (
    BackingSettings,
    BuildRecord,
    Calibration,
    CalibrationSpec,
    Configuration,
    EchoReading,
    Implementation,
    Load,
    MemoryFit,
    PlannedTrial,
    Request,
    Variant,
    WarmUpSpec,
)
from harness.provenance import without_paths
from harness.runner import Limits, TrialContext, TrialSpec
from harness.runner.trial import unplanned
from harness.session.capacity_trials import CapacityTrials, arrivals, calibrate, least_of, saturated
from harness.session.headroom import (
    ECHO_IMPLEMENTATION,
    ECHO_WORKLOAD,
    echo_configuration,
    echo_variant,
    echoed,
    measure_echo,
    wanted_readings,
)
from harness.session.planning import Prepared, first_configuration, first_configurations, planned_variants
from harness.session.signals import RunningProcesses
from harness.session.wiring import Assembly
from harness.store import SessionWriter, explained
from harness.workloads import load_cases


def fit_order(
    assembly: Assembly, prepared: Prepared, *, limits: Limits, say: Callable[[str], None]
) -> FitSpec:
    """Return what is asked of programs: the load, mix and warm-up of the reference's first configuration.

    Raises:
        MissingTool: the load generator is not there.
    """
    experiment, configuration = prepared.experiment, first_configuration(prepared)
    contract = prepared.study.contract(assembly.root)
    assert configuration.load is not None  # no definition leaves memory to be measured without one
    return FitSpec(
        experiment=experiment,
        names=planned_variants(prepared),
        implementations=prepared.study.implementations,
        build=assembly.launcher.build,
        configuration=configuration,
        load=configuration.load,
        generator=assembly.generator(configuration.load.generator),
        settle_s=experiment.profiles[prepared.plan.profile].settle_s,
        requests=prepared.study.requests[configuration.mix],
        cases=load_cases(contract),
        contract=contract,
        folder=assembly.root / ".cache" / "memory" / prepared.session_id / "probe",
        seed=prepared.plan.seed,
        limits=limits,
        say=say,
    )


def parts_for(
    assembly: Assembly,
    ledger: RunningProcesses,
    load: Load | None,
    warm_up: WarmUpSpec | None = None,
    variant: Variant | None = None,
) -> TrialContext:
    """Return what the runner works with, its load generators' own words among it.

    ``variant``: whose load it is; ``None``: nobody but the load's host runs its generators.
    """
    tools = [item.generator for item in (warm_up, load) if item is not None]
    words = {local: remote for tool in tools for local, remote in assembly.load_words(tool).items()}
    return TrialContext(
        host=assembly.host,
        launcher=assembly.launcher,
        ledger=ledger,
        cpus=assembly.cpus,
        cores=assembly.cores,
        sampling_hz=assembly.sampling_hz,
        backing=assembly.backing,
        other_host=assembly.load_host,
        database_host=assembly.database_host,
        load_words=words,
        speed_gate=assembly.speed_gate,
    )


@dataclass(kw_only=True)
class Preparation:
    """Everything a session needs before its trials."""

    assembly: Assembly
    prepared: Prepared
    writer: SessionWriter
    ledger: RunningProcesses
    limits: Limits
    builds: dict[str, BuildRecord] = field(default_factory=dict)
    echo: tuple[EchoReading, ...] = ()

    def say(self, doing: str) -> None:
        """Hear what is being done."""

    def contract(self) -> Path:
        """Return the folder of the workload's contract."""
        return self.prepared.study.contract(self.assembly.root)

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
        prepared, assembly = self.prepared, self.assembly
        busy, goals = saturated(configuration, order), order.goals
        requests = prepared.study.requests[configuration.mix]
        implementation = self._implementation(configuration)
        tool = None if goals is None else goals.generator or order.generator
        if goals is not None and tool is not None:
            refuse(assembly.generator(tool), arrivals(goals, tool).profile, requests)
        self.say(f"calibration with {configuration.key}")
        self._prepare_for(busy)
        build = assembly.launcher.build(implementation, configuration.variant, configuration.backing)
        trial = replace(
            self._rehearsal("calibration", busy, implementation, build, requests),
            warm_up_generator=self.warm_up_generator(configuration),
            cases=load_cases(self.contract()),
            contract=self.contract(),
        )
        search = None
        if goals is not None and tool is not None:
            search = CapacityTrials(
                order=trial,
                goals=goals,
                tool=tool,
                generator=assembly.generator(tool),
                context=parts_for(assembly, self.ledger, arrivals(goals, tool), busy.warm_up),
                n_steps=len(requests) if is_flow(requests) else 1,
            )
        return calibrate(order, trial, parts_for(assembly, self.ledger, busy.load, busy.warm_up), search)

    def _rehearsal(
        self,
        name: str,
        configuration: Configuration,
        implementation: Implementation,
        build: BuildRecord,
        requests: tuple[Request, ...],
    ) -> TrialSpec:
        """A trial under load that stands in no plan, in a folder that is thrown away."""
        load = configuration.load
        return TrialSpec(
            planned=unplanned(name, configuration),
            experiment=name,
            session_id=name,
            implementation=implementation,
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

    def memory(self) -> MemoryFit | None:
        """The heaps and limits that variants leave to be measured: written earlier, else measured now.

        Raises:
            InputError: what was written is of another definition.
            MemoryFitFailed: they cannot be had.
        """
        prepared = self.prepared
        asked = asked_of(prepared.experiment, planned_variants(prepared))
        if not asked:
            return None
        known = self.writer.session.memory()
        if known is not None:
            if known.asked != asked:
                raise InputError(
                    "memory was measured for another definition when this session began",
                    file=self.writer.session.key,
                    found=_words(asked),
                    allowed=f"{_words(known.asked)}; another --seed, or --new",
                )
            return known
        order = fit_order(self.assembly, prepared, limits=self.limits, say=self.say)
        with explained(self.writer.session.folder):
            result = fit_memory(order, parts_for(self.assembly, self.ledger, order.load))
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
        self._prepare_backing(left)
        self._try_generators(left)

    def close(self) -> None:
        """Stop the backing services that outlive a trial."""
        for source in self.assembly.backing.values():
            for pid in source.close():
                self.ledger.forget(pid)

    def _build(self, left: list[PlannedTrial]) -> None:
        self.builds = self.writer.session.builds()
        fresh: dict[str, BuildRecord] = {}
        for trial in left:
            configuration = trial.configuration
            name = configuration.variant.build_name
            if name in fresh:
                continue
            self.say(f"build of {name}")
            implementation = self._implementation(configuration)
            build = self.assembly.launcher.build(implementation, configuration.variant, configuration.backing)
            fresh[name] = self._tidied(build)
            before = self.builds.get(name)
            if before is not None and before.source_sha256 != build.source_sha256:
                raise InputError(
                    f"the source of {name} changed since this session began; its trials would not be comparable",
                    file=self.writer.session.key, allowed="the source as it was, another --seed, or --new",
                )  # fmt: skip
        self.builds = {**fresh, **self.builds}
        self.writer.write_builds(self.builds)

    def _prepare_backing(self, left: list[PlannedTrial]) -> None:
        seen: set[str] = set()
        for trial in left:
            settings = trial.configuration.backing or BackingSettings()
            implementation = self._implementation(trial.configuration)
            key = f"{implementation.needs} {settings.model_dump_json()}"
            if implementation.needs and key not in seen:
                seen.add(key)
                self.say(f"preparation of {', '.join(implementation.needs)}")
                self._prepare_for(trial.configuration)

    def _prepare_for(self, configuration: Configuration) -> None:
        need = BackingNeed(
            workload=configuration.workload,
            contract=self.contract(),
            settings=configuration.backing or BackingSettings(),
        )
        for name in self._implementation(configuration).needs:
            source_of(name, self.assembly.backing).prepare(need)

    def _try_generators(self, left: list[PlannedTrial]) -> None:
        # against echo a generator has CPUs of its own, which in a duet it has not: its share is measured in each trial
        configurations = [trial.configuration for trial in left if trial.duet is None]
        wanted = wanted_readings(configurations, self.echo)
        if not wanted:
            return
        implementation = load_implementations(self.assembly.root, ECHO_WORKLOAD).get(ECHO_IMPLEMENTATION)
        reason = (
            f"services/{ECHO_WORKLOAD}/{ECHO_IMPLEMENTATION} is not there"
            if implementation is None
            else self.assembly.launcher.unavailable(implementation, echo_variant())
        )
        if implementation is None or reason is not None:
            self.writer.event("headroom unknown", reason=reason)
            return
        build = self.assembly.launcher.build(implementation, echo_variant())
        for load, mix in wanted:
            self.say(f"headroom of {load.generator} with {mix}")
            requests = self.prepared.study.requests[mix]
            try:
                trial = self._rehearsal(
                    "echo",
                    echo_configuration(load, mix, requests),
                    implementation,
                    build,
                    echoed(requests)[0],
                )
                reading = measure_echo(load, trial, parts_for(self.assembly, self.ledger, load))
            except TrialFailure as failure:
                self.writer.event("headroom unknown", reason=str(failure), generator=load.generator, mix=mix)
                continue
            self.echo = (*self.echo, reading)
            self.writer.write_echo(self.echo)

    def _tidied(self, build: BuildRecord) -> BuildRecord:
        argv = without_paths(build.argv, places=self.assembly.places)
        form = build.form
        if form is not None:
            tidied = without_paths(form.argv, places=self.assembly.places)
            form = form.model_copy(update={"argv": tidied})
        return build.model_copy(update={"argv": argv, "form": form})

    def _implementation(self, configuration: Configuration) -> Implementation:
        return self.prepared.study.implementations[configuration.variant.implementation]


def _words(asked: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {what}" for name, what in asked.items())
