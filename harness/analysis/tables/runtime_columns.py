# SPDX-License-Identifier: Apache-2.0
"""What a runtime said of itself at the edges of a trial's phases, and its warm-up in windows, as columns.

Go's collections, the JVM's native memory, what JIT compilers did during the load.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

import pandas as pd

from harness.analysis.tables.resource_columns import grown_under_load
from harness.analysis.warmup.curves import cold_start
from harness.errors import InputError
from harness.formats.runtime_metrics import RuntimeMetrics, parse_nmt, parse_runtime_metrics
from harness.model import SessionHeader, TrialRecord
from harness.model.age import COMPILED_SHARE, trial_age
from harness.model.trial import Boundary, pod_metrics_file
from harness.store import SessionFolder

#: Columns of the table of native memory; ``category`` "Total" is the JVM's own sum.
NATIVE_COLUMNS = ("boundary", "category", "reserved_bytes", "committed_bytes")
TOTAL = "Total"
COMPILED = "jvm_compilation_time_seconds_total"
#: Bytes that were allocated since the process started: of Go's own runtime, and of a JVM's threads.
ALLOCATED = ("go_gc_heap_allocs_bytes_total", "jvm_threads_allocated_bytes_total")


def runtime_columns(session: SessionFolder, record: TrialRecord) -> dict[str, object]:
    """Return the ``go_*`` columns of one trial: collections and pauses of the load, memory at its end; pods summed."""
    variant = record.planned.configuration.variant
    implementation = session.header.implementations.get(variant.implementation)
    if implementation is None or implementation.runtime != "go":
        return {}
    before, after = (process_metrics(session, record, name) for name in ("before-load", "after-load"))
    columns = {
        "go_heap_bytes": _sum(item.memory_classes_bytes.get("heap_objects") for item in after),
        "go_memory_bytes": _sum(item.memory_classes_bytes.get("total") for item in after),
    }
    if len(before) == len(after):
        pairs = list(zip(before, after, strict=True))
        columns["go_collections"] = _sum(_less(now.n_collections, then.n_collections) for then, now in pairs)
        columns["go_paused_s"] = _sum(_paused_s(then, now) for then, now in pairs)
    return {name: value for name, value in columns.items() if value is not None}


def request_columns(session: SessionFolder, record: TrialRecord) -> dict[str, object]:
    """Return what a request cost by counters: bytes allocated, and system calls; none that were not counted."""
    n_requests = 0 if record.load is None else record.load.n_requests
    columns: dict[str, object] = {}
    grown = (gauge_growth(session, record, counter) for counter in ALLOCATED)
    allocated = next((n_bytes for n_bytes in grown if n_bytes is not None), None)
    if n_requests and allocated is not None:
        columns["allocated_bytes_per_request"] = allocated / n_requests
    counted = record.extra.get("system_calls")
    calls = counted.get("calls") if isinstance(counted, dict) else None
    if isinstance(calls, dict) and (n_asked := counted["n_requests"]):  # type: ignore[index,call-overload]  # a dict
        columns["system_calls_per_request"] = calls["all"] / n_asked  # type: ignore[operator]  # the runner's numbers
    return columns


def compiled_s(session: SessionFolder, record: TrialRecord) -> float | None:
    """Return for how long all JIT compiler threads worked between the edges of the load by ``GET /metrics``, of pods on
    average; ``None``: no compiler, or not told at both edges."""
    n_processes = len(process_metrics(session, record, "after-load"))
    grown_s = gauge_growth(session, record, COMPILED)
    return None if grown_s is None else max(grown_s, 0.0) / n_processes


def with_age(
    row: Mapping[str, object], told_s: float | None, *, compiled_ahead: bool = False
) -> dict[str, object]:
    """Return a trial's row with its age, ``told_s`` where its ``compile_s`` is not known, and ``still_compiling``
    where JVMs
    compiled for a larger share of the load, with that of a search, than warm ones do."""
    compile_s, load_s, searched_s, warm_class = (
        row.get(name) for name in ("compile_s", "measurement_s", "search_load_s", "warm_class")
    )
    compiled = told_s if compile_s is None else float(compile_s)  # type: ignore[arg-type]  # a row's numbers
    loaded = None if load_s is None else float(load_s) + float(searched_s or 0.0)  # type: ignore[arg-type]
    flags = str(row["flags"]).split()
    if compiled is not None and loaded is not None and compiled > COMPILED_SHARE * loaded:
        flags.append("still_compiling")
    age = trial_age(
        compiled_ahead=compiled_ahead,
        warm_class=None if warm_class is None else str(warm_class),
        compile_s=compiled,
        load_s=loaded,
    )
    return dict(row) | {"compile_s": compiled, "age": age, "flags": " ".join(flags)}


def is_compiled_ahead(header: SessionHeader, record: TrialRecord) -> bool:
    """Return whether a trial's program was machine code before it started: Go, a native image, others without a JIT."""
    variant = record.planned.configuration.variant
    implementation = header.implementations.get(variant.implementation)
    runtime = None if implementation is None else implementation.runtime
    return variant.runtime.form == "native" or runtime in ("go", "native")


