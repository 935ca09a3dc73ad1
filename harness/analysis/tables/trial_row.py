# SPDX-License-Identifier: Apache-2.0
"""From one trial's record, requests and samples to its row in ``trials.parquet``. Pure: nothing is read here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from harness.analysis.tables.latency_columns import echo_columns, latency_columns
from harness.analysis.tables.pod_columns import pod_columns
from harness.analysis.tables.resource_columns import (
    limit_columns,
    machine_of,
    memory_columns,
    phase_of,
    processor_columns,
    reading_at,
    request_log_columns,
)
from harness.analysis.tables.schema import factor_column
from harness.analysis.tables.settled import settled_answers
from harness.analysis.tables.speed_columns import speed_columns
from harness.analysis.tables.warm_up_columns import warm_up_columns
from harness.formats.table import RequestTable
from harness.model import (
    BuildRecord,
    EchoReading,
    MachineWindow,
    OpenLoad,
    Outcome,
    SessionHeader,
    TrialRecord,
)
from harness.model.session import coding_of


def trial_row(
    header: SessionHeader,
    record: TrialRecord,
    *,
    source: str,
    requests: RequestTable | None,
    samples: pd.DataFrame | None,
    echo: EchoReading | None,
    damage: str | None,
) -> dict[str, object]:
    """Return the row of one trial, with ``None`` for what is not known.

    What the load came to is told without the first ``settle_s`` of the profile. A tool without single requests
    cannot tell that, and then nothing is.

    Args:
        requests: of the measurement, where the tool wrote one row per request.
        samples: as ``samples.csv``.
        echo: what the echo service had under the same load.
        damage: why the trial's files cannot be trusted; excludes it.
    """
    reason = damage or _exclusion(record)
    settle_s = header.settle_s
    counted = _counted(record, requests, settle_s)
    machine = machine_of(record, samples)
    return (
        _identity(header, record, source)
        | {"excluded": reason is not None, "exclusion_reason": reason, "settle_s": settle_s}
        | _load(record, counted)
        | latency_columns(record, requests, settle_s)
        | echo_columns(echo)
        | processor_columns(
            record, samples, n_requests=None if counted is None else counted.n_requests, settle_s=settle_s
        )
        | memory_columns(record, samples, settle_s=settle_s)
        | _capacity(record)
        | _start_up(record)
        | request_log_columns(record, samples, settle_s=settle_s)
        | warm_up_columns(record)
        | _surroundings(record, machine)
        | speed_columns(record)
        | {"flags": " ".join(_flags(record, machine))}
    )


def _exclusion(record: TrialRecord) -> str | None:
    if record.outcome == Outcome.OK:
        return None
    return f"{record.outcome.value}: {record.reason}" if record.reason else record.outcome.value


def _identity(header: SessionHeader, record: TrialRecord, source: str) -> dict[str, object]:
    planned = record.planned
    cell = planned.configuration
    implementation = header.implementations.get(cell.variant.implementation)
    return {
        "experiment": record.experiment,
        "source": source,
        "session_id": record.session_id,
        "trial_id": planned.trial_id,
        "profile": header.plan.profile,
        "host": header.plan.host,
        "launcher": header.plan.launcher,
        "block": planned.block,
        "position": planned.position,
        "duplicate": planned.duplicate,
        "duet_partner": None if planned.duet is None else planned.duet.partner,
        "shares_cpus": planned.shares_cpus,
        "is_reference": cell.variant_name == header.experiment.reference,
        "variant": cell.variant_name,
        "label": cell.variant.label or cell.variant_name,
        "implementation": cell.variant.implementation,
        "coding": coding_of(cell.workload, cell.variant),
        "language": implementation.language if implementation else "unknown",
        "framework": implementation.framework if implementation else "unknown",
        "runtime_kind": implementation.runtime if implementation else "unknown",
        "gc": cell.variant.runtime.gc,
        "configuration": cell.key,
        "mix": cell.mix,
        "load_name": cell.load_name,
        "generator": cell.load.generator if cell.load else None,
        "load_model": cell.load.profile.model if cell.load else None,
        "outcome": record.outcome.value,
        "reason": record.reason,
    } | {factor_column(factor): level for factor, level in cell.levels.items()}


class _Counted(NamedTuple):
    """How many requests count, how many of them were answered rightly, and for how long they came."""

    n_requests: int
    n_right: int
    lasted_s: float


def _counted(record: TrialRecord, requests: RequestTable | None, settle_s: float) -> _Counted | None:
    """Return what counts of a trial's load; ``None``: there was none, or its settled part cannot be told."""
    load = record.load
    if load is None:
        return None
    if settle_s == 0:
        return _Counted(load.n_requests, load.n_requests - load.n_errors, load.duration_s)
    if requests is None:
        return None
    right, n_requests = settled_answers(requests, settle_s)
    return _Counted(n_requests, right.size, max(0.0, load.duration_s - settle_s))


