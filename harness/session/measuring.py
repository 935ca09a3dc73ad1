# SPDX-License-Identifier: Apache-2.0
"""Many trials: in the plan's order, each once, from wherever an earlier start of the same session ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness.backing import BackingNeed, source_of
from harness.calibration import CalibrationTrial, calibrate, saturated
from harness.definitions import contract_folder, load_implementations
from harness.errors import InputError, RematchError, StoreError, TrialFailure
from harness.headroom import (
    ECHO_IMPLEMENTATION,
    ECHO_WORKLOAD,
    EchoOrder,
    echo_achieved,
    echo_variant,
    measure_echo,
    wanted_readings,
)
from harness.model import (
    BackingSettings,
    BuildRecord,
    Calibration,
    Configuration,
    EchoReading,
    Implementation,
    Load,
    Outcome,
    Plan,
    PlannedTrial,
    SessionHeader,
    TrialRecord,
)
from harness.orphans import RunningProcesses
from harness.provenance import collect_provenance, name_places, without_paths
from harness.runner import Limits, Parts, TrialOrder, run_trial
from harness.session.assembly import Assembly
from harness.session.interruption import Interrupted, interruptible
from harness.session.planning import (
    Prepared,
    calibrated,
    expected_s,
    first_configuration,
    plan_without,
    session_name,
)
from harness.session.progress import Progress, ProgressState, Silent
from harness.store import SessionFolder, SessionWriter, Store, explained
from harness.workloads import Case, load_cases


def measure(
    assembly: Assembly,
    prepared: Prepared,
    *,
    progress: Progress | None = None,
    new: bool = False,
    limits: Limits | None = None,
) -> SessionFolder:
    """Carry out the plan, or what is left of it, and return the session's folder.

    The same call continues the same session: finished trials are never repeated. ``new`` takes the
    next free seed instead when the session of this seed exists.

    Raises:
        Interrupted: a signal asked to stop; everything finished is kept.
        OrphanError: something of an earlier session still runs.
        StoreError: data/raw cannot be written, or another session writes to the same folder.
        InputError: the session on disk is of another definition, plan or source.
    """
    store = Store(assembly.root)
    if new:
        prepared = _with_free_seed(prepared, store)
    folder = store.session(prepared.experiment.name, prepared.session_id)
    ledger = RunningProcesses(assembly.root, folder.key)
    with interruptible():
        ledger.refuse_orphans()
        writer = SessionWriter(folder)
        try:
            work = _Session(
                assembly=assembly,
                prepared=prepared,
                writer=writer,
                ledger=ledger,
                progress=progress or Silent(),
                limits=limits or Limits(),
            )
            work.go()
        finally:
            writer.close()
            if progress is not None:
                progress.close()
    return folder


@dataclass
class _Session:
    """One execution of what is left of a plan."""

    assembly: Assembly
    prepared: Prepared
    writer: SessionWriter
    ledger: RunningProcesses
    progress: Progress
    limits: Limits
    header: SessionHeader = field(init=False)
    builds: dict[str, BuildRecord] = field(default_factory=dict)
    echo: tuple[EchoReading, ...] = ()
    done: int = 0
    not_ok: int = 0
    left_s: float | None = None

    def go(self) -> None:
        calibration = self._calibration()
        if calibration is not None:
            self.prepared = calibrated(self.prepared, calibration)
        fresh = not self.writer.session.exists
        self.header = self._begin(calibration) if fresh else self._continue()
        swept = self.writer.sweep()
        self.writer.event("started" if fresh else "resumed", interrupted_trials=list(swept))
        self.echo = self.writer.session.echo()
        finished = self.writer.session.finished()
        left = [trial for trial in self.header.plan.trials if trial.trial_id not in finished]
        self.done = len(finished)
        try:
            with explained(self.writer.session.folder):
                if left:
                    try:
                        self._build(left)
                        self._prepare_backing(left)
                        self._try_generators(left)
                        self._measure(left)
                    finally:
                        self._close_backing()
            self.writer.event("finished")
            self._show("complete")
        except BaseException as end:
            kind = "interrupted" if isinstance(end, KeyboardInterrupt) else "stopped"
            with contextlib.suppress(StoreError):  # a full disk must not hide why we stop
                self.writer.event(kind, reason=_why(end))
            raise

    def _calibration(self) -> Calibration | None:
        """The capacity that scaled loads are shares of: written earlier, else measured now; ``None``: none are."""
        prepared = self.prepared
        order = prepared.experiment.profiles[prepared.plan.profile].calibration
        if order is None:
            return None
        known = self.writer.session.calibration()
        if known is not None:
            return known
        configuration = first_configuration(prepared)
        busy = saturated(configuration, order)
        implementation = prepared.study.implementations[configuration.variant.implementation]
        folder = self.assembly.root / ".cache" / "calibration" / prepared.session_id / "trial"
        contract = contract_folder(self.assembly.root, prepared.experiment.workload)
        with explained(self.writer.session.folder):
            try:
                self._say(f"calibration with {configuration.key}")
                self._prepare_for(busy, implementation, contract)
                found = calibrate(
                    CalibrationTrial(
                        order=order,
                        configuration=configuration,
                        implementation=implementation,
                        build=self.assembly.launcher.build(
                            implementation, configuration.variant, configuration.backing
                        ),
                        requests=prepared.study.requests[configuration.mix],
                        cases=load_cases(contract),
                        generator=self.assembly.generator(order.generator),
                        folder=folder,
                        contract=contract,
                        seed=prepared.plan.seed,
                        limits=self.limits,
                    ),
                    self._parts(busy.load),
                )
            finally:
                self._close_backing()
        self.writer.write_calibration(found)
        self.writer.event(
            "calibrated", capacity_per_s=found.capacity_per_s, configuration=found.configuration
        )
        return found

    def _begin(self, calibration: Calibration | None) -> SessionHeader:
        prepared = self.prepared
        header = SessionHeader(
            session_id=prepared.session_id,
            experiment=prepared.experiment,
            implementations=prepared.study.implementations,
            plan=prepared.plan,
            provenance=collect_provenance(
                self.assembly.root,
                definition_sha256=prepared.study.definition_sha256,
                tools=self.assembly.versions(),
                machines=self.assembly.stations.machines if self.assembly.stations is not None else {},
            ),
            unavailable=prepared.unavailable,
            notes={} if calibration is None else {"calibration": calibration.model_dump(mode="json")},
        )
        self.writer.write_header(header)
        return header

    def _continue(self) -> SessionHeader:
        header = self.writer.session.header
        refuse_other_plan(header, self.prepared)
        for _ in self.writer.session.records():
            pass  # a damaged record is said before anything is measured beside it
        return header

    def _build(self, left: list[PlannedTrial]) -> None:
        self.builds = self.writer.session.builds()
        fresh: dict[str, BuildRecord] = {}
        for trial in left:
            configuration = trial.configuration
            name = build_name(configuration)
            if name in fresh:
                continue
            self._show(f"build of {name}")
            implementation = self._implementation(configuration)
            build = self.assembly.launcher.build(implementation, configuration.variant, configuration.backing)
            fresh[name] = self._tidied(build)
            self._refuse_other_source(name, fresh[name])
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
                self._show(f"preparation of {', '.join(implementation.needs)}")
                self._prepare_for(trial.configuration, implementation, self._contract())

    def _prepare_for(
        self, configuration: Configuration, implementation: Implementation, contract: Path
    ) -> None:
        need = BackingNeed(
            workload=configuration.workload,
            contract=contract,
            settings=configuration.backing or BackingSettings(),
        )
        for name in implementation.needs:
            source_of(name, self.assembly.backing).prepare(need)

    def _close_backing(self) -> None:
        for source in self.assembly.backing.values():
            for pid in source.close():
                self.ledger.forget(pid)

    def _refuse_other_source(self, name: str, fresh: BuildRecord) -> None:
        before = self.builds.get(name)
        if before is not None and before.source_sha256 != fresh.source_sha256:
            raise InputError(
                f"the source of {name} changed since this session began; its trials would not be comparable",
                file=self.writer.session.key,
                allowed="the source as it was, another --seed, or --new",
            )

    def _try_generators(self, left: list[PlannedTrial]) -> None:
        configurations = [trial.configuration for trial in left]
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
            self._show(f"headroom of {load.generator} with {mix}")
            order = EchoOrder(
                implementation=implementation,
                build=build,
                load=load,
                mix=mix,
                requests=self.prepared.study.requests[mix],
                generator=self.assembly.generator(load.generator),
                folder=self.assembly.root / ".cache" / "echo" / self.header.session_id,
                seed=self.header.plan.seed,
                limits=self.limits,
            )
            try:
                self.echo = (*self.echo, measure_echo(order, self._parts(load)))
            except TrialFailure as failure:
                self.writer.event("headroom unknown", reason=str(failure), generator=load.generator, mix=mix)
                continue
            self.writer.write_echo(self.echo)

    def _measure(self, left: list[PlannedTrial]) -> None:
        study = self.prepared.study
        planned_s = [expected_s(self.assembly, study, trial.configuration) for trial in left]
        cases = load_cases(self._contract())
        spent_s, self.left_s = 0.0, sum(planned_s)
        for index, trial in enumerate(left):
            self._show(f"trial {trial.position}, block {trial.block}: {trial.configuration.key}")
            began = time.monotonic()
            record = self._one(trial, cases)
            spent_s += time.monotonic() - began
            self.left_s = sum(planned_s[index + 1 :]) * spent_s / sum(planned_s[: index + 1])
            self.progress.trial_done(self._state(trial.trial_id), record)

    def _one(self, trial: PlannedTrial, cases: tuple[Case, ...]) -> TrialRecord:
        configuration = trial.configuration
        load = configuration.load
        folder = self.writer.begin(trial.trial_id)
        order = TrialOrder(
            planned=trial,
            experiment=self.header.experiment.name,
            session_id=self.header.session_id,
            implementation=self._implementation(configuration),
            build=self.builds[build_name(configuration)],
            generator=self.assembly.generator(load.generator) if load else None,
            generator_version=self.assembly.versions().get(load.generator) if load else None,
            requests=self.prepared.study.requests[configuration.mix],
            cases=cases,
            folder=folder.folder,
            contract=self._contract(),
            seed=self.header.plan.seed * 1_000_003 + trial.position,
            echo_achieved_per_s=echo_achieved(configuration, self.echo),
            limits=self.limits,
            tidy=lambda argv: without_paths(argv, places=self._places(folder.folder)),
        )
        record = run_trial(order, self._parts(load))
        name_places(folder.folder, places=self._places(folder.folder))
        record = self.writer.finish(folder, record)
        self.done += 1
        self.not_ok += record.outcome != Outcome.OK
        return record

    def _places(self, folder: Path) -> dict[str, Path]:
        return {**self.assembly.places, "trial": folder}

    def _parts(self, load: Load | None) -> Parts:
        return Parts(
            host=self.assembly.host,
            launcher=self.assembly.launcher,
            ledger=self.ledger,
            cpus=self.assembly.cpus,
            sampling_hz=self.assembly.sampling_hz,
            backing=self.assembly.backing,
            other_host=self.assembly.load_host,
            load_words=self.assembly.load_words(load.generator) if load is not None else {},
        )

    def _implementation(self, configuration: Configuration) -> Implementation:
        return self.header.implementations[configuration.variant.implementation]

    def _contract(self) -> Path:
        return contract_folder(self.assembly.root, self.header.experiment.workload)

    def _tidied(self, build: BuildRecord) -> BuildRecord:
        argv = without_paths(build.argv, places=self.assembly.places)
        form = build.form
        if form is not None:
            tidied = without_paths(form.argv, places=self.assembly.places)
            form = form.model_copy(update={"argv": tidied})
        return build.model_copy(update={"argv": argv, "form": form})

    def _say(self, doing: str) -> None:
        """What is done before there is a plan to count by."""
        self.progress.step(
            ProgressState(
                session=self.writer.session.key, done=0, total=0, left_s=None, doing=doing, not_ok=0
            )
        )

    def _show(self, doing: str) -> None:
        self.progress.step(self._state(doing))

    def _state(self, doing: str) -> ProgressState:
        return ProgressState(
            session=self.writer.session.key,
            done=self.done,
            total=len(self.header.plan.trials),
            left_s=self.left_s,
            doing=doing,
            not_ok=self.not_ok,
        )


def build_name(configuration: Configuration) -> str:
    """Return the key of ``builds.json``: the implementation, after it ``+aot`` with an AOT cache, or ``+form``."""
    runtime = configuration.variant.runtime
    made = "+aot" if runtime.aot_cache else f"+{runtime.form}" if runtime.form not in (None, "jvm") else ""
    return f"{configuration.variant.implementation}{made}"


def refuse_other_plan(header: SessionHeader, prepared: Prepared) -> None:
    """A session goes on only as what it began as.

    Raises:
        InputError: definition or plan differ; says in what.
    """
    plan = header.plan
    if header.unavailable != prepared.unavailable:
        gone = {one.variant: one.reason for one in prepared.unavailable}
        lost = sorted(set(gone) - {one.variant for one in header.unavailable})
        if lost:
            raise InputError(
                f"{lost[0]} could run when this session began and cannot now: {gone[lost[0]]}",
                file=f"{header.experiment.name}/{header.session_id}",
            )
    again = plan_without(
        prepared.experiment,
        plan.profile,
        header.unavailable,
        host=plan.host,
        seed=plan.seed,
        launcher=plan.launcher,
    )
    differences = list(_differences(header, prepared, again))
    if differences:
        raise InputError(
            f"this session began with another definition: {differences[0]}",
            file=f"{header.experiment.name}/{header.session_id}",
            allowed="the definition as it was, another --seed, or --new",
        )


def _differences(header: SessionHeader, prepared: Prepared, again: Plan) -> Iterator[str]:
    if len(again.trials) != len(header.plan.trials):
        yield f"{len(header.plan.trials)} trials then, {len(again.trials)} now"
    for then, now in zip(header.plan.trials, again.trials, strict=False):
        if then != now:
            for name in type(then.configuration).model_fields:
                before, after = getattr(then.configuration, name), getattr(now.configuration, name)
                if before != after:
                    yield f"{now.trial_id}: {name} was {before}, is {after}"
            yield f"trial {then.position} was {then.trial_id}, is {now.trial_id}"
    for name, implementation in header.implementations.items():
        if prepared.study.implementations.get(name) != implementation:
            yield f"service.toml of {name} differs"


def _with_free_seed(prepared: Prepared, store: Store) -> Prepared:
    plan, seed = prepared.plan, prepared.plan.seed
    while store.session(
        plan.experiment, session_name(plan.profile, plan.host, plan.launcher, seed)
    ).folder.exists():
        seed += 1
    return Prepared(
        study=prepared.study,
        plan=plan_without(
            prepared.experiment,
            plan.profile,
            prepared.unavailable,
            host=plan.host,
            seed=seed,
            launcher=plan.launcher,
        ),
        session_id=session_name(plan.profile, plan.host, plan.launcher, seed),
        unavailable=prepared.unavailable,
    )


def _why(end: BaseException) -> str:
    if isinstance(end, Interrupted):
        return str(end)
    return str(end) if isinstance(end, RematchError) else type(end).__name__
