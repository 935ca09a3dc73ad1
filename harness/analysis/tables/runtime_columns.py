# SPDX-License-Identifier: Apache-2.0
"""What a runtime said of itself at the edges of a trial's phases, and its warm-up in windows, as columns."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache

import pandas as pd

from harness.analysis.tables.resource_columns import grown_under_load
from harness.analysis.warmup.curves import cold_start
from harness.errors import InputError
from harness.formats.runtime_metrics import RuntimeMetrics, parse_runtime_metrics
from harness.model import SessionHeader, TrialRecord
from harness.model.age import COMPILED_SHARE, trial_age
from harness.model.started import difference
from harness.model.trial import Boundary, pod_metrics_file
from harness.store import SessionFolder

COMPILED = "jvm_compilation_time_seconds_total"
#: Bytes that were allocated since the process started: of Go's own runtime, and of a JVM's threads.
ALLOCATED = ("go_gc_heap_allocs_bytes_total", "jvm_threads_allocated_bytes_total")


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
    """Return the seconds that JIT compilers worked between the edges of the load, of pods on average; ``None``:
    unknown."""
    n_processes = len(process_metrics(session, record, "after-load"))
    grown_s = gauge_growth(session, record, COMPILED)
    return None if grown_s is None else max(grown_s, 0.0) / n_processes


def with_age(
    row: Mapping[str, object], told_s: float | None, *, compiled_ahead: bool = False
) -> dict[str, object]:
    """Return a trial's row with its age, ``told_s`` for an unknown ``compile_s``, and the flag ``still_compiling``."""
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
    """Return whether a program was machine code before it started: Go, a native image, others without a JIT."""
    variant = record.planned.configuration.variant
    implementation = header.implementations.get(variant.implementation)
    runtime = None if implementation is None else implementation.runtime
    return variant.runtime.form == "native" or runtime in ("go", "native")


def gauge_growth(
    session: SessionFolder, record: TrialRecord, gauge: str, *, at_first: float | None = None
) -> float | None:
    """Return how much a gauge of all processes grew during the load; ``None``: not known at both edges."""
    before, after = (process_metrics(session, record, name) for name in ("before-load", "after-load"))
    if len(before) != len(after):
        return None
    return _sum(
        difference(then.gauges.get(gauge, at_first), now.gauges.get(gauge))
        for then, now in zip(before, after, strict=True)
    )


def process_metrics(session: SessionFolder, record: TrialRecord, name: str) -> tuple[RuntimeMetrics, ...]:
    """Return what each process said on ``GET /metrics`` at a boundary; empty: one of them did not answer."""
    files = next(
        (metrics_files(record, boundary) for boundary in record.boundaries if boundary.name == name), ()
    )
    trial = record.planned.trial_id
    if not all(session.has(trial, file) for file in files):
        return ()
    return tuple(_parsed(_text(session, trial, file)) for file in files)


#: Several columns of a trial are read from the same answers.
_parsed = lru_cache(maxsize=16)(parse_runtime_metrics)


def metrics_files(record: TrialRecord, boundary: Boundary) -> tuple[str, ...]:
    """Return the name of each process's answer to ``GET /metrics`` at a boundary, the first pod's first."""
    if boundary.answered_by_pod:
        return tuple(pod_metrics_file(boundary.name, pod) for pod in boundary.answered_by_pod)
    around = None if record.instance is None else record.instance.kubernetes
    if boundary.runtime_metrics_file is None or (around is not None and around.replicas > 1):
        return ()
    return (boundary.runtime_metrics_file,)


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum; ``None``: there is no value, or one is not known."""
    known = list(values)
    return sum(value for value in known if value is not None) if known and None not in known else None


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
