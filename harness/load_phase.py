# SPDX-License-Identifier: Apache-2.0
"""The measured phase: the load generator started, watched until it is done, and always stopped."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from harness.backing import refuse_ended
from harness.backing_phase import backing_cpu_s
from harness.errors import HostError, TrialFailure
from harness.hosts import Command, Process, Sampling
from harness.launchers.base import Instance
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadOrder
from harness.model import GeneratorRecord, MachineWindow
from harness.sampling import Watched, machine_window
from harness.trial_order import Notes, Parts, TrialOrder, compare_clocks, phase, tidy_values, tidy_words
from harness.verdicts import crash, judge_load

_POLL_S = 0.05
#: Turning a tool's own form into a readable one takes seconds even for millions of requests.
_AFTER_WITHIN_S = 120.0
#: What a sampler on the load's own host writes, beside the load's files.
OWN_SAMPLES, OWN_MACHINE = "generator-samples.csv", "machine-load.csv"
#: A shell's way to tell the signal that ended a program: 128 + its number.
_SIGNALLED = 128


def measure(instance: Instance, sampler: Sampling, order: TrialOrder, parts: Parts, notes: Notes) -> None:
    load, generator = order.planned.configuration.load, order.generator
    if load is None or generator is None:
        raise TrialFailure("failed", "a trial of kind load was planned without a load")
    ours = order.folder / "load"
    there = parts.load_host.open_folder(ours)
    notes.folders_there[there] = ours
    command = generator.command(
        LoadOrder(
            profile=load.profile,
            requests=order.requests,
            endpoint=instance.endpoint,
            folder=there,
            seed=order.seed,
        )
    )
    command = _in_words_of(parts, command)
    for name, content in command.files.items():
        (ours / name).write_text(content, "utf-8")
        if not parts.load_host.here:
            parts.load_host.put(ours / name, there / name)
    notes.generator = _generator_record(generator, command, order, notes)
    try:
        _offer(command, there, instance, sampler, order, parts, notes)
    finally:
        parts.load_host.close_folder(ours)
        _drop_folders_of_its_own(ours)
    notes.load = generator.read(ours)
    notes.outcome, notes.reason = judge_load(notes.load)


def _offer(
    command: LoadCommand,
    there: Path,
    instance: Instance,
    sampler: Sampling,
    order: TrialOrder,
    parts: Parts,
    notes: Notes,
) -> None:
    """Run the generator in its folder on the load's host, and what it wants to be run afterwards."""
    name = notes.generator.name if notes.generator is not None else ""
    exit_code: int | None = None
    backing_before_s = backing_cpu_s(parts, notes)
    compare_clocks(parts, notes)
    notes.machine_before = parts.host.machine()
    with phase("measurement", notes):
        running = parts.load_host.spawn(
            Command(
                argv=command.argv,
                folder=there,
                environment=command.environment,
                cpus=notes.placement.generator if notes.placement else None,
                stdout=Path(command.stdout),
                stderr=Path(command.stderr),
            )
        )
        if parts.load_host.here:
            parts.ledger.note(pid=running.pid, role=f"load generator {name}")
        own: Sampling | None = None
        try:
            if parts.load_apart:
                own = parts.load_host.sampler(there / OWN_SAMPLES, there / OWN_MACHINE, parts.sampling_hz)
            (own or sampler).add("generator", _of(running))
            exit_code = _wait_for_load(running, instance, order, command, parts, notes)
        finally:
            running.stop(grace_s=order.limits.generator_stop_s)
            if parts.load_host.here:
                parts.ledger.forget(running.pid)
            if own is not None:
                own.stop()
            cpu_s = running.cpu_s()
            if notes.generator is not None:
                ended = {"exit_code": exit_code, "cpu_s": cpu_s}
                notes.generator = notes.generator.model_copy(update=ended)
    notes.machine_after = parts.host.machine()
    compare_clocks(parts, notes)
    backing_after_s = backing_cpu_s(parts, notes)
    known = backing_before_s is not None and backing_after_s is not None
    notes.backing_cpu_s = backing_after_s - backing_before_s if known else None  # type: ignore[operator]  # known says so
    if parts.backing_apart:
        notes.backing_cpu_s = 0.0  # on a machine of their own they used nothing of this one
    if exit_code is not None and exit_code > _SIGNALLED:
        raise TrialFailure("failed", f"the load generator was killed by signal {exit_code - _SIGNALLED}")
    _run_after(command, there, parts)


