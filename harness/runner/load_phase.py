# SPDX-License-Identifier: Apache-2.0
"""The measured phase: the load generators started, watched until they are done, and always stopped.

Some services are compiled once more long after their warm-up has settled, at a moment that cannot be foreseen, and for
longer than a warm load allows (``docs/warm-and-cold.md``). Which load counts is decided by the time of the compilers
and by the speed of the CPUs, and never by throughput, CPU time of requests or latency.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import Literal

from harness.backing import refuse_ended
from harness.errors import HostError, TrialFailure
from harness.hosts.base import Command
from harness.hosts.measuring import Sampling
from harness.launchers.base import Instance
from harness.loadgen.row_counts import count_rows
from harness.model import EarlierLoad, MachineWindow, Outcome, Phase
from harness.model.trial import sent_late
from harness.runner.backing_phase import backing_cpu_s, log_reader_cpu_s
from harness.runner.context import Notes, compare_clocks, phase
from harness.runner.load_process import (
    LoadProcess,
    answered_so_far,
    keep_records,
    make_load_processes,
    read_together,
)
from harness.runner.outcome import SIGNALLED, crash, judge_load
from harness.runner.request_log import note_before
from harness.runner.speed_gate import REPEATS as SPEED_REPEATS
from harness.sampling import machine_window

_POLL_S = 0.05
#: Turning a tool's own form into a readable one takes seconds even for millions of requests.
_AFTER_WITHIN_S = 120.0


def measure(instance: Instance, sampler: Sampling, notes: Notes) -> None:
    """Offer the trial's load, and write down what the generators report and what became of them.

    Raises:
        TrialFailure: service or generator ended early, took too long, or left nothing to read.
    """
    load, generator = notes.spec.planned.configuration.load, notes.spec.generator
    if load is None or generator is None:
        raise TrialFailure("failed", "a trial of kind load was planned without a load")
    engines: list[LoadProcess] = []
    try:
        with contextlib.ExitStack() as cleanup:
            for engine in make_load_processes(load, generator, instance.endpoint, notes):
                cleanup.callback(engine.close)
                engines.append(engine)
            keep_records(engines, notes)
            note_before(notes)
            _offer(engines, instance, sampler, notes)
        notes.load = read_together(engines, generator)
        if load.rows == "counted":
            notes.load = count_rows(engines[0].local, notes.load)
        notes.answers = notes.load.answers
    except TrialFailure:
        notes.answers = answered_so_far(engines, generator)
        raise
    finally:
        keep_records(engines, notes)
    notes.outcome, notes.reason = judge_load(notes.load)


def _offer(engines: Sequence[LoadProcess], instance: Instance, sampler: Sampling, notes: Notes) -> None:
    """Run every generator in its folder on its host, and what it wants to be run afterwards."""
    context = notes.context
    backing_before_s, reader_before_s = backing_cpu_s(notes), log_reader_cpu_s(notes)
    compare_clocks(notes)
    if context.duet is not None:
        context.duet.meet()  # both loads run over the same seconds
    notes.machine_before = context.host.machine()
    with phase("measurement", notes), contextlib.ExitStack() as cleanup:
        for engine in engines:
            cleanup.callback(engine.end, notes)
            engine.begin(sampler, notes)
        if context.duet is None:  # whose arms meet the same CPUs for the same share of the time
            meter = context.host.speed_meter(cpus_at_work(notes))
            cleanup.callback(lambda: setattr(notes, "cpu_speeds", meter.stop()))
        _wait_for_load(engines, instance, notes)
    notes.machine_after = context.host.machine()
    compare_clocks(notes)
    backing_after_s, reader_after_s = backing_cpu_s(notes), log_reader_cpu_s(notes)
    # on a machine of their own they used nothing of this one
    notes.backing_cpu_s = 0.0 if context.backing_apart else difference(backing_before_s, backing_after_s)
    notes.log_reader_cpu_s = difference(reader_before_s, reader_after_s)
    for engine in engines:
        _refuse_ended_badly(engine)
        _run_after(engine)


def cpus_at_work(notes: Notes) -> tuple[int, ...]:
    """Return the CPUs of the service's machine that service and generator may use."""
    placement, cpus = notes.placement, notes.context.cpus
    service, generator = (placement.service, placement.generator) if placement else (None, None)
    if generator is None and not (placement and placement.generator_apart):
        generator = cpus
    return tuple(sorted({*(service or cpus), *(generator or ())}))


def _refuse_ended_badly(engine: LoadProcess) -> None:
    """A killed generator is no measurement; of several, neither is one that failed: its share is missing."""
    code = engine.exit_code or 0
    if code > SIGNALLED:
        raise TrialFailure("failed", f"{engine.name} was killed by signal {code - SIGNALLED}")
    if code and engine.of > 1:
        raise TrialFailure(
            "failed", f"{engine.name} ended with exit code {code}: its share of the load is missing"
        )


