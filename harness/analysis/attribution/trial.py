# SPDX-License-Identifier: Apache-2.0
"""The pauses behind one trial's latencies: the logs of service and load generator, laid over its requests.

Pauses shorter than what their place is known to (Go's) are laid where they are thought to be and as far off to either
side as they may be; where that is more than half of the latency in question they are refused, with what they could
explain at the most. What was not recorded is said to be so, never to be nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from pydantic import InstanceOf

from harness.analysis.attribution.event_matching import Beside, most_of_tail
from harness.analysis.attribution.log_clock import (
    beside_sources,
    generator_log,
    service_log,
    why_not_aligned,
)
from harness.analysis.attribution.share_of_quantile import (
    MIN_TAIL,
    TailCause,
    WithoutPauses,
    excess_in_spans,
    tail_shares,
    without_at_each_place,
)
from harness.analysis.attribution.spans import (
    CauseName,
    Paused,
    RequestOverlap,
    Span,
    inside,
    joined,
    lived,
)
from harness.analysis.attribution.stalls import detectability_limit, ordinary_p99
from harness.analysis.stats.quantiles import rank
from harness.analysis.tables.resource_columns import reading_at
from harness.errors import InputError
from harness.model import Frozen, MemoryFit, SessionHeader
from harness.store import SessionFolder


def memory_fit(header: SessionHeader) -> MemoryFit | None:
    """Return what the session measured of memory before its first trial; ``None``: nothing."""
    noted = header.notes.get("memory")
    return None if noted is None else MemoryFit.model_validate_json(json.dumps(noted))


def memory_words(header: SessionHeader, variant: str) -> str | None:
    """Return ``1.3x: 13 MiB``, ``as G1, 3x: 87 MiB``, ``64 MiB`` or ``GOGC 100``; ``None``: nothing bounds it."""
    runtime = header.experiment.variants[variant].runtime
    fit = memory_fit(header)
    asked = None if fit is None else fit.asked.get(variant)
    if runtime.heap_max is not None:
        multiple = "" if asked is None else f"{asked.removeprefix('heap_max = ')}: "
        return f"{multiple}{_spaced(runtime.heap_max)}"
    if runtime.gomemlimit is not None:
        limits = () if fit is None else fit.limits
        matched = next((limit.memory_of for limit in limits if limit.variant == variant), None)
        label = f"as {header.experiment.labels[matched]}" if matched else "limit"
        if asked is not None and not matched:
            label = asked.removeprefix("gomemlimit = ")
        return f"{label}: {_spaced(runtime.gomemlimit)}"
    return None if runtime.gogc is None else f"GOGC {runtime.gogc}"


def _spaced(size: str) -> str:
    """Return ``64m`` and ``64MiB`` as ``64 MiB``."""
    result = re.fullmatch(r"(\d+)([kmgKMGT]?)i?B?", size)
    return size if result is None else f"{result[1]} {f'{result[2].upper()}i' if result[2] else ''}B"


QUANTILES: Mapping[str, float] = {"p99": 0.99, "p99.9": 0.999}


class TrialAttribution(Frozen):
    """One trial's latency tail and the pauses behind it. ``None``: cannot be said, ``refused`` tells why."""

    trial: str  # experiment/session/trial
    variant: str
    label: str
    levels: dict[str, str]
    block: int
    collector: str | None
    n_requests: int  # answered correctly
    window: Span  # first request to last answer, epoch seconds
    memory: str | None  # what bounded it, in words, such as 1.3x: 13 MiB
    rss_bytes: int | None  # the service's resident memory when the load was over
    latency_s: dict[str, float]  # p50 and those of ``QUANTILES`` that may be said
    detectability_s: float  # shorter pauses leave no trace in the latencies alone
    n_pauses: int | None  # of the service within the window; None: its log is not known
    paused_s: float | None
    longest_pause_s: float | None
    median_pause_s: float | None  # None: there was no pause, or its log is not known
    n_collections: int | None  # begun within the window, beside the program or not
    most_share: dict[str, float]  # quantile -> what pauses can have taken from it, wherever they fell
    #: how often the service's collector worked beside it; None: its log is not known
    cycles_per_s: float | None
    #: quantile -> share of its requests that come with a collection at work beside the program; None: too few
    #: to compare; empty: there was none, or its pauses were not aligned
    excess: dict[str, float | None]
    refused: str | None  # why the service's pauses were not aligned with its requests
    #: quantile -> the time beyond the median of the tail taken apart by every cause known
    tail: dict[str, dict[TailCause, float | None]]
    #: latencies counted for the pool of all trials, the service's pauses where they are thought to be and then,
    #: where that matters, as far off as they may be to either side; empty: refused
    without_pauses: tuple[InstanceOf[WithoutPauses], ...]
    #: quantile -> cause of ``BESIDE`` -> the largest share that it can have taken of the time by which the tail
    #: exceeds the median, out of what is unexplained; a cause that was not recorded is missing
    most_beside: dict[str, dict[CauseName, float]]
    #: cause -> why it was not recorded; so it may have been at work all the same
    missing: dict[CauseName, str]
    events: Paused  # what was aligned with the requests, within the window

    @property
    def window_s(self) -> float:
        """How long requests were under way, in seconds."""
        return self.window[1] - self.window[0]


