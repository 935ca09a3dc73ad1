# SPDX-License-Identifier: Apache-2.0
"""From one trial's record, requests and samples to its row in ``trials.parquet``. Pure: nothing is read here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from harness.analysis.stats.about_services import ECHO
from harness.analysis.stats.inputs import Floats
from harness.analysis.stats.quantiles import LATENCIES, MEAN, quantile_refused, rank
from harness.analysis.tables.resource_columns import (
    limit_columns,
    machine_of,
    phase_of,
    pod_columns,
    reading_at,
    speed_columns,
    used_columns,
)
from harness.analysis.tables.runtime_columns import warm_up_columns
from harness.analysis.tables.schema import factor_column
from harness.formats.table import RequestTable
from harness.model import (
    BuildRecord,
    EchoReading,
    LoadSummary,
    MachineWindow,
    OpenLoad,
    Outcome,
    SessionHeader,
    TrialRecord,
)
from harness.model.session import coding_of

#: Column -> where the record has it; empty where it lacks a part of the way.
_OF_RECORD = {
    "n_dropped": "load.n_dropped", "n_flows": "load.n_flows", "n_flows_right": "load.n_flows_right",
    "offered_per_s": "load.offered_per_s", "late_share": "load.late_share",
    "latency_method": "load.latency_method", "latency_resolution_s": "load.resolution_s",
    "capacity_per_s": "search.lower_per_s", "search_load_s": "search.load_s",
    "time_to_first_response_s": "start_up.time_to_first_response_s",
    "cpu_s_at_first_response": "start_up.cpu_s_at_first_response",
    "rss_at_first_response_bytes": "start_up.rss_bytes_at_first_response", "log_requests": "request_log.requests",
    "log_lines": "request_log.lines", "log_lines_lost": "request_log.lost",
    "echo_per_s": "generator.echo_achieved_per_s", "headroom_ratio": "generator.headroom_ratio",
    "artifact_bytes": "instance.artifact_bytes", "runtime_bytes": "instance.runtime_bytes",
    "image_bytes": "instance.container.image_bytes", "container_create_s": "instance.container.create_s",
    "container_start_s": "instance.container.start_s", "psi_cpu_some_s": "machine.psi_cpu_some_s",
    "steal_s": "machine.steal_s", "other_cpu_s": "machine.other_cpu_s", "throttled_s": "machine.throttled_s",
}  # fmt: skip
#: Column -> at which boundary, and what was read there.
_OF_READING = {
    "rss_before_bytes": ("before-load", "rss_bytes"), "rss_after_bytes": ("after-load", "rss_bytes"),
    "pss_after_bytes": ("after-load", "pss_bytes"), "idle_rss_bytes": ("idle", "rss_bytes"),
}  # fmt: skip


def is_settled(start_epoch_s: ArrayLike, settle_s: float) -> NDArray[np.bool_]:
    """Return which requests count, shape (n,): begun ``settle_s`` or more after the first; without a start for 0
    only."""
    start: Floats = np.asarray(start_epoch_s, dtype=np.float64)
    if settle_s == 0 or np.isnan(start).all():
        return np.full(start.shape, settle_s == 0)
    return np.asarray(start >= np.nanmin(start) + settle_s)


def settled_requests(requests: pd.DataFrame, settle_s: float) -> pd.DataFrame:
    """Return the requests that count, of one trial's table with ``start_epoch_s``."""
    if settle_s == 0:
        return requests
    chosen: pd.DataFrame = requests[is_settled(requests["start_epoch_s"], settle_s)]
    return chosen


def settled_answers(requests: RequestTable, settle_s: float) -> tuple[Floats, int]:
    """Return the latencies in seconds of the correct answers that count, and how many requests count in all."""
    counted = is_settled(requests.start_epoch_s, settle_s)
    return requests.latency_s[counted & requests.ok], int(np.count_nonzero(counted))


class LoadLatencies(NamedTuple):
    """Latencies of one load in seconds by the keys of ``LoadSummary``; without a key: so many requests cannot tell."""

    mean_s: float | None = None
    quantiles_s: Mapping[str, float] = MappingProxyType({})
    max_s: float | None = None


def load_latencies(load: LoadSummary, requests: RequestTable | None, settle_s: float = 0.0) -> LoadLatencies:
    """Return the latencies of a load's right answers, of its rows, else as the tool prints them; none of a tool without
    rows where ``settle_s`` is left out."""
    if requests is None:
        return LoadLatencies() if settle_s else _printed(load)
    right = np.sort(settled_answers(requests, settle_s)[0])
    if right.size == 0:
        return LoadLatencies()
    quantiles = {
        _key(q): float(right[rank(right.size, q) - 1])
        for q in LATENCIES.values()
        if quantile_refused(right.size, q) is None
    }
    return LoadLatencies(float(right.mean()), quantiles, float(right[-1]))


def _printed(load: LoadSummary) -> LoadLatencies:
    n_latencies = load.n_requests if load.n_latencies is None else load.n_latencies
    quantiles = {
        _key(q): value
        for q in LATENCIES.values()
        if quantile_refused(n_latencies, q) is None and (value := load.quantile_s(q)) is not None
    }
    most = load.latency_quantiles_s.get("max", load.latency_quantiles_s.get("p100"))
    return LoadLatencies(load.latency_mean_s, quantiles, most)


def echo_columns(reading: EchoReading | None) -> dict[str, object]:
    """Return the latencies of the echo service; none where it was not tried, or nobody kept them."""
    if reading is None:
        return {}
    result = _columns(reading.latency_mean_s, reading.latency_quantiles_s)
    return {f"{ECHO}{column}": value for column, value in result.items()}


