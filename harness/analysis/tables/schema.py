# SPDX-License-Identifier: Apache-2.0
"""The columns of ``trials.parquet``: name, type, unit, what each may hold and what it means, once.

Every table is checked by this list; ``docs/data-dictionary.md`` and the schema of the data package are written from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from harness.analysis.stats import pairing
from harness.errors import InputError
from harness.model import Outcome
from harness.model.age import TrialAge
from harness.model.trial import BoundBy

ColumnType = Literal["string", "integer", "boolean", "number"]
#: Texts that every row has: column -> meaning.
TEXT: Mapping[str, str] = {
    "experiment": "name of the experiment's definition",
    "source": "`measured` on this machine, or `bundled` with the project",
    "session_id": "profile, host and seed of the session",
    "trial_id": "identifier of the trial, unique in its session",
    "profile": "how much was measured",
    "host": "host that ran the service",
    "launcher": "how the service was started: process or container",
    "variant": "key of the implementation with its settings",
    "label": "name of the variant in tables and figures",
    "implementation": "folder of the service's source",
    "language": "programming language of the service",
    "framework": "framework of the service",
    "configuration": "variant, load and levels of factors; unique in a block but for the duplicate",
    "mix": "mix of requests",
    "outcome": "how the trial ended; only `ok` enters estimates",
    "flags": "reasons to distrust the trial, joined by spaces",
}
#: Texts that may be empty.
OPTIONAL_TEXT: Mapping[str, str] = {
    "gc": "garbage collector of a JVM",
    "coding": "how the program is written: `idiomatic`, `tuned`, or `as` its other face (`as published`)",
    "load_name": "name of the load in the profile",
    "generator": "load tool",
    "load_model": "closed loop (users that wait) or open loop (a rate)",
    "latency_method": "how the load tool takes latencies",
    "reason": "why the trial ended as it did",
    "exclusion_reason": "why no estimate uses the trial",
    "limits": "what enforced the service's limits",
    "gc_found": "garbage collector that JVMs in pods say they use",
    "bound_by": "what had no more to give while the load ran",
    "bound_why": "the reason for `bound_by`",
    "warm_class": "whether the process had settled after its warm-up in windows",
    "age": "whether the process had warmed up when it was measured; empty where the records do not say",
    "duet_partner": "the trial that ran at the same time on the other set of CPUs",
}
#: Whole numbers from 1 on.
COUNTS: Mapping[str, str] = {
    "block": "number of the block; each has every configuration once",
    "position": "place of the trial in the order of the session",
}
SWITCHES: Mapping[str, str] = {
    "duplicate": "the second trial of the reference in its block and cell",
    "is_reference": "whether the others are compared with this variant",
    "shares_cpus": "whether service and load generator share CPUs by design",
    "excluded": "whether no estimate uses the trial",
}
#: Measured numbers: float64, empty where it is not known, never negative. Grouped as in docs/data.md.
NUMBERS: Mapping[str, str] = {
    "n_requests": "requests that were answered or failed",
    "n_errors": "requests that failed",
    "n_dropped": "requests of an open loop that were never sent",
    "n_flows": "passes through a flow that were begun",
    "n_flows_right": "passes whose last step was answered rightly",
    "offered_per_s": "rate that an open loop was asked for",
    "late_share": "share of the requests that the load generator itself sent more than 50 us late",
    "throughput_per_s": "correct answers per second, from the first request to the last answer",
    "measurement_s": "length of the measurement",
    "settle_s": "beginning of the load that no metric counts",
    "capacity_per_s": "highest rate that kept its goals in the search after the load",
    "search_load_s": "load time of that search",
    "latency_mean_s": "mean latency of correct answers",
    "latency_p50_s": "median latency of correct answers",
    "latency_p90_s": "90th percentile of the latency of correct answers",
    "latency_p95_s": "95th percentile of the latency of correct answers",
    "latency_p99_s": "99th percentile of the latency of correct answers",
    "latency_p999_s": "99.9th percentile; empty with fewer than 100 requests beyond it",
    "latency_max_s": "greatest latency of a correct answer",
    "latency_resolution_s": "smallest difference of latencies that the load tool writes",
    "echo_latency_mean_s": "mean latency of a service that does nothing, under the same load and load tool",
    "echo_latency_p50_s": "median latency of that service",
    "echo_latency_p90_s": "90th percentile of that service's latency",
    "echo_latency_p95_s": "95th percentile of that service's latency",
    "echo_latency_p99_s": "99th percentile of that service's latency",
    "echo_latency_p999_s": "99.9th percentile of that service's latency",
    "cpu_s_per_request": "CPU time of the service over correct answers",
    "kernel_cpu_s_per_request": "the part of it that the kernel spent for the service",
    "service_cores": "CPU time of the service over the length of the measurement",
    "generator_cores": "CPU time of the load generator over the length of the measurement",
    "rss_before_bytes": "resident memory of the service before the load",
    "rss_after_bytes": "resident memory of the service after the load",
    "rss_max_bytes": "greatest resident memory of the service during the measurement",
    "pss_after_bytes": "proportional memory of the service after the load",
    "time_to_first_response_s": "from launch to the first correct answer",
    "cpu_s_at_first_response": "CPU time of the service until its first correct answer",
    "rss_at_first_response_bytes": "resident memory of the service at its first correct answer",
    "idle_rss_bytes": "resident memory of the service after it was idle",
    "warm_up_s": "length of the warm-up, from the first request of its first window",
    "warm_up_requests": "requests of the warm-up",
    "cold_s": "until throughput was within a tenth of the warm one",
    "cold_requests": "requests until then",
    "cold_cpu_s": "CPU time until then",
    "cold_extra_cpu_s": "CPU time of all windows beyond that of as many requests to the warm service",
    "compile_s": "work of a JVM's compilers during the measurement, all threads together",
    "earlier_loads": "loads before this one that do not count, because the JVM compiled too long during each",
    "log_requests": "requests that a logging service had counted itself",
    "log_lines": "lines of the request log that reached the sink",
    "log_lines_lost": "lines of the request log that are missing",
    "log_reader_cores": "CPU time of the reader of the log's pipe over the length of the measurement",
    "echo_per_s": "rate of the load generator against a service that does nothing",
    "headroom_ratio": "that rate over the throughput of the trial",
    "artifact_bytes": "size of what was built from the service's source",
    "runtime_bytes": "size of the runtime that it needs beside it",
    "build_s": "time of the build",
    "service_share": "CPU time of the service over what its CPUs can give",
    "generator_share": "CPU time of the load generator over what its CPUs can give",
    "backing_share": "CPU time of database and upstream API over what their CPUs can give",
    "machine_share": "CPU time that other processes and the hypervisor took, over that of all CPUs",
    "service_step_s": "CPU time of a step of a fixed calculation on the service's CPUs while the load ran",
    "generator_step_s": "likewise on the generator's CPUs",
    "psi_cpu_some_s": "time in which a task of the machine waited for a CPU",
    "steal_s": "CPU time that the hypervisor took",
    "other_cpu_s": "CPU time of other processes",
    "throttled_s": "time in which control groups of the machine were denied CPU",
    "load_throttled_s": "time under load in which the service's own control group was denied CPU, over its CPUs",
    "service_throttled_s": "time in which the service's own control group was denied CPU",
    "group_memory_bytes": "memory of the service's control group before it was stopped",
    "group_cpu_s": "CPU time of that group",
    "process_rss_bytes": "resident memory of the process at the same moment",
    "process_cpu_s": "CPU time of the process at the same moment",
    "image_bytes": "size of the image of the container or pod",
    "image_import_s": "until the node of a pod had its image; empty where it had it before",
    "container_create_s": "time of the Docker daemon to create the container",
    "container_start_s": "time of the Docker daemon to start the container",
    "n_pods": "pods that were asked for",
    "last_pod_process_s": "from asking for pods until the last one's process was made",
    "last_pod_event_s": "until the cluster's event that the last one's container was started",
    "last_pod_condition_s": "until the API had the last one as ready, from its whole seconds",
    "last_pod_served_s": "until the last pod did; empty where one never did",
    "last_pod_routed_s": "until the service's address had led to each pod",
    "pods_answered": "requests that the pods themselves counted while the load ran",
    "least_pod_share": "requests of the pod with the fewest, over an even share",
    "runtime_cpus": "CPUs that the runtime in a pod goes by, the fewest of all pods; empty where one does not say",
    "allocated_bytes_per_request": "bytes that the service allocated on its heap during the load, over requests",
    "system_calls_per_request": "system calls of the service over requests, in a load of its own",
}
COLUMNS = (*TEXT, *OPTIONAL_TEXT, *COUNTS, *SWITCHES, *NUMBERS)
MEANINGS: Mapping[str, str] = {**TEXT, **OPTIONAL_TEXT, **COUNTS, **SWITCHES, **NUMBERS}
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "source": ("measured", "bundled"),
    "launcher": ("process", "container", "kubernetes"),
    "outcome": tuple(outcome.value for outcome in Outcome),
    "load_model": ("closed", "open"),
    "bound_by": get_args(BoundBy),
    "warm_class": ("settled", "not settled", "ended"),
    "age": get_args(TrialAge),
}


#: Columns of a result (``harness.rows.schema``) that a factor may be called like.
_OF_RESULTS = frozenset(("key", "kind", "level", "name", "question", "reference", "text", "unit", "value"))


def factor_column(factor: str) -> str:
    """Return the column of a factor: its name, or ``factor_<name>`` where a table has a column of that name."""
    return f"factor_{factor}" if factor in COLUMNS or factor in _OF_RESULTS else factor


def as_trials(rows: Sequence[dict[str, object]], factors: Sequence[str]) -> pd.DataFrame:
    """Return the checked table of trials, one text column per factor last. Raises InputError: a row breaks the
    schema."""
    kinds = dict.fromkeys((*TEXT, *OPTIONAL_TEXT, *factors), "str") | dict.fromkeys(COUNTS, "int64")
    kinds |= dict.fromkeys(SWITCHES, "bool") | dict.fromkeys(NUMBERS, "float64")
    typed = pd.DataFrame(list(rows), columns=[*COLUMNS, *factors]).astype(kinds)
    broken = [(name, typed.loc[wrong, name], rule) for name, wrong, rule in _rules(typed) if wrong.any()]
    if broken:
        name, values, rule = broken[0]
        raise InputError(
            f"the table of trials breaks its schema in {sum(len(item[1]) for item in broken)} places",
            place=name, found=values.iloc[0], allowed=rule,
        )  # fmt: skip
    return typed


def _rules(frame: pd.DataFrame) -> Iterator[tuple[str, pd.Series[bool], str]]:
    """Yield column, which rows break a rule of it, and the rule."""
    yield from ((name, frame[name].isna(), "a text") for name in TEXT)
    yield from ((name, frame[name] < 1, "1 or more") for name in COUNTS)
    yield from ((name, frame[name] < 0, "0 or more") for name in NUMBERS)
    yield "trial_id", frame.duplicated(["source", "session_id", "trial_id"]), "one row per trial"
    reason = "exclusion_reason"
    yield reason, frame["excluded"] != frame[reason].notna(), "excluded exactly when there is a reason"
    again = frame.duplicated(["source", "session_id", "block", "configuration", "duplicate"])
    once = "a configuration stands once in a block, but for the duplicate and the pairs of a duet"
    yield "configuration", again & frame["duet_partner"].isna(), once


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. ``unit``: empty for texts and switches, ``1`` for counts and ratios. ``minimum``: inclusive;
    ``None``: no limit. ``allowed``: empty where any text may stand."""

    name: str
    type: ColumnType
    unit: str
    required: bool
    minimum: int | None
    allowed: tuple[str, ...]
    meaning: str


