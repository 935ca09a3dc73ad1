# SPDX-License-Identifier: Apache-2.0
"""One trial, start to finish, always stopped.

place -> launch -> readiness of the real path -> conformance -> boundary ``first-response``
-> warm-up -> boundary ``before-load`` -> load and samples -> boundary ``after-load`` -> stop -> record.
A start-up trial has no load: after the first answer it stays idle, sampled, to boundary ``idle``.

Whatever goes wrong with the service or the generator is an outcome and stands in the record.
Only what says nothing about them (no disk, no tool, a signal to us) is raised.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from harness.errors import TrialFailure
from harness.hosts import Command, Process
from harness.launchers.base import Instance, LaunchOrder
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadOrder
from harness.model import (
    Boundary,
    BuildRecord,
    ClockReading,
    ConformanceResult,
    GeneratorRecord,
    Implementation,
    InstanceRecord,
    LoadSummary,
    Outcome,
    Phase,
    PlannedTrial,
    Request,
    StartUp,
    TrialRecord,
)
from harness.parts import CpuPlan, Parts, Sampling, SamplingSummary
from harness.verdicts import Evidence, crash, judge_load, trial_flags

PhaseName = Literal["start-up", "conformance", "warm-up", "measurement", "cool-down", "idle"]
BoundaryName = Literal["first-response", "before-load", "after-load", "idle"]
#: The request log that logging experiments write can outgrow everything else; its size is kept, not its text.
REQUEST_LOG = "requests.log"
_POLL_S = 0.02
#: A shell's way to tell the signal that ended a program: 128 + its number.
_SIGNALLED = 128


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long things may take before the trial is ended as ``timed out``."""

    ready_s: float = 60.0
    load_factor: float = 3.0
    load_extra_s: float = 30.0
    generator_stop_s: float = 3.0

    def load_s(self, expected_s: float) -> float:
        return expected_s * self.load_factor + self.load_extra_s


@dataclass(frozen=True, kw_only=True)
class TrialOrder:
    """One planned trial with all it needs. ``folder`` exists, with an empty ``load`` folder in it."""

    planned: PlannedTrial
    experiment: str
    session_id: str
    implementation: Implementation
    build: BuildRecord
    generator: LoadGenerator | None
    generator_version: str | None = None
    requests: tuple[Request, ...]
    folder: Path
    seed: int
    echo_achieved_per_s: float | None = None
    limits: Limits = Limits()
    tidy: Callable[[Sequence[str]], tuple[str, ...]] = tuple


@dataclass
class _Notes:
    """What becomes the record, filled in as the trial goes."""

    started: ClockReading
    phases: list[Phase] = field(default_factory=list)
    boundaries: list[Boundary] = field(default_factory=list)
    anchors: list[ClockReading] = field(default_factory=list)
    cpus: CpuPlan | None = None
    instance: InstanceRecord | None = None
    start_up: StartUp | None = None
    conformance: ConformanceResult | None = None
    load: LoadSummary | None = None
    generator: GeneratorRecord | None = None
    samples: SamplingSummary | None = None
    outcome: Outcome = Outcome.OK
    reason: str | None = None
    warm_up_answered: int | None = None


def now() -> ClockReading:
    """Read both clocks together."""
    return ClockReading(wall_epoch_s=time.time(), monotonic_s=time.monotonic())


def run_trial(order: TrialOrder, parts: Parts) -> TrialRecord:
    """Take a fresh instance through one configuration and return what happened.

    Nothing that was started lives on when this returns or raises.

    Raises:
        MissingTool: the load generator is not there.
        OSError, StoreError: the trial's folder cannot be written.
    """
    notes = _Notes(started=now())
    notes.anchors.append(notes.started)
    kills_before = parts.observer.oom_kills()
    try:
        _go_through(order, parts, notes)
    except TrialFailure as failure:
        notes.outcome, notes.reason = Outcome(failure.outcome), failure.reason
    _look_for_memory(order, parts, notes, kills_before)
    notes.anchors.append(now())
    return _record(order, notes)


