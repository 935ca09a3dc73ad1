# SPDX-License-Identifier: Apache-2.0
"""The peaks of a file of requests and the pauses behind them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from harness.analysis.attribution.event_matching import (
    MIN_PAUSES,
    SEARCH_S,
    ClockOffset,
    coincidence_test,
    connecting_stalls,
    estimate_clock_offset,
    stall_causes,
)
from harness.analysis.attribution.share_of_quantile import Attribution, Share, attributable_fractions
from harness.analysis.attribution.slow_periods import Stall
from harness.analysis.attribution.spans import CauseName, Span, inside
from harness.analysis.attribution.stalls import detect_stalls, harm_of, shortest_visible_s
from harness.formats.arrays import FloatArray
from harness.formats.gc_events import GcLog
from harness.formats.jvm_log import WRITES
from harness.formats.table import RequestTable
from harness.model.formatting import counted, listed
from harness.report.result import ListedStall, ShortStalls
from harness.report.words import length

#: What is taken apart by cause.
TAILS: Mapping[str, float] = {"p99": 0.99, "p99.9": 0.999}
#: Requests of a stretch of a long file, and those of its neighbours that are looked at with it on either side.
STRETCH, BESIDE = 1_000_000, 50_000
#: A process may end that much after the next one began.
_ONE_AFTER_THE_OTHER_S = 1.0


class Peaks(NamedTuple):
    """The peaks of a file. ``stalls``: of ``shortest_visible_s`` or longer, the most harmful first.

    ``shorter``: a sum of the others. ``attribution``: what pauses explain; ``None``: no log was given. ``notes``: on
    the log and on what it explains. ``background``: those that hold for any such file.
    """

    stalls: tuple[ListedStall, ...] = ()
    shorter: ShortStalls | None = None
    shortest_visible_s: float | None = None
    attribution: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    background: tuple[str, ...] = ()


def find_peaks(answers: RequestTable, gc_log: GcLog | None) -> Peaks:
    """Find the stalls of successful requests, which are ordered by their start, n > 0, and the pauses behind them."""
    start, latency, connect = answers.start_epoch_s, answers.latency_s, answers.connect_s
    window = (float(start.min()), float((start + latency).max()))
    every = _spans(gc_log) if gc_log is not None else {}
    events = {cause: spans for cause, spans in inside(every, window).items() if spans}
    stalls = _stalls_of(start, latency, answers.resolution_s)
    on_clock = gc_log is not None and gc_log.clock == "epoch"
    limit_s = shortest_visible_s(start, latency, stalls, events if on_clock else {})
    visible_s = limit_s or 0.0
    connecting = None if connect is None else connecting_stalls(stalls, start, latency, connect)
    causes: Sequence[str | None] = ["connect" if own else None for own in connecting or [False] * len(stalls)]
    attribution: dict[str, Any] | None = None
    notes: list[str] = []
    background: list[str] = []
    if gc_log is not None:
        notes = [f"runtime's log: {warning}" for warning in gc_log.warnings]
        if gc_log.n_unknown:
            example = gc_log.unknown_examples[0]
            notes.append(f"runtime's log: {gc_log.n_unknown} lines could not be read, such as {example!r}")
        notes += _coverage(gc_log, *window)
        together, n = length(1e3 * sum(event.duration_s for event in gc_log.events)), len(gc_log.events)
        words = f"runtime's log: {gc_log.collector or 'JVM'}, {counted(n, 'pause')}, together {together}"
        background = [words] if n else []
        pauses = [span for spans in events.values() for span in spans]
        refusal, offset = _why_not(gc_log, pauses, window, start, latency)
        attribution = {"clock_offset_s": None if offset is None else offset.offset_s}
        if refusal is not None:
            notes.append(f"attribution refused: {refusal}")
            attribution = {"refused": refusal, **attribution}
        else:
            causes = stall_causes(stalls, events, connecting=connecting)
            background.append(
                "not recorded in these files, so part of what is unexplained: throttling, compilers, waiting for a CPU"
                + ("" if connect is not None else ", connecting")
            )
            if attribution["clock_offset_s"] is None:
                notes.append(
                    f"whether the clocks agree could not be checked: fewer than {MIN_PAUSES} pauses can be seen"
                )
            apart = attributable_fractions(
                start, latency, events, quantiles=list(TAILS.values()), connect_s=connect
            )
            attribution["coincidence"] = _coincidence(stalls, every, window, notes)
            for name, parts in zip(TAILS, apart, strict=True):
                attribution[name] = _tail(parts)
                notes += [f"{name}: {warning}" for warning in dict.fromkeys(parts.warnings)]
    harms_s = harm_of(start, latency, stalls).tolist()
    shown = [
        ListedStall(**stall.model_dump(), cause=cause, harm_s=harm_s)
        for stall, cause, harm_s in zip(stalls, causes, harms_s, strict=True)
        if stall.duration_s >= visible_s
    ]
    return Peaks(
        stalls=tuple(sorted(shown, key=lambda stall: (-stall.harm_s, stall.start_s))),
        shorter=_shorter([stall.duration_s for stall in stalls if stall.duration_s < visible_s], window),
        shortest_visible_s=limit_s,
        attribution=attribution,
        notes=tuple(notes),
        background=tuple(background),
    )


def _stalls_of(start: FloatArray, latency: FloatArray, resolution_s: float) -> list[Stall]:
    """The stalls of requests by start, of a long file stretch by stretch: to look for them takes much memory."""
    results: list[Stall] = []
    for low in range(0, len(start), STRETCH):
        some = slice(max(low - BESIDE, 0), low + STRETCH + BESIDE)
        first_s = max(start[low], results[-1].end_s) if results else -np.inf
        after_s = start[low + STRETCH] if low + STRETCH < len(start) else np.inf
        stalls = detect_stalls(start[some], latency[some], resolution_s=resolution_s)
        results += [stall for stall in stalls if first_s <= stall.start_s < after_s]
    return results


def _shorter(lengths_s: Sequence[float], window: Span) -> ShortStalls | None:
    if not lengths_s:
        return None
    share = min(1.0, sum(lengths_s) / max(window[1] - window[0], 1e-9))
    return ShortStalls(
        number=len(lengths_s), longest_ms=max(lengths_s) * 1e3, total_s=sum(lengths_s), share=share
    )


def _coincidence(
    stalls: Sequence[Stall], every: Mapping[CauseName, Sequence[Span]], window: Span, notes: list[str]
) -> dict[str, Any]:
    pauses = [span for spans in every.values() for span in spans]
    hard = [(stall.start_s, stall.end_s) for stall in stalls if stall.kind == "stall"]
    chance = coincidence_test(hard, pauses, window=window)
    if chance.p_value is not None and chance.p_value > 0.05:
        notes.append(
            f"stalls and pauses coincide no more than chance would have it ({chance.n_matched} of {len(hard)}, "
            f"{chance.expected_by_chance:.1f} by chance): is this the log of the same process?"
        )
    return chance.model_dump(mode="json")


def _tail(parts: Attribution) -> dict[str, Any]:
    return {
        "share": _share(parts.quantile_share),
        "share_lower_bound": _share(parts.quantile_share_lower),
        "share_upper_bound": _share(parts.quantile_share_upper),
        "causes": {cause: _share(estimate) for cause, estimate in parts.causes.items()},
    }


def _share(estimate: Share) -> dict[str, float | None]:
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: None if end is None else min(max(float(end), 0.0), 1.0) for name, end in ends.items()}


def _coverage(gc_log: GcLog, first_s: float, last_s: float) -> list[str]:
    """A log that begins after the first request or ends before the last answer leaves peaks unexplained."""
    if gc_log.clock != "epoch" or gc_log.start_s is None or gc_log.end_s is None or not gc_log.events:
        return []
    # Between two events a log is silent: only more than its longest silence means that it is missing.
    edges = np.array([gc_log.start_s, *sorted(event.end_s for event in gc_log.events), gc_log.end_s])
    silence = max(1.0, 2 * float(np.diff(edges).max()))
    notes, what = [], "is not in it, and counts as unexplained"
    if first_s + silence < gc_log.start_s <= last_s:
        begins = f"begins {gc_log.start_s - first_s:,.1f} s after the first request"
        notes.append(f"the runtime's log {begins}: what was paused before {what}")
    if first_s <= gc_log.end_s < last_s - silence:
        ends = f"ends {last_s - gc_log.end_s:,.1f} s before the last answer"
        notes.append(f"the runtime's log {ends}: what was paused after {what}")
    return notes


def _spans(gc_log: GcLog) -> dict[CauseName, list[Span]]:
    spans: dict[CauseName, list[Span]] = {}
    for event in gc_log.events:
        spans.setdefault(event.cause, []).append((event.start_s, event.end_s))
    return spans


def _unusable(gc_log: GcLog, window: Span) -> str | None:
    """Return why no pause of a log can be laid over requests of that time; ``None``: they can."""
    if not gc_log.events:
        return "the log has no pause"
    if gc_log.clock != "epoch":
        written = f"write it with {WRITES}, or " if gc_log.runtime == "jvm" else ""
        return (
            f"the log has no wall-clock stamps: {written}give the start of the process with --process-start"
        )
    alive = [life for life in gc_log.processes if life.start_s < window[1] and life.end_s > window[0]]
    names = listed([life.name for life in alive])
    if any(later.start_s < life.end_s - _ONE_AFTER_THE_OTHER_S for life, later in itertools.pairwise(alive)):
        return (
            f"the log is of {len(alive)} processes that ran at the same time ({names}): "
            "give the lines of the one that answered"
        )
    return None


def _why_not(
    gc_log: GcLog, pauses: Sequence[Span], window: Span, start: FloatArray, latency: FloatArray
) -> tuple[str | None, ClockOffset | None]:
    """Return the reason why attribution would be wrong, or ``None``, and what is known of the clocks.

    ``pauses``: those within the time of the requests. ``window``: that time.
    """
    unusable = _unusable(gc_log, window)
    if unusable is not None:
        return unusable, None
    if not pauses:
        return (
            "no pause of the log overlaps the requests: wrong log file, or clocks out of sync",
            None,
        )
    ordinary = float(np.median(latency))
    visible = [pause for pause in pauses if pause[1] - pause[0] >= 2 * ordinary]
    offset = estimate_clock_offset(start + latency, visible, median_service_s=ordinary)
    if offset.offset_s is None and len(visible) >= MIN_PAUSES:
        return (
            f"{len(visible)} pauses are long enough to be seen, and the answers show none of them at any one offset "
            f"of the clocks ({offset.why}): another process's log, or clocks more than {SEARCH_S:g} s apart",
            offset,
        )
    if offset.offset_s is not None and not offset.supports_attribution:
        return offset.why, offset
    return None, offset
