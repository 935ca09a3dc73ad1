# SPDX-License-Identifier: Apache-2.0
"""The measured phase: the load generator started, sampled, watched until it is done, and always stopped.

Some services are compiled once more long after their warm-up has settled, at a moment that cannot be foreseen, and for
longer than a warm load allows (``docs/warm-and-cold.md``). Which load counts is decided by the time of the compilers
and by the speed of the CPUs, and never by throughput, CPU time of requests or latency.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from harness.errors import HostError, RematchError, TrialFailure
from harness.loadgen.base import LoadCommand, LoadGenerator, LoadSpec
from harness.loadgen.row_counts import count_rows
from harness.measure.runner.backing_phase import backing_cpu_s, log_reader_cpu_s
from harness.measure.runner.context import (
    Notes,
    TrialContext,
    compare_clocks,
    open_folder,
    phase,
    tidy_values,
    tidy_words,
    watch_process,
)
from harness.measure.runner.outcome import SIGNALLED, judge_load, refuse_crashed
from harness.measure.runner.request_log import note_before
from harness.measure.runner.speed_gate import REPEATS as SPEED_REPEATS
from harness.model import (
    ClosedLoad,
    EarlierLoad,
    GeneratorRecord,
    LoadProfile,
    MachineWindow,
    Outcome,
    Phase,
)
from harness.model.started import difference
from harness.model.trial import sent_late
from harness.places.backing import refuse_ended
from harness.places.hosts.base import Command, Process
from harness.places.hosts.measuring import Sampling
from harness.places.launchers.base import Instance
from harness.places.sampling import machine_window

#: What a sampler on the load's own host writes, beside the load's files.
OWN_SAMPLES, OWN_MACHINE = "generator-samples.csv", "machine-load.csv"
_POLL_S = 0.05
#: Turning a tool's own form into a readable one takes seconds even for millions of requests.
_AFTER_WITHIN_S = 120.0
#: Of the trial's folder: the files of the load that counts and, followed by a number, of one that does not.
_LOAD, _EARLIER = "load", "earlier-load"
_BOUNDARIES = ("before-load", "after-load")


@dataclass
class _Generator:
    """The load generator under way."""

    running: Process
    exit_code: int | None = None

    def ended(self) -> bool:
        """Wait a moment for its end; whether it has ended."""
        if self.exit_code is None:
            self.exit_code = self.running.wait(_POLL_S)
            if self.exit_code is None:
                self.running.cpu_s()  # kept there: the account of a child that nobody waits for closes with it
        return self.exit_code is not None


def measure(instance: Instance, sampler: Sampling, notes: Notes) -> None:
    """Offer the trial's load, and write down what the generator reports and what became of it.

    Raises:
        TrialFailure: service or generator ended early, took too long, or left nothing to read.
    """
    spec, host = notes.spec, notes.context.load_host
    load, generator = spec.planned.configuration.load, spec.generator
    if load is None or generator is None:
        raise TrialFailure("failed", "a trial of kind load was planned without a load")
    local = spec.folder / _LOAD
    try:
        with contextlib.ExitStack() as cleanup:
            remote = open_folder(host, local, notes)
            cleanup.callback(_bring_back, notes.context, local)
            command = command_of(generator, load.profile, instance, notes, local, remote)
            notes.generator = GeneratorRecord(
                name=generator.name,
                version=spec.generator_version,
                argv=tidy_words(command.argv, notes),
                environment=tidy_values(command.environment, notes),
                cpu_affinity=notes.placement.generator or (),
                cpu_s=None,
                exit_code=None,
                echo_achieved_per_s=spec.echo_achieved_per_s,
                headroom_ratio=None,
            )
            note_before(notes)
            _offer(command, remote, instance, sampler, notes)
        notes.load = generator.read(local)
        if load.rows == "counted":
            notes.load = count_rows(local, notes.load)
        notes.answers = notes.load.answers
    except TrialFailure:
        with contextlib.suppress(RematchError):  # what was answered until then was promised, too
            notes.answers = generator.read(local).answers
        raise
    notes.outcome, notes.reason = judge_load(notes.load)


def command_of(
    generator: LoadGenerator,
    profile: LoadProfile,
    instance: Instance,
    notes: Notes,
    local: Path,
    remote: Path,
) -> LoadCommand:
    """Return the command of a load in the words of the load's host, its files in its folder here and there.

    Raises:
        UnsupportedLoad, MissingTool: the tool cannot offer it, or is not there.
    """
    spec, host = notes.spec, notes.context.load_host
    asked = LoadSpec(
        profile=profile, requests=spec.requests, endpoint=instance.endpoint, folder=remote, seed=spec.seed
    )
    command = generator.command(asked)
    words = sorted(notes.context.load_words.items(), key=lambda pair: len(pair[0]), reverse=True)

    def translated(text: str) -> str:
        for word, its_name in words:
            text = text.replace(word, its_name)
        return text

    if words:
        command = command.model_copy(
            update={
                "argv": tuple(map(translated, command.argv)),
                "after": tuple(tuple(map(translated, argv)) for argv in command.after),
                "environment": {name: translated(value) for name, value in command.environment.items()},
                "files": {name: translated(content) for name, content in command.files.items()},
            }
        )
    for name, content in command.files.items():
        (local / name).write_text(content, "utf-8")
        if not host.is_local:
            host.put(local / name, remote / name)
    return command


def _bring_back(context: TrialContext, local: Path) -> None:
    """Bring back what the tool left; what it made for itself goes (JMeter's JVM keeps preferences)."""
    context.load_host.close_folder(local)
    for path in local.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)


