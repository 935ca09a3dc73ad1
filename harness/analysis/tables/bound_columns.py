# SPDX-License-Identifier: Apache-2.0
"""What bounded a trial, as columns: from record, samples, ``machine.csv`` and ``database.csv``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO

import pandas as pd

from harness.analysis.tables.bound import Connections, Facts, HostUse, Part, Rates, what_bounds
from harness.analysis.tables.resource_columns import (
    LOG_READER,
    cpu_in_window,
    grown_within,
    load_window,
    phase_of,
)
from harness.errors import InputError
from harness.model import ClosedLoad, LoadSummary, Provenance, TrialRecord
from harness.model.load_tools import BY_NAME
from harness.store import SessionFolder

DATABASE_FILE = "database.csv"
_STATES = ("n_active", "n_idle", "n_idle_in_transaction", "n_starting")
_COLUMNS = ("epoch_s", *_STATES, "n_waiting_for_lock", "deadlocks", "xact_commit", "xact_rollback")


def read_database(stream: IO[bytes]) -> pd.DataFrame:
    """Return ``database.csv`` as numbers, without a last line that was cut. Raises InputError: it is no such file."""
    try:
        frame = pd.read_csv(stream, on_bad_lines="skip", encoding_errors="replace")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise InputError(f"not a table ({error})", file=DATABASE_FILE) from error
    missing = [name for name in _COLUMNS if name not in frame]
    if missing:
        raise InputError(
            "not what the database's watch writes", file=DATABASE_FILE, place=missing[0], found="absent"
        )
    numbers = pd.DataFrame({name: pd.to_numeric(frame[name], errors="coerce") for name in _COLUMNS})
    return numbers.dropna().reset_index(drop=True)


def connections_under_load(
    session: SessionFolder, record: TrialRecord, settle_s: float = 0.0
) -> pd.DataFrame | None:
    """Return the readings of a trial's database, two a second, from ``settle_s`` after the first request to the last
    answer, with ``n_open``, all connections; ``None``: there is none."""
    load, trial_id = record.load, record.planned.trial_id
    if load is None or load.start_epoch_s is None or not session.has(trial_id, DATABASE_FILE):
        return None
    try:
        with session.open(trial_id, DATABASE_FILE) as stream:
            rows = read_database(stream)
    except InputError:  # it was killed before it wrote a line
        return None
    inside = rows[
        rows["epoch_s"].between(load.start_epoch_s + settle_s, load.start_epoch_s + load.duration_s)
    ]
    return None if inside.empty else inside.assign(n_open=inside[list(_STATES)].sum(axis=1))


MACHINE = "machine.csv"
#: Role in the samples -> name of the backing service in the record.
BACKING_ROLES = {"database": "postgresql", "upstream": "upstream"}

Window = tuple[float, float]
Cpus = frozenset[tuple[str, int]]


def bound_columns(
    session: SessionFolder, record: TrialRecord, samples: pd.DataFrame | None
) -> dict[str, object]:
    """Return what bounded a trial within the part of its load that counts: ``bound_by``, ``bound_why`` and the shares
    that they rest on; none for a trial without a load."""
    if record.load is None or record.planned.configuration.load is None:
        return {}
    window = load_window(record, session.header.settle_s)
    if window is not None and window[1] <= window[0]:
        window = None
    needs = session.header.implementations[record.planned.configuration.variant.implementation].needs
    parts = _parts(session.header.provenance, needs, record, samples, window)
    missing = [f"no CPU time of the {part.name} was sampled" for part in parts if part.cores is None]
    seen = Facts(
        parts=parts, asked=_asked(record, record.load), around=_around(session, record, window, parts),
        connections=_connections(session, record),
        missing=tuple(missing) if window else ("when the load ran is not known",),
        n_arms=2 if record.duet is not None else int(record.planned.shares_cpus),
    )  # fmt: skip
    bound = what_bounds(seen)
    shares = ("service_share", "generator_share", "backing_share", "machine_share")
    return {"bound_by": bound.by, "bound_why": bound.why} | {name: getattr(bound, name) for name in shares}


def _parts(
    provenance: Provenance, needs: Sequence[str], record: TrialRecord, samples: pd.DataFrame | None,
    window: Window | None,
) -> tuple[Part, ...]:  # fmt: skip
    instance, generator = record.instance, record.generator

    def cores(*roles: str) -> float | None:
        """CPUs' worth of time that these roles used; None: that of one of them is not known."""
        if samples is None or window is None:
            return None
        used = [cpu_in_window(samples, role, window) for role in roles]
        known = [seconds for seconds in used if seconds is not None]
        return sum(known) / (window[1] - window[0]) if len(known) == len(used) else None

    whole = _named("service", range(provenance.machine.n_cpus))
    if instance is not None and not instance.cpu_affinity and instance.cpus_allowed:
        whole = _named("service", instance.cpus_allowed)  # as the kernel numbers them
    with_reader = cores("generator", LOG_READER)  # which has the CPUs of the generator
    pinned = () if generator is None or "load" in provenance.machines else generator.cpu_affinity
    generator_cpus = _cpus(provenance, "load", pinned) or whole
    parts = [
        Part(
            name="service", cores=cores("service"), most=_quota(record),
            cpus=_cpus(provenance, "service", instance.cpu_affinity if instance is not None else ()) or whole,
        ),
        Part(
            name="generator", cores=cores("generator") if with_reader is None else with_reader,
            cpus=generator_cpus, most=_threads(record),
            spins=generator is not None and generator.name in BY_NAME and BY_NAME[generator.name].never_sleeps,
        ),
    ]  # fmt: skip
    # behind a later load of a process as well, where sessions before 2026-11-30 have no sample of it
    needed = [role for role, name in BACKING_ROLES.items() if name in needs]
    if needed:
        of_backing = sorted({cpu for item in record.backing for cpu in item.cpu_affinity})
        cpus = _cpus(provenance, "database", of_backing) or generator_cpus
        parts.append(Part(name="backing", cores=cores(*needed), cpus=cpus))
    return tuple(parts)