def attribute_trial(session: SessionFolder, trial_id: str, requests: pd.DataFrame) -> TrialAttribution:
    """Lay the pauses of service and generator over one trial's requests and take the tail apart. Raises InputError: no
    request was answered correctly, or the trial has no record.

    Args:
        requests: ``start_epoch_s``, ``latency_s``, ``ok``, and ``connect_s`` where the load tool told it; with fewer
            than ``MIN_TAIL`` beyond one of ``QUANTILES`` that is left out.
    """
    record = session.record(trial_id)
    right = requests[requests["ok"].to_numpy(dtype=bool)]
    if len(right) < 2:
        where = f"{session.key}/{trial_id}"
        raise InputError("no request was answered correctly", place=where, found=len(right))
    start, latency = (right[name].to_numpy(dtype=np.float64) for name in ("start_epoch_s", "latency_s"))
    connect = right["connect_s"].to_numpy(dtype=np.float64) if "connect_s" in right else None
    window = (float(start.min()), float((start + latency).max()))
    window_s = window[1] - window[0]
    service, generator = service_log(session, record), generator_log(session, record)
    pauses = inside(service.events, window)
    asked = {name: q for name, q in QUANTILES.items() if len(start) * (1 - q) >= MIN_TAIL}
    # the rule of trials.parquet: a table of peaks and a ratio of trials give one p99
    ranked = np.sort(latency)
    levels = {name: float(ranked[rank(len(ranked), q) - 1]) for name, q in {"p50": 0.5, **asked}.items()}
    in_question_s = min((levels[name] for name in asked), default=levels["p50"])
    refused = why_not_aligned(service, pauses, record, start, latency, in_question_s)
    events = ({} if refused else pauses) | inside(generator.events, window)
    beside, missing = beside_sources(session, record, service, generator, has_connect=connect is not None)
    lives = lived(start, latency, events, connect_s=connect)
    cycles = inside({"gc_pause": joined(service.cycles)}, window)["gc_pause"]
    spans = sorted(span for spans in pauses.values() for span in spans)
    lengths = [high - low for low, high in spans]
    known = service.placed_within_s is not None
    cell, after = record.planned.configuration, reading_at(record, "after-load")
    met = asked.items() if cycles and not refused else ()
    placing = service.placed_within_s or 0.0, record.load.resolution_s if record.load else 0.0
    return TrialAttribution(
        trial=f"{session.key}/{trial_id}", variant=cell.variant_name, label=cell.variant.label or cell.variant_name,
        levels=cell.levels, block=record.planned.block, collector=service.collector, n_requests=len(start),
        window=window, memory=memory_words(session.header, cell.variant_name), latency_s=levels,
        rss_bytes=after.rss_bytes if after else None,
        detectability_s=detectability_limit(len(start) / window_s, ordinary_p99(start, latency, events)),
        n_pauses=len(spans) if known else None,
        paused_s=float(sum(high - low for low, high in joined(spans))) if known else None,
        longest_pause_s=max(lengths, default=0.0) if known else None,
        median_pause_s=float(np.median(lengths)) if known and spans else None,
        n_collections=sum(window[0] <= at <= window[1] for at in service.collections) if known else None,
        most_share={name: _most_taken_s(spans, levels[name]) / levels[name] for name in asked if known},
        cycles_per_s=len(cycles) / window_s if known else None,
        excess={name: excess_in_spans(start, latency, cycles, quantile=q) for name, q in met}, refused=refused,
        without_pauses=() if refused else without_at_each_place(start, latency, pauses, *placing),
        tail={name: tail_shares(lives, q) for name, q in asked.items()},
        most_beside={name: _most(lives, beside, quantile=q) for name, q in asked.items()},
        missing=missing, events=events,
    )  # fmt: skip


def _most(lives: RequestOverlap, beside: Sequence[Beside], *, quantile: float) -> dict[CauseName, float]:
    explained = sum(lives.by_cause.values(), start=np.zeros_like(lives.start))
    shares = {}
    for cause in dict.fromkeys(source.cause for source in beside):
        sources = [source for source in beside if source.cause == cause]
        share = most_of_tail(lives.start, lives.latency, explained, sources, quantile=quantile)
        if share is not None:
            shares[cause] = share
    return shares


def _most_taken_s(spans: Sequence[Span], length_s: float) -> float:
    """The longest time that pauses fill within any window of this length."""
    if not spans:
        return 0.0
    low, high = np.array(spans).T
    at = np.concatenate([low, high - length_s])  # the most is reached with an edge on an edge
    filled = np.minimum(high, at[:, None] + length_s) - np.maximum(low, at[:, None])
    return float(min(np.maximum(filled, 0.0).sum(axis=1).max(), length_s))