def _begin(
    command: LoadCommand, remote: Path, sampler: Sampling, notes: Notes, cleanup: contextlib.ExitStack
) -> _Generator:
    """Start it and have it sampled: by a sampler of its own where it is not on the service's host."""
    context, host = notes.context, notes.context.load_host
    if context.load_apart:
        sampler = host.sampler(remote / OWN_SAMPLES, remote / OWN_MACHINE, context.sampling_hz)
        cleanup.callback(sampler.stop)
    running = host.spawn(
        Command(
            argv=command.argv,
            folder=remote,
            environment=command.environment,
            cpus=notes.placement.generator,
            stdout=Path(command.stdout),
            stderr=Path(command.stderr),
        )
    )
    process = _Generator(running)
    cleanup.callback(_end, process, notes)
    assert notes.generator is not None
    context.note(host, pid=running.pid, role=f"load generator {notes.generator.name}")
    sampler.add("generator", watch_process(running))
    return process


def _end(process: _Generator, notes: Notes) -> None:
    """End it for certain, and note how it ended."""
    process.running.stop(grace_s=notes.spec.limits.generator_stop_s)
    notes.context.forget(notes.context.load_host, process.running.pid)
    if notes.generator is not None:
        ended = {"exit_code": process.exit_code, "cpu_s": process.running.cpu_s()}
        notes.generator = notes.generator.model_copy(update=ended)


def _offer(command: LoadCommand, remote: Path, instance: Instance, sampler: Sampling, notes: Notes) -> None:
    """Run the generator in its folder on its host, and what it wants to be run afterwards."""
    context = notes.context
    backing_before_s, reader_before_s = backing_cpu_s(notes), log_reader_cpu_s(notes)
    compare_clocks(notes)
    if context.duet is not None:
        context.duet.meet()  # both loads run over the same seconds
    notes.machine_before = context.host.machine()
    with phase("measurement", notes), contextlib.ExitStack() as cleanup:
        process = _begin(command, remote, sampler, notes, cleanup)
        if context.duet is None:  # whose arms meet the same CPUs for the same share of the time
            meter = context.host.speed_meter(cpus_at_work(notes))
            cleanup.callback(lambda: setattr(notes, "cpu_speeds", meter.stop()))
        _wait_for_load(process, command.expected_s, instance, notes)
    notes.machine_after = context.host.machine()
    compare_clocks(notes)
    backing_after_s, reader_after_s = backing_cpu_s(notes), log_reader_cpu_s(notes)
    # on a machine of their own they used nothing of this one
    notes.backing_cpu_s = 0.0 if context.backing_apart else difference(backing_before_s, backing_after_s)
    notes.log_reader_cpu_s = difference(reader_before_s, reader_after_s)
    code = process.exit_code or 0
    if code > SIGNALLED:
        raise TrialFailure("failed", f"the load generator was killed by signal {code - SIGNALLED}")
    for argv in command.after:
        after = Command(argv=argv, folder=remote, environment=command.environment)
        try:
            done = context.load_host.run(after, timeout_s=_AFTER_WITHIN_S)
        except HostError as problem:
            raise TrialFailure("failed", f"after the load: {problem}") from problem
        if done.exit_code:
            output = (done.stderr or done.stdout).strip()[-300:]
            raise TrialFailure("failed", f"after the load {argv[0]} ended with {done.exit_code}: {output}")