def _cpus(provenance: Provenance, role: str, pinned: Sequence[int]) -> Cpus:
    """The CPUs of a role: those it is pinned to, else all of a machine of its own; none: all of the service's."""
    own = role if role in provenance.machines and role != "service" else "service"
    if pinned or own == "service":
        return _named(own, pinned)
    return _named(own, range(provenance.machines[own].n_cpus))


def _named(machine: str, cpus: Sequence[int]) -> Cpus:
    return frozenset((machine, cpu) for cpu in cpus)


def _quota(record: TrialRecord) -> float | None:
    """CPUs' worth of time that the service was allowed, by its control group or its runtime."""
    instance = record.instance
    if instance is None:
        return None
    if instance.kubernetes is not None:  # the limit is that of each pod
        limit = instance.kubernetes.cpu_limit or instance.cpu_limit
        return None if limit is None else float(limit) * instance.kubernetes.replicas
    quotas: list[float | None] = [instance.cpu_limit]
    quotas += [around.cpu_quota for around in (instance.container, instance.limits) if around is not None]
    return min((float(quota) for quota in quotas if quota), default=None)


def _threads(record: TrialRecord) -> float | None:
    """How many CPUs the generator's own threads could use at once; ``None``: as many as there are."""
    generator = record.generator
    tool = None if generator is None else BY_NAME.get(generator.name)
    if generator is None or tool is None:
        return None
    if tool.runs_as == "python":  # which lets one thread at a time work
        return 1.0
    if tool.threads_option is not None and tool.threads_option in generator.argv[:-1]:
        threads = generator.argv[generator.argv.index(tool.threads_option) + 1]
        return float(threads) if threads.isdigit() else None
    return None


