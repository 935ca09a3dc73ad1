# SPDX-License-Identifier: Apache-2.0
"""What the paper says of pauses: what they explain, what bounded memory, and pairs at equal memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from harness.analysis.attribution.memory_labels import memory_fit
from harness.analysis.attribution.rows import AttributionRow
from harness.analysis.stats.ages import compile_share
from harness.analysis.stats.pairing import counting
from harness.evidence import Evidence
from harness.model.age import COMPILED_SHARE
from harness.model.digits import plain, whole_percent
from harness.model.formatting import NOT_MEASURED, show, verdict_name
from harness.model.phrases import listed
from harness.publish.bounds import bounded
from harness.publish.cells import Cell
from harness.publish.findings import FINDING, at_most
from harness.publish.memory_words import asked_words, least_words
from harness.publish.results import NO_COMPARISON, NO_TEXT, Absent, Tree, Words, for_each
from harness.questions.gc_peaks.equal_memory import MemoryPair

#: part of the key -> (field of the row, unit)
_PARTS: Mapping[str, tuple[str, str]] = {
    "memory": ("rss_bytes", "B"),
    "latency": ("latency_s", "s"),
    "pauses": ("pauses_per_s", "1/s"),
    "paused": ("paused_share", "share"),
    "longest": ("longest_pause_s", "s"),
    "median": ("median_pause_s", "s"),
    "collections": ("collections", "1"),
    "limit": ("detectability_s", "s"),
    "share": ("share", "share"),
    "lower": ("share_lower", "share"),
    "upper": ("share_upper", "share"),
    "most": ("most_share", "share"),
    "service_tail": ("service_tail", "share"),
    "generator_tail": ("generator_tail", "share"),
    "connect_tail": ("connect_tail", "share"),
    "unexplained": ("unexplained_tail", "share"),
    "throttle_most": ("throttle_most", "share"),
    "jit_most": ("jit_most", "share"),
    "run_queue_most": ("run_queue_most", "share"),
    "cycles": ("cycles_per_s", "1/s"),
    "cycle_excess": ("cycle_excess", "share"),
}


def results(
    evidence: Evidence | None,
    rows: Sequence[AttributionRow],
    pairs: Sequence[MemoryPair],
    variants: Mapping[str, str],
    defined: Iterable[str],
) -> Tree:
    """Return what a session says of pauses for every variant of the definition, measured or not.

    ``<part>.<variant>``: the estimates of its row. ``memory_setting.<variant>``: what bounded its memory.
    ``least`` and ``least_heap_load``: the least heaps, and the load under which they were searched.
    ``refused``: variants whose pauses could not be aligned with the requests. ``equal.{memory,p99}.<variant>``: a
    Go variant over the Java variant whose memory it was given; ``equal.memory_verdict.<variant>``: whether memory
    was equal. ``finding``: title, take-away and how sure, of the most that pauses can have taken of the percentile.
    ``waiting.<variant>``: the most that waiting for a CPU took of what stayed unexplained, in words. ``scope``: of
    which processes, clock and place of the load generator that is. ``bounded``: what bounded the trials.

    Args:
        rows: of one quantile and one combination of levels.
        defined: the Go variants that are to have the memory of a Java variant.
    """
    fit = None if evidence is None else memory_fit(evidence.header)
    least, asked = (least_words(fit), asked_words(fit)) if fit and fit.least else (NO_TEXT, NO_TEXT)
    refused = (
        ", ".join(sorted({row.label for row in rows if row.n_refused})) or "none of the variants measured"
    )
    defined = [_part(name) for name in defined]
    scope = "" if evidence is None else _scope(evidence.trials)
    return {
        "name": variants,
        "bounded": bounded(None if evidence is None else evidence.trials),
        "scope": scope or NO_TEXT,
        FINDING: at_most(
            {row.label: row.most_share for row in rows},
            {row.label: row.share for row in rows},
            what="pauses explain",
            of="the ninety-ninth percentile",
            scope=scope,
        ),
        **{
            part: for_each(variants, {row.variant: getattr(row, field) for row in rows}, Absent(unit=unit))
            for part, (field, unit) in _PARTS.items()
        },
        "waiting": for_each(variants, {row.variant: _waiting(row) for row in rows}, NO_TEXT),
        "refused": refused if rows else Absent(kind="text", why=f"none: {NOT_MEASURED}"),
        "memory_setting": for_each(variants, {row.variant: row.memory or None for row in rows}, NO_TEXT),
        "least": least,
        "least_heap_load": asked,
        "equal": {
            part: for_each(defined, {_part(pair.go): getattr(pair, field) for pair in pairs}, absent)
            for part, field, absent in (
                ("memory", "memory", NO_COMPARISON),
                ("p99", "p99", NO_COMPARISON),
                ("memory_verdict", "words", NO_TEXT),
            )
        },
    }


def _scope(trials: pd.DataFrame) -> str:
    """Of which processes, clock and place of the load generator a share of a percentile is."""
    kept = counting(trials)
    said = []
    jvms = kept.dropna(subset=["compile_s", "measurement_s"])
    n_young = int((compile_share(jvms) > COMPILED_SHARE).sum())
    if n_young:
        bar = whole_percent(COMPILED_SHARE)
        said.append(
            f"young JVMs (compilers worked for more than {bar} of the load in {n_young} of {len(jvms)} trials)"
        )
    if (step_s := kept["latency_resolution_s"].max()) > 0:
        said.append(f"a clock of the load generator of {plain(step_s * 1e3)} ms")
    n_shared = int(kept["flags"].fillna("").str.split().apply(lambda flags: "shared_cores" in flags).sum())
    if n_shared:
        all_of = "all trials" if n_shared == len(kept) else f"{n_shared} of {len(kept)} trials"
        said.append(f"a load generator on the CPUs of the service in {all_of}")
    return listed(said)


def _waiting(row: AttributionRow) -> Words | None:
    """How much of what stayed unexplained can be waiting for a CPU; a bound that is all of it bounds nothing."""
    most, unexplained = row.run_queue_most, row.unexplained_tail
    if most.value is None or unexplained.value is None:
        return None
    if most.value >= unexplained.value:
        return Words("the kernel's counters do not bound how much of that was waiting for a CPU", most.inputs)
    return Words(f"waiting for a CPU can have taken at most {show(most).interval} of that time", most.inputs)


def _part(name: str) -> str:
    """Return a variant's name without dots: in a comparison's name these separate variant and levels."""
    return name.replace(".", "_")


def pair_rows(pairs: Sequence[MemoryPair]) -> list[Mapping[str, Cell] | None]:
    """Return rows for ``Publisher.table``: both variants, what each held, both ratios and their verdicts."""
    return [
        {
            "go": pair.go_label,
            "java": pair.java_label,
            "java_rss": pair.java_rss_bytes,
            "go_rss": pair.go_rss_bytes,
            "memory": pair.memory.ratio,
            "equal": pair.words,
            "p99": pair.p99.ratio,
            "verdict": verdict_name(pair.p99),
        }
        for pair in pairs
    ]