def _wait_for_load(process: _Generator, expected_s: float, instance: Instance, notes: Notes) -> None:
    duet, limit_s = notes.context.duet, notes.spec.limits.load_s(expected_s)
    deadline = time.monotonic() + limit_s
    while not process.ended():
        refuse_ended(notes.backing, "while under load")
        if duet is not None:
            duet.refuse_alone()
        refuse_crashed(instance, "while under load", notes)
        # asked anew: the last answer may be as old as a connection was lost for
        if time.monotonic() > deadline and not process.ended():
            raise TrialFailure(
                "timed out", f"the load took longer than {limit_s:.0f} s (expected: {expected_s:.0f} s)"
            )
    refuse_crashed(instance, "while under load", notes)


def cpus_at_work(notes: Notes) -> tuple[int, ...]:
    """Return the CPUs of the service's machine that service and generator may use."""
    placement, cpus = notes.placement, notes.context.cpus
    generator = placement.generator or (() if placement.generator_apart else cpus)
    return tuple(sorted({*(placement.service or cpus), *generator}))


def used_in_load(notes: Notes, what: Literal["cpu_s", "compile_s", "wait_s"]) -> float | None:
    """Return the service's CPU time, that of its JIT compilers, or how long its threads waited for a CPU, in seconds,
    between the two boundaries of the measurement."""
    used = {boundary.name: getattr(boundary.reading, what) for boundary in notes.boundaries}
    return difference(used.get("before-load"), used.get("after-load"))


def arm_cpu_s(notes: Notes) -> float | None:
    """CPU time of service, generator and the reader of its log while the load ran; ``None``: not known."""
    service, generator = used_in_load(notes, "cpu_s"), notes.generator.cpu_s if notes.generator else None
    if service is None or generator is None:
        return None
    return service + generator + (notes.log_reader_cpu_s or 0.0)


def machine_during_load(notes: Notes, partner_cpu_s: float | None = 0.0) -> MachineWindow | None:
    """Return the machine during the measurement; the service's CPU time is that between its two boundaries.

    ``partner_cpu_s``: of the other arm of a duet, which is no neighbour's noise.
    """
    if notes.machine_before is None or notes.machine_after is None:
        return None
    # on a machine of its own it is none of what this one did
    apart = notes.placement.generator_apart
    generator_cpu_s = 0.0 if apart else notes.generator.cpu_s if notes.generator else None
    return machine_window(
        notes.machine_before, notes.machine_after, used_in_load(notes, "cpu_s"), generator_cpu_s,
        *(notes.backing_cpu_s, notes.log_reader_cpu_s or 0.0, partner_cpu_s),
    )  # fmt: skip


def to_be_repeated(notes: Notes) -> bool:
    """Return whether a load that is over shall be offered again, which it was not yet as often as it may be.

    It shall where the JVM's compilers worked for more of it than the warm-up allows a settled service, the generator
    sent it late, or another guest slowed the CPUs of a session that waits for their speed. Arms of a duet go on
    together, so theirs is not; nor is one that failed.
    """
    asked, load, context = notes.spec.planned.configuration.warm_up, notes.load, notes.context
    if asked is None or load is None or context.duet is not None or notes.outcome != Outcome.OK:
        return False
    n_loads, gate = len(notes.earlier_loads), context.speed_gate
    may_wait = gate is not None and n_loads < SPEED_REPEATS and not gate.is_over(notes.speed_wait_s or 0.0)
    if gate is not None and may_wait and gate.slowed(notes.cpu_speeds):
        return True
    compiled_s = used_in_load(notes, "compile_s")
    compiled = compiled_s is not None and asked.compiled_too_long(compiled_s, load.duration_s)
    return n_loads < asked.repeats and (compiled or sent_late(load.late_share))


def set_aside(notes: Notes) -> None:
    """Write down what the load came to, move its files aside, and make room for the next one.

    Its phase becomes one of the warm-up, which it has been.

    Raises:
        OSError: the trial's folder cannot be written.
    """
    load, folder = notes.load, notes.spec.folder
    if load is None:
        raise ValueError("no load to set aside")
    aside = folder / f"{_EARLIER}-{len(notes.earlier_loads) + 1}"
    notes.earlier_loads.append(
        EarlierLoad(
            folder=aside.name, duration_s=load.duration_s, n_requests=load.n_requests, n_errors=load.n_errors,
            cpu_s=used_in_load(notes, "cpu_s"), compile_s=used_in_load(notes, "compile_s"),
            late_share=load.late_share, cpu_speeds=notes.cpu_speeds,
        )
    )  # fmt: skip
    (folder / _LOAD).rename(aside)
    (folder / _LOAD).mkdir()
    for file in [file for name in _BOUNDARIES for file in folder.glob(f"boundary-{name}.*")]:
        file.rename(aside / file.name)
    notes.boundaries = [boundary for boundary in notes.boundaries if boundary.name not in _BOUNDARIES]
    notes.phases = [
        Phase(name="warm-up", start=phase.start, end=phase.end) if phase.name == "measurement" else phase
        for phase in notes.phases
    ]
    notes.load, notes.answers = None, {}