def gauge_growth(
    session: SessionFolder, record: TrialRecord, gauge: str, *, at_first: float | None = None
) -> float | None:
    """Return how much a service's own gauge grew during the load, all processes together; ``None``: not told at both
    edges."""
    before, after = (process_metrics(session, record, name) for name in ("before-load", "after-load"))
    if len(before) != len(after):
        return None
    return _sum(
        _less(now.gauges.get(gauge), then.gauges.get(gauge, at_first))
        for then, now in zip(before, after, strict=True)
    )


def _less(now: float | None, then: float | None) -> float | None:
    return None if now is None or then is None else now - then


def _paused_s(then: RuntimeMetrics, now: RuntimeMetrics) -> float | None:
    paused_s = _less(now.paused_s, then.paused_s)
    return None if paused_s is None or paused_s < 0 else paused_s  # below zero: the process was started anew


def native_memory(session: SessionFolder, record: TrialRecord) -> pd.DataFrame | None:
    """Return ``NATIVE_COLUMNS``, a row for each category at each boundary; ``None``: the JVM was not asked."""
    trial = record.planned.trial_id
    rows: list[tuple[str, str, int, int]] = []
    for boundary in record.boundaries:
        if boundary.nmt_file is None or not session.has(trial, boundary.nmt_file):
            continue
        try:
            result = parse_nmt(_text(session, trial, boundary.nmt_file))
        except InputError as error:
            raise InputError(str(error), file=session.path(trial, boundary.nmt_file)) from error
        parts = {TOTAL: result.total, **result.categories}
        rows += [(boundary.name, name, of.reserved_bytes, of.committed_bytes) for name, of in parts.items()]
    return pd.DataFrame(rows, columns=list(NATIVE_COLUMNS)) if rows else None


def process_metrics(session: SessionFolder, record: TrialRecord, name: str) -> tuple[RuntimeMetrics, ...]:
    """Return what each process of a service said on ``GET /metrics`` at a boundary; empty: one of them did not
    answer."""
    files = next(
        (metrics_files(record, boundary) for boundary in record.boundaries if boundary.name == name), ()
    )
    trial = record.planned.trial_id
    if not all(session.has(trial, file) for file in files):
        return ()
    return tuple(_parsed(_text(session, trial, file)) for file in files)


@lru_cache(maxsize=16)
def _parsed(text: str) -> RuntimeMetrics:
    """Several columns of a trial are read from the same answers."""
    return parse_runtime_metrics(text)


def metrics_files(record: TrialRecord, boundary: Boundary) -> tuple[str, ...]:
    """Return the name of each process's answer to ``GET /metrics`` at a boundary, the first pod's first."""
    if boundary.answered_by_pod:
        return tuple(pod_metrics_file(boundary.name, pod) for pod in boundary.answered_by_pod)
    around = None if record.instance is None else record.instance.kubernetes
    if boundary.runtime_metrics_file is None or (around is not None and around.replicas > 1):
        return ()
    return (boundary.runtime_metrics_file,)


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum; ``None``: there is no value, or one is not known."""
    result = list(values)
    known = [item for item in result if item is not None]
    return sum(known) if known and len(known) == len(result) else None


def _text(session: SessionFolder, trial: str, name: str) -> str:
    try:
        with session.open(trial, name) as stream:
            return stream.read().decode("utf-8", "replace")
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", file=session.where(trial, name)) from error


def warm_up_columns(record: TrialRecord) -> dict[str, object]:
    """Return the columns; what it took to become warm only for the first trial of a process."""
    compiled = grown_under_load(record, "compile_s")
    row: dict[str, object] = {"compile_s": None if compiled is None else max(0.0, compiled)}
    warm_up = record.warm_up
    if warm_up is None:
        return row
    row |= {"warm_class": warm_up.end, "earlier_loads": len(record.earlier_loads)}
    if record.planned.process_of is not None:
        return row
    cold, windows = cold_start(warm_up), warm_up.windows
    return row | {
        "warm_up_s": windows[-1].end_s if windows else None,
        "warm_up_requests": sum(window.n_requests for window in windows),
        "warm_up_cpu_s": _sum(window.cpu_s for window in windows) if windows else 0,
        "cold_s": cold.seconds,
        "cold_requests": cold.n_requests,
        "cold_cpu_s": cold.cpu_s,
        "cold_extra_cpu_s": cold.extra_cpu_s,
    }


def window_table(record: TrialRecord) -> pd.DataFrame | None:
    """Return one row per window, columns as of ``WarmUpWindow``; ``None``: there is none, or another trial has it."""
    if record.warm_up is None or record.planned.process_of is not None:
        return None
    numbers = "start_s", "duration_s", "n_requests", "n_errors", "cpu_s", "compile_s"
    kinds = dict.fromkeys(numbers, "float64")
    kinds |= {"n_requests": "int64", "n_errors": "int64"}
    rows = [window.model_dump() for window in record.warm_up.windows]
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)
