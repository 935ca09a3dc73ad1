# SPDX-License-Identifier: Apache-2.0
"""What stands behind a trial's instance: started before it, questioned after it, stopped after that.

Order of the end: the instance, then the invariants (nobody works with the database any more, and no
statement is under way), then the backing services, then the sampler.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from harness.agent.sampler import Subject
from harness.errors import TrialFailure
from harness.measure.runner.context import Notes, open_folder, phase
from harness.measure.runner.request_log import compare_promises
from harness.model import BackingSettings, Outcome
from harness.places.backing import BackingNeed, BackingService
from harness.places.hosts.measuring import Sampling
from harness.places.sampling import merge

#: Of a machine that only backing services stand on: its sampler's files, in a folder of their own meanwhile.
OWN_FOLDER, OWN_SAMPLES, OWN_MACHINE = "backing", "backing-samples.csv", "machine-database.csv"
#: Roles in ``samples.csv``.
ROLES = {"postgresql": "database", "upstream": "upstream"}
#: How a trial may have ended when its database turns out to be gone: what it then says is a consequence.
_NO_REASON_OF_ITS_OWN = (
    Outcome.OK, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.OVERLOADED, Outcome.NONCONFORMING,
)  # fmt: skip


def bring_up_backing(sampler: Sampling, notes: Notes, cleanup: contextlib.ExitStack) -> None:
    """Start what the implementation needs; ``cleanup`` stops it and, before that, asks for the invariants."""
    spec, context = notes.spec, notes.context
    needs = spec.implementation.needs
    if not needs:
        return
    settings = spec.planned.configuration.backing or BackingSettings()
    # by default not on the service's own CPUs: the articles gave the database a machine of its own
    cpus = notes.placement.generator if settings.beside == "generator" else notes.placement.service
    need = BackingNeed(
        workload=spec.implementation.workload,
        contract=spec.contract,
        settings=settings,
        cpus=None if context.backing_apart else cpus,
    )
    with phase("backing", notes):
        for name in needs:
            service = context.backing[name].start(need, spec.folder)
            cleanup.callback(_stop, service, notes)
            record = service.record
            context.note(context.backing_host, pid=record.pid, role=ROLES[name], port=record.port)
            notes.backing.append(service)
            if record.n_trials_before:
                # never wiped: what an earlier trial broke is that trial's, and stays in the tables
                notes.off_before |= {row.name: row.found - row.expected for row in service.invariants()}
    sample_backing(sampler, notes, cleanup)
    cleanup.callback(_ask, notes)


def sample_backing(sampler: Sampling, notes: Notes, cleanup: contextlib.ExitStack) -> None:
    """Sample what stands behind an instance from now on, on the machine where it stands."""
    if notes.backing and notes.context.backing_apart:
        sampler = _sampler_there(notes, cleanup)
    for service in notes.backing:
        sampler.add(ROLES[service.record.name], watch_backing(service))


def _sampler_there(notes: Notes, cleanup: contextlib.ExitStack) -> Sampling:
    """Return the sampler of a machine that only backing services stand on."""
    context, local = notes.context, notes.spec.folder / OWN_FOLDER
    local.mkdir(exist_ok=True)
    remote = open_folder(context.backing_host, local, notes)
    cleanup.callback(context.backing_host.close_folder, local)
    own = context.backing_host.sampler(remote / OWN_SAMPLES, remote / OWN_MACHINE, context.sampling_hz)
    cleanup.callback(own.stop)
    return own


def lay_together(folder: Path, samples: str) -> None:
    """Have what another machine's sampler wrote lie where it lies when one machine has it all."""
    own = folder / OWN_FOLDER
    merge(folder / samples, own / OWN_SAMPLES)
    if (own / OWN_MACHINE).is_file():
        (own / OWN_MACHINE).rename(folder / OWN_MACHINE)
    with contextlib.suppress(OSError):  # there was none
        own.rmdir()


def watch_backing(service: BackingService) -> Subject:
    """Return what a sampler needs to know of a backing service. A database forks one process per connection."""
    record = service.record
    return Subject(
        pid=record.pid,
        start_ticks=record.process_start_ticks,
        cpu_at_launch_s=service.cpu_at_launch_s,
        short_lived=record.name == "postgresql",
    )


def backing_cpu_s(notes: Notes) -> float | None:
    """Return the CPU time that all backing services used so far; ``None`` when one of them cannot be asked."""
    total_s = 0.0
    for service in notes.backing:
        reading = notes.context.backing_host.resources(watch_backing(service), pss=False)
        if reading.cpu_s is None:
            return None
        total_s += reading.cpu_s
    return total_s


def log_reader_cpu_s(notes: Notes) -> float | None:
    """Return the CPU time that the reader of the request log's pipe used so far; ``None``: there is none."""
    if notes.log_reader is None:
        return None
    return notes.context.host.resources(notes.log_reader, pss=False).cpu_s


def judge_backing(notes: Notes) -> None:
    """Let what was found behind the instance decide, now that everything has ended.

    Lost money outweighs whatever else went wrong, and a database that died explains it.
    """
    broken: list[str] = []
    for row in (row for row in notes.invariants if not row.holds):
        before = f", off by {row.already_off} before this trial" if row.already_off else ""
        broken.append(f"{row.name}: found {row.found}, expected {row.expected}{before}")
    for stored in (stored for stored in notes.stored if not stored.holds):
        lost = stored.n_stored < stored.n_right
        promised = f"{stored.n_right} answered rightly" if lost else f"{stored.n_sent} sent"
        broken.append(f"{stored.request}: {promised}, {stored.n_stored} stored")
    failure, reason = notes.backing_failure, notes.reason
    if failure is not None and notes.outcome in _NO_REASON_OF_ITS_OWN:
        notes.outcome = Outcome.FAILED
        if reason is None or failure not in reason:
            notes.reason = failure if reason is None else f"{failure}; seen by the trial: {reason}"
    if broken:
        is_ok = notes.outcome == Outcome.OK
        earlier = "" if is_ok else f"; before that: {notes.outcome.value}: {notes.reason}"
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        notes.outcome, notes.reason = Outcome.INCONSISTENT, f"{broken[0]}{more}{earlier}"


def _ask(notes: Notes) -> None:
    if notes.instance is None:
        return  # nothing was launched, so nothing can have been lost
    load = notes.spec.planned.configuration.load
    try:
        notes.invariants = tuple(
            row.model_copy(update={"already_off": notes.off_before.get(row.name, 0)})
            for service in notes.backing
            for row in service.invariants()
        )
        notes.stored = compare_promises(notes, load.profile if load is not None else None)
    except TrialFailure as failure:
        notes.backing_failure = failure.reason


def _stop(service: BackingService, notes: Notes) -> None:
    how = service.ended()
    if how is not None:
        notes.backing_failure = how
    try:
        service.stop()
    finally:
        record = service.record
        notes.backing_records.insert(0, record)  # stopped in reverse
        if record.exit_code is not None:
            notes.context.forget(notes.context.backing_host, record.pid)
