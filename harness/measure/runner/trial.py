# SPDX-License-Identifier: Apache-2.0
"""One trial, start to finish, always stopped.

place -> backing services -> launch -> readiness of the real path -> conformance -> boundary ``first-response``
-> warm-up -> boundary ``before-load`` -> load and samples -> boundary ``after-load`` -> stop
-> invariants -> backing services stopped -> record. Trials that go on with the same process follow before it is
stopped, from ``before-load`` to ``after-load``. After a warm-up in windows conformance comes last.
A start-up trial has no load: after the first answer it stays idle, sampled, to boundary ``idle``.

Whatever goes wrong with the service or the generator is an outcome and stands in the record.
Only what says nothing about them (no disk, no tool, a signal to us) is raised.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType

from harness.conformance import check
from harness.errors import TrialFailure
from harness.loadgen.flow import readiness_request
from harness.measure.runner.backing_phase import bring_up_backing, judge_backing, sample_backing
from harness.measure.runner.context import (
    WARM_UP_HZ,
    Notes,
    TrialContext,
    TrialSpec,
    going_on,
    open_folder,
    phase,
    watch,
)
from harness.measure.runner.load_phase import (
    arm_cpu_s,
    count_system_calls,
    cpus_at_work,
    machine_during_load,
    measure,
    set_aside,
    to_be_repeated,
)
from harness.measure.runner.outcome import refuse_crashed
from harness.measure.runner.pinning import Placement, Policy, check_pinned, cpus_allowed, place, place_on_two
from harness.measure.runner.record import SAMPLES, trial_record
from harness.measure.runner.request_log import RequestLog
from harness.measure.runner.snapshots import keep_contention, keep_recording, take_boundary
from harness.measure.runner.start_up import SERVICE_STDERR, wait_first_response
from harness.measure.runner.warm_up import warm_up, warm_up_in_windows
from harness.model import (
    ClosedLoad,
    Configuration,
    LoadProfile,
    LoadSummary,
    Outcome,
    Phase,
    PlannedTrial,
    RuntimeSettings,
    TrialRecord,
)
from harness.places.backing.base import WATCH_FILE
from harness.places.hosts.base import now
from harness.places.hosts.measuring import Sampling
from harness.places.launchers.arguments import GC_LOG
from harness.places.launchers.base import Instance, LaunchSpec
from harness.workloads import face_of

_POLICIES: Mapping[str | None, Policy] = MappingProxyType(
    {None: "auto", "limit": "limit", "same": "same", "none": "shared"}
)
ATTEMPTS_WHEN_PORT_TAKEN = 3
Step = tuple[TrialSpec, TrialContext]
#: Offers one more load to a process whose loads are over, and returns what its generator reported.
LoadAgain = Callable[[TrialSpec, TrialContext], LoadSummary]
#: What is done with a process whose loads are over, given what the last of them came to.
Then = Callable[[LoadSummary, LoadAgain], None]


def run_trials(steps: Sequence[Step], *, then: Then | None = None) -> tuple[TrialRecord, ...]:
    """Take a fresh instance through one trial, and through those that go on with its process; return what happened.

    Where one fails, those after it have failed with it: each has a record. Nothing that was started lives on.

    Args:
        then: is called before the process is stopped, and may load it as often as it likes. None of these loads is
            in a record; one that fails is the last record's failure.

    Raises:
        MissingTool: the load generator is not there.
        OSError: a trial's folder cannot be written.
    """
    return tuple(map(trial_record, attempt(steps, then)))


def attempt(steps: Sequence[Step], then: Then | None = None) -> list[Notes]:
    """Take a fresh instance through its trials as ``run_trials``, and return what was written down of each."""
    (spec, context), *later = steps
    first = Notes(spec, context)
    made = [first]
    try:
        _go_through(steps, made, then)
    except TrialFailure as failure:
        made[-1].outcome, made[-1].reason = Outcome(failure.outcome), failure.reason
    if made[-1].outcome == Outcome.FAILED and first.out_of_memory is not None:
        made[-1].outcome = Outcome.OUT_OF_MEMORY
        made[-1].reason = f"{made[-1].reason} ({first.out_of_memory})"
    judge_backing(first)
    for number, (going, its_context) in enumerate(later, start=1):
        if number == len(made):  # it was never begun
            made.append(going_on(first, going, its_context))
            made[-1].outcome = Outcome.FAILED
            made[-1].reason = f"the process of {spec.planned.trial_id} ended before it: {made[-2].reason}"
        made[number].instance = first.instance
        for log in (GC_LOG, SERVICE_STDERR, WATCH_FILE):  # of the whole life of the process
            if (spec.folder / log).is_file():
                shutil.copyfile(spec.folder / log, going.folder / log)
    for notes in made:
        notes.anchors.append(now())
    return made


def _go_through(steps: Sequence[Step], made: list[Notes], then: Then | None) -> None:
    later, notes = steps[1:], made[0]
    spec, context = steps[0]
    configuration, duet = spec.planned.configuration, context.duet
    notes.placement = duet.placement if duet else placement_of(configuration.variant.runtime, context)
    with contextlib.ExitStack() as cleanup:
        remote, sampler = _sampled_folder(notes, cleanup)
        notes.service_folder = remote
        bring_up_backing(sampler, notes, cleanup)
        request_log = RequestLog(notes)
        request_log.open(sampler, cleanup)
        if configuration.warm_up is None:  # the start counts, and what follows it cannot wait
            _wait_for_speed(notes)
        with phase("start-up", notes):
            with duet.rendezvous.starting if duet else contextlib.nullcontext():
                instance = _bring_up(sampler, notes)
            jfr = Path(instance.record.argv[0]).with_name("jfr")  # recordings are written as the JVM ends
            if configuration.variant.runtime.flight_recording:
                cleanup.callback(keep_recording, context.host, jfr, remote, spec.folder)
            if configuration.variant.runtime.lock_recording:
                cleanup.callback(keep_contention, context.host, jfr, remote, spec.folder)
            cleanup.callback(_stop_instance, instance, notes)
            cleanup.callback(request_log.ask, instance)
            request_log.launched()
        take_boundary("first-response", instance, notes)
        if configuration.kind == "startup":
            _stay_idle(instance, notes)
            _check_conformance(instance, [notes])
        else:
            _make_warm(instance, sampler, notes)
            _load(instance, sampler, notes)
            if configuration.system_calls:
                notes.system_calls = count_system_calls(instance, notes)
        cool_down_began = now()
        if later or then is not None:
            _stop_sampler(sampler, notes)
            notes.phases.append(Phase(name="cool-down", start=cool_down_began, end=now()))
            if later:
                notes.stored_before = None  # what later loads store would be counted with it
            for step in later:
                made.append(going_on(notes, *step))
                _go_on(instance, made[-1])
            last = made[-1].load
            if then is not None and last is not None:
                then(last, partial(_again, instance, notes))
        if configuration.warm_up is not None:
            _check_conformance(instance, made)
    if not later and then is None:
        notes.phases.append(Phase(name="cool-down", start=cool_down_began, end=now()))


def _sampled_folder(notes: Notes, cleanup: contextlib.ExitStack) -> tuple[Path, Sampling]:
    """Open the trial's folder on the service's host and a sampler that writes there, until ``cleanup``."""
    spec, context = notes.spec, notes.context
    remote = open_folder(context.host, spec.folder, notes)
    cleanup.callback(context.host.close_folder, spec.folder)
    sampler = context.host.sampler(remote / SAMPLES, remote / "machine.csv", context.sampling_hz)
    cleanup.callback(_stop_sampler, sampler, notes)
    notes.ticks_hz["load"] = context.sampling_hz
    return remote, sampler


def _go_on(instance: Instance, notes: Notes) -> None:
    """Load a process that was loaded before, with a folder and a sampler of its own."""
    with contextlib.ExitStack() as cleanup:
        _, sampler = _sampled_folder(notes, cleanup)
        sampler.add("service", watch(instance))
        sample_backing(sampler, notes, cleanup)
        _load(instance, sampler, notes)


def _again(instance: Instance, first: Notes, spec: TrialSpec, context: TrialContext) -> LoadSummary:
    """Load the process once more, outside of any record.

    Raises:
        TrialFailure: service or generator ended early, or left nothing to read.
    """
    notes = going_on(first, spec, context)
    _go_on(instance, notes)
    if notes.load is None:
        raise TrialFailure("failed", notes.reason or "a load left nothing to read")
    return notes.load


def _load(instance: Instance, sampler: Sampling, notes: Notes) -> None:
    context = notes.context
    while True:
        if notes.spec.planned.configuration.warm_up is not None:
            _wait_for_speed(notes)
        take_boundary("before-load", instance, notes)
        measure(instance, sampler, notes)
        take_boundary("after-load", instance, notes)
        if context.speed_gate is not None:
            context.speed_gate.note(notes.cpu_speeds)
        if not to_be_repeated(notes):
            break
        set_aside(notes)
    if context.duet is None:
        notes.machine = machine_during_load(notes)
        return
    context.duet.tell(arm_cpu_s(notes))
    notes.machine = machine_during_load(notes, context.duet.partner_cpu_s)


def _wait_for_speed(notes: Notes) -> None:
    """Hold the trial back while another guest slows the CPUs. Arms of a duet meet the same speed without it."""
    gate, host = notes.context.speed_gate, notes.context.host
    if gate is not None and notes.context.duet is None:
        notes.speed_wait_s = gate.wait(host, cpus_at_work(notes), notes.speed_wait_s or 0.0)


def placement_of(runtime: RuntimeSettings, context: TrialContext) -> Placement:
    """Return which CPUs an instance with these settings gets, and which its load.

    Raises:
        InputError: it is to be pinned, and there are too few.
    """
    # the kubelet decides where pods run
    policy = "shared" if context.launcher.name == "kubernetes" else _POLICIES[runtime.pin]
    if context.load_apart:
        return place_on_two(context.cpus, runtime.cpus, context.load_host.name, policy, context.cores)
    return place(context.cpus, runtime.cpus, policy, context.cores)


def _bring_up(sampler: Sampling, notes: Notes) -> Instance:
    """Launch an instance, sampled from then on, on the CPUs that were meant for it, until its first right answer.

    Once more on another port when somebody took ours.
    """
    spec, context, configuration = notes.spec, notes.context, notes.spec.planned.configuration
    launch = LaunchSpec(
        implementation=spec.implementation,
        variant=configuration.variant,
        build=spec.build,
        folder=notes.service_folder,
        cpus=notes.placement.service,
        environment={name: value for each in notes.backing for name, value in each.environment.items()},
    )
    first, stderr = readiness_request(spec.requests), notes.service_folder / SERVICE_STDERR
    for attempts_left in reversed(range(ATTEMPTS_WHEN_PORT_TAKEN)):
        instance = context.launcher.launch(launch)
        try:
            record = notes.instance = instance.record
            context.note(context.host, pid=record.pid, role=configuration.variant_name, port=record.port)
            sampler.add("service", watch(instance))
            notes.start_up = wait_first_response(
                instance, first, spec.limits.ready_s, host=context.host, stderr=stderr
            )
            break
        except BaseException as problem:
            _stop_instance(instance, notes)
            if not (attempts_left and isinstance(problem, TrialFailure) and instance.port_taken()):
                raise
    notes.instance = instance.record
    notes.cpus_allowed = cpus_allowed(context.host, instance.record.pid)
    check_pinned(notes.placement.service, notes.cpus_allowed)
    return instance


def _check_conformance(instance: Instance, made: Sequence[Notes]) -> None:
    """Hold the instance against its contract: what it fails, all trials of its process fail.

    A lean handler answers a constant: its record has no conformance.
    """
    notes = made[0]
    spec, context, variant = notes.spec, notes.context, notes.spec.planned.configuration.variant
    if variant.lean:
        return
    try:
        with phase("conformance", notes):
            result = check(
                context.host.reach(instance.endpoint),
                spec.cases,
                face_of(variant.settings),
                spec.implementation.language,
                spec.implementation.name,
                settings=variant.settings,
            )
        for each in made:
            each.conformance = result
        refuse_crashed(instance, "while its answers were checked", notes)
        if result.failures:
            count = f"{len(result.failures)} of {result.n_cases} cases"
            raise TrialFailure("nonconforming", f"{count}: {result.failures[0]}")
    except TrialFailure as failure:
        for each in made:
            each.outcome, each.reason = Outcome(failure.outcome), failure.reason
        raise


def _make_warm(instance: Instance, sampler: Sampling, notes: Notes) -> None:
    """Check its answers and warm it up.

    Windows begin with the first request of all, so the check comes when all loads are over: its wrong requests take
    paths that a JIT compiler left out, and make a warm JVM compile again for many seconds.
    """
    spec, context, configuration = notes.spec, notes.context, notes.spec.planned.configuration
    if context.duet is not None:
        context.duet.add(instance.record.pid, instance.record.process_start_ticks)
        context.duet.begin()
    if configuration.warm_up is not None:
        notes.ticks_hz["warm-up"] = min(WARM_UP_HZ, context.sampling_hz)
        sampler.pace(notes.ticks_hz["warm-up"])
        with phase("warm-up", notes):
            warm_up_in_windows(instance, configuration.warm_up, notes)
        sampler.pace(context.sampling_hz)
    else:
        _check_conformance(instance, [notes])
        if configuration.warm_up_requests:
            with phase("warm-up", notes):
                warm_up(
                    context.host.reach(instance.endpoint),
                    spec.requests if spec.warm_up_requests is None else spec.warm_up_requests,
                    configuration.warm_up_requests,
                    users=configuration.warm_up_users,
                    fresh=configuration.warm_up_connections == "fresh",
                )


def _stay_idle(instance: Instance, notes: Notes) -> None:
    with phase("idle", notes):
        until = time.monotonic() + notes.spec.planned.configuration.idle_s
        while (left := until - time.monotonic()) > 0:
            refuse_crashed(instance, "while idle", notes)
            time.sleep(min(left, 0.1))
    take_boundary("idle", instance, notes)


def _stop_instance(instance: Instance, notes: Notes) -> None:
    notes.instance = instance.stop()
    notes.context.forget(notes.context.host, notes.instance.pid)
    notes.out_of_memory = instance.out_of_memory()


def _stop_sampler(sampler: Sampling, notes: Notes) -> None:
    summary = sampler.stop()
    notes.longest_gap_s, notes.missed_ticks = summary.longest_gap_s, summary.missed_ticks
    notes.ticks_by = summary.ticks_by


#: Of a load that is tried before the first trial.
MAX_REQUESTS, MAX_S = 50_000, 3.0


def rehearse(
    spec: TrialSpec,
    context: TrialContext,
    *,
    look: Callable[[Path], None] = lambda _folder: None,
    then: Then | None = None,
) -> TrialRecord:
    """Take a fresh instance through one configuration; ``order.folder`` is made anew before, and gone afterwards.

    ``look`` is given the folder before that; ``then``: as of ``run_trials``.
    """
    shutil.rmtree(spec.folder, ignore_errors=True)
    (spec.folder / "load").mkdir(parents=True)
    try:
        (record,) = run_trials([(spec, context)], then=then)
        look(spec.folder)
        return record
    finally:
        shutil.rmtree(spec.folder, ignore_errors=True)


def unplanned(name: str, configuration: Configuration) -> PlannedTrial:
    """Return the configuration as a trial that stands in no plan."""
    return PlannedTrial(trial_id=name, block=1, position=1, duplicate=False, configuration=configuration)


def bounded(profile: LoadProfile, n_steps: int = 1, most_s: float = MAX_S) -> LoadProfile:
    """Return the same load, short enough to be tried before the first trial; ``n_steps``: of a flow."""
    changes: dict[str, object]
    if not isinstance(profile, ClosedLoad):
        once = {"parts": 1, "pause_s": 0.0}
        return profile.model_copy(update={"duration_s": min(profile.duration_s, most_s), **once})
    if profile.whole_s is not None:  # all users from the start
        changes = {"stages": (), "duration_s": min(profile.whole_s, most_s)}
    else:
        changes = {"loops": max(1, min(profile.loops or 1, MAX_REQUESTS // (profile.users * n_steps)))}
    return profile.model_copy(update={**changes, "ramp_up_s": min(profile.ramp_up_s, 1.0)})