def _columns(mean_s: float | None, quantiles_s: Mapping[str, float]) -> dict[str, object]:
    return {MEAN: mean_s, **{column: quantiles_s.get(_key(q)) for column, q in LATENCIES.items()}}


def _key(q: float) -> str:
    return f"p{q * 100:g}"


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

    Args:
        requests: of the measurement, where the tool wrote one row per request. echo: under the same load.
        damage: why the trial's files cannot be trusted; excludes it.
    """
    reason = damage
    if reason is None and record.outcome != Outcome.OK:
        reason = f"{record.outcome.value}: {record.reason}" if record.reason else record.outcome.value
    settle_s = header.settle_s
    counted, machine = _counted(record, requests, settle_s), machine_of(record, samples)
    flags = " ".join(_flags(record, machine))
    record = record.model_copy(update={"machine": machine})
    latencies: dict[str, object] = {}
    if record.load is not None:
        known = load_latencies(record.load, requests, settle_s)
        latencies = _columns(known.mean_s, known.quantiles_s) | {"latency_max_s": known.max_s}
    return (
        _identity(header, record, source)
        | {"excluded": reason is not None, "exclusion_reason": reason, "settle_s": settle_s, "flags": flags}
        | {
            column: reduce(lambda of, name: getattr(of, name, None), path.split("."), cast(Any, record))
            for column, path in _OF_RECORD.items()
        }
        | {column: getattr(reading_at(record, at), name, None) for column, (at, name) in _OF_READING.items()}
        | ({} if counted is None else _load(record, counted))
        | latencies
        | echo_columns(echo)
        | used_columns(
            record, samples, n_requests=None if counted is None else counted.n_requests, settle_s=settle_s
        )
        | warm_up_columns(record)
        | limit_columns(record)
        | pod_columns(record)
        | speed_columns(record)
    )


def _identity(header: SessionHeader, record: TrialRecord, source: str) -> dict[str, object]:
    planned, plan = record.planned, header.plan
    cell, variant = planned.configuration, planned.configuration.variant
    implementation = header.implementations.get(variant.implementation)
    return {
        "experiment": record.experiment, "source": source, "session_id": record.session_id,
        "trial_id": planned.trial_id, "profile": plan.profile, "host": plan.host, "launcher": plan.launcher,
        "block": planned.block, "position": planned.position, "duplicate": planned.duplicate,
        "duet_partner": None if planned.duet is None else planned.duet.partner, "shares_cpus": planned.shares_cpus,
        "is_reference": cell.variant_name == header.experiment.reference, "variant": cell.variant_name,
        "label": variant.label or cell.variant_name, "implementation": variant.implementation,
        "coding": coding_of(cell.workload, variant),
        "language": implementation.language if implementation else "unknown",
        "framework": implementation.framework if implementation else "unknown",
        "gc": variant.runtime.gc, "configuration": cell.key, "mix": cell.mix, "load_name": cell.load_name,
        "generator": cell.load.generator if cell.load else None,
        "load_model": cell.load.profile.model if cell.load else None,
        "outcome": record.outcome.value, "reason": record.reason,
    } | {factor_column(factor): level for factor, level in cell.levels.items()}  # fmt: skip


class _Counted(NamedTuple):
    """How many requests count, how many of them were answered rightly, and for how long they came."""

    n_requests: int
    n_right: int
    lasted_s: float


def _counted(record: TrialRecord, requests: RequestTable | None, settle_s: float) -> _Counted | None:
    """Return what counts of a trial's load; ``None``: there was none, or its settled part is not known."""
    load = record.load
    if load is None:
        return None
    if settle_s == 0:
        return _Counted(load.n_requests, load.n_requests - load.n_errors, load.duration_s)
    if requests is None:
        return None
    right, n_requests = settled_answers(requests, settle_s)
    return _Counted(n_requests, right.size, max(0.0, load.duration_s - settle_s))


def _load(record: TrialRecord, counted: _Counted) -> dict[str, object]:
    asked = record.planned.configuration.load  # nothing is asked between the parts of a load
    paused_s = asked.profile.paused_s if asked is not None and isinstance(asked.profile, OpenLoad) else 0.0
    asking_s = counted.lasted_s - paused_s
    return {
        "n_requests": counted.n_requests,
        "n_errors": counted.n_requests - counted.n_right,
        "throughput_per_s": counted.n_right / asking_s if asking_s > 0 else None,
        "measurement_s": counted.lasted_s,
    }


def _flags(record: TrialRecord, machine: MachineWindow | None) -> tuple[str, ...]:
    """The record's flags, but for noise that was the reader of the trial's own request log."""
    phase = phase_of(record, "measurement")
    if machine is None or machine is record.machine or phase is None:
        return record.flags
    noisy = machine.is_noisy(phase.end.monotonic_s - phase.start.monotonic_s)
    return tuple(flag for flag in record.flags if flag != "noisy_machine" or noisy)


def build_seconds(record: TrialRecord, builds: Mapping[str, BuildRecord]) -> float | None:
    """Return how long the artifact took to build; ``None``: taken from an earlier build, or unknown."""
    sha256 = record.instance.artifact_sha256 if record.instance else None
    implementation = record.planned.configuration.variant.implementation
    same = [build for build in builds.values() if build.artifact_sha256 == sha256]
    same = same or [build for build in builds.values() if build.implementation == implementation]
    return next((build.build_s for build in same if build.build_s is not None), None)