def _go_through(order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    configuration = order.planned.configuration
    notes.cpus = parts.place(configuration.variant)
    with contextlib.ExitStack() as cleanup:
        start_up_began = now()
        instance = parts.launcher.launch(
            LaunchOrder(
                implementation=order.implementation,
                variant=configuration.variant,
                build=order.build,
                folder=order.folder,
                cpus=notes.cpus.service,
            )
        )
        cleanup.callback(_stop_instance, instance, parts, notes)
        notes.instance = instance.record
        parts.ledger.note(
            pid=instance.record.pid, role=configuration.variant_name, port=instance.endpoint.port
        )
        sampling = parts.observer.sample(order.folder)
        cleanup.callback(_stop_sampling, sampling, notes)
        sampling.watch("service", instance.record.pid)
        notes.start_up = parts.prober.wait_until_ready(instance, order.requests[0], order.limits.ready_s)
        notes.instance = instance.record
        notes.phases.append(Phase(name="start-up", start=start_up_began, end=now()))
        _boundary("first-response", instance, order, parts, notes)
        if configuration.kind == "startup":
            _stay_idle(instance, order, parts, notes)
            _check_conformance(instance, order, parts, notes)
        else:
            _check_conformance(instance, order, parts, notes)
            _warm_up(instance, order, parts, notes)
            _boundary("before-load", instance, order, parts, notes)
            _measure(instance, sampling, order, parts, notes)
            _boundary("after-load", instance, order, parts, notes)
        cool_down_began = now()
    notes.phases.append(Phase(name="cool-down", start=cool_down_began, end=now()))


@contextlib.contextmanager
def _phase(name: PhaseName, notes: _Notes) -> Iterator[None]:
    """Keep the phase's two ends, whichever way it ends."""
    start = now()
    try:
        yield
    finally:
        notes.phases.append(Phase(name=name, start=start, end=now()))


def _boundary(name: BoundaryName, instance: Instance, order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    """RSS "before" and "after" of the published tables are the readings at these points."""
    if instance.exited() is not None:
        raise crash(instance.exited(), f"before boundary {name}", order.folder)
    reading = parts.observer.read(instance.record.pid)
    files = parts.prober.snapshots(
        instance, order.folder, f"boundary-{name}", nmt=order.planned.configuration.variant.runtime.nmt
    )
    notes.boundaries.append(
        Boundary(
            name=name,
            reading=reading,
            runtime_metrics_file=files.get("runtime_metrics_file"),
            nmt_file=files.get("nmt_file"),
        )
    )


def _check_conformance(instance: Instance, order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    with _phase("conformance", notes):
        notes.conformance = parts.prober.conformance(
            instance.endpoint, order.implementation, order.planned.configuration.variant
        )
    if notes.conformance.failures:
        count = f"{len(notes.conformance.failures)} of {notes.conformance.n_cases} cases"
        raise TrialFailure("nonconforming", f"{count}: {notes.conformance.failures[0]}")


def _warm_up(instance: Instance, order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    wanted = order.planned.configuration.warm_up_requests
    if not wanted:
        return
    with _phase("warm-up", notes):
        notes.warm_up_answered = parts.prober.warm_up(instance.endpoint, order.requests, wanted)


def _stay_idle(instance: Instance, order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    with _phase("idle", notes):
        until = time.monotonic() + order.planned.configuration.idle_s
        while (left := until - time.monotonic()) > 0:
            if instance.exited() is not None:
                raise crash(instance.exited(), "while idle", order.folder)
            time.sleep(min(left, 0.1))
    _boundary("idle", instance, order, parts, notes)


def _measure(instance: Instance, sampling: Sampling, order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    load, generator, cpus = order.planned.configuration.load, order.generator, notes.cpus
    if load is None or generator is None or cpus is None:
        raise TrialFailure("failed", "a trial of kind load was planned without a load")
    load_folder = order.folder / "load"
    command = generator.command(
        LoadOrder(
            profile=load.profile,
            requests=order.requests,
            endpoint=instance.endpoint,
            folder=load_folder,
            seed=order.seed,
        )
    )
    for name, content in command.files.items():
        (load_folder / name).write_text(content, "utf-8")
    exit_code: int | None = None
    with _phase("measurement", notes):
        running = parts.host.spawn(
            Command(
                argv=command.argv,
                folder=load_folder,
                environment=command.environment,
                cpus=cpus.generator,
                stdout=Path(command.stdout),
                stderr=Path(command.stderr),
            )
        )
        parts.ledger.note(pid=running.pid, role=f"load generator {generator.name}")
        try:
            sampling.watch("generator", running.pid)
            exit_code = _wait_for_load(running, instance, order, command)
        finally:
            running.stop(grace_s=order.limits.generator_stop_s)
            parts.ledger.forget(running.pid)
            notes.samples = sampling.stop()
            notes.generator = GeneratorRecord(
                name=generator.name,
                version=order.generator_version,
                argv=order.tidy(command.argv),
                environment=_tidy_values(command.environment, order),
                cpu_affinity=cpus.generator or (),
                cpu_s=notes.samples.cpu_s.get("generator"),
                exit_code=exit_code,
                echo_achieved_per_s=order.echo_achieved_per_s,
                headroom_ratio=None,
            )
    if exit_code is not None and exit_code > _SIGNALLED:
        raise TrialFailure("failed", f"the load generator was killed by signal {exit_code - _SIGNALLED}")
    notes.load = generator.read(load_folder)
    notes.outcome, notes.reason = judge_load(notes.load)


def _wait_for_load(running: Process, instance: Instance, order: TrialOrder, command: LoadCommand) -> int:
    limit_s = order.limits.load_s(command.expected_s)
    deadline = time.monotonic() + limit_s
    while (exit_code := running.wait(_POLL_S)) is None:
        if (service_exit := instance.exited()) is not None:
            raise crash(service_exit, "while under load", order.folder)
        if time.monotonic() > deadline:
            raise TrialFailure(
                "timed out",
                f"the load took longer than {limit_s:.0f} s (expected: {command.expected_s:.0f} s)",
            )
    if (service_exit := instance.exited()) is not None:
        raise crash(service_exit, "while under load", order.folder)
    return exit_code


def _stop_instance(instance: Instance, parts: Parts, notes: _Notes) -> None:
    notes.instance = instance.stop()
    parts.ledger.forget(notes.instance.pid)


def _stop_sampling(sampling: Sampling, notes: _Notes) -> None:
    summary = sampling.stop()
    notes.samples = notes.samples or summary


def _look_for_memory(order: TrialOrder, parts: Parts, notes: _Notes, kills_before: int | None) -> None:
    """A crash for want of memory has a name of its own, given evidence for it."""
    if notes.outcome != Outcome.FAILED:
        return
    evidence = Evidence.collect(order.folder, kills_before, parts.observer.oom_kills())
    if evidence.out_of_memory is not None:
        notes.outcome = Outcome.OUT_OF_MEMORY
        notes.reason = f"{notes.reason} ({evidence.out_of_memory})"


def _record(order: TrialOrder, notes: _Notes) -> TrialRecord:
    generator = notes.generator
    if generator is not None:
        generator = generator.model_copy(update={"headroom_ratio": _headroom(notes)})
    instance = notes.instance
    if instance is not None:
        instance = instance.model_copy(
            update={
                "argv": order.tidy(instance.argv),
                "environment": _tidy_values(instance.environment, order),
            }
        )
    extra = {} if notes.warm_up_answered is None else {"warm_up_answered": notes.warm_up_answered}
    log = order.folder / REQUEST_LOG
    if log.is_file():
        extra["request_log_bytes"] = log.stat().st_size
        log.unlink()
    return TrialRecord(
        experiment=order.experiment,
        session_id=order.session_id,
        planned=order.planned,
        outcome=notes.outcome,
        reason=notes.reason,
        flags=trial_flags(
            load=notes.load,
            generator=generator,
            instance=instance,
            samples=notes.samples,
            phases=notes.phases,
            cpus=notes.cpus,
        ),
        started=notes.started,
        ended=now(),
        anchors=tuple(notes.anchors),
        phases=tuple(notes.phases),
        instance=instance,
        start_up=notes.start_up,
        conformance=notes.conformance,
        load=notes.load,
        generator=generator,
        boundaries=tuple(notes.boundaries),
        machine=notes.samples.machine if notes.samples else None,
        placement=notes.cpus.words if notes.cpus else "",
        extra=dict(extra),
    )


def _headroom(notes: _Notes) -> float | None:
    echo = notes.generator.echo_achieved_per_s if notes.generator else None
    if echo is None or notes.load is None or notes.load.achieved_per_s <= 0:
        return None
    return echo / notes.load.achieved_per_s


def _tidy_values(environment: Mapping[str, str], order: TrialOrder) -> dict[str, str]:
    return dict(zip(environment, order.tidy(tuple(environment.values())), strict=True))
