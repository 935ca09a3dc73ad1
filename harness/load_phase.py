# SPDX-License-Identifier: Apache-2.0
"""The measured phase: the load generator started, watched until it is done, and always stopped."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from harness.backing import refuse_ended
from harness.backing_phase import backing_cpu_s
from harness.errors import HostError, TrialFailure
from harness.hosts import Command, Process
from harness.launchers.base import Instance
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadOrder
from harness.model import GeneratorRecord, MachineWindow
from harness.placement import Placement
from harness.sampling import Sampler, TreeReader, Watched, machine_window, read_machine
from harness.trial_order import Notes, Parts, TrialOrder, phase, tidy_values
from harness.verdicts import crash, judge_load

_POLL_S = 0.05
#: Turning a tool's own form into a readable one takes seconds even for millions of requests.
_AFTER_WITHIN_S = 120.0
#: A shell's way to tell the signal that ended a program: 128 + its number.
_SIGNALLED = 128


def measure(instance: Instance, sampler: Sampler, order: TrialOrder, parts: Parts, notes: Notes) -> None:
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
    backing_before_s = backing_cpu_s(notes)
    notes.machine_before = read_machine()
    with phase("measurement", notes):
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
    backing_after_s = backing_cpu_s(notes)
    known = backing_before_s is not None and backing_after_s is not None
    notes.backing_cpu_s = backing_after_s - backing_before_s if known else None  # type: ignore[operator]  # known says so
    if exit_code is not None and exit_code > _SIGNALLED:
        raise TrialFailure("failed", f"the load generator was killed by signal {exit_code - _SIGNALLED}")
    _run_after(command, load_folder, parts)
    notes.load = generator.read(load_folder)
    notes.outcome, notes.reason = judge_load(notes.load)


def _run_after(command: LoadCommand, folder: Path, parts: Parts) -> None:
    """What a tool does with its own output when the load is over, outside the measurement."""
    for argv in command.after:
        try:
            done = parts.host.run(
                Command(argv=argv, folder=folder, environment=command.environment), timeout_s=_AFTER_WITHIN_S
            )
        except HostError as problem:
            raise TrialFailure("failed", f"after the load: {problem}") from problem
        if done.exit_code:
            said = (done.stderr or done.stdout).strip()[-300:]
            raise TrialFailure("failed", f"after the load {argv[0]} ended with {done.exit_code}: {said}")


def _wait_for_load(
    running: Process, instance: Instance, order: TrialOrder, command: LoadCommand, notes: Notes
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
            refuse_ended(notes.backing, "while under load")
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


def _note_cpu(tree: TreeReader | None, notes: Notes) -> None:
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
        environment=tidy_values(command.environment, order),
        cpu_affinity=(placement.generator if placement else None) or (),
        cpu_s=None,
        exit_code=None,
        echo_achieved_per_s=order.echo_achieved_per_s,
        headroom_ratio=None,
    )


def machine_during_load(notes: Notes) -> MachineWindow | None:
    """The machine during the measurement; the service's CPU time is that between its two boundaries."""
    if notes.machine_before is None or notes.machine_after is None:
        return None
    used = {boundary.name: boundary.reading.cpu_s for boundary in notes.boundaries}
    before, after = used.get("before-load"), used.get("after-load")
    service_cpu_s = None if before is None or after is None else after - before
    generator_cpu_s = notes.generator.cpu_s if notes.generator else None
    return machine_window(
        notes.machine_before, notes.machine_after, service_cpu_s, generator_cpu_s, notes.backing_cpu_s
    )


def headroom_ratio(notes: Notes) -> float | None:
    echo = notes.generator.echo_achieved_per_s if notes.generator else None
    if echo is None or notes.load is None or notes.load.achieved_per_s <= 0:
        return None
    return echo / notes.load.achieved_per_s