def _load(record: TrialRecord, counted: _Counted | None) -> dict[str, object]:
    load = record.load
    if load is None:
        return {}
    whole: dict[str, object] = {
        "n_dropped": load.n_dropped,
        "n_flows": load.n_flows,
        "n_flows_right": load.n_flows_right,
        "offered_per_s": load.offered_per_s,
        "latency_resolution_s": load.resolution_s,
        "latency_method": load.latency_method,
    }
    if counted is None:
        return whole
    asking_s = counted.lasted_s - _paused_s(record)
    return whole | {
        "n_requests": counted.n_requests,
        "n_errors": counted.n_requests - counted.n_right,
        "throughput_per_s": counted.n_right / asking_s if asking_s > 0 else None,
        "measurement_s": counted.lasted_s,
    }


def _capacity(record: TrialRecord) -> dict[str, object]:
    search = record.search
    return {} if search is None else {"capacity_per_s": search.lower_per_s, "search_load_s": search.load_s}


def _paused_s(record: TrialRecord) -> float:
    """For how long nothing was asked, between the parts of a load."""
    load = record.planned.configuration.load
    return load.profile.paused_s if load is not None and isinstance(load.profile, OpenLoad) else 0.0


def _start_up(record: TrialRecord) -> dict[str, object]:
    start, first, idle = record.start_up, reading_at(record, "first-response"), reading_at(record, "idle")
    idle_cpu = None
    if first and idle and first.cpu_s is not None and idle.cpu_s is not None:
        idle_cpu = max(0.0, idle.cpu_s - first.cpu_s)
    return {
        "time_to_first_response_s": start.time_to_first_response_s if start else None,
        "cpu_s_at_first_response": start.cpu_s_at_first_response if start else None,
        "rss_at_first_response_bytes": start.rss_bytes_at_first_response if start else None,
        "idle_rss_bytes": idle.rss_bytes if idle else None,
        "idle_cpu_s": idle_cpu,
    }


def _flags(record: TrialRecord, machine: MachineWindow | None) -> tuple[str, ...]:
    """The record's flags, but for noise that was the reader of the trial's own request log."""
    phase = phase_of(record, "measurement")
    if machine is None or machine is record.machine or phase is None:
        return record.flags
    noisy = machine.is_noisy(phase.end.monotonic_s - phase.start.monotonic_s)
    return tuple(flag for flag in record.flags if flag != "noisy_machine" or noisy)


def _surroundings(record: TrialRecord, machine: MachineWindow | None) -> dict[str, object]:
    generator, instance = record.generator, record.instance
    return {
        "echo_per_s": generator.echo_achieved_per_s if generator else None,
        "headroom_ratio": generator.headroom_ratio if generator else None,
        "artifact_bytes": instance.artifact_bytes if instance else None,
        "runtime_bytes": instance.runtime_bytes if instance else None,
        "psi_cpu_some_s": machine.psi_cpu_some_s if machine else None,
        "steal_s": machine.steal_s if machine else None,
        "other_cpu_s": machine.other_cpu_s if machine else None,
        "throttled_s": machine.throttled_s if machine else None,
    } | (limit_columns(record) | pod_columns(record))


def build_seconds(
    record_sha256: str | None, implementation: str, builds: Mapping[str, BuildRecord]
) -> float | None:
    """Return how long the artifact took to build; ``None``: taken from an earlier build, or unknown."""
    same = [build for build in builds.values() if build.artifact_sha256 == record_sha256]
    found = same or [build for build in builds.values() if build.implementation == implementation]
    return next((build.build_s for build in found if build.build_s is not None), None)
