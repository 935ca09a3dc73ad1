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
from typing import Literal, Protocol

from pydantic import JsonValue

from harness.conformance import check
from harness.errors import TrialFailure
from harness.hosts import Command, Host, Process
from harness.launchers.base import Instance, Launcher, LaunchOrder
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
    MachineWindow,
    Outcome,
    Phase,
    PlannedTrial,
    Request,
    StartUp,
    TrialRecord,
)
from harness.placement import Placement, place
from harness.readiness import bring_up, wait_first_response, warm_up
from harness.sampling import (
    MachineReading,
    Sampler,
    TreeReader,
    Watched,
    machine_window,
    read_machine,
    read_resources,
)
from harness.snapshots import take_snapshots
from harness.verdicts import crash, judge_load, trial_flags
from harness.workloads import Case, Face

PhaseName = Literal["start-up", "conformance", "warm-up", "measurement", "cool-down", "idle"]
BoundaryName = Literal["first-response", "before-load", "after-load", "idle"]
#: The request log that logging experiments write can outgrow everything else; its size is kept, not its text.
REQUEST_LOG = "requests.log"
SERVICE_STDERR = "service.stderr.txt"
_POLL_S = 0.05
SAMPLING_HZ = 50.0
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


class Ledger(Protocol):
    """Remembers started processes outside this process, so that a later session finds orphans."""

    def note(self, *, pid: int, role: str, port: int | None = None) -> None: ...

    def forget(self, pid: int) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What the runner works with: interfaces, and the CPUs it may give away."""

    host: Host
    launcher: Launcher
    ledger: Ledger
    cpus: tuple[int, ...]
    sampling_hz: float = SAMPLING_HZ


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
    cases: tuple[Case, ...]
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
    placement: Placement | None = None
    instance: InstanceRecord | None = None
    start_up: StartUp | None = None
    conformance: ConformanceResult | None = None
    load: LoadSummary | None = None
    generator: GeneratorRecord | None = None
    machine_before: MachineReading | None = None
    machine_after: MachineReading | None = None
    machine: MachineWindow | None = None
    longest_gap_s: float | None = None
    missed_ticks: int | None = None
    out_of_memory: str | None = None
    outcome: Outcome = Outcome.OK
    reason: str | None = None


def now() -> ClockReading:
    """Read both clocks together."""
    return ClockReading(wall_epoch_s=time.time(), monotonic_s=time.monotonic())


def run_trial(order: TrialOrder, parts: Parts) -> TrialRecord:
    """Take a fresh instance through one configuration and return what happened.

    Nothing that was started lives on when this returns or raises.

    Raises:
        MissingTool: the load generator is not there.
        OSError: the trial's folder cannot be written.
    """
    notes = _Notes(started=now())
    notes.anchors.append(notes.started)
    try:
        _go_through(order, parts, notes)
    except TrialFailure as failure:
        notes.outcome, notes.reason = Outcome(failure.outcome), failure.reason
    if notes.outcome == Outcome.FAILED and notes.out_of_memory is not None:
        notes.outcome, notes.reason = Outcome.OUT_OF_MEMORY, f"{notes.reason} ({notes.out_of_memory})"
    notes.anchors.append(now())
    return _record(order, notes)


def _go_through(order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    configuration = order.planned.configuration
    notes.placement = place(parts.cpus, configuration.variant.runtime.cpus)
    with contextlib.ExitStack() as cleanup:
        sampler = Sampler(
            {},
            samples=order.folder / "samples.csv",
            machine=order.folder / "machine.csv",
            hz=parts.sampling_hz,
        )
        sampler.start()
        cleanup.callback(_stop_sampler, sampler, notes)
        with _phase("start-up", notes):
            instance = _bring_up(order, parts, sampler, notes)
            cleanup.callback(_stop_instance, instance, parts, notes)
        _boundary("first-response", instance, order, parts, notes)
        if configuration.kind == "startup":
            _stay_idle(instance, order, parts, notes)
            _check_conformance(instance, order, notes)
        else:
            _check_conformance(instance, order, notes)
            _warm_up(instance, order, notes)
            _boundary("before-load", instance, order, parts, notes)
            _measure(instance, sampler, order, parts, notes)
            _boundary("after-load", instance, order, parts, notes)
            notes.machine = _window(notes)
        cool_down_began = now()
    notes.phases.append(Phase(name="cool-down", start=cool_down_began, end=now()))


def _bring_up(order: TrialOrder, parts: Parts, sampler: Sampler, notes: _Notes) -> Instance:
    """Launch and wait for the first right answer; once more on another port when somebody took ours."""
    configuration = order.planned.configuration

    def launch() -> Instance:
        instance = parts.launcher.launch(
            LaunchOrder(
                implementation=order.implementation,
                variant=configuration.variant,
                build=order.build,
                folder=order.folder,
                cpus=notes.placement.service if notes.placement else None,
            )
        )
        record = notes.instance = instance.record
        parts.ledger.note(pid=record.pid, role=configuration.variant_name, port=record.port)
        sampler.add("service", _watched(record, instance))
        return instance

    def wait(instance: Instance) -> StartUp:
        try:
            return wait_first_response(
                instance,
                order.requests[0],
                order.limits.ready_s,
                stderr=order.folder / SERVICE_STDERR,
                cpu_at_launch_s=instance.cpu_at_launch_s,
            )
        except BaseException:
            _stop_instance(instance, parts, notes)
            raise

    instance, notes.start_up = bring_up(launch, wait, lambda instance: instance.port_taken())
    notes.instance = instance.record
    return instance


def _watched(record: InstanceRecord, instance: Instance) -> Watched:
    return Watched(
        pid=record.pid, start_ticks=record.process_start_ticks, cpu_at_launch_s=instance.cpu_at_launch_s
    )


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
    record = instance.record
    reading = read_resources(record.pid, record.process_start_ticks, cpu_at_launch_s=instance.cpu_at_launch_s)
    nmt = order.implementation.runtime == "jvm" and order.planned.configuration.variant.runtime.nmt
    files = take_snapshots(instance, parts.host, order.folder, name, nmt=nmt)
    notes.boundaries.append(
        Boundary(
            name=name,
            reading=reading,
            runtime_metrics_file=files.runtime_metrics,
            nmt_file=files.nmt,
        )
    )


def _check_conformance(instance: Instance, order: TrialOrder, notes: _Notes) -> None:
    face: Face = "matched"
    if order.planned.configuration.variant.settings.get("face") == "published":
        face = "published"
    with _phase("conformance", notes):
        notes.conformance = check(instance.endpoint, order.cases, face, order.implementation.language)
    if instance.exited() is not None:
        raise crash(instance.exited(), "while its answers were checked", order.folder)
    if notes.conformance.failures:
        count = f"{len(notes.conformance.failures)} of {notes.conformance.n_cases} cases"
        raise TrialFailure("nonconforming", f"{count}: {notes.conformance.failures[0]}")


def _warm_up(instance: Instance, order: TrialOrder, notes: _Notes) -> None:
    wanted = order.planned.configuration.warm_up_requests
    if wanted:
        with _phase("warm-up", notes):
            warm_up(instance.endpoint, order.requests, wanted)


def _stay_idle(instance: Instance, order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    with _phase("idle", notes):
        until = time.monotonic() + order.planned.configuration.idle_s
        while (left := until - time.monotonic()) > 0:
            if instance.exited() is not None:
                raise crash(instance.exited(), "while idle", order.folder)
            time.sleep(min(left, 0.1))
    _boundary("idle", instance, order, parts, notes)


def _measure(instance: Instance, sampler: Sampler, order: TrialOrder, parts: Parts, notes: _Notes) -> None:
    load, generator = order.planned.configuration.load, order.generator
    if load is None or generator is None:
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
    notes.generator = _generator_record(generator, command, order, notes.placement)
    exit_code: int | None = None
    notes.machine_before = read_machine()
    with _phase("measurement", notes):
        running = parts.host.spawn(
            Command(
                argv=command.argv,
                folder=load_folder,
                environment=command.environment,
                cpus=notes.placement.generator if notes.placement else None,
                stdout=Path(command.stdout),
                stderr=Path(command.stderr),
            )
        )
        parts.ledger.note(pid=running.pid, role=f"load generator {generator.name}")
        try:
            sampler.add("generator", _of(running))
            exit_code = _wait_for_load(running, instance, order, command, notes)
        finally:
            running.stop(grace_s=order.limits.generator_stop_s)
            parts.ledger.forget(running.pid)
            notes.generator = notes.generator.model_copy(update={"exit_code": exit_code})
    notes.machine_after = read_machine()
    if exit_code is not None and exit_code > _SIGNALLED:
        raise TrialFailure("failed", f"the load generator was killed by signal {exit_code - _SIGNALLED}")
    notes.load = generator.read(load_folder)
    notes.outcome, notes.reason = judge_load(notes.load)


def _wait_for_load(
    running: Process, instance: Instance, order: TrialOrder, command: LoadCommand, notes: _Notes
) -> int:
    limit_s = order.limits.load_s(command.expected_s)
    deadline = time.monotonic() + limit_s
    with contextlib.ExitStack() as stack:
        tree: TreeReader | None = None
        with contextlib.suppress(ProcessLookupError):
            tree = TreeReader(running.pid, running.start_ticks, running.cpu_at_launch_s)
            stack.callback(tree.close)
        while (exit_code := running.wait(_POLL_S)) is None:
            _note_cpu(tree, notes)
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


def _note_cpu(tree: TreeReader | None, notes: _Notes) -> None:
    """Keep the generator's CPU time: once it has ended, nobody can tell."""
    if tree is None or notes.generator is None:
        return
    tree.discover()
    reading = tree.read()
    if reading is not None and reading.cpu_s is not None:
        notes.generator = notes.generator.model_copy(update={"cpu_s": reading.cpu_s})