#: Column of ``claims.csv`` -> type and meaning.
_LEDGER: Mapping[str, tuple[ColumnType, str]] = {
    "claim": ("string", "name in the ledger; in a row of a whole source its key"),
    "source": ("string", "key of the source in the references"),
    "article": ("string", "its title"),
    "year": ("integer", "year of its publication"),
    "published_in": ("string", "where it was published"),
    "place": ("string", "where the number stands: table, column and cells, or a page"),
    "statement": ("string", "what is claimed, in our words"),
    "condition": ("string", "under which condition"),
    "number": ("string", "number that the claim is about"),
    "claimed": ("string", "what it has to be"),
    "unit": ("string", "unit of `published`, `measured`, `low` and `high`; `ratio` and `1` have none"),
    "published": ("number", "as it was published; empty: no number was"),
    "measured": (
        "number",
        "as it was measured here with today's programs; empty: it was not, or is below `high`",
    ),
    "low": ("number", "lower end of its 95 % interval"),
    "high": ("number", "upper end of it"),
    "n": ("integer", "pairs of trials, or trials, of the measured number"),
    "bound_by": ("string", "what bounded them, with how many"),
    "session": ("string", "session of the measured number"),
    "verdict_then": (
        "string",
        "what the source's programs on its runtimes say by its method: `holds`, `fails`, `undecided`, "
        "`not measured` with the reason, or `not needed` with the numbers that say so",
    ),
    "verdict_then_ours": ("string", "what they say by our method: the same words"),
    "verdict_now": ("string", "what `measured` says: the same words"),
    "not_reproduced": (
        "string",
        "where known: `wrong then` (the source's programs hold by neither method), `artefact of the method` "
        "(they hold by its own alone) or `outdated` (they hold by ours, and today's programs fail)",
    ),
    "why": ("string", "why `verdict_now` is what it is"),
    "verdict": ("string", "of the claim, from all its numbers"),
    "decides": ("boolean", "whether the number decided it"),
}
LEDGER = tuple(
    Column(
        name=name, type=kind, unit="", minimum=None, meaning=meaning,
        required=name in ("claim", "source", "statement", "number", "decides"),
        allowed=("wrong then", "artefact of the method", "outdated") if name == "not_reproduced" else (),
    )
    for name, (kind, meaning) in _LEDGER.items()
)  # fmt: skip


