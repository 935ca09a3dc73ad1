# SPDX-License-Identifier: Apache-2.0
"""Many trials: in the plan's order, each once, from wherever an earlier start of the same session ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic import JsonValue

from harness.agent.platforms import has_proc, return_large_blocks
from harness.analysis.stats.verdicts import register
from harness.errors import HostError, RematchError, StoreError
from harness.measure.runner import Limits, TrialSpec, run_duet, run_trials
from harness.measure.session.availability import NO_PROC, allowed, raise_limit, too_large
from harness.measure.session.capacity_trials import CapacityTrials
from harness.measure.session.dry_run import trial_s
from harness.measure.session.planning import (
    Prepared,
    by_start,
    lost_partner,
    refuse_other_plan,
    with_free_seed,
)
from harness.measure.session.preparing import Preparation
from harness.measure.session.progress import Progress, ProgressState, Silent
from harness.measure.session.signals import Interrupted, RunningProcesses, ended_by, interruptible
from harness.measure.session.wiring import Assembly
from harness.model import Calibration, MemoryFit, Outcome, PlannedTrial, SessionHeader, TrialRecord
from harness.model.session import echo_of
from harness.places.launchers.base import SweepsLeft
from harness.places.launchers.cgroup import sweep_groups
from harness.provenance import collect_provenance, name_places, without_paths
from harness.store import SessionFolder, SessionWriter, Store, TrialFolder, explained
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
        HostError: this system is not Linux.
        OrphanError: something of an earlier session still runs.
        StoreError: data/raw cannot be written, or another session writes to the same folder.
        InputError: the session on disk is of another definition, plan or source.
    """
    refuse_other_systems()
    store = Store(assembly.root)
    if new:
        prepared = with_free_seed(prepared, store)
    folder = store.session(prepared.experiment.name, prepared.session_id)
    ledger = RunningProcesses(assembly.root, folder.key)
    with interruptible() as check:
        if isinstance(assembly.launcher, SweepsLeft):
            assembly.launcher.sweep_left()
        ledger.refuse_orphans()
        sweep_groups()
        raise_limit()
        return_large_blocks()
        writer = SessionWriter(folder)
        try:
            work = _Session(
                assembly=assembly,
                prepared=prepared,
                writer=writer,
                ledger=ledger,
                progress=progress or Silent(),
                limits=limits or Limits(),
                check=check,
            )
            work.go()
        finally:
            writer.close()
            if progress is not None:
                progress.close()
    return folder


def refuse_other_systems() -> None:
    """Refuse to measure where processes cannot be read.

    Raises:
        HostError: the kernel does not show them as files.
    """
    if not has_proc():
        raise HostError(NO_PROC)