def _drop_folders_of_its_own(folder: Path) -> None:
    """Remove what a tool made for itself: what belongs in the store are files (JMeter's JVM keeps preferences)."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)


def _run_after(command: LoadCommand, folder: Path, parts: Parts) -> None:
    """What a tool does with its own output when the load is over, outside the measurement."""
    for argv in command.after:
        try:
            done = parts.load_host.run(
                Command(argv=argv, folder=folder, environment=command.environment), timeout_s=_AFTER_WITHIN_S
            )
        except HostError as problem:
            raise TrialFailure("failed", f"after the load: {problem}") from problem
        if done.exit_code:
            said = (done.stderr or done.stdout).strip()[-300:]
            raise TrialFailure("failed", f"after the load {argv[0]} ended with {done.exit_code}: {said}")


def _wait_for_load(
    running: Process,
    instance: Instance,
    order: TrialOrder,
    command: LoadCommand,
    parts: Parts,
    notes: Notes,
) -> int:
    limit_s = order.limits.load_s(command.expected_s)
    deadline = time.monotonic() + limit_s
    while (exit_code := running.wait(_POLL_S)) is None:
        running.cpu_s()  # kept there: the account of a child that nobody waits for closes with it
        refuse_ended(notes.backing, "while under load")
        if (service_exit := instance.exited()) is not None:
            raise crash(service_exit, "while under load", notes.service_folder, parts.host)
        if time.monotonic() > deadline:
            raise TrialFailure(
                "timed out",
                f"the load took longer than {limit_s:.0f} s (expected: {command.expected_s:.0f} s)",
            )
    if (service_exit := instance.exited()) is not None:
        raise crash(service_exit, "while under load", notes.service_folder, parts.host)
    return exit_code


def _in_words_of(parts: Parts, command: LoadCommand) -> LoadCommand:
    """Return the command with what it names on this machine named as it is on the load's host."""
    if not parts.load_words:
        return command
    longest_first = sorted(parts.load_words.items(), key=lambda pair: len(pair[0]), reverse=True)

    def said(text: str) -> str:
        for ours, theirs in longest_first:
            text = text.replace(ours, theirs)
        return text

    return command.model_copy(
        update={
            "argv": tuple(said(word) for word in command.argv),
            "after": tuple(tuple(said(word) for word in argv) for argv in command.after),
            "environment": {name: said(value) for name, value in command.environment.items()},
            "files": {name: said(content) for name, content in command.files.items()},
        }
    )


def _of(process: Process) -> Watched:
    return Watched(pid=process.pid, start_ticks=process.start_ticks, cpu_at_launch_s=process.cpu_at_launch_s)


def _generator_record(
    generator: LoadGenerator, command: LoadCommand, order: TrialOrder, notes: Notes
) -> GeneratorRecord:
    return GeneratorRecord(
        name=generator.name,
        version=order.generator_version,
        argv=tidy_words(command.argv, order, notes),
        environment=tidy_values(command.environment, order, notes),
        cpu_affinity=(notes.placement.generator if notes.placement else None) or (),
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
    # on a machine of its own it is none of what this one did
    apart = notes.placement is not None and notes.placement.generator_apart
    generator_cpu_s = 0.0 if apart else notes.generator.cpu_s if notes.generator else None
    return machine_window(
        notes.machine_before, notes.machine_after, service_cpu_s, generator_cpu_s, notes.backing_cpu_s
    )


def headroom_ratio(notes: Notes) -> float | None:
    echo = notes.generator.echo_achieved_per_s if notes.generator else None
    if echo is None or notes.load is None or notes.load.achieved_per_s <= 0:
        return None
    return echo / notes.load.achieved_per_s