def _of(process: Process) -> Watched:
    return Watched(pid=process.pid, start_ticks=process.start_ticks, cpu_at_launch_s=process.cpu_at_launch_s)


def _generator_record(
    generator: LoadGenerator, command: LoadCommand, order: TrialOrder, placement: Placement | None
) -> GeneratorRecord:
    return GeneratorRecord(
        name=generator.name,
        version=order.generator_version,
        argv=order.tidy(command.argv),
        environment=_tidy_values(command.environment, order),
        cpu_affinity=(placement.generator if placement else None) or (),
        cpu_s=None,
        exit_code=None,
        echo_achieved_per_s=order.echo_achieved_per_s,
        headroom_ratio=None,
    )


def _stop_instance(instance: Instance, parts: Parts, notes: _Notes) -> None:
    notes.instance = instance.stop()
    notes.out_of_memory = instance.out_of_memory()
    parts.ledger.forget(notes.instance.pid)


def _stop_sampler(sampler: Sampler, notes: _Notes) -> None:
    summary = sampler.stop()
    notes.longest_gap_s, notes.missed_ticks = summary.longest_gap_s, summary.missed_ticks


def _window(notes: _Notes) -> MachineWindow | None:
    """The machine during the measurement; the service's CPU time is that between its two boundaries."""
    if notes.machine_before is None or notes.machine_after is None:
        return None
    used = {boundary.name: boundary.reading.cpu_s for boundary in notes.boundaries}
    before, after = used.get("before-load"), used.get("after-load")
    service_cpu_s = None if before is None or after is None else after - before
    generator_cpu_s = notes.generator.cpu_s if notes.generator else None
    return machine_window(notes.machine_before, notes.machine_after, service_cpu_s, generator_cpu_s)


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
    extra: dict[str, JsonValue] = {"missed_ticks": notes.missed_ticks}
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
            machine=notes.machine,
            longest_gap_s=notes.longest_gap_s,
            phases=notes.phases,
            placement=notes.placement,
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
        machine=notes.machine,
        placement=notes.placement.words if notes.placement else "",
        extra=extra,
    )


def _headroom(notes: _Notes) -> float | None:
    echo = notes.generator.echo_achieved_per_s if notes.generator else None
    if echo is None or notes.load is None or notes.load.achieved_per_s <= 0:
        return None
    return echo / notes.load.achieved_per_s


def _tidy_values(environment: Mapping[str, str], order: TrialOrder) -> dict[str, str]:
    return dict(zip(environment, order.tidy(tuple(environment.values())), strict=True))