def _asked(record: TrialRecord, load: LoadSummary) -> Rates:
    configured, generator = record.planned.configuration.load, record.generator
    assert configured is not None
    echo = generator.echo_achieved_per_s if generator else None
    profile = configured.profile
    if not isinstance(profile, ClosedLoad):
        return Rates(offered_per_s=load.offered_per_s, achieved_per_s=load.achieved_per_s, echo_per_s=echo)
    if profile.loops == 1 and profile.ramp_up_s > 0 and load.duration_s > 0 and load.n_requests:
        n_passes = load.n_requests if load.n_flows is None else load.n_flows
        share = n_passes / load.n_requests
        return Rates(
            offered_per_s=profile.users / profile.ramp_up_s,
            achieved_per_s=load.achieved_per_s * share,
            echo_per_s=None if echo is None else echo * share,
        )
    return Rates(
        achieved_per_s=load.achieved_per_s,
        echo_per_s=echo,
        headroom_ratio=generator.headroom_ratio if generator else None,
        users=profile.users if not profile.think_time_s and not profile.stages else None,
    )


def _around(
    session: SessionFolder, record: TrialRecord, window: Window | None, parts: Sequence[Part]
) -> HostUse:
    """What the service's machine did while the load ran; where it was not sampled, from the record."""
    machine, phase = record.machine, phase_of(record, "measurement")
    n_cpus = session.header.provenance.machine.n_cpus
    span = 0.0 if phase is None else phase.end.monotonic_s - phase.start.monotonic_s

    def of_phase(seconds: float | None) -> float | None:
        return None if seconds is None or span <= 0 else max(0.0, seconds) / span

    rates = _machine_rates(session, record, window)
    others_cores: float | None = None
    if rates is not None:
        used = [part.cores for part in parts if any(name == "service" for name, _ in part.cpus)]
        # the other arm of a duet is no neighbour
        used += [of_phase(record.duet.partner_cpu_s)] if record.duet is not None else []
        busy, known = rates["total_cpu_s"] or 0.0, [cores for cores in used if cores is not None]
        others_cores = max(0.0, busy - sum(known)) if len(known) == len(used) else None
        if rates["idle_s"] is not None:
            n_cpus = round(busy + rates["idle_s"] + (rates["steal_s"] or 0.0)) or n_cpus
    elif machine is not None:
        rates = {name: of_phase(getattr(machine, name)) for name in _RATES[1:]}
        others_cores = of_phase(machine.other_cpu_s)
    rates = rates or {}
    return HostUse(
        n_cpus=n_cpus, stolen_cores=rates.get("steal_s"), other_cores=others_cores, idle_cores=rates.get("idle_s"),
        waited_for_memory=rates.get("psi_memory_some_s"), waited_for_disks=rates.get("psi_io_some_s"),
    )  # fmt: skip


_RATES = ("total_cpu_s", "idle_s", "steal_s", "psi_memory_some_s", "psi_io_some_s")


def _machine_rates(
    session: SessionFolder, record: TrialRecord, window: Window | None
) -> dict[str, float | None] | None:
    trial_id = record.planned.trial_id
    if window is None or not session.has(trial_id, MACHINE):
        return None
    with session.open(trial_id, MACHINE) as stream:
        try:
            rows = pd.read_csv(stream)
        except (pd.errors.EmptyDataError, pd.errors.ParserError):
            return None
    grown = {name: grown_within(rows, name, window) for name in _RATES}
    span = window[1] - window[0]
    rates = {name: None if seconds is None else seconds / span for name, seconds in grown.items()}
    return rates if rates["total_cpu_s"] is not None else None


def _connections(session: SessionFolder, record: TrialRecord) -> Connections | None:
    rows = connections_under_load(session, record, session.header.settle_s)
    if rows is None:
        return None
    pool = record.planned.configuration.variant.settings.get("pool_size")
    return Connections(
        n_active=float(rows["n_active"].mean()),
        n_in_use=float((rows["n_active"] + rows["n_idle_in_transaction"]).mean()),
        n_waiting_for_lock=float(rows["n_waiting_for_lock"].mean()),
        at_most=pool if isinstance(pool, int) and not isinstance(pool, bool) else None,
    )