def unit_of(name: str) -> str:
    """Return the unit that a numeric column's name says; ``1`` for counts and ratios."""
    unit = pairing.unit_of(name)
    return "1" if unit in ("share", "ratio") else unit


def columns(factors: Sequence[str] = ()) -> tuple[Column, ...]:
    """Return every column of ``trials.parquet`` in its order, factors last."""
    return tuple(_column(name) for name in (*COLUMNS, *factors))


def _column(name: str) -> Column:
    kind: ColumnType = "string"
    if name in COUNTS or name in NUMBERS:
        kind = "integer" if name in COUNTS else "number"
    elif name in SWITCHES:
        kind = "boolean"
    least = {"integer": 1, "number": 0}.get(kind)
    return Column(
        name=name, type=kind, unit="" if least is None else unit_of(name), minimum=least,
        required=name in (*TEXT, *COUNTS, *SWITCHES), allowed=ALLOWED.get(name, ()),
        meaning=MEANINGS.get(name, "level of a factor of the experiment"),
    )  # fmt: skip


def page() -> str:
    """Return ``docs/data-dictionary.md``."""
    lines = [
        "<!-- SPDX-License-Identifier: CC-BY-4.0 -->",
        "# Data dictionary",
        "",
        "Written by `python -m harness dataset --dictionary` from `harness/analysis/tables/schema.py`.",
        "",
        "The columns of `trials.parquet`, one row per trial; `docs/data.md` says where each is read from.",
        "After them stands one column of text for each factor of the experiment.",
        "What is not known is empty, never zero. The unit `1` is a count or a ratio.",
        "",
        *_table(columns()),
        "",
        "## The ledger of claims",
        "",
        "The columns of `claims.csv`, one row a number of a published claim (`docs/claims.md`).",
        "",
        *_table(LEDGER),
    ]
    return "\n".join(lines) + "\n"


def _table(described: Sequence[Column]) -> list[str]:
    head = "| column | type | unit | may be empty | least | values | meaning |"
    lines = [head, "|---|---|---|---|--:|---|---|"]
    for column in described:
        values = ", ".join(f"`{value}`" for value in column.allowed)
        least, empty = "" if column.minimum is None else column.minimum, "no" if column.required else "yes"
        facts = (f"`{column.name}`", column.type, column.unit, empty, least, values, column.meaning)
        lines.append(f"| {' | '.join(map(str, facts))} |")
    return lines