def _run_after(engine: LoadProcess) -> None:
    """What a tool does with its own output when the load is over, outside the measurement."""
    for argv in engine.command.after:
        command = Command(argv=argv, folder=engine.remote, environment=engine.command.environment)
        try:
            done = engine.host.run(command, timeout_s=_AFTER_WITHIN_S)
        except HostError as problem:
            raise TrialFailure("failed", f"after the load: {problem}") from problem
        if done.exit_code:
            output = (done.stderr or done.stdout).strip()[-300:]
            raise TrialFailure("failed", f"after the load {argv[0]} ended with {done.exit_code}: {output}")


def _some_run(engines: Sequence[LoadProcess]) -> bool:
    """Wait a moment for each; whether any of them has not ended."""
    left = [engine for engine in engines if not engine.ended(_POLL_S / len(engines))]
    return bool(left)


def _wait_for_load(engines: Sequence[LoadProcess], instance: Instance, notes: Notes) -> None:
    context = notes.context
    expected_s = max(engine.command.expected_s for engine in engines)
    limit_s = notes.spec.limits.load_s(expected_s)
    deadline = time.monotonic() + limit_s
    while _some_run(engines):
        refuse_ended(notes.backing, "while under load")
        if context.duet is not None:
            context.duet.refuse_alone()
        if (service_exit := instance.exited()) is not None:
            raise crash(service_exit, "while under load", notes.service_folder, context.host)
        for engine in engines if len(engines) > 1 else ():
            _refuse_ended_badly(engine)  # the others need not go on for nothing
        # asked anew: the last answer may be as old as a connection was lost for
        if time.monotonic() > deadline and _some_run(engines):
            raise TrialFailure(
                "timed out", f"the load took longer than {limit_s:.0f} s (expected: {expected_s:.0f} s)"
            )
    if (service_exit := instance.exited()) is not None:
        raise crash(service_exit, "while under load", notes.service_folder, context.host)


def used_in_load(notes: Notes, what: Literal["cpu_s", "compile_s", "wait_s"]) -> float | None:
    """The service's CPU time, that of its JIT compilers, or how long its threads waited for a CPU, between the two
    boundaries of the measurement."""
    used = {boundary.name: getattr(boundary.reading, what) for boundary in notes.boundaries}
    return difference(used.get("before-load"), used.get("after-load"))


def difference(before: float | None, after: float | None) -> float | None:
    """Return after less before; ``None``: one of them is not known."""
    return None if before is None or after is None else after - before


def arm_cpu_s(notes: Notes) -> float | None:
    """CPU time of service, generator and the reader of its log while the load ran; ``None``: not known."""
    service, generator = used_in_load(notes, "cpu_s"), notes.generator.cpu_s if notes.generator else None
    if service is None or generator is None:
        return None
    return service + generator + (notes.log_reader_cpu_s or 0.0)


def machine_during_load(notes: Notes, partner_cpu_s: float | None = 0.0) -> MachineWindow | None:
    """The machine during the measurement; the service's CPU time is that between its two boundaries.

    ``partner_cpu_s``: of the other arm of a duet, which is no neighbour's noise.
    """
    if notes.machine_before is None or notes.machine_after is None:
        return None
    # on a machine of its own it is none of what this one did
    apart = notes.placement is not None and notes.placement.generator_apart
    generator_cpu_s = 0.0 if apart else notes.generator.cpu_s if notes.generator else None
    return machine_window(
        notes.machine_before, notes.machine_after, used_in_load(notes, "cpu_s"), generator_cpu_s,
        *(notes.backing_cpu_s, notes.log_reader_cpu_s or 0.0, partner_cpu_s),
    )  # fmt: skip


def headroom_ratio(notes: Notes) -> float | None:
    echo = notes.generator.echo_achieved_per_s if notes.generator else None
    if echo is None or notes.load is None or notes.load.achieved_per_s <= 0:
        return None
    return echo / notes.load.achieved_per_s


#: In the trial's folder, followed by a number: the files of a load that does not count.
_EARLIER = "earlier-load"
#: Of the trial's folder; the files of the load that counts.
_LOAD = "load"
_BOUNDARIES = ("before-load", "after-load")
#: How names of files that were read at these boundaries begin.
_FILES = tuple(f"boundary-{name}." for name in _BOUNDARIES)


def to_be_repeated(notes: Notes) -> bool:
    """Whether a load that is over shall be offered again.

    It shall where the JVM's compilers worked for more of it than the warm-up allows a settled service, the generator
    sent it late, or another guest slowed the CPUs of a session that waits for their speed, and it was not yet repeated
    as often as it may be. Arms of a duet go on together, so theirs is not.
    """
    asked, load, context = notes.spec.planned.configuration.warm_up, notes.load, notes.context
    if asked is None or load is None or context.duet is not None:
        return False
    if notes.outcome != Outcome.OK:  # a load that failed is not made good
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
    for file in list(folder.iterdir()):
        if file.name.startswith(_FILES):
            file.rename(aside / file.name)
    notes.boundaries = [boundary for boundary in notes.boundaries if boundary.name not in _BOUNDARIES]
    notes.phases = [
        Phase(name="warm-up", start=phase.start, end=phase.end) if phase.name == "measurement" else phase
        for phase in notes.phases
    ]
    notes.load, notes.answers = None, {}
