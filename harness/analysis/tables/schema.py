# SPDX-License-Identifier: Apache-2.0
"""The columns of ``trials.parquet``, checked whenever it is written. Prose: ``docs/data.md``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from harness.errors import InputError

if TYPE_CHECKING:
    import pandera.pandas as pa

TEXT = (
    "experiment",
    "source",
    "session_id",
    "trial_id",
    "profile",
    "host",
    "launcher",
    "variant",
    "label",
    "implementation",
    "language",
    "framework",
    "runtime_kind",
    "configuration",
    "mix",
    "outcome",
    "flags",
)
OPTIONAL_TEXT = (
    "gc", "coding", "load_name", "generator", "load_model", "latency_method", "reason", "exclusion_reason", "limits",
    "gc_found", "bound_by", "bound_why", "warm_class", "age", "duet_partner",
)  # fmt: skip
COUNTS = ("block", "position")
SWITCHES = ("duplicate", "is_reference", "shares_cpus", "excluded")
#: Measured numbers: float64, empty where it is not known, never negative.
NUMBERS = (
    "n_requests", "n_errors", "n_dropped", "n_flows", "n_flows_right", "offered_per_s",
    "throughput_per_s", "measurement_s", "settle_s", "capacity_per_s", "search_load_s",
    "latency_mean_s", "latency_p50_s", "latency_p90_s", "latency_p95_s", "latency_p99_s", "latency_p999_s",
    "latency_max_s", "latency_resolution_s",
    "echo_latency_mean_s", "echo_latency_p50_s", "echo_latency_p90_s", "echo_latency_p95_s", "echo_latency_p99_s",
    "echo_latency_p999_s",
    "cpu_s_per_request", "kernel_cpu_s_per_request", "service_cores", "generator_cores",
    "rss_before_bytes", "rss_after_bytes", "rss_max_bytes", "pss_after_bytes",
    "time_to_first_response_s", "cpu_s_at_first_response", "rss_at_first_response_bytes",
    "idle_rss_bytes", "idle_cpu_s",
    "warm_up_s", "warm_up_requests", "warm_up_cpu_s",
    "cold_s", "cold_requests", "cold_cpu_s", "cold_extra_cpu_s", "compile_s", "earlier_loads",
    "log_requests", "log_lines", "log_lines_lost", "log_bytes", "log_reader_cores",
    "echo_per_s", "headroom_ratio",
    "artifact_bytes", "runtime_bytes", "build_s",
    "service_share", "generator_share", "backing_share", "machine_share",
    "service_step_s", "generator_step_s", "psi_cpu_some_s", "steal_s", "other_cpu_s", "throttled_s",
    "service_throttled_s", "group_memory_bytes", "group_memory_max_bytes", "group_cpu_s",
    "process_rss_bytes", "process_cpu_s", "image_bytes", "image_import_s", "image_push_s",
    "container_create_s", "container_start_s",
    "n_pods", "last_pod_process_s", "last_pod_event_s", "last_pod_condition_s", "first_pod_served_s",
    "last_pod_served_s", "last_pod_routed_s", "pod_events_lost", "pods_answered", "least_pod_share", "runtime_cpus",
    "go_collections", "go_paused_s", "go_heap_bytes", "go_memory_bytes",
    "allocated_bytes_per_request", "system_calls_per_request",
)  # fmt: skip  # grouped as in docs/data.md
COLUMNS = (*TEXT, *OPTIONAL_TEXT, *COUNTS, *SWITCHES, *NUMBERS)
#: What no two rows have.
_ONE_TRIAL = ["source", "session_id", "trial_id"]


def factor_column(factor: str) -> str:
    """Return the column of a factor: its name, or ``factor_<name>`` where a standard column has that name."""
    return f"factor_{factor}" if factor in COLUMNS else factor


def as_trials(rows: Sequence[dict[str, object]], factors: Sequence[str]) -> pd.DataFrame:
    """Return the checked table of trials: standard columns, then one text column per factor.

    Raises:
        InputError: a row breaks the schema: which column, which value, and how many.
    """
    frame = pd.DataFrame(list(rows), columns=[*COLUMNS, *factors])
    text = dict.fromkeys((*TEXT, *OPTIONAL_TEXT, *factors), "str")
    kinds = (
        text
        | dict.fromkeys(COUNTS, "int64")
        | dict.fromkeys(SWITCHES, "bool")
        | dict.fromkeys(NUMBERS, "float64")
    )
    typed = frame.astype(kinds)
    return typed if keeps_to_schema(typed) else _validated(typed, factors)


def keeps_to_schema(frame: pd.DataFrame) -> bool:
    """Tell whether a table of these columns and types keeps to ``trials_schema``, without what loads a library.

    pandera tells what is wrong with a table, and takes a second for that, most of it to load.
    """
    return bool(
        frame[list(TEXT)].notna().to_numpy().all()
        and (frame[list(COUNTS)].to_numpy() >= 1).all()
        and not (frame[list(NUMBERS)].to_numpy() < 0).any()
        and not frame.duplicated(_ONE_TRIAL).any()
        and _has_its_reason(frame).all()
        and _stands_once(frame).all()
    )


def _validated(frame: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    import pandera.pandas as pa

    try:
        return trials_schema(factors).validate(frame, lazy=True)
    except pa.errors.SchemaErrors as error:
        first = error.failure_cases.iloc[0]
        raise InputError(
            f"the table of trials breaks its schema in {len(error.failure_cases)} places",
            place=str(first["column"]),
            found=first["failure_case"],
            allowed=str(first["check"]),
        ) from error


def trials_schema(factors: Sequence[str]) -> pa.DataFrameSchema:
    """Return the schema: exactly these columns, excluded only with a reason, one row per trial."""
    import pandera.pandas as pa

    columns = {name: pa.Column("str") for name in TEXT}
    columns |= {name: pa.Column("str", nullable=True) for name in (*OPTIONAL_TEXT, *factors)}
    columns |= {name: pa.Column("int64", pa.Check.ge(1)) for name in COUNTS}
    columns |= {name: pa.Column("bool") for name in SWITCHES}
    columns |= {name: pa.Column("float64", pa.Check.ge(0), nullable=True) for name in NUMBERS}
    return pa.DataFrameSchema(
        columns,
        strict=True,
        unique=_ONE_TRIAL,
        checks=[
            pa.Check(_has_its_reason, error="excluded exactly when there is a reason"),
            pa.Check(
                _stands_once,
                error="a configuration stands once in a block, but for the duplicate and the pairs of a duet",
            ),
        ],
    )


def _has_its_reason(frame: pd.DataFrame) -> pd.Series[bool]:
    return frame["excluded"] == frame["exclusion_reason"].notna()


def _stands_once(frame: pd.DataFrame) -> pd.Series[bool]:
    again = frame.duplicated(["source", "session_id", "block", "configuration", "duplicate"])
    return ~again | frame["duet_partner"].notna()