# System calls are counted in a load of their own: counting makes each call slower, so no other metric may see it. perf
# mounts the kernel's tracing files by itself; a mount namespace of its own keeps the machine as it was.

#: Of the trial's folder, gone afterwards.
CALLS = "system-calls"
_COUNTS = "counts.csv"
#: Of that load; and beyond its own time, for the tools to start and stop on a busy machine.
_LOAD_S, _EXTRA_S = 2, 30.0
#: Every call, whatever its name; and calls with a count of their own.
_ALL = "raw_syscalls:sys_enter"
_NAMES = (
    "read", "write", "readv", "writev", "recvfrom", "sendto", "epoll_wait", "epoll_pwait", "epoll_ctl", "poll", "futex",
    "nanosleep", "clock_nanosleep", "sched_yield", "madvise",
)  # fmt: skip
_NAMED = "syscalls:sys_enter_"


def count_system_calls(instance: Instance, notes: Notes) -> dict[str, JsonValue]:
    """Load the instance once more and return ``n_requests`` and ``calls``, name -> count with ``all`` first.

    Where this machine cannot count, ``unavailable`` has the reason in place of both.
    """
    try:
        return _counted(instance, notes)
    except (TrialFailure, HostError) as problem:
        return {"unavailable": problem.reason if isinstance(problem, TrialFailure) else str(problem)}
    finally:
        shutil.rmtree(notes.spec.folder / CALLS, ignore_errors=True)


def _counted(instance: Instance, notes: Notes) -> dict[str, JsonValue]:
    spec, context = notes.spec, notes.context
    load, generator = spec.planned.configuration.load, spec.generator
    if load is None or generator is None or not isinstance(load.profile, ClosedLoad):
        raise TrialFailure("failed", "only a closed loop is offered again to count calls")
    if not (context.host.is_local and context.load_host.is_local):
        raise TrialFailure("failed", "calls are counted on the machine of this program only")
    programs = [shutil.which(name) for name in ("unshare", "perf")]
    if None in programs:
        raise TrialFailure("failed", "no perf and unshare on this machine (Debian: linux-perf, util-linux)")
    folder = spec.folder / CALLS
    folder.mkdir()
    profile = ClosedLoad(users=load.profile.users, duration_s=_LOAD_S)
    command = command_of(generator, profile, instance, notes, folder, folder)
    unshare, perf = map(str, programs)
    events = ",".join((_ALL, *(_NAMED + name for name in _NAMES)))
    counting = ("stat", "-x", ",", "-o", str(folder / _COUNTS), "-e", events, "-p", str(instance.record.pid))
    argv = (unshare, "--mount", perf, *counting, "--", *command.argv)
    order = Command(argv=argv, folder=folder, environment=command.environment, cpus=notes.placement.generator)
    done = context.load_host.run(order, timeout_s=_LOAD_S + _EXTRA_S)
    file = folder / _COUNTS
    calls = counts_of(file.read_text("utf-8", "replace")) if file.is_file() else {}
    if done.exit_code or "all" not in calls:
        first = next(iter((done.stderr or done.stdout).strip().splitlines()), "without a reason")
        raise TrialFailure("failed", f"perf counted nothing: {first[:200]}")
    return {"n_requests": generator.read(folder).n_requests, "calls": dict(calls)}


def counts_of(text: str) -> dict[str, int]:
    """Return name -> count of what ``perf stat -x ,`` wrote, ``all`` first; what was not counted is left out."""
    fields = [line.split(",") for line in text.splitlines()]
    counts = {row[2]: int(row[0]) for row in fields if len(row) > 2 and row[0].isdigit()}
    return ({"all": counts[_ALL]} if _ALL in counts else {}) | {
        event.removeprefix(_NAMED): n for event, n in counts.items() if event.startswith(_NAMED) and n
    }