@dataclass(kw_only=True)
class _Session(Preparation):
    """One execution of what is left of a plan."""

    progress: Progress
    check: Callable[[], None]
    header: SessionHeader = field(init=False)
    total: int = 0
    done: int = 0
    not_ok: int = 0
    left_s: float | None = None
    memory_asked: dict[str, str] = field(default_factory=dict)

    def go(self) -> None:
        calibration = self.capacity()
        if calibration is not None:
            own = calibration.capacities_per_s or {calibration.variant: calibration.capacity_per_s}
            experiment, profile = self.prepared.experiment, self.prepared.plan.profile
            self.prepared = self.prepared.planned_again(
                experiment=experiment.calibrated(profile, calibration.capacity_per_s, own)
            )
            planned = (trial.configuration for trial in self.prepared.plan.trials)
            if self.assembly.host.is_local:
                for problem in too_large(planned, self.prepared.study.implementations, allowed()).values():
                    raise problem
        memory = self.memory()
        if memory is not None:
            self.memory_asked = memory.asked
            self.prepared = self.prepared.planned_again(
                experiment=self.prepared.experiment.with_memory(memory.resolved)
            )
        fresh = not self.writer.session.exists
        self.header = self._begin(calibration, memory) if fresh else self._continue()
        swept = self.writer.sweep()
        self.writer.event("started" if fresh else "resumed", interrupted_trials=list(swept))
        finished = self.writer.session.finished()
        left = [trial for trial in self.header.plan.trials if trial.trial_id not in finished]
        self.done, self.total = len(finished), len(self.header.plan.trials)
        try:
            with explained(self.writer.session.folder):
                if left:
                    try:
                        self.before(left)
                        self._measure(left)
                    finally:
                        self.close()
            self.writer.event("finished")
            self.say("complete")
        except BaseException as problem:
            end = ended_by(problem, self.check)
            kind = "interrupted" if isinstance(end, KeyboardInterrupt) else "stopped"
            with contextlib.suppress(StoreError):  # a full disk must not hide why we stop
                known = isinstance(end, Interrupted | RematchError)
                self.writer.event(kind, reason=str(end) if known else type(end).__name__)
            raise

    def _begin(self, calibration: Calibration | None, memory: MemoryFit | None) -> SessionHeader:
        prepared = self.prepared
        notes: dict[str, JsonValue] = {
            name: item.model_dump(mode="json")
            for name, item in (("calibration", calibration), ("memory", memory))
            if item is not None
        }
        if prepared.blocks_asked is not None:
            of_profile = prepared.experiment.profiles[prepared.plan.profile].blocks
            notes["blocks"] = {"asked": prepared.blocks_asked, "profile": of_profile}
        header = SessionHeader(
            session_id=prepared.session_id,
            experiment=prepared.experiment,
            implementations=prepared.study.implementations,
            plan=prepared.plan,
            provenance=collect_provenance(
                self.assembly.root,
                definition_sha256=prepared.study.definition_sha256,
                tools=self.assembly.versions(),
                machines=self.assembly.stations.machines,
            ),
            unavailable=prepared.unavailable,
            registration=register(prepared.plan, prepared.study.definition_sha256),
            notes=notes,
        )
        self.writer.write_header(header)
        return header

    def _continue(self) -> SessionHeader:
        header = self.writer.session.header
        refuse_other_plan(header, self.prepared)
        records = list(self.writer.session.records())  # a damaged one is refused before anything is measured
        if self.assembly.speed_gate is not None:
            for record in records:
                self.assembly.speed_gate.note(record.cpu_speeds)
        return header

    def _measure(self, left: list[PlannedTrial]) -> None:
        study = self.prepared.study
        planned_s = [trial_s(self.assembly, study, trial) for trial in left]
        cases = load_cases(self.contract())
        spent_s, self.left_s, n_done = 0.0, sum(planned_s), 0
        for process in by_start(left):
            self.check()
            self.say(_doing(process))
            began = time.monotonic()
            records = self._together(process, cases)
            spent_s += time.monotonic() - began
            n_done += len(process)
            so_far_s = sum(planned_s[:n_done])
            self.left_s = sum(planned_s[n_done:]) * (spent_s / so_far_s if so_far_s else 1.0)
            for record in records:
                self.progress.trial_done(self._state(record.planned.trial_id), record)

    def _together(self, trials: Sequence[PlannedTrial], cases: tuple[Case, ...]) -> tuple[TrialRecord, ...]:
        """Take one fresh process through its trials, or two side by side; records are written when all has ended."""
        folders = [self.writer.begin(trial.trial_id) for trial in trials]
        steps = [
            (
                self._spec(trial, folder, cases),
                self.parts(trial.configuration.load, trial.configuration.warm_up),
            )
            for trial, folder in zip(trials, folders, strict=True)
        ]
        made: tuple[TrialRecord, ...]
        search = self._search(steps[0][0])
        if search is not None:
            made = run_trials(steps, then=search.after_load)
            made = tuple(item.model_copy(update={"search": search.result}) for item in made)
        elif trials[0].duet is None:
            made = run_trials(steps)
        elif len(steps) == 1:
            made = (lost_partner(trials[0], self.header),)
        else:
            made = run_duet(steps[0], steps[1])
        records: list[TrialRecord] = []
        for folder, record in zip(folders, made, strict=True):
            name_places(folder.folder, places={**self.assembly.places, "trial": folder.folder})
            records.append(self.writer.finish(folder, record))
            self.done += 1
            self.not_ok += record.outcome != Outcome.OK
        return tuple(records)

    def _search(self, spec: TrialSpec) -> CapacityTrials | None:
        """Return what searches for a trial's capacity after its load; ``None``: nobody asks for it."""
        configuration = spec.planned.configuration
        goals, load = configuration.search, configuration.load
        if goals is None or load is None:
            return None
        folder = self.assembly.root / ".cache" / "search" / self.header.session_id / "trial"
        return self.search_of(replace(spec, folder=folder), goals, goals.generator or load.generator)

    def _spec(self, trial: PlannedTrial, folder: TrialFolder, cases: tuple[Case, ...]) -> TrialSpec:
        configuration, requests = trial.configuration, self.prepared.study.requests
        load, warm_up_mix = configuration.load, configuration.warm_up_mix
        echo = echo_of(configuration, self.echo)
        return TrialSpec(
            planned=trial,
            experiment=self.header.experiment.name,
            session_id=self.header.session_id,
            implementation=self.implementation(configuration),
            build=self.builds[configuration.variant.build_name],
            generator=self.assembly.generator(load.generator) if load else None,
            warm_up_generator=self.warm_up_generator(configuration),
            generator_version=self.assembly.versions().get(load.generator) if load else None,
            requests=requests[configuration.mix],
            warm_up_requests=requests[warm_up_mix] if warm_up_mix else None,
            cases=cases,
            folder=folder.folder,
            contract=self.contract(),
            seed=self.header.plan.seed * 1_000_003 + trial.position,
            echo_achieved_per_s=None if echo is None else echo.achieved_per_s,
            memory_asked=self.memory_asked.get(configuration.variant_name),
            limits=self.limits,
            tidy=partial(without_paths, places={**self.assembly.places, "trial": folder.folder}),
        )

    def say(self, doing: str) -> None:
        self.progress.step(self._state(doing))

    def _state(self, doing: str) -> ProgressState:
        return ProgressState(
            session=self.writer.session.key,
            done=self.done,
            total=self.total,
            left_s=self.left_s,
            doing=doing,
            not_ok=self.not_ok,
        )


def _doing(trials: Sequence[PlannedTrial]) -> str:
    """What is being done, in words: of a duet both arms."""
    first = trials[0]
    keys = [trial.configuration.key for trial in (trials if first.duet is not None else [first])]
    return f"trial {first.position}, block {first.block}: {' beside '.join(keys)}"
